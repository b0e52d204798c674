//! The separator index of an inner node: from a key to its place among the separators, in one search over
//! numbers.
//!
//! Separators of composite keys have most bytes in common: the upper ones of each number, say, so that their
//! first bytes tell few of them apart. So a separator index names the *telling* positions, those whose bytes
//! are not the same in all separators, and keeps of each separator the bytes there as a number, its
//! *digest*. At every other position, as far as the separator index looks, all separators hold the same
//! byte. A separator that ends earlier is taken to go on with zeros, and so is a key.
//!
//! It is made from the node and never on disk, and takes little memory beside it: eight bytes a separator
//! and some more. Words of eight bytes:
//!
//! | words | what |
//! |---|---|
//! | 2 | the telling positions, ascending, two bytes each; 0xFFFF = no more |
//! | 1 | byte 0: w; bytes 1 and 2: where the *run* begins, and its length; upper half: n |
//! | w | what all separators hold at the other positions, most significant byte first; zero at telling ones |
//! | w | ones at the other positions |
//! | n/16 | *marks*: of each sixteen digests the last |
//! | n | the digest of each separator, in their order |
//!
//! Where the telling positions are neighbours they are the run: then a digest is read at once, not gathered
//! byte by byte. So it is with keys that are one number, or one text that begins alike.
//!
//! Of a key w words are looked at; n is how many separators there are.
//!
//! A search among digests alone would wait for one line of memory after the other, each named by the one
//! before. The marks lie with what is looked at first, so that a search waits twice: for those, and for the
//! sixteen digests that they lead to.
//!
//! Invariants:
//! 1. Digests ascend, since separators do and differ at telling positions first. Equal ones are told apart
//!    by all their bytes: their telling positions are more than eight, lie beyond what is looked at, or hold
//!    zeros where another one ends.
//! 2. A key that holds another byte than all separators do, first at position p, is above or below all of
//!    those that hold what it holds at the telling positions before p.

use super::page::eight_at;
use super::prefetch::prefetch;
use std::cmp::Ordering;
use std::sync::Arc;

/// So many positions make a digest.
const TELLING_MAX: usize = 8;

/// No more telling positions.
const NONE: u16 = u16::MAX;

/// So many words of a separator or a key are looked at, at most.
const WORDS_MAX: usize = 8;

/// Bytes of those.
const BYTES_MAX: usize = 8 * WORDS_MAX;

const COUNTS_AT: usize = 2;
const COUNT_SHIFT: u32 = 32;
const RUN_SHIFT: u32 = 8;
const COMMON_AT: usize = 3;

/// So many digests have a mark.
pub(super) const MARKED: usize = 16;

/// What a search looks at first, in bytes, in most nodes.
const FIRST_BYTES: usize = 4 * 64;

/// See the module.
#[derive(Clone)]
pub(super) struct SeparatorIndex(Arc<[u64]>);

/// Where a key is among the separators, as far as digests tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// Behind so many.
    Behind(usize),
    /// Behind so many, and the next ones up to that one have the same digest: look at their bytes.
    Among(usize, usize),
}

/// What is known of a key.
#[derive(Clone, Copy)]
enum Digest {
    /// At the other positions it holds what all separators do.
    Alike(u64),
    /// It is above all separators with this digest or a lesser one, and below the others.
    Above(u64),
    /// It is below all separators with this digest or a greater one, and above the others.
    Below(u64),
}

impl SeparatorIndex {
    /// The separator index of so many separators; `separator` puts one of them into a buffer, as much of it
    /// as fits, and says how long it is.
    pub(super) fn new(
        count: usize,
        mut separator: impl FnMut(usize, &mut [u8; BYTES_MAX]) -> usize,
    ) -> SeparatorIndex {
        let mut first = [0; BYTES_MAX];
        let mut longest = if count > 0 { separator(0, &mut first) } else { 0 };
        let mut differs = [false; BYTES_MAX];
        let mut bytes = [0; BYTES_MAX];
        for index in 1..count {
            bytes.fill(0);
            longest = longest.max(separator(index, &mut bytes));
            for (differs, (one, other)) in differs.iter_mut().zip(first.iter().zip(&bytes)) {
                *differs |= one != other;
            }
        }
        let telling = (0..BYTES_MAX).filter(|at| differs[*at]);
        let mut positions = [NONE; TELLING_MAX];
        for (position, at) in positions.iter_mut().zip(telling) {
            *position = at as u16;
        }
        // Behind the last telling position that a digest has room for, nothing is looked at.
        let end = match positions[TELLING_MAX - 1] {
            NONE => longest.min(BYTES_MAX).next_multiple_of(8),
            last => usize::from(last) + 1,
        };
        let width = end.div_ceil(8);
        let is_common = |at: usize| at < end && !differs[at];
        let common = std::array::from_fn(|at| if is_common(at) { first[at] } else { 0 });
        let ones = std::array::from_fn(|at| if is_common(at) { u8::MAX } else { 0 });
        let (common, ones): ([u8; BYTES_MAX], [u8; BYTES_MAX]) = (common, ones);
        let mut words = Vec::with_capacity(COMMON_AT + 2 * width);
        words.extend(packed(positions));
        words.push(width as u64 | run_of(positions) << RUN_SHIFT);
        words.extend((0..width).map(|word| word_at(&common, word)));
        words.extend((0..width).map(|word| word_at(&ones, word)));
        SeparatorIndex::of(&words, count, |index| {
            bytes.fill(0);
            separator(index, &mut bytes);
            gathered(positions, &bytes)
        })
    }

