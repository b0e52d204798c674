//! What the clients of a run share: the number of the next new row, and up to which row all inserts
//! were acknowledged.
//!
//! Invariants:
//! 1. Every row below `readable` was loaded, or its insert was acknowledged or is of unknown outcome.
//! 2. A number is given once; what was undone its client uses again.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module.
#[derive(Debug)]
pub(crate) struct NewRows {
    next: AtomicU64,
    readable: AtomicU64,
    ahead: Mutex<OutOfOrder>,
}

#[derive(Debug, Default)]
struct OutOfOrder {
    /// Rows that were acknowledged before all below them were.
    acknowledged: BTreeSet<u64>,
    /// Rows of which nobody knows whether they are there.
    unknown: BTreeSet<u64>,
}

impl NewRows {
    /// Of that many loaded rows.
    pub(crate) fn new(records: u64) -> NewRows {
        NewRows {
            next: AtomicU64::new(records),
            readable: AtomicU64::new(records),
            ahead: Mutex::new(OutOfOrder::default()),
        }
    }

    /// Forgets what was inserted.
    pub(crate) fn reset(&self, records: u64) {
        *self.ahead() = OutOfOrder::default();
        self.next.store(records, Ordering::Relaxed);
        self.readable.store(records, Ordering::Relaxed);
    }

    /// How many rows can be asked for: those numbered below.
    #[inline]
    pub(crate) fn readable(&self) -> u64 {
        self.readable.load(Ordering::Relaxed)
    }

    /// The number of a new row.
    pub(crate) fn next(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A new row's insert was acknowledged.
    pub(crate) fn acknowledge(&self, number: u64) {
        let mut ahead = self.ahead();
        ahead.acknowledged.insert(number);
        let mut readable = self.readable();
        while ahead.acknowledged.remove(&readable) {
            readable += 1;
        }
        self.readable.store(readable, Ordering::Relaxed);
    }

    /// Nobody knows whether a new row is there. It can be asked for, or the rows behind it never could.
    pub(crate) fn lose(&self, number: u64) {
        self.ahead().unknown.insert(number);
        self.acknowledge(number);
    }

    /// True if nobody knows whether that row is there.
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
    fn a_row_is_readable_when_it_and_all_below_were_acknowledged() {
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
