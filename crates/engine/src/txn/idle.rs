//! The memory of transactions that are over, for those that begin next.
//!
//! What a transaction works with is some tens of kilobytes: its arena, its sets, its record. A thread that
//! runs many sessions in turn would bring each one's into its core's cache and drive another's out. So a
//! session has memory from its begin to its end only, and the thread's next begin gets what was in use last.

use crate::sync::parking::Mutex;
use crate::txn::transaction::Transaction;

/// How many lanes there are; threads beyond that share them.
const LANES: usize = 8;

/// So many a lane keeps: more transactions than that are seldom open at once on a thread.
const KEPT_MAX: usize = 256;

/// See the module.
#[derive(Default)]
pub(super) struct Idle {
    lanes: [Lane; LANES],
}

#[derive(Default)]
#[repr(align(128))]
#[allow(
    clippy::vec_box,
    reason = "what is handed out is a pointer, not a kilobyte"
)]
struct Lane(Mutex<Vec<Box<Transaction>>>);

impl Idle {
    /// Memory for a transaction of that lane, as new.
    #[inline]
    pub(super) fn take(&self, lane: u32) -> Box<Transaction> {
        self.lane(lane).lock().pop().unwrap_or_default()
    }

    /// Takes the memory of a transaction back that was cleared.
    #[inline]
    pub(super) fn give(&self, lane: u32, transaction: Box<Transaction>) {
        let mut kept = self.lane(lane).lock();
        if kept.len() < KEPT_MAX {
            kept.push(transaction);
        }
    }

    #[inline]
    #[allow(clippy::vec_box, reason = "as above")]
    fn lane(&self, lane: u32) -> &Mutex<Vec<Box<Transaction>>> {
        &self.lanes[lane as usize % LANES].0
    }
}

#[cfg(test)]
mod tests {
    use super::{Idle, KEPT_MAX};

    #[test]
    fn what_was_in_use_last_is_used_next_and_not_all_is_kept() {
        let idle = Idle::default();
        let (one, other) = (idle.take(0), idle.take(0));
        let (first, last) = (&raw const *one, &raw const *other);
        idle.give(0, one);
        idle.give(0, other);
        assert_eq!(&raw const *idle.take(0), last);
        assert_eq!(&raw const *idle.take(0), first);
        let many: Vec<_> = (0..2 * KEPT_MAX).map(|_| idle.take(1)).collect();
        for one in many {
            idle.give(1, one);
        }
        assert_eq!(idle.lane(1).lock().len(), KEPT_MAX);
    }
}
