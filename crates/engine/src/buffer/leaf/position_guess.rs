//! Finding a row of a numbered table without a search.
//!
//! Most tables are numbered, and in a leaf without gaps the slot of a row is its number minus that of the
//! first row. A binary search over heads takes dependent steps, one for each doubling of the rows; and if
//! heads are equal, as in small tables, whose only leaf has no fences and so no prefix, each step reads a
//! row, whose cache line another core may have written last.
//!
//! The number is the last four bytes of a key, which fit into the frame's cache line; if the guess is wrong
//! because of the omitted bytes, it is rejected like any other wrong guess.
//!
//! 1. A slot from [`Leaf::guess`] is checked, never trusted: it counts only if its key is the requested one.
//! 2. The number of the first row is kept outside the page, so that a guess reads nothing in it. It is
//!    updated whenever another row becomes the first.

use super::view::{HEAD_BYTES, Leaf, ROW_BYTES, SUFFIX_AT};
use crate::buffer::page::HEADER_BYTES;

/// Keys with more bytes after the prefix are not treated as numbers.
const NUMBER_BYTES: usize = 8;

impl Leaf {
    /// The slot of the key if all numbers between the first row's and its own exist.
    #[inline]
    pub(super) fn guess(&self, key: &[u8]) -> Option<usize> {
        let suffix_bytes = key.len() - usize::from(self.prefix);
        let last = u32::from_be_bytes(*key.last_chunk()?);
        let slot = last.wrapping_sub(self.first_number);
        (suffix_bytes <= NUMBER_BYTES && slot < u32::from(self.count)).then_some(slot as usize)
    }

    /// Updates the number of the first row after another row became the first.
    pub(super) fn update_first_number(&mut self) {
        self.first_number = self.number_of_first();
    }

    /// The first row's number, or 0 if it has none. The page may be damaged: it has not been checked yet.
    pub(super) fn number_of_first(&self) -> u32 {
        self.end_of_first_key().unwrap_or_default()
    }

    /// The last four bytes of the first key, which is split into prefix, head and row.
    fn end_of_first_key(&self) -> Option<u32> {
        let first = (self.count > 0).then(|| self.offsets_at())?;
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

    /// The bytes of a key before its number.
    type Before = &'static [u8];

    fn insert(leaf: &mut Leaf, key: &[u8]) {
        let slot = leaf.search(key).unwrap_err();
        leaf.insert(slot, key, VersionWord::of(Csn(1)), 4).unwrap();
    }

    fn key(before: Before, number: u32) -> Vec<u8> {
        [before, &number.to_be_bytes()].concat()
    }

    /// A leaf with rows of those numbers; its fences are its first key and the one after its last, or none.
    fn leaf(before: Before, numbers: std::ops::Range<u32>, has_fences: bool) -> Leaf {
        let (lower, upper) = (key(before, numbers.start), key(before, numbers.end));
        let (lower, upper): (&[u8], _) =
            if has_fences { (&lower, Some(upper.as_slice())) } else { (&[], None) };
        let mut leaf = Leaf::empty(4096, PageId(1), TreeId(1), lower, upper);
        // The first row is inserted last, so its number is set last.
        numbers.rev().for_each(|number| insert(&mut leaf, &key(before, number)));
        leaf
    }

    #[test]
    fn numbered_rows_are_guessed() {
        // Numbers on both sides of a carry: at 256 the prefix of two fences is a byte shorter.
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
    fn guesses_follow_a_new_first_row() {
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
    fn a_wrong_guess_is_rejected() {
        let before: Before = &[0x80, 0, 0, 0];
        let mut leaf = leaf(before, 10..20, false);
        leaf.remove(3);
        for (slot, number) in [10, 11, 12, 14, 15, 16, 17, 18, 19].into_iter().enumerate() {
            assert_eq!(leaf.search(&key(before, number)), Ok(slot));
        }
        assert_eq!(leaf.search(&key(before, 13)), Err(3));
        // The last four bytes are equal, and the rest differs.
        assert_eq!(leaf.search(&key(&[0x80, 0, 0, 1], 12)), Err(9));
        assert_eq!(leaf.search(&[10]), Err(0));
    }
}
