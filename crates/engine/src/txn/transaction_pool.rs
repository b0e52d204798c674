//! The memory of finished transactions, for those that begin next.
//!
//! The working memory of a transaction is some tens of kilobytes: its arena, its sets, its record. A thread
//! that runs many sessions in turn would load each one's memory into its core's cache and evict another's. So
//! a session has memory only from its begin to its end, and the thread's next begin reuses the most recent
//! one.
//!
//! No cap counts this memory, so it is bounded: a transaction keeps up to [`BYTES_RETAINED`] of each of its
//! parts, and a thread slot up to [`THREAD_SLOT_BYTES_MAX`] of all idle ones. Everything beyond is freed.

use crate::sync::rank::IDLE;
use crate::sync::ranked::Mutex;
use crate::txn::transaction::Transaction;
use crossbeam_utils::CachePadded;

/// Number of thread slots; more threads than that share them.
const THREAD_SLOTS: usize = 8;

/// Maximum idle transactions of a thread slot: more are seldom open at once on a thread.
const TRANSACTIONS_MAX: usize = 256;

/// Maximum bytes of a thread slot.
const THREAD_SLOT_BYTES_MAX: usize = 16 << 20;

/// Maximum bytes that a part of a transaction keeps for the next one.
pub(super) const BYTES_RETAINED: usize = 1 << 20;

/// Idle transactions by thread slot.
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
    /// A cleared transaction of that thread slot.
    #[inline]
    pub(super) fn take(&self, thread_slot: u32) -> Box<Transaction> {
        let mut pooled = self.thread_slot(thread_slot).lock();
        let Some((bytes, transaction)) = pooled.transactions.pop() else {
            return Box::default();
        };
        pooled.bytes -= bytes;
        transaction
    }

    /// Clears a finished transaction and keeps its memory.
    #[inline]
    pub(super) fn give(&self, thread_slot: u32, mut transaction: Box<Transaction>) {
        let bytes = transaction.clear();
        let mut pooled = self.thread_slot(thread_slot).lock();
        if pooled.transactions.len() < TRANSACTIONS_MAX
            && pooled.bytes + bytes <= THREAD_SLOT_BYTES_MAX
        {
            pooled.transactions.push((bytes, transaction));
            pooled.bytes += bytes;
        }
    }

    #[inline]
    fn thread_slot(&self, thread_slot: u32) -> &Mutex<PooledTransactions, IDLE> {
        &self.thread_slots[thread_slot as usize % THREAD_SLOTS]
    }
}

/// Empties a part of a transaction. Returns the memory that it keeps, in bytes; more than [`BYTES_RETAINED`]
/// is freed.
#[inline]
pub(super) fn clear<T>(part: &mut Vec<T>) -> usize {
    part.clear();
    let bytes = part.capacity() * size_of::<T>();
    if bytes <= BYTES_RETAINED {
        return bytes;
    }
    *part = Vec::new();
    0
}

#[cfg(test)]
mod tests {
    use super::{BYTES_RETAINED, THREAD_SLOT_BYTES_MAX, TRANSACTIONS_MAX, TransactionPool};

    #[test]
    fn the_last_transaction_is_reused_first_and_its_memory_is_bounded() {
        let idle = TransactionPool::default();
        let (one, other) = (idle.take(0), idle.take(0));
        let (first, last) = (&raw const *one, &raw const *other);
        idle.give(0, one);
        idle.give(0, other);
        assert_eq!(&raw const *idle.take(0), last);
        assert_eq!(&raw const *idle.take(0), first);
        let many: Vec<_> = (0..2 * TRANSACTIONS_MAX).map(|_| idle.take(1)).collect();
        for one in many {
            idle.give(1, one);
        }
        assert_eq!(idle.thread_slot(1).lock().transactions.len(), TRANSACTIONS_MAX);
    }

    /// Fault: write sets and records kept all memory that they had ever needed, in 256 idle transactions per
    /// thread slot.
    #[test]
    fn the_memory_of_idle_transactions_is_bounded() {
        let idle = TransactionPool::default();
        let mut all: Vec<_> = (0..64).map(|_| idle.take(1)).collect();
        for one in &mut all {
            one.commit.record = Vec::with_capacity(BYTES_RETAINED);
            one.value = Vec::with_capacity(BYTES_RETAINED - 1);
            one.elsewhere = Vec::with_capacity(8 * BYTES_RETAINED);
            one.commit.behind_rows = Vec::with_capacity(64 * BYTES_RETAINED);
            one.commit.before_rows = vec![0];
            let bytes = one.clear();
            assert_eq!(bytes, 2 * BYTES_RETAINED, "the rest was not freed");
        }
        for one in all {
            idle.give(1, one);
        }
        let pooled = idle.thread_slot(1).lock().bytes;
        assert_eq!(pooled, THREAD_SLOT_BYTES_MAX);
        let mut taken: Vec<_> = (0..9).map(|_| idle.take(1)).collect();
        assert_eq!(idle.thread_slot(1).lock().bytes, 0);
        let bytes: usize = taken.iter_mut().map(|one| one.clear()).sum();
        assert_eq!(bytes, pooled);
    }
}
