//! State that the clients of a run share: the number of the next new row, and the row up to which all inserts
//! were acknowledged.
//!
//! Invariants:
//! 1. Every row below `readable` was loaded, or its insert was acknowledged or has an unknown outcome.
//! 2. A number is assigned once; after a rollback its client uses it again.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

/// The numbering of new rows.
#[derive(Debug)]
pub(crate) struct NewRows {
    next: AtomicU64,
    readable: AtomicU64,
    ahead: Mutex<OutOfOrder>,
}

#[derive(Debug, Default)]
struct OutOfOrder {
    /// Rows that were acknowledged before all lower ones.
    acknowledged: BTreeSet<u64>,
    /// Rows with an unknown outcome.
    unknown: BTreeSet<u64>,
}

impl NewRows {
    /// With this many loaded rows.
    pub(crate) fn new(records: u64) -> NewRows {
        NewRows {
            next: AtomicU64::new(records),
            readable: AtomicU64::new(records),
            ahead: Mutex::new(OutOfOrder::default()),
        }
    }

    /// Forgets all inserted rows.
    pub(crate) fn reset(&self, records: u64) {
        *self.ahead() = OutOfOrder::default();
        self.next.store(records, Ordering::Relaxed);
        self.readable.store(records, Ordering::Relaxed);
    }

    /// Upper bound of the rows that can be read.
    #[inline]
    pub(crate) fn readable(&self) -> u64 {
        self.readable.load(Ordering::Relaxed)
    }

    /// The number for a new row.
    pub(crate) fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Records that a new row's insert was acknowledged.
    pub(crate) fn acknowledge(&self, number: u64) {
        let mut ahead = self.ahead();
        ahead.acknowledged.insert(number);
        let mut readable = self.readable();
        while ahead.acknowledged.remove(&readable) {
            readable += 1;
        }
        self.readable.store(readable, Ordering::Relaxed);
    }

    /// Records that a new row has an unknown outcome. It counts as readable, otherwise later rows would never
    /// be.
    pub(crate) fn lose(&self, number: u64) {
        self.ahead().unknown.insert(number);
        self.acknowledge(number);
    }

    /// True if the row has an unknown outcome.
    pub(crate) fn is_unknown(&self, number: u64) -> bool {
        self.ahead().unknown.contains(&number)
    }

    fn ahead(&self) -> MutexGuard<'_, OutOfOrder> {
        self.ahead.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::NewRows;

    #[test]
    fn a_row_is_readable_once_it_and_all_lower_ones_are_acknowledged() {
        let rows = NewRows::new(10);
        let new: Vec<u64> = (0..4).map(|_| rows.next()).collect();
        assert_eq!(new, [10, 11, 12, 13]);
        rows.acknowledge(11);
        rows.acknowledge(13);
        assert_eq!(rows.readable(), 10);
        rows.acknowledge(10);
        assert_eq!(rows.readable(), 12);
        rows.lose(12);
        assert_eq!(rows.readable(), 14);
        assert!(rows.is_unknown(12) && !rows.is_unknown(13));
        rows.reset(10);
        assert_eq!((rows.next(), rows.readable()), (10, 10));
        assert!(!rows.is_unknown(12));
    }
}
