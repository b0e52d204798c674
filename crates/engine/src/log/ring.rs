//! The ring: where commits take their number, and where their finished records wait for the writer.
//!
//! A slot belongs to csn `c` when `published == c`; slot `c % N` is free for `c` once the durable LSN has
//! reached `c - N`. The steps of a commit:
//! - *claim* (while preparing; may be refused): room for one record in the ring and in prepared segments;
//! - *take a number*: `next` increases, which fixes the commit's position in the order;
//! - *publish*: the record is swapped into the slot, then `published` names its commit;
//! - *drain*: the writer reads the published records in order, up to the first gap;
//! - *complete*: the durable LSN has passed; the slot's waker is woken and the claim returned.
//!
//! Invariants:
//! 1. Every number taken holds a claim, and claims are returned only for numbers at or below the durable LSN.
//!    So when `c` is taken the durable LSN has reached `c - N`: its slot is free, and nothing waits between
//!    taking a number and publishing.
//! 2. The bytes of all claims fit into what the prepared segments have left, even if each record is written
//!    in a frame of its own.
//! 3. A slot's mutex is held only for a swap, a copy or a waker; by 1 and `published` never for long, and
//!    never while another slot's mutex is held.
//! 4. Buffers are swapped, not copied: publishing allocates nothing once they have grown. The writer takes
//!    the buffers out and returns them to their thread slot: only a few are in use, and they stay in the
//!    cache of the core that fills them.

use crate::ids::Csn;
use crate::log::frame::Kind;
use crate::log::waiters::Waiters;
use crate::panics;
use crate::planted_bug::{PlantedBug, planted};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::rank::SLOT;
use crate::sync::ranked::StdMutex;
use crate::thread_slot;
use crossbeam_utils::CachePadded;
use std::task::Waker;

/// Larger buffers are freed once written.
const BUFFER_BYTES_KEPT: usize = 64 << 10;

/// `claimed` holds records above this bit and bytes below it.
const RECORDS_SHIFT: u32 = 40;
const BYTES_MASK: u64 = (1 << RECORDS_SHIFT) - 1;

/// The worker number of callers without a worker.
pub(super) const NO_WORKER: u32 = u32::MAX;

#[derive(Debug)]
#[repr(align(64))]
struct Slot {
    published: AtomicU64,
    content: StdMutex<Content, SLOT>,
}

#[derive(Debug)]
struct Content {
    record: Vec<u8>,
    waiters: Waiters,
    kind: Kind,
    /// The thread slot that the buffer came from.
    thread_slot: u32,
}

/// A ring of slots, one per commit under way, and the counters by which commits claim them.
#[derive(Debug)]
pub(super) struct Ring {
    slots: Box<[Slot]>,
    mask: u64,
    next: CachePadded<AtomicU64>,
    claimed: CachePadded<AtomicU64>,
    space_bytes: CachePadded<AtomicU64>,
    /// The same including the reserve for deletes, see [`Ring::claim_reserve`].
    all_space_bytes: CachePadded<AtomicU64>,
    /// A lower bound of the contiguous published prefix; advanced by callers of `published_prefix`.
    prefix: CachePadded<AtomicU64>,
}

/// Why a claim was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimError {
    /// Every slot is taken.
    Slots,
    /// The prepared segments are full.
    Space,
}

/// The record that [`Ring::drain`] passes to its closure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Published<'a> {
    pub(super) kind: Kind,
    pub(super) content: &'a [u8],
}

impl Ring {
    /// A ring of `records` slots whose first number is `first`.
    pub(super) fn new(records: u32, first: Csn) -> Ring {
        let slot = |_| Slot {
            published: AtomicU64::new(0),
            content: StdMutex::new(Content {
                record: Vec::new(),
                waiters: Waiters::default(),
                kind: Kind::Void,
                thread_slot: 0,
            }),
        };
        Ring {
            slots: (0..records).map(slot).collect(),
            mask: u64::from(records) - 1,
            next: CachePadded::new(AtomicU64::new(first.0)),
            claimed: CachePadded::default(),
            space_bytes: CachePadded::default(),
            all_space_bytes: CachePadded::default(),
            prefix: CachePadded::new(AtomicU64::new(first.0 - 1)),
        }
    }

