//! The uncommitted writes of a transaction.
//!
//! Invariants:
//! 1. No two changes have the same key.
//! 2. `sorted` holds the position of each change once, in the order of keys.
//! 3. The memory of changes is kept for the next transaction.

use super::store::Change;
use crate::operation::Order;
use std::cmp::Ordering;

/// Changes in the order in which they were written, searchable by key.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    changes: Vec<Change>,
    sorted: Vec<u32>,
    spare: Vec<Vec<u8>>,
}

impl WriteBuffer {
    /// All changes.
    pub(super) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The change of a key.
    pub(super) fn find(&self, key: &[u8]) -> Option<&Change> {
        let place = self.place(key).ok()?;
        Some(self.at(place))
    }

    /// An empty buffer for a new value.
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Changes the value of a key; none deletes it.
    pub(super) fn put(&mut self, key: &[u8], value: Option<Vec<u8>>) {
        match self.place(key) {
            Ok(place) => {
                let change = &mut self.changes[self.sorted[place] as usize];
                let before = std::mem::replace(&mut change.value, value);
                self.recycle(before);
            }
            Err(place) => {
                let position = u32::try_from(self.changes.len());
                let position = position.expect("a transaction writes less than 2^32 rows");
                self.sorted.insert(place, position);
                let mut owned = self.buffer();
                owned.extend_from_slice(key);
                self.changes.push(Change { key: owned, value });
            }
        }
    }

    /// The changes of keys from `from` up to but not including `to`, in the given order.
    pub(super) fn range(
        &self,
        from: &[u8],
        to: &[u8],
        order: Order,
    ) -> impl Iterator<Item = &Change> {
        let place = |key| self.place(key).unwrap_or_else(|place| place);
        order.of(place(from)..place(to)).map(|place| self.at(place))
    }

    /// Removes all changes.
    pub(super) fn clear(&mut self) {
        self.sorted.clear();
        while let Some(Change { key, value }) = self.changes.pop() {
            self.recycle(value);
            self.recycle(Some(key));
        }
    }

    fn at(&self, place: usize) -> &Change {
        &self.changes[self.sorted[place] as usize]
    }

    /// The position of a key in the order: where it is, or where it belongs.
    fn place(&self, key: &[u8]) -> Result<usize, usize> {
        // Keys mostly ascend, so compare with the last one first.
        let last = self.sorted.last().map(|last| &self.changes[*last as usize]);
        if last.is_none_or(|last| last.key.as_slice().cmp(key) == Ordering::Less) {
            return Err(self.sorted.len());
        }
        self.sorted
            .binary_search_by(|position| self.changes[*position as usize].key.as_slice().cmp(key))
    }

    fn recycle(&mut self, bytes: Option<Vec<u8>>) {
        if let Some(mut bytes) = bytes {
            bytes.clear();
            self.spare.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WriteBuffer;
    use crate::operation::Order;

    fn keys(pending: &WriteBuffer, from: &[u8], to: &[u8], order: Order) -> Vec<u8> {
        let range = pending.range(from, to, order);
        range.map(|change| change.key[0]).collect()
    }

    #[test]
    fn the_last_change_of_a_key_counts_and_ranges_are_sorted() {
        let mut pending = WriteBuffer::default();
        for key in [5, 1, 9, 3, 5] {
            pending.put(&[key], Some(vec![key, key]));
        }
        pending.put(&[3], None);
        assert_eq!(pending.changes().len(), 4, "one change per key");
        assert_eq!(pending.find(&[3]).map(|change| &change.value), Some(&None));
        assert!(pending.find(&[4]).is_none());
        assert_eq!(keys(&pending, &[1], &[9], Order::Ascending), [1, 3, 5]);
        assert_eq!(keys(&pending, &[2], &[10], Order::Descending), [9, 5, 3]);
        assert_eq!(keys(&pending, &[6], &[8], Order::Ascending), [0; 0]);
    }

    #[test]
    fn recycled_memory_is_empty() {
        let mut pending = WriteBuffer::default();
        pending.put(b"key", Some(b"value".to_vec()));
        pending.clear();
        assert!(pending.changes().is_empty());
        let buffers = [pending.buffer(), pending.buffer()];
        assert!(buffers.iter().all(|bytes| bytes.is_empty() && bytes.capacity() > 0));
        assert_eq!(pending.buffer().capacity(), 0, "both buffers are in use");
    }
}
