//! Changing a leaf's rows: insert, grow, write, remove, and compaction of the space of dead rows.

use super::counter;
use super::last_insert::LastInsert;
use super::view::{
    CAPACITY_AT, COUNT_AT, DEAD_AT, HEAD_BYTES, HEAP_AT, LENGTH_AT, Leaf, OFFSET_BYTES, ROW_BYTES,
    SLOT_BYTES, SUFFIX_AT, head_of,
};
use crate::buffer::VersionWord;
use crate::buffer::page::{put_u16, put_u32, put_u64, u16_at};
use crate::ids::Csn;
use std::cmp::Ordering;

/// A node is poor if less than this fraction of its page is in use: numerator and denominator.
pub(crate) const POOR: (usize, usize) = (2, 5);

/// The leaf cannot hold the row, even after compaction: the tree must split it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

impl Leaf {
    /// Inserts a row with an empty value and room for one of `capacity` bytes.
    ///
    /// `at` is the slot that [`Leaf::search`] returned for the key. Space that rows reserve beyond their
    /// values counts as free, except for locked rows.
    pub(crate) fn insert(
        &mut self,
        at: usize,
        key: &[u8],
        word: VersionWord,
        capacity: usize,
    ) -> Result<(), NoRoom> {
        debug_assert!(self.covers(key), "the key lies between the fences");
        debug_assert!(at == 0 || self.compare_key(at - 1, key) == Ordering::Less);
        debug_assert!(at == self.count() || self.compare_key(at, key) == Ordering::Greater);
        let suffix_bytes = key.len() - usize::from(self.prefix);
        let row_bytes = row_bytes(suffix_bytes, capacity);
        if self.gap_bytes() < SLOT_BYTES + row_bytes {
            self.gain(SLOT_BYTES + row_bytes, None)?;
        }
        self.push(at, key, word, capacity);
        self.last_insert = LastInsert::at(at);
        self.counter = counter::fresh();
        Ok(())
    }

    /// Reserves room for a value of that length; the value and the slots do not change.
    pub(crate) fn reserve(&mut self, slot: usize, capacity: usize) -> Result<(), NoRoom> {
        if capacity <= self.capacity(slot) {
            return Ok(());
        }
        let suffix_bytes = self.suffix_bytes(slot);
        let row_bytes = row_bytes(suffix_bytes, capacity);
        if self.gap_bytes() < row_bytes {
            let more = capacity - self.capacity(slot);
            return self.gain(more, Some((slot, capacity)));
        }
        let (row, length) = (self.row(slot), self.value(slot).len());
        let old_bytes = self.row_bytes_at(slot);
        self.spare_max = self.spare_max.saturating_add((capacity - self.capacity(slot)) as u16);
        let start = self.take_heap(row_bytes);
        let content = ROW_BYTES + self.tail_bytes(row) + length;
        self.bytes.copy_within(row..row + content, start);
        put_u16(&mut self.bytes, start + CAPACITY_AT, capacity as u16);
        let offset = self.offsets_at() + OFFSET_BYTES * slot;
        put_u16(&mut self.bytes, offset, start as u16);
        self.bury(row, old_bytes);
        Ok(())
    }

    /// Writes the row's value, for which room must have been reserved.
    pub(crate) fn set_value(&mut self, slot: usize, value: &[u8]) {
        let capacity = self.capacity(slot);
        assert!(value.len() <= capacity, "{} bytes do not fit into {capacity}", value.len());
        let row = self.row(slot);
        let start = row + ROW_BYTES + self.tail_bytes(row);
        let before = u16_at(&self.bytes, row + LENGTH_AT);
        let spare = u32::from(self.spare_max) + u32::from(before);
        // This is an upper bound, and at least what this row alone reserved.
        self.spare_max = spare.saturating_sub(value.len() as u32).min(u32::from(u16::MAX)) as u16;
        self.bytes[start..start + value.len()].copy_from_slice(value);
        put_u16(&mut self.bytes, row + LENGTH_AT, value.len() as u16);
    }

    /// The row's value, for changes in place.
    #[inline]
    pub(crate) fn value_mut(&mut self, slot: usize) -> &mut [u8] {
        let row = self.row(slot);
        let length = usize::from(u16_at(&self.bytes, row + LENGTH_AT));
        let start = row + ROW_BYTES + self.tail_bytes(row);
        &mut self.bytes[start..start + length]
    }

    /// Writes the row's word.
    #[inline]
    pub(crate) fn set_word(&mut self, slot: usize, word: VersionWord) {
        let row = self.row(slot);
        put_u64(&mut self.bytes, row, word.0);
    }

    /// Removes the row; later rows move one slot down.
    pub(crate) fn remove(&mut self, slot: usize) {
        let (row, row_bytes) = (self.row(slot), self.row_bytes_at(slot));
        let (heads, offsets) = (self.heads_at(), self.offsets_at());
        let end = offsets + OFFSET_BYTES * self.count();
        let (head, offset) = (heads + HEAD_BYTES * slot, offsets + OFFSET_BYTES * slot);
        self.bytes.copy_within(head + HEAD_BYTES..offset, head);
        self.bytes.copy_within(offset + OFFSET_BYTES..end, offset - HEAD_BYTES);
        self.set_count(self.count - 1);
        self.bury(row, row_bytes);
        self.counter = counter::fresh();
        if slot == 0 {
            self.update_first_number();
        }
    }

    /// Removes the ghosts of deletes up to that commit. Returns true if there were any.
    pub(in crate::buffer) fn strip_ghosts(&mut self, until: Csn) -> bool {
        let before = self.count;
        for slot in (0..self.count()).rev() {
            let word = self.word(slot);
            if word.is_ghost() && word.csn() <= until {
                self.remove(slot);
            }
        }
        self.count < before
    }