    /// Claims a slot and `bytes` of log.
    #[inline]
    pub(super) fn claim(&self, bytes: u64) -> Result<(), ClaimError> {
        self.claim_in(&self.space_bytes, bytes)
    }

    /// The same, but may use the reserve.
    pub(super) fn claim_reserve(&self, bytes: u64) -> Result<(), ClaimError> {
        self.claim_in(&self.all_space_bytes, bytes)
    }

    #[inline]
    fn claim_in(&self, space_bytes: &CachePadded<AtomicU64>, bytes: u64) -> Result<(), ClaimError> {
        let claim = 1 << RECORDS_SHIFT | bytes;
        let claimed = self.claimed.fetch_add(claim, Ordering::AcqRel) + claim;
        let lack = if claimed >> RECORDS_SHIFT > self.slots.len() as u64 {
            ClaimError::Slots
        } else if claimed & BYTES_MASK > space_bytes.load(Ordering::Acquire) {
            ClaimError::Space
        } else {
            return Ok(());
        };
        self.claimed.fetch_sub(claim, Ordering::AcqRel);
        Err(lack)
    }

    /// Returns an unused claim.
    pub(super) fn unclaim(&self, bytes: u64) {
        let claim = 1 << RECORDS_SHIFT | bytes;
        self.claimed.fetch_sub(claim, Ordering::AcqRel);
    }

    /// Returns the bytes of records that are now in a frame.
    pub(super) fn bytes_written(&self, bytes: u64) {
        self.claimed.fetch_sub(bytes, Ordering::AcqRel);
    }

    /// Sets how many bytes the prepared segments have left, all of which may be claimed.
    #[cfg(test)]
    pub(super) fn set_space(&self, bytes: u64) {
        self.set_space_and_reserve(bytes, 0);
    }

    /// Sets how many bytes the prepared segments have left, and how many of them are the reserve.
    pub(super) fn set_space_and_reserve(&self, bytes: u64, reserve_bytes: u64) {
        let without = bytes.saturating_sub(reserve_bytes);
        self.space_bytes.store(without, Ordering::Release);
        self.all_space_bytes.store(bytes, Ordering::Release);
    }

    /// Takes the next number. The caller holds a claim.
    #[inline]
    pub(super) fn take(&self) -> Csn {
        Csn(self.next.fetch_add(1, Ordering::AcqRel))
    }

    /// The number that will be taken next.
    pub(super) fn next(&self) -> Csn {
        Csn(self.next.load(Ordering::Acquire))
    }

    /// Publishes a finished record and leaves in `record` an empty buffer that was used before.
    #[inline]
    pub(super) fn publish(&self, csn: Csn, kind: Kind, record: &mut Vec<u8>) {
        let slot = self.slot(csn);
        let before = {
            let mut content = slot.content.lock();
            std::mem::swap(&mut content.record, record);
            content.kind = kind;
            content.thread_slot = thread_slot::own();
            slot.published.store(csn.0, Ordering::Release);
            if content.waiters.is_empty() {
                None
            } else {
                Some(std::mem::take(&mut content.waiters))
            }
        };
        record.clear();
        // The commit that had the slot is complete (invariant 1), but its driver may not yet have reached its
        // wakers while a later group has already returned claims.
        let Some(mut before) = before else { return };
        while let Some((waker, _)) = before.take() {
            if planted(PlantedBug::ForgetWaiters) {
                continue;
            }
            panics::wake(waker);
        }
    }

