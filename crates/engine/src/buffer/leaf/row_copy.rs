//! Rows of a leaf, copied under its latch to be read after it is released.
//!
//! The copy is one piece of the page: from the lowest to the end of the highest of these rows. That is
//! cheaper than to copy key and value of each row where most of a leaf is wanted, since rows that follow each
//! other by key usually lie next to each other.

use super::view::{HEAD_BYTES, LENGTH_AT, Leaf, ROW_BYTES, SUFFIX_AT};
use crate::buffer::VersionWord;
use crate::buffer::page::{u16_at, u64_at};

/// Copied rows, in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct RowCopy {
    rows: Vec<CopiedRow>,
    /// The piece of the page.
    bytes: Vec<u8>,
    /// Where it begins in the page.
    start: u16,
    /// What all keys of the leaf begin with.
    prefix: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct CopiedRow {
    /// The head of its key.
    head: u32,
    /// Where it lies in the page.
    position: u16,
    slot: u16,
}

/// A row in the bytes of a page.
#[derive(Clone, Copy, Debug)]
struct StoredRow<'p> {
    word: VersionWord,
    suffix_bytes: usize,
    /// The key after prefix and head.
    tail: &'p [u8],
    value: &'p [u8],
}

impl<'p> StoredRow<'p> {
    #[inline]
    fn at(bytes: &'p [u8], position: usize) -> StoredRow<'p> {
        let row = &bytes[position..];
        let suffix_bytes = usize::from(u16_at(row, SUFFIX_AT));
        let tail_bytes = suffix_bytes.saturating_sub(HEAD_BYTES);
        let rest = &row[ROW_BYTES..][..tail_bytes + usize::from(u16_at(row, LENGTH_AT))];
        let (tail, value) = rest.split_at(tail_bytes);
        StoredRow { word: VersionWord(u64_at(row, 0)), suffix_bytes, tail, value }
    }
}

impl RowCopy {
    /// Begins the copy of rows of a leaf.
    pub(crate) fn begin(&mut self, leaf: &Leaf) {
        self.rows.clear();
        self.bytes.clear();
        self.prefix.clear();
        self.prefix.extend_from_slice(leaf.prefix());
    }

    /// Adds a row of that leaf, whose bytes [`RowCopy::copy`] copies.
    #[inline]
    pub(crate) fn add(&mut self, leaf: &Leaf, slot: usize) {
        let position = leaf.row(slot) as u16;
        self.rows.push(CopiedRow { head: leaf.head(slot), position, slot: slot as u16 });
    }

    /// Copies the bytes of all rows that were added.
    pub(crate) fn copy(&mut self, leaf: &Leaf) {
        let positions = self.rows.iter().map(|row| row.position);
        let (first, last) = positions.fold((u16::MAX, 0), |(first, last), position| {
            (first.min(position), last.max(position))
        });
        if self.rows.is_empty() {
            return;
        }
        let last = usize::from(last);
        let StoredRow { tail, value, .. } = StoredRow::at(leaf.image(), last);
        let end = last + ROW_BYTES + tail.len() + value.len();
        self.start = first;
        self.bytes.extend_from_slice(&leaf.image()[usize::from(first)..end]);
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Forgets the rows. Gives memory beyond `bytes_max` back, and returns what is left of it.
    pub(crate) fn clear(&mut self, bytes_max: usize) -> usize {
        self.rows.clear();
        self.bytes.clear();
        let bytes = self.rows.capacity() * size_of::<CopiedRow>() + self.bytes.capacity();
        if bytes <= bytes_max {
            return bytes;
        }
        *self = RowCopy::default();
        0
    }

    /// The slot of a row in its leaf.
    pub(crate) fn slot(&self, row: usize) -> u32 {
        u32::from(self.rows[row].slot)
    }

    #[inline]
    pub(crate) fn word(&self, row: usize) -> VersionWord {
        self.stored(row).word
    }

    /// Writes the prefix of all keys into `key`, for [`RowCopy::read`].
    pub(crate) fn begin_key(&self, key: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(&self.prefix);
    }

    /// Writes the key of a row into `key`, which holds that of another row of the copy, or the prefix.
    /// Returns its word and its value.
    #[inline]
    pub(crate) fn read(&self, row: usize, key: &mut Vec<u8>) -> (VersionWord, &[u8]) {
        let StoredRow { word, suffix_bytes, tail, value } = self.stored(row);
        key.truncate(self.prefix.len());
        let head = self.rows[row].head.to_be_bytes();
        key.extend_from_slice(&head[..suffix_bytes.min(HEAD_BYTES)]);
        if !tail.is_empty() {
            key.extend_from_slice(tail);
        }
        (word, value)
    }

    #[inline]
    fn stored(&self, row: usize) -> StoredRow<'_> {
        StoredRow::at(&self.bytes, usize::from(self.rows[row].position - self.start))
    }
}