    /// With the words before the marks as they are, but for the count, and so many digests.
    fn of(head: &[u64], count: usize, digest: impl FnMut(usize) -> u64) -> SeparatorIndex {
        let marks = count / MARKED;
        let mut words = Vec::with_capacity(head.len() + marks + count);
        words.extend_from_slice(head);
        words[COUNTS_AT] = u64::from(head[COUNTS_AT] as u32) | (count as u64) << COUNT_SHIFT;
        words.resize(head.len() + marks, 0);
        words.extend((0..count).map(digest));
        let (before, digests) = words.split_at_mut(head.len() + marks);
        let last_ones = digests.chunks_exact(MARKED).map(|some| some[MARKED - 1]);
        for (mark, last) in before[head.len()..].iter_mut().zip(last_ones) {
            *mark = last;
        }
        SeparatorIndex(words.into())
    }

    /// The separator index with one more separator at that place; none if it is not like the others, so that
    /// the separator index must be made anew.
    pub(super) fn with(&self, index: usize, separator: &[u8]) -> Option<SeparatorIndex> {
        let Digest::Alike(digest) = self.digest(separator) else {
            return None;
        };
        let looks_at_all = separator.len().min(BYTES_MAX) <= 8 * self.width();
        if !looks_at_all && self.positions()[TELLING_MAX - 1] == NONE {
            // It would be right, but could not tell this one from others.
            return None;
        }
        let (digests, head) = (self.digests(), &self.0[..self.marks_at()]);
        let with = |at: usize| match at.cmp(&index) {
            Ordering::Less => digests[at],
            Ordering::Equal => digest,
            Ordering::Greater => digests[at - 1],
        };
        Some(SeparatorIndex::of(head, digests.len() + 1, with))
    }

    /// Asks the processor for what a search looks at first.
    #[inline]
    pub(super) fn ask(&self) {
        prefetch(self.0.as_ptr().addr(), FIRST_BYTES);
    }

    /// Where the key is among the separators. `near` is told early behind how many it is at least: it is
    /// behind [`MARKED`] more at most.
    #[inline]
    pub(super) fn rank(&self, key: &[u8], near: impl Fn(usize)) -> Rank {
        match self.digest(key) {
            Digest::Above(digest) => Rank::Behind(self.search(|other| other <= digest, near)),
            Digest::Below(digest) => Rank::Behind(self.search(|other| other < digest, near)),
            Digest::Alike(digest) => {
                let first = self.search(|other| other < digest, near);
                let digests = self.digests();
                if digests.get(first) != Some(&digest) {
                    return Rank::Behind(first);
                }
                let equal = digests[first..].partition_point(|other| *other == digest);
                Rank::Among(first, first + equal)
            }
        }
    }

    /// How far the key is on the way from the separator before that place to the one at it, from 0 to 1, as
    /// far as digests tell. None if it is not between two, or is not like them.
    #[inline]
    pub(super) fn part(&self, rank: usize, key: &[u8]) -> Option<f64> {
        let digests = self.digests();
        let (lower, upper) = (*digests.get(rank.checked_sub(1)?)?, *digests.get(rank)?);
        let Digest::Alike(digest) = self.digest(key) else {
            return None;
        };
        (lower <= digest && digest < upper)
            .then(|| (digest - lower) as f64 / (upper - lower) as f64)
    }

    /// How many digests are `less`, which the first ones are and the others are not.
    #[inline]
    fn search(&self, less: impl Fn(u64) -> bool, near: impl Fn(usize)) -> usize {
        let marks = &self.0[self.marks_at()..self.digests_at()];
        let start = MARKED * marks.partition_point(|mark| less(*mark));
        near(start);
        let digests = &self.digests()[start..];
        let some = &digests[..digests.len().min(MARKED)];
        start + some.partition_point(|digest| less(*digest))
    }

