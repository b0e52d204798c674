//! Finding a row of a numbered table without a search.
//!
//! Most tables are numbered, and in a leaf without gaps the number of a row less that of the first is its
//! slot. A search among heads takes a step that depends on the one before for each doubling of the rows; and
//! where heads are equal, as in small tables, whose only leaf has no fences and so no prefix, each step
//! looks at a row, in a line that another core may have written last.
//!
//! A number is the last four bytes of a key, which fit into the frame's line; a guess that is wrong for what
//! they leave out is as wrong as any other.
//!
//! 1. What [`Leaf::guess`] says is tried, never believed: a guessed slot counts if its key is the one that
//!    was asked for.
//! 2. The number of the first row is kept beside the page, so that a guess looks at nothing in it. It is
//!    looked at again whenever another row becomes the first.

use super::view::{HEAD_BYTES, Leaf, ROW_BYTES, SUFFIX_AT};
use crate::buffer::page::HEADER_BYTES;

/// A key of more bytes behind the prefix is not taken for a number.
const NUMBER_BYTES: usize = 8;

impl Leaf {
    /// The slot of the key if no number between the first row's and its own is left out.
    #[inline]
    pub(super) fn guess(&self, key: &[u8]) -> Option<usize> {
        let suffix_bytes = key.len() - usize::from(self.prefix);
        let last = u32::from_be_bytes(*key.last_chunk()?);
        let slot = last.wrapping_sub(self.first_number);
        (suffix_bytes <= NUMBER_BYTES && slot < u32::from(self.count)).then_some(slot as usize)
    }

    /// Looks at the first row, as another one became it.
    pub(super) fn look_at_first(&mut self) {
        self.first_number = self.number_of_first();
    }

    /// The first row's number, or any where it has none. The page may be damaged: it was not checked yet.
    pub(super) fn number_of_first(&self) -> u32 {
        self.end_of_first_key().unwrap_or_default()
    }

    /// The last four bytes of the first key, which stands in prefix, head and row.
    fn end_of_first_key(&self) -> Option<u32> {
        let first = (self.count > 0).then(|| self.places_at())?;
        let row = usize::from(u16::from_le_bytes(self.chunk(first)?));
        let suffix_bytes = usize::from(u16::from_le_bytes(self.chunk(row + SUFFIX_AT)?));
        if suffix_bytes > NUMBER_BYTES {
            return None;
        }
        let part = |start: usize, bytes: usize| self.bytes.get(start..start + bytes);
        let prefix = part(HEADER_BYTES, usize::from(self.prefix))?;
        let head = u32::from_le_bytes(self.chunk(self.heads_at())?).to_be_bytes();
        let head = &head[..suffix_bytes.min(HEAD_BYTES)];
        let tail = part(row + ROW_BYTES, suffix_bytes - head.len())?;
        let bytes = prefix.iter().chain(head).chain(tail);
        Some(bytes.fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }

    fn chunk<const BYTES: usize>(&self, at: usize) -> Option<[u8; BYTES]> {
        self.bytes.get(at..)?.first_chunk().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::Leaf;
    use crate::buffer::VersionWord;
    use crate::ids::{Csn, PageId, TreeId};

    /// How long a key is before its number.
    type Before = &'static [u8];

    fn insert(leaf: &mut Leaf, key: &[u8]) {
        let slot = leaf.search(key).unwrap_err();
        leaf.insert(slot, key, VersionWord::of(Csn(1)), 4).unwrap();
    }

    fn key(before: Before, number: u32) -> Vec<u8> {
        [before, &number.to_be_bytes()].concat()
    }

    /// Rows of those numbers in a leaf that has them all, its first and last keys being its fences, or none.
    fn leaf(before: Before, numbers: std::ops::Range<u32>, has_fences: bool) -> Leaf {
        let (lower, upper) = (key(before, numbers.start), key(before, numbers.end));
        let (lower, upper): (&[u8], _) =
            if has_fences { (&lower, Some(upper.as_slice())) } else { (&[], None) };
        let mut leaf = Leaf::empty(4096, PageId(1), TreeId(1), lower, upper);
        // The first comes last, and so does what is known of it.
        numbers.rev().for_each(|number| insert(&mut leaf, &key(before, number)));
        leaf
    }

    #[test]
    fn rows_that_are_numbered_are_guessed() {
        // Wherever a byte of the number goes over: at 256 the prefix of two fences is a byte shorter.
        for (before, has_fences) in [
            (&[0x80, 0, 0, 0][..], false),
            (&[0x80, 0, 0, 0], true),
            (b"a long name of a district", true),
            (b"", false),
        ] {
            for first in [0, 1, 200, 255, 65_500] {
                let leaf = leaf(before, first..first + 60, has_fences);
                for slot in 0..60 {
                    let key = key(before, first + slot as u32);
                    assert_eq!(leaf.guess(&key), Some(slot), "{before:?} {first}");
                    assert_eq!(leaf.search(&key), Ok(slot));
                }
                assert_eq!(leaf.guess(&key(before, first + 60)), None);
            }
        }
    }

    #[test]
    fn another_first_row_is_what_is_counted_from() {
        let before: Before = &[0x80, 0, 0, 0];
        let mut leaf = leaf(before, 10..20, false);
        leaf.remove(0);
        assert_eq!(leaf.guess(&key(before, 12)), Some(1));
        insert(&mut leaf, &key(before, 10));
        assert_eq!(leaf.guess(&key(before, 12)), Some(2));
        let plan = leaf.split_plan(&key(before, 14), 4).unwrap();
        let (left, right) = (leaf.left_half(&plan, PageId(1)), leaf.right_half(&plan, PageId(2)));
        let first_of_right = 10 + left.count() as u32;
        assert_eq!(left.guess(&key(before, 11)), Some(1));
        assert_eq!(right.guess(&key(before, first_of_right + 1)), Some(1));
        let image = Leaf::from_image(leaf.image().into());
        assert_eq!(image.guess(&key(before, 12)), Some(2));
    }

    #[test]
    fn a_wrong_guess_is_seen_to_be_wrong() {
        let before: Before = &[0x80, 0, 0, 0];
        let mut leaf = leaf(before, 10..20, false);
        leaf.remove(3);
        for (slot, number) in [10, 11, 12, 14, 15, 16, 17, 18, 19].into_iter().enumerate() {
            assert_eq!(leaf.search(&key(before, number)), Ok(slot));
        }
        assert_eq!(leaf.search(&key(before, 13)), Err(3));
        // The last four bytes are alike, and the rest is not.
        assert_eq!(leaf.search(&key(&[0x80, 0, 0, 1], 12)), Err(9));
        assert_eq!(leaf.search(&[10]), Err(0));
    }
}
