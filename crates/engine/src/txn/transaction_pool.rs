//! The memory of transactions that are over, for those that begin next.
//!
//! What a transaction works with is some tens of kilobytes: its arena, its sets, its record. A thread that
//! runs many sessions in turn would bring each one's into its core's cache and drive another's out. So a
//! session has memory from its begin to its end only, and the thread's next begin gets what was in use last.
//!
//! No cap counts this memory, so it has bounds: a transaction keeps up to [`BYTES_KEPT`] of each of its
//! parts, and a thread slot up to [`LANE_BYTES_MAX`] of all that are idle. What is beyond goes to the
//! allocator.

use crate::sync::rank::IDLE;
use crate::sync::ranked::Mutex;
use crate::txn::transaction::Transaction;
use crossbeam_utils::CachePadded;

/// How many thread slots there are; threads beyond that share them.
const THREAD_SLOTS: usize = 8;

/// So many a thread slot keeps: more transactions than that are seldom open at once on a thread.
const KEPT_MAX: usize = 256;

/// So many bytes a thread slot keeps.
const LANE_BYTES_MAX: usize = 16 << 20;

/// So many bytes of memory a part of a transaction keeps for the next one.
pub(super) const BYTES_KEPT: usize = 1 << 20;

/// See the module.
#[derive(Default)]
pub(super) struct TransactionPool {
    thread_slots: [CachePadded<Mutex<PooledTransactions, IDLE>>; THREAD_SLOTS],
}

#[derive(Default)]
struct PooledTransactions {
    /// Each with the bytes that it keeps.
    transactions: Vec<(usize, Box<Transaction>)>,
    bytes: usize,
}

impl TransactionPool {
    /// Memory for a transaction of that thread slot, as new.
    #[inline]
    pub(super) fn take(&self, thread_slot: u32) -> Box<Transaction> {
        let mut kept = self.thread_slot(thread_slot).lock();
        let Some((bytes, transaction)) = kept.transactions.pop() else {
            return Box::default();
        };
        kept.bytes -= bytes;
        transaction
    }

    /// Clears a transaction that is over and takes its memory back.
    #[inline]
    pub(super) fn give(&self, thread_slot: u32, mut transaction: Box<Transaction>) {
        let bytes = transaction.clear();
        let mut kept = self.thread_slot(thread_slot).lock();
        if kept.transactions.len() < KEPT_MAX && kept.bytes + bytes <= LANE_BYTES_MAX {
            kept.transactions.push((bytes, transaction));
            kept.bytes += bytes;
        }
    }

    #[inline]
    fn thread_slot(&self, thread_slot: u32) -> &Mutex<PooledTransactions, IDLE> {
        &self.thread_slots[thread_slot as usize % THREAD_SLOTS]
    }
}

/// Empties a part of a transaction and returns its memory in bytes. More than [`BYTES_KEPT`] goes to the
/// allocator.
#[inline]
pub(super) fn clear<T>(part: &mut Vec<T>) -> usize {
    part.clear();
    let bytes = part.capacity() * size_of::<T>();
    if bytes <= BYTES_KEPT {
        return bytes;
    }
    *part = Vec::new();
    0
}

#[cfg(test)]
mod tests {
    use super::{BYTES_KEPT, KEPT_MAX, LANE_BYTES_MAX, TransactionPool};

    #[test]
    fn what_was_in_use_last_is_used_next_and_not_all_is_kept() {
        let idle = TransactionPool::default();
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
        assert_eq!(idle.thread_slot(1).lock().transactions.len(), KEPT_MAX);
    }

    /// Write sets and records kept all memory that they had ever needed, in 256 idle transactions a thread
    /// slot.
    #[test]
    fn what_idle_transactions_keep_is_bounded() {
        let idle = TransactionPool::default();
        let mut all: Vec<_> = (0..64).map(|_| idle.take(1)).collect();
        for one in &mut all {
            one.commit.record = Vec::with_capacity(BYTES_KEPT);
            one.value = Vec::with_capacity(BYTES_KEPT - 1);
            one.elsewhere = Vec::with_capacity(8 * BYTES_KEPT);
            one.commit.behind_rows = Vec::with_capacity(64 * BYTES_KEPT);
            one.commit.before_rows = vec![0];
            let bytes = one.clear();
            assert_eq!(bytes, 2 * BYTES_KEPT, "what is more was given back");
        }
        for one in all {
            idle.give(1, one);
        }
        let kept = idle.thread_slot(1).lock().bytes;
        assert_eq!(kept, LANE_BYTES_MAX);
        let mut taken: Vec<_> = (0..9).map(|_| idle.take(1)).collect();
        assert_eq!(idle.thread_slot(1).lock().bytes, 0);
        let bytes: usize = taken.iter_mut().map(|one| one.clear()).sum();
        assert_eq!(bytes, kept);
    }
}