    #[inline]
    fn digest(&self, key: &[u8]) -> Digest {
        let width = self.width();
        let (common, ones) = self.0[COMMON_AT..COMMON_AT + 2 * width].split_at(width);
        for word in 0..width {
            let held = word_at(key, word);
            let other = (held ^ common[word]) & ones[word];
            if other != 0 {
                let byte = other.leading_zeros() / 8;
                let shift = 56 - 8 * byte;
                let is_above = (held >> shift) as u8 > (common[word] >> shift) as u8;
                return self.beside(key, 8 * word + byte as usize, is_above);
            }
        }
        let run = self.0[COUNTS_AT] >> RUN_SHIFT;
        let (start, bytes) = (usize::from(run as u8), u32::from((run >> 8) as u8));
        Digest::Alike(if bytes > 0 {
            eight_at(key, start) & u64::MAX << (64 - 8 * bytes)
        } else {
            gathered(self.positions(), key)
        })
    }

    /// What is known of a key that holds another byte than all separators do at that position.
    #[cold]
    fn beside(&self, key: &[u8], at: usize, is_above: bool) -> Digest {
        let positions = self.positions();
        let before = positions.iter().filter(|position| usize::from(**position) < at);
        let rest = u64::MAX.checked_shr(8 * before.count() as u32).unwrap_or(0);
        let digest = gathered(positions, key) & !rest;
        if is_above { Digest::Above(digest | rest) } else { Digest::Below(digest) }
    }

    #[inline]
    fn positions(&self) -> [u16; TELLING_MAX] {
        let (low, high) = (self.0[0], self.0[1]);
        std::array::from_fn(|at| {
            let word = if at < 4 { low } else { high };
            (word >> (16 * (at % 4))) as u16
        })
    }

    #[inline]
    fn width(&self) -> usize {
        usize::from(self.0[COUNTS_AT] as u8)
    }

    #[inline]
    fn marks_at(&self) -> usize {
        COMMON_AT + 2 * self.width()
    }

    #[inline]
    fn digests_at(&self) -> usize {
        self.marks_at() + (self.0[COUNTS_AT] >> COUNT_SHIFT) as usize / MARKED
    }

    #[inline]
    fn digests(&self) -> &[u64] {
        &self.0[self.digests_at()..]
    }
}

/// The bytes at those positions, the first as the most significant one.
#[inline]
fn gathered(positions: [u16; TELLING_MAX], bytes: &[u8]) -> u64 {
    positions.iter().fold(0, |digest, position| {
        let byte = bytes.get(usize::from(*position)).copied().unwrap_or(0);
        digest << 8 | u64::from(byte)
    })
}

/// Where telling positions begin, and in the byte above how many they are; zero unless they are neighbours.
fn run_of(positions: [u16; TELLING_MAX]) -> u64 {
    let count = positions.iter().take_while(|at| **at != NONE).count();
    let are_neighbours = positions[..count].windows(2).all(|at| at[0] + 1 == at[1]);
    if count > 0 && are_neighbours { u64::from(positions[0]) | (count as u64) << 8 } else { 0 }
}

/// A word of a string that goes on with zeros.
#[inline]
fn word_at(bytes: &[u8], word: usize) -> u64 {
    eight_at(bytes, 8 * word)
}

fn packed(positions: [u16; TELLING_MAX]) -> [u64; 2] {
    let pack = |four: &[u16]| {
        let words = four.iter().rev();
        words.fold(0, |word, position| word << 16 | u64::from(*position))
    };
    [pack(&positions[..4]), pack(&positions[4..])]
}

#[cfg(test)]
mod tests {
    use super::{BYTES_MAX, MARKED, Rank, SeparatorIndex, word_at};

    fn separator_index(separators: &[Vec<u8>]) -> SeparatorIndex {
        SeparatorIndex::new(separators.len(), |index, out| {
            let bytes = separators[index].len().min(BYTES_MAX);
            out[..bytes].copy_from_slice(&separators[index][..bytes]);
            separators[index].len()
        })
    }

    /// A key of numbers as the engine writes them, perhaps cut off.
    fn numbers(random: &mut fastrand::Rng) -> Vec<u8> {
        let mut key = Vec::new();
        for most in [3, 11, 4000, 16] {
            let number = random.u64(..most) | 1 << 63;
            key.extend_from_slice(&number.to_be_bytes());
        }
        if random.bool() {
            key.truncate(random.usize(..33));
        }
        key
    }

