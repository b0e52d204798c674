//! The separator index of an inner node: finds a key's position among the separators with one search over
//! numbers.
//!
//! Separators of composite keys share most bytes, for example the upper bytes of each number, so that their
//! first bytes distinguish few of them. So a separator index records the *discriminating* positions, those
//! whose bytes are not the same in all separators, and keeps each separator's bytes at these positions as a
//! number, its *discriminator*. At every other position, within the inspected length, all separators have the
//! same byte. A separator that ends earlier is treated as padded with zeros, and so is a key.
//!
//! It is computed from the node, never stored on disk, and takes little more than eight bytes per separator.
//! It consists of words of eight bytes:
//!
//! | words | field |
//! |---|---|
//! | 2 | the discriminating positions, ascending, two bytes each; 0xFFFF = no more |
//! | 1 | byte 0: w; bytes 1 and 2: where the *run* begins, and its length; upper half: n |
//! | w | the common bytes at the other positions, most significant byte first; zero at discriminating ones |
//! | w | 0xFF at the other positions |
//! | n/16 | *samples*: the last of each sixteen discriminators |
//! | n | the discriminator of each separator, in their order |
//!
//! If the discriminating positions are adjacent they form the run: then a discriminator is read at once, not
//! gathered byte by byte. That is so for keys that are one number, or one text with a common start.
//!
//! The first w words of a key are inspected; n is the number of separators.
//!
//! A search over the discriminators alone would miss the cache repeatedly, each miss depending on the one
//! before. The samples are stored with the words that are read first, so that a search misses twice: on
//! those, and on the sixteen discriminators that they lead to.
//!
//! Invariants:
//! 1. Discriminators ascend, since separators do and first differ at a discriminating position. Separators
//!    with equal discriminators are distinguished by all their bytes: they differ at more than eight
//!    positions, beyond the inspected length, or by zeros where another one ends.
//! 2. A key that first differs from the common bytes at position p is above or below all separators that have
//!    the same bytes as the key at the discriminating positions before p.

use super::page::eight_at;
use super::prefetch::prefetch;
use std::cmp::Ordering;
use std::sync::Arc;

/// The maximum number of positions in a discriminator.
const POSITIONS_MAX: usize = 8;

/// Marks the end of the positions.
const NONE: u16 = u16::MAX;

/// The maximum number of words of a separator or a key that are inspected.
const WORDS_MAX: usize = 8;

/// The bytes of those words.
const BYTES_MAX: usize = 8 * WORDS_MAX;

const COUNTS_AT: usize = 2;
const COUNT_SHIFT: u32 = 32;
const RUN_SHIFT: u32 = 8;
const COMMON_AT: usize = 3;

/// Discriminators per sample.
pub(super) const SAMPLE_EVERY: usize = 16;

/// The bytes that a search reads first, in most nodes.
const FIRST_BYTES: usize = 4 * 64;

/// The words of a separator index.
#[derive(Clone)]
pub(super) struct SeparatorIndex(Arc<[u64]>);

/// The position of a key among the separators, to the extent that discriminators determine it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// Behind exactly this many separators.
    Behind(usize),
    /// Behind this many; the separators from there to the second index have the same discriminator, so their
    /// bytes must be compared.
    Among(usize, usize),
}

/// The discriminator of a key.
#[derive(Clone, Copy)]
enum Discriminator {
    /// The key has the common bytes at the other positions.
    Alike(u64),
    /// The key is above all separators with this discriminator or a lesser one, and below the others.
    Above(u64),
    /// The key is below all separators with this discriminator or a greater one, and above the others.
    Below(u64),
}

