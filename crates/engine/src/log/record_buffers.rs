//! Pools of log record buffers, one per thread slot.
//!
//! The committing thread builds a record, and the thread that writes the log reads it. With a single pool, a
//! thread got the buffer that another core had filled last, and waited for each of its cache lines; and each
//! commit took the pool's lock from the previous commit's core. So a buffer returns to the thread slot that
//! it came from.

use crate::sync::IS_MODEL;
use crate::sync::rank::BUFFERS;
use crate::sync::ranked::{StdMutex, StdMutexGuard};
use crate::thread_slot;
use crossbeam_utils::CachePadded;

/// The number of thread slots with a pool of their own; threads beyond that share them.
const THREAD_SLOTS: usize = if IS_MODEL { 1 } else { 8 };

/// Buffers kept per thread slot: more than its commits usually have in flight at once.
const KEPT_MAX: usize = 2048;

/// Bytes kept per thread slot, since no cap counts them.
const KEPT_BYTES_MAX: usize = 8 << 20;

/// Buffers of records that are in frames, by the thread slot that filled them.
#[derive(Debug, Default)]
pub(super) struct RecordBuffers {
    thread_slots: [Vec<Vec<u8>>; THREAD_SLOTS],
}

impl RecordBuffers {
    /// Adds the buffer of a thread slot, if there is one.
    #[inline]
    pub(super) fn add(&mut self, buffer: Option<(u32, Vec<u8>)>) {
        if let Some((thread_slot, buffer)) = buffer {
            self.thread_slots[thread_slot as usize % THREAD_SLOTS].push(buffer);
        }
    }
}

/// The buffers that later records reuse.
#[derive(Debug, Default)]
pub(super) struct Pools {
    thread_slots: [CachePadded<StdMutex<Pool, BUFFERS>>; THREAD_SLOTS],
}

#[derive(Debug, Default)]
struct Pool {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl Pools {
    /// Takes back buffers that are no longer in use.
    pub(super) fn keep(&self, buffers: &mut RecordBuffers) {
        for (thread_slot, buffers) in buffers.thread_slots.iter_mut().enumerate() {
            if !buffers.is_empty() {
                let mut kept = self.thread_slot(thread_slot);
                for buffer in buffers.drain(..) {
                    let bytes = kept.bytes + buffer.capacity();
                    if kept.buffers.len() < KEPT_MAX && bytes <= KEPT_BYTES_MAX {
                        kept.bytes = bytes;
                        kept.buffers.push(buffer);
                    }
                }
            }
        }
    }

    /// An empty buffer for the calling thread's next record: the most recently used one.
    #[inline]
    pub(super) fn take(&self) -> Vec<u8> {
        let mut pool = self.thread_slot(thread_slot::own() as usize);
        let Some(mut buffer) = pool.buffers.pop() else {
            return Vec::new();
        };
        pool.bytes -= buffer.capacity();
        drop(pool);
        buffer.clear();
        buffer
    }

    /// A pool that a panicking thread leaves is consistent: single moves change it.
    #[inline]
    fn thread_slot(&self, thread_slot: usize) -> StdMutexGuard<'_, Pool, BUFFERS> {
        self.thread_slots[thread_slot % THREAD_SLOTS].lock()
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT_BYTES_MAX, KEPT_MAX, Pools, RecordBuffers};
    use crate::thread_slot;

    #[test]
    fn a_buffer_goes_back_to_the_thread_slot_that_it_came_from() {
        let (pools, mut drained) = (Pools::default(), RecordBuffers::default());
        let own = thread_slot::own();
        drained.add(Some((own, vec![1; 3])));
        drained.add(None);
        drained.add(Some((own + 1, Vec::with_capacity(1000))));
        drained.add(Some((own, vec![1; 100])));
        pools.keep(&mut drained);
        let capacities = [(); 3].map(|()| {
            let buffer = pools.take();
            assert!(buffer.is_empty(), "it comes back empty");
            buffer.capacity()
        });
        assert_eq!(
            capacities,
            [100, 3, 0],
            "the last one added comes first, and none of another thread slot"
        );
    }

    #[test]
    fn the_number_of_kept_buffers_is_bounded() {
        let (pools, mut drained) = (Pools::default(), RecordBuffers::default());
        for _ in 0..2 * KEPT_MAX {
            drained.add(Some((thread_slot::own(), vec![1; 3])));
        }
        pools.keep(&mut drained);
        let kept = (0..2 * KEPT_MAX).filter(|_| pools.take().capacity() > 0);
        assert_eq!(kept.count(), KEPT_MAX);
    }

    /// Without the bound 2,048 buffers of 64 KiB could be kept for each thread slot.
    #[test]
    fn the_bytes_of_kept_buffers_are_bounded() {
        let (pools, mut drained) = (Pools::default(), RecordBuffers::default());
        for _ in 0..KEPT_MAX {
            drained.add(Some((thread_slot::own(), Vec::with_capacity(64 << 10))));
        }
        pools.keep(&mut drained);
        let kept = (0..KEPT_MAX).map(|_| pools.take().capacity());
        assert_eq!(kept.sum::<usize>(), KEPT_BYTES_MAX);
        assert_eq!(pools.thread_slot(thread_slot::own() as usize).bytes, 0);
    }
}