    /// True if the record is published and its slot has not been reused since.
    #[inline]
    pub(super) fn is_published(&self, csn: Csn) -> bool {
        self.slot(csn).published.load(Ordering::Acquire) == csn.0
    }

    /// A lower bound of the contiguous published prefix.
    #[inline]
    pub(super) fn known_prefix(&self) -> Csn {
        Csn(self.prefix.load(Ordering::Acquire))
    }

    /// The last commit of the contiguous published prefix, given a durable LSN read before: the prefix is
    /// never behind it, and only above it do slots still name their commit. If slots are reused during the
    /// call the result may be outdated, but never below that durable LSN.
    #[inline]
    pub(super) fn published_prefix(&self, durable_lsn: Csn) -> Csn {
        let known = self.prefix.load(Ordering::Acquire);
        let mut last = Csn(known.max(durable_lsn.0));
        while self.is_published(last.next()) {
            last = last.next();
        }
        if last.0 > known {
            self.prefix.fetch_max(last.0, Ordering::AcqRel);
        }
        last
    }

    /// Passes a published record to `read`; none if it is not published yet.
    #[inline]
    pub(super) fn drain<R>(&self, csn: Csn, read: impl FnOnce(Published<'_>) -> R) -> Option<R> {
        if !self.is_published(csn) {
            return None;
        }
        let content = self.slot(csn).content.lock();
        Some(read(Published { kind: content.kind, content: &content.record }))
    }

    /// Registers a waker for a commit's completion; `name` is the result of an earlier call, whose waker is
    /// then replaced. The caller must check the durable LSN once more afterwards: otherwise a wake-up can be
    /// lost.
    pub(super) fn register(
        &self,
        csn: Csn,
        worker: u32,
        waker: &Waker,
        name: Option<u64>,
    ) -> Option<u64> {
        let slot = self.slot(csn);
        let mut content = slot.content.lock();
        // If the slot belongs to a later commit, this one is complete, and the caller will see that.
        if slot.published.load(Ordering::Acquire) != csn.0 {
            return None;
        }
        Some(content.waiters.add(worker, waker, name))
    }

    /// Removes the waker with that name: its ticket is no longer awaited.
    pub(super) fn deregister(&self, csn: Csn, name: Option<u64>) {
        let slot = self.slot(csn);
        let mut content = slot.content.lock();
        if slot.published.load(Ordering::Acquire) == csn.0 {
            content.waiters.remove(name);
        }
    }

    /// Takes one waker of a commit, with the worker it belongs to.
    #[inline]
    pub(super) fn take_waker(&self, csn: Csn) -> Option<(Waker, u32)> {
        let slot = self.slot(csn);
        let mut content = slot.content.lock();
        if slot.published.load(Ordering::Acquire) != csn.0 {
            return None;
        }
        content.waiters.take()
    }

    /// Frees the slots of complete commits, after their wakers were taken.
    pub(super) fn complete(&self, commits: u64) {
        self.claimed.fetch_sub(commits << RECORDS_SHIFT, Ordering::AcqRel);
    }

    /// Takes the buffer of a drained record, not emptied, with the thread slot that it belongs to; none if
    /// the record was unusually long, whose memory is freed.
    pub(super) fn take_buffer(&self, csn: Csn) -> Option<(u32, Vec<u8>)> {
        let mut content = self.slot(csn).content.lock();
        let buffer = std::mem::take(&mut content.record);
        (1..=BUFFER_BYTES_KEPT)
            .contains(&buffer.capacity())
            .then_some((content.thread_slot, buffer))
    }

    #[inline]
    fn slot(&self, csn: Csn) -> &Slot {
        &self.slots[(csn.0 & self.mask) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::{ClaimError, NO_WORKER, Ring};
    use crate::ids::Csn;
    use crate::log::frame::Kind;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::task::{Wake, Waker};

    fn published(ring: &Ring, csn: Csn) -> Option<Vec<u8>> {
        ring.drain(csn, |record| record.content.to_vec())
    }

    #[test]
    fn records_come_out_under_their_numbers_and_buffers_are_swapped() {
        let ring = Ring::new(8, Csn(5));
        ring.set_space(1 << 20);
        let mut record = Vec::new();
        for round in 0..20_u64 {
            ring.claim(512).unwrap();
            let csn = ring.take();
            assert_eq!(csn, Csn(5 + round));
            assert_eq!(published(&ring, csn), None);
            record.extend_from_slice(&round.to_le_bytes());
            ring.publish(csn, Kind::Transaction, &mut record);
            assert!(record.is_empty());
            // After one round of the ring the returned buffer has been used before.
            assert_eq!(record.capacity() >= 8, round >= 8, "round {round}");
            assert_eq!(published(&ring, csn).unwrap(), round.to_le_bytes());
            ring.bytes_written(512);
            ring.complete(1);
        }
    }

    #[test]
    fn the_published_prefix_ends_before_the_first_gap_and_survives_slots_used_again() {
        let ring = Ring::new(8, Csn(5));
        ring.set_space(1 << 20);
        let publish = |csn| ring.publish(csn, Kind::Transaction, &mut Vec::new());
        let take = || {
            ring.claim(512).unwrap();
            ring.take()
        };
        assert_eq!(ring.published_prefix(Csn(4)), Csn(4));
        let (first, second, third) = (take(), take(), take());
        publish(second);
        assert_eq!(ring.published_prefix(Csn(4)), Csn(4));
        publish(first);
        assert_eq!(ring.published_prefix(Csn(4)), second);
        publish(third);
        assert_eq!(ring.published_prefix(Csn(4)), third);
        for complete in [3, 5] {
            ring.complete(complete);
            (0..5).for_each(|_| publish(take()));
        }
        // No caller asked while all eight slots went to later commits: the search starts at the durable LSN.
        assert_eq!(ring.next(), Csn(18));
        assert_eq!(ring.published_prefix(Csn(12)), Csn(17));
    }

    #[test]
    fn every_waiter_of_a_commit_is_woken_unless_it_deregistered() {
        struct Count(AtomicU64);
        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let count = || Arc::new(Count(AtomicU64::new(0)));
        let counts = [count(), count(), count()];
        let wakers = counts.each_ref().map(|count| Waker::from(Arc::clone(count)));
        let ring = Ring::new(8, Csn(1));
        ring.set_space(1 << 20);
        ring.claim(512).unwrap();
        let csn = ring.take();
        assert_eq!(ring.register(csn, NO_WORKER, &wakers[0], None), None);
        ring.publish(csn, Kind::Transaction, &mut Vec::new());
        let names = wakers.each_ref().map(|waker| ring.register(csn, 3, waker, None));
        assert_eq!(ring.register(csn, 3, &wakers[1], names[1]), names[1]);
        ring.deregister(csn, names[2]);
        while let Some((waker, worker)) = ring.take_waker(csn) {
            assert_eq!(worker, 3);
            waker.wake();
        }
        let woken = counts.each_ref().map(|count| count.0.load(Ordering::SeqCst));
        assert_eq!(woken, [1, 1, 0]);
    }

    #[test]
    fn claims_end_where_slots_or_space_end_and_come_back() {
        let ring = Ring::new(8, Csn(1));
        ring.set_space(1000);
        assert_eq!(ring.claim(1001), Err(ClaimError::Space));
        for _ in 0..8 {
            ring.claim(100).unwrap();
        }
        assert_eq!(ring.claim(1), Err(ClaimError::Slots));
        ring.unclaim(100);
        assert_eq!(ring.claim(301), Err(ClaimError::Space));
        ring.claim(300).unwrap();
        ring.bytes_written(300);
        assert_eq!(ring.claim(100), Err(ClaimError::Slots));
        ring.complete(8);
        ring.claim(300).unwrap();
    }
}