impl SeparatorIndex {
    /// Builds the index of `count` separators; `separator` copies one of them into a buffer, as much as fits,
    /// and returns its length.
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
        let discriminating = (0..BYTES_MAX).filter(|at| differs[*at]);
        let mut positions = [NONE; POSITIONS_MAX];
        for (position, at) in positions.iter_mut().zip(discriminating) {
            *position = at as u16;
        }
        // Nothing is inspected after the last discriminating position that a discriminator has room for.
        let end = match positions[POSITIONS_MAX - 1] {
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

    /// Builds an index from the words before the samples, except the count, and the discriminators.
    fn of(head: &[u64], count: usize, discriminator: impl FnMut(usize) -> u64) -> SeparatorIndex {
        let samples = count / SAMPLE_EVERY;
        let mut words = Vec::with_capacity(head.len() + samples + count);
        words.extend_from_slice(head);
        words[COUNTS_AT] = u64::from(head[COUNTS_AT] as u32) | (count as u64) << COUNT_SHIFT;
        words.resize(head.len() + samples, 0);
        words.extend((0..count).map(discriminator));
        let (before, discriminators) = words.split_at_mut(head.len() + samples);
        let last_ones =
            discriminators.chunks_exact(SAMPLE_EVERY).map(|some| some[SAMPLE_EVERY - 1]);
        for (sample, last) in before[head.len()..].iter_mut().zip(last_ones) {
            *sample = last;
        }
        SeparatorIndex(words.into())
    }

    /// The index with one more separator inserted; none if the separator lacks the common bytes, so that the
    /// index must be rebuilt.
    pub(super) fn with(&self, index: usize, separator: &[u8]) -> Option<SeparatorIndex> {
        let Discriminator::Alike(discriminator) = self.discriminator(separator) else {
            return None;
        };
        let inspects_all = separator.len().min(BYTES_MAX) <= 8 * self.width();
        if !inspects_all && self.positions()[POSITIONS_MAX - 1] == NONE {
            // The index would be correct, but could not distinguish this separator from others.
            return None;
        }
        let (discriminators, head) = (self.discriminators(), &self.0[..self.samples_at()]);
        let with = |at: usize| match at.cmp(&index) {
            Ordering::Less => discriminators[at],
            Ordering::Equal => discriminator,
            Ordering::Greater => discriminators[at - 1],
        };
        Some(SeparatorIndex::of(head, discriminators.len() + 1, with))
    }

    /// Prefetches the memory that a search reads first.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(self.0.as_ptr().addr(), FIRST_BYTES);
    }

    /// The position of the key among the separators. `near` is called early with a lower bound: the key is
    /// behind at most [`SAMPLE_EVERY`] more.
    #[inline]
    pub(super) fn rank(&self, key: &[u8], near: impl Fn(usize)) -> Rank {
        match self.discriminator(key) {
            Discriminator::Above(discriminator) => {
                Rank::Behind(self.search(|other| other <= discriminator, near))
            }
            Discriminator::Below(discriminator) => {
                Rank::Behind(self.search(|other| other < discriminator, near))
            }
            Discriminator::Alike(discriminator) => {
                let first = self.search(|other| other < discriminator, near);
                let discriminators = self.discriminators();
                if discriminators.get(first) != Some(&discriminator) {
                    return Rank::Behind(first);
                }
                let equal =
                    discriminators[first..].partition_point(|other| *other == discriminator);
                Rank::Among(first, first + equal)
            }
        }
    }

    /// The relative position of the key between the separator before that index and the one at it, from 0 to
    /// 1, estimated by discriminators. None if the key is not between two, or lacks their common bytes.
    #[inline]
    pub(super) fn part(&self, rank: usize, key: &[u8]) -> Option<f64> {
        let discriminators = self.discriminators();
        let (lower, upper) =
            (*discriminators.get(rank.checked_sub(1)?)?, *discriminators.get(rank)?);
        let Discriminator::Alike(discriminator) = self.discriminator(key) else {
            return None;
        };
        (lower <= discriminator && discriminator < upper)
            .then(|| (discriminator - lower) as f64 / (upper - lower) as f64)
    }

    /// The number of discriminators for which `less` holds, which are the first ones.
    #[inline]
    fn search(&self, less: impl Fn(u64) -> bool, near: impl Fn(usize)) -> usize {
        let samples = &self.0[self.samples_at()..self.discriminators_at()];
        let start = SAMPLE_EVERY * samples.partition_point(|sample| less(*sample));
        near(start);
        let discriminators = &self.discriminators()[start..];
        let some = &discriminators[..discriminators.len().min(SAMPLE_EVERY)];
        start + some.partition_point(|discriminator| less(*discriminator))
    }

    #[inline]
    fn discriminator(&self, key: &[u8]) -> Discriminator {
        let width = self.width();
        let (common, ones) = self.0[COMMON_AT..COMMON_AT + 2 * width].split_at(width);
        for word in 0..width {
            let held = word_at(key, word);
            let other = (held ^ common[word]) & ones[word];
            if other != 0 {
                let byte = other.leading_zeros() / 8;
                let shift = 56 - 8 * byte;
                let is_above = (held >> shift) as u8 > (common[word] >> shift) as u8;
                return self.differing(key, 8 * word + byte as usize, is_above);
            }
        }
        let run = self.0[COUNTS_AT] >> RUN_SHIFT;
        let (start, bytes) = (usize::from(run as u8), u32::from((run >> 8) as u8));
        Discriminator::Alike(if bytes > 0 {
            eight_at(key, start) & u64::MAX << (64 - 8 * bytes)
        } else {
            gathered(self.positions(), key)
        })
    }