    fn text(random: &mut fastrand::Rng) -> Vec<u8> {
        let mut text = vec![b'x'; random.usize(..3) * 30];
        text.extend((0..random.usize(..12)).map(|_| random.u8(..3) * 127));
        text
    }

    /// A key of one number, with what comes behind it now and then.
    fn number(random: &mut fastrand::Rng) -> Vec<u8> {
        let mut key = (random.u64(..100_000) | 1 << 63).to_be_bytes().to_vec();
        key.extend((0..random.usize(..3)).map(|_| random.u8(..2)));
        key.truncate(random.usize(5..11));
        key
    }

    #[test]
    fn a_key_is_where_a_search_by_all_bytes_finds_it() {
        let mut among = 0;
        for seed in 0..400 {
            let mut random = fastrand::Rng::with_seed(seed);
            let key = [numbers, text, number][seed as usize % 3];
            let mut separators: Vec<Vec<u8>> = Vec::new();
            let mut grown = separator_index(&separators);
            for _ in 0..random.usize(1..80) {
                let separator = key(&mut random);
                if let Err(at) = separators.binary_search(&separator) {
                    separators.insert(at, separator.clone());
                    grown =
                        grown.with(at, &separator).unwrap_or_else(|| separator_index(&separators));
                }
            }
            let made = separator_index(&separators);
            for separator_index in [&made, &grown] {
                let marks =
                    &separator_index.0[separator_index.marks_at()..separator_index.digests_at()];
                let last_ones: Vec<u64> =
                    separator_index.digests().chunks_exact(MARKED).map(|some| some[15]).collect();
                assert_eq!(
                    (marks, separator_index.digests().len()),
                    (&last_ones[..], separators.len())
                );
                for _ in 0..200 {
                    let mut key = key(&mut random);
                    if random.u8(..4) == 0 && !key.is_empty() {
                        let at = random.usize(..key.len());
                        key[at] = random.u8(..);
                    }
                    let below = separators.partition_point(|other| *other < key);
                    let up_to = separators.partition_point(|other| *other <= key);
                    match separator_index.rank(&key, |_| ()) {
                        Rank::Behind(rank) => assert_eq!((rank, rank), (below, up_to), "{seed}"),
                        Rank::Among(first, end) => {
                            among += 1;
                            assert!((first..=end).contains(&below), "seed {seed}");
                            assert!((first..=end).contains(&up_to), "seed {seed}");
                        }
                    }
                }
            }
        }
        assert!(among > 1000, "{among} keys were like a separator");
    }

    #[test]
    fn digests_of_one_number_are_read_at_once() {
        let separators: Vec<Vec<u8>> =
            (0..1000_u64).map(|at| ((700 * at) | (1 << 63)).to_be_bytes().to_vec()).collect();
        let separator_index = separator_index(&separators);
        // The lowest three bytes differ, and the first of those is the fifth.
        assert_eq!(separator_index.0[super::COUNTS_AT] as u32, 1 | 5 << 8 | 3 << 16);
        let rank = separator_index.rank(&((700 * 411_u64 + 9) | (1 << 63)).to_be_bytes(), |_| ());
        assert_eq!(rank, Rank::Behind(412));
    }

    #[test]
    fn a_word_of_a_string_goes_on_with_zeros() {
        let bytes: Vec<u8> = (1..=20).collect();
        for end in 0..=bytes.len() {
            let mut padded = bytes[..end].to_vec();
            padded.resize(32, 0);
            for word in 0..4 {
                let expected = padded[8 * word..].first_chunk().unwrap();
                let found = word_at(&bytes[..end], word);
                assert_eq!(found, u64::from_be_bytes(*expected), "word {word} of {end}");
            }
        }
    }

    #[test]
    fn composite_numbers_are_told_apart_by_digests_alone() {
        let key = |order: u64, line: u64| {
            let parts = [2, 7, order, line].map(|number: u64| (number | 1 << 63).to_be_bytes());
            parts.concat()
        };
        let separators: Vec<Vec<u8>> = (0..300).map(|at| key(2500 + 3 * at, 1 + at % 9)).collect();
        let separator_index = separator_index(&separators);
        for at in 0..300 {
            let rank = separator_index.rank(&key(2501 + 3 * at, 4), |_| ());
            assert_eq!(rank, Rank::Behind(at as usize + 1));
        }
        assert_eq!(separator_index.rank(&separators[5], |_| ()), Rank::Among(5, 6));
    }
}