    /// True if the leaf can hold that value under that key, as a new row or for the existing row.
    pub(crate) fn has_room(&self, key: &[u8], capacity: usize) -> bool {
        let found = self.search(key);
        let need = match found {
            Ok(slot) if capacity <= self.capacity(slot) => return true,
            Ok(slot) => capacity - self.capacity_kept(slot),
            Err(_) => SLOT_BYTES + row_bytes(key.len() - usize::from(self.prefix), capacity),
        };
        if found.is_err() && self.gap_bytes() >= need {
            return true;
        }
        self.free_bytes_max() >= need && self.free_bytes_compacted() >= need
    }

    /// True if so little of the page is in use that a neighbour should take over the rows.
    #[inline]
    pub(crate) fn is_poor(&self) -> bool {
        let dead = usize::from(u16_at(&self.bytes, DEAD_AT));
        let used = self.bytes.len() - self.gap_bytes() - dead;
        used * POOR.1 < self.bytes.len() * POOR.0
    }

    /// Bytes between the offsets and the lowest row.
    #[inline]
    pub(super) fn gap_bytes(&self) -> usize {
        self.heap() - (self.offsets_at() + OFFSET_BYTES * self.count())
    }

    /// An upper bound of the free bytes after a compaction, computed without reading rows.
    fn free_bytes_max(&self) -> usize {
        let dead = usize::from(u16_at(&self.bytes, DEAD_AT));
        self.gap_bytes() + dead + usize::from(self.spare_max)
    }

    /// The free bytes after a compaction.
    pub(super) fn free_bytes_compacted(&self) -> usize {
        let dead = usize::from(u16_at(&self.bytes, DEAD_AT));
        let slack: usize =
            (0..self.count()).map(|slot| self.capacity(slot) - self.capacity_kept(slot)).sum();
        self.gap_bytes() + dead + slack
    }

    /// The capacity that the row keeps when it moves: a locked row has reserved it for its next value.
    pub(super) fn capacity_kept(&self, slot: usize) -> usize {
        if self.word(slot).is_locked() { self.capacity(slot) } else { self.value(slot).len() }
    }

    /// Writes a row without checking the room. `at` must be the key's slot.
    pub(super) fn push(&mut self, at: usize, key: &[u8], word: VersionWord, capacity: usize) {
        self.spare_max = self.spare_max.saturating_add(capacity as u16);
        let suffix = &key[usize::from(self.prefix)..];
        let row = self.take_heap(row_bytes(suffix.len(), capacity));
        put_u64(&mut self.bytes, row, word.0);
        put_u16(&mut self.bytes, row + SUFFIX_AT, suffix.len() as u16);
        put_u16(&mut self.bytes, row + LENGTH_AT, 0);
        put_u16(&mut self.bytes, row + CAPACITY_AT, capacity as u16);
        let tail = suffix.get(HEAD_BYTES..).unwrap_or_default();
        self.bytes[row + ROW_BYTES..row + ROW_BYTES + tail.len()].copy_from_slice(tail);
        self.open_slot(at, head_of(suffix), row);
        if at == 0 {
            self.update_first_number();
        }
    }

    fn open_slot(&mut self, at: usize, head: u32, row: usize) {
        let (heads, offsets) = (self.heads_at(), self.offsets_at());
        let end = offsets + OFFSET_BYTES * self.count();
        let (head_at, offset_at) = (heads + HEAD_BYTES * at, offsets + OFFSET_BYTES * at);
        self.bytes.copy_within(offset_at..end, offset_at + SLOT_BYTES);
        self.bytes.copy_within(head_at..offset_at, head_at + HEAD_BYTES);
        put_u32(&mut self.bytes, head_at, head);
        put_u16(&mut self.bytes, offset_at + HEAD_BYTES, row as u16);
        self.set_count(self.count + 1);
    }

    /// Compacts the page if that frees `need` bytes. `grown` is a slot and its new capacity, for which the
    /// bytes are needed.
    fn gain(&mut self, need: usize, grown: Option<(usize, usize)>) -> Result<(), NoRoom> {
        if self.free_bytes_max() < need {
            return Err(NoRoom);
        }
        let mut free_bytes = self.free_bytes_compacted();
        if let Some((slot, _)) = grown {
            // The row's reserved space was counted as free, but `need` starts from its capacity.
            free_bytes -= self.capacity(slot) - self.capacity_kept(slot);
        }
        if free_bytes < need {
            return Err(NoRoom);
        }
        self.compact(grown);
        Ok(())
    }

    fn heap(&self) -> usize {
        usize::from(u16_at(&self.bytes, HEAP_AT))
    }

    fn take_heap(&mut self, row_bytes: usize) -> usize {
        let start = self.heap() - row_bytes;
        put_u16(&mut self.bytes, HEAP_AT, start as u16);
        start
    }

    fn row_bytes_at(&self, slot: usize) -> usize {
        row_bytes(self.suffix_bytes(slot), self.capacity(slot))
    }

    /// Marks the row at that position as dead.
    fn bury(&mut self, row: usize, row_bytes: usize) {
        if row == self.heap() {
            put_u16(&mut self.bytes, HEAP_AT, (row + row_bytes) as u16);
        } else {
            let dead = u16_at(&self.bytes, DEAD_AT) + row_bytes as u16;
            put_u16(&mut self.bytes, DEAD_AT, dead);
        }
    }

    pub(super) fn set_count(&mut self, count: u16) {
        self.count = count;
        put_u16(&mut self.bytes, COUNT_AT, count);
    }
}

/// Bytes of a row in the heap.
pub(super) fn row_bytes(suffix_bytes: usize, capacity: usize) -> usize {
    ROW_BYTES + suffix_bytes.saturating_sub(HEAD_BYTES) + capacity
}