    /// The discriminator of a key that differs from the common byte at that position.
    #[cold]
    fn differing(&self, key: &[u8], at: usize, is_above: bool) -> Discriminator {
        let positions = self.positions();
        let before = positions.iter().filter(|position| usize::from(**position) < at);
        let rest = u64::MAX.checked_shr(8 * before.count() as u32).unwrap_or(0);
        let discriminator = gathered(positions, key) & !rest;
        if is_above {
            Discriminator::Above(discriminator | rest)
        } else {
            Discriminator::Below(discriminator)
        }
    }

    #[inline]
    fn positions(&self) -> [u16; POSITIONS_MAX] {
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
    fn samples_at(&self) -> usize {
        COMMON_AT + 2 * self.width()
    }

    #[inline]
    fn discriminators_at(&self) -> usize {
        self.samples_at() + (self.0[COUNTS_AT] >> COUNT_SHIFT) as usize / SAMPLE_EVERY
    }

    #[inline]
    fn discriminators(&self) -> &[u64] {
        &self.0[self.discriminators_at()..]
    }
}

/// The bytes at those positions as a big-endian number.
#[inline]
fn gathered(positions: [u16; POSITIONS_MAX], bytes: &[u8]) -> u64 {
    positions.iter().fold(0, |discriminator, position| {
        let byte = bytes.get(usize::from(*position)).copied().unwrap_or(0);
        discriminator << 8 | u64::from(byte)
    })
}

/// Where the discriminating positions begin, and in the next byte their number; zero unless they are
/// adjacent.
fn run_of(positions: [u16; POSITIONS_MAX]) -> u64 {
    let count = positions.iter().take_while(|at| **at != NONE).count();
    let are_neighbours = positions[..count].windows(2).all(|at| at[0] + 1 == at[1]);
    if count > 0 && are_neighbours { u64::from(positions[0]) | (count as u64) << 8 } else { 0 }
}

/// A word of a string padded with zeros.
#[inline]
fn word_at(bytes: &[u8], word: usize) -> u64 {
    eight_at(bytes, 8 * word)
}

fn packed(positions: [u16; POSITIONS_MAX]) -> [u64; 2] {
    let pack = |four: &[u16]| {
        let words = four.iter().rev();
        words.fold(0, |word, position| word << 16 | u64::from(*position))
    };
    [pack(&positions[..4]), pack(&positions[4..])]
}

#[cfg(test)]
mod tests {
    use super::{BYTES_MAX, Rank, SAMPLE_EVERY, SeparatorIndex, word_at};

    fn separator_index(separators: &[Vec<u8>]) -> SeparatorIndex {
        SeparatorIndex::new(separators.len(), |index, out| {
            let bytes = separators[index].len().min(BYTES_MAX);
            out[..bytes].copy_from_slice(&separators[index][..bytes]);
            separators[index].len()
        })
    }

    /// A key of numbers as the engine encodes them, sometimes truncated.
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

    /// A key of one number, sometimes followed by more bytes.
    fn number(random: &mut fastrand::Rng) -> Vec<u8> {
        let mut key = (random.u64(..100_000) | 1 << 63).to_be_bytes().to_vec();
        key.extend((0..random.usize(..3)).map(|_| random.u8(..2)));
        key.truncate(random.usize(5..11));
        key
    }

    #[test]
    fn it_finds_the_same_position_as_a_search_over_all_bytes() {
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
                let samples = &separator_index.0
                    [separator_index.samples_at()..separator_index.discriminators_at()];
                let last_ones: Vec<u64> = separator_index
                    .discriminators()
                    .chunks_exact(SAMPLE_EVERY)
                    .map(|some| some[15])
                    .collect();
                assert_eq!(
                    (samples, separator_index.discriminators().len()),
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
        assert!(among > 1000, "{among} keys had the discriminator of a separator");
    }

    #[test]
    fn discriminators_of_one_number_are_read_at_once() {
        let separators: Vec<Vec<u8>> =
            (0..1000_u64).map(|at| ((700 * at) | (1 << 63)).to_be_bytes().to_vec()).collect();
        let separator_index = separator_index(&separators);
        // The lowest three bytes differ, and the first of those is the fifth.
        assert_eq!(separator_index.0[super::COUNTS_AT] as u32, 1 | 5 << 8 | 3 << 16);
        let rank = separator_index.rank(&((700 * 411_u64 + 9) | (1 << 63)).to_be_bytes(), |_| ());
        assert_eq!(rank, Rank::Behind(412));
    }

    #[test]
    fn a_word_of_a_string_is_padded_with_zeros() {
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
    fn discriminators_alone_distinguish_composite_numbers() {
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
