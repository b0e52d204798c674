//! Eviction: pages leave memory when a store that may be larger than its cache needs room.
//!
//! Only clean leaves and clean long values leave: their images are in the data file, so that evicting one
//! writes nothing. Inner nodes stay; they are a small part of a store. Changed pages become clean by
//! checkpoints, and writers wait for those before changed pages fill the cache (`txn::reclaim`).
//!
//! The victims are chosen by a clock: a hand goes around over all page numbers, clears the reference bits of
//! the pages that it passes, and evicts those whose bit was clear. A thread that reads or changes a page sets
//! its bit, unless it is set.
//!
//! A leaf that leaves memory leaves *evidence*: its counter, and the newest commit that any of its words
//! names. The words of an image never change, so a reader that finds the counter which it has recorded, and
//! no newer commit than its read point, knows that nothing that it has read there has changed. So the final
//! validation of a commit needs no page that is out, and loads none. A leaf that comes back gets its counter
//! back: it is as it left, since the ghosts that loading removes from an image are the same each time.
//!
//! Invariants:
//! 1. A leaf is evicted under its exclusive latch, which makes it *gone* like a freed one: a thread that
//!    waited for the latch looks the page up again. No thread that holds a leaf's frame may assume that it
//!    stays, except while it holds the latch or a lock on one of the leaf's rows.
//! 2. A page is evicted only if its image belongs to the root in force: it has not changed since it was
//!    captured or loaded, and the checkpoint that captured it is in force.
//! 3. A leaf with a locked row is not evicted, so a commit finds the pages of its rows in memory until it
//!    has applied them.
//! 4. Evidence exists while its leaf is on disk, and no longer: it is written before the page leaves the
//!    table, taken back before the page returns, and cleared when the page is freed. The number may then
//!    belong to another page.
//! 5. Eviction waits for nothing and may be called with latches held.
//! 6. A commit or a read that needs several pages at once would otherwise evict one to load the other, for
//!    ever. It loads them by an [`EvictionHold`]: for as long as that lives, the cap is higher by what was
//!    loaded so.
//! 7. If a whole turn of the hand finds no victim, the next calls do not look for one, in proportion to what
//!    the turn has cost, or until a checkpoint has made pages clean.

use super::frame::{Body, Frame};
use super::leaf::Leaf;
use super::miss::Miss;
use super::page_snapshot::PageSnapshots;
use super::page_table::PageTable;
use super::pages::Buffer;
use super::translation::PageState;
use crate::error::Result;
use crate::ids::{Csn, PageId};
use crate::planted_bug::{PlantedBug, planted};
use crate::sync::rank::EVICTION;
use crate::sync::ranked::Mutex;
use crossbeam_epoch::Guard;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Pages that one call evicts beyond the need, so that not every load has to evict.
const BATCH_PAGES: u64 = 16;

/// Part of the cap that a batch may free at most: small caches hold few pages.
const BATCH_PART: u64 = 16;

/// Entries of the table of pages that a call may search in vain, on average.
const ENTRIES_A_CALL: u64 = 32;

/// The state of eviction.
pub(super) struct Eviction {
    /// The page number that the clock's hand has reached.
    hand: Mutex<u64, EVICTION>,
    evidence: PageTable<AtomicEvidence>,
    /// Bytes of pages that were loaded by holds.
    held_bytes: AtomicU64,
    /// Calls that will not look for victims, since there are hardly any.
    skips: AtomicU64,
    evicted: AtomicU64,
    /// Recovery changes pages that no checkpoint makes clean: it may pass the cap.
    passes_cap: AtomicBool,
}

#[derive(Debug, Default)]
struct AtomicEvidence {
    /// Zero: there is none.
    counter: AtomicU64,
    newest: AtomicU64,
}

/// What is known about a leaf that is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// Its counter when it left memory.
    pub(crate) counter: u64,
    /// The newest commit that a word in it names.
    pub(crate) newest: Csn,
}

impl Eviction {
    pub(super) fn new() -> Eviction {
        Eviction {
            hand: Mutex::new(0),
            evidence: PageTable::new(),
            held_bytes: AtomicU64::new(0),
            skips: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
            passes_cap: AtomicBool::new(false),
        }
    }

    /// Memory of the evidence, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.evidence.bytes()
    }

    /// Removes a page's evidence and returns its counter, if there was any: the page comes back, or is freed.
    pub(super) fn take_counter(&self, page: PageId) -> Option<u64> {
        let evidence = self.evidence.get(page)?;
        if planted(PlantedBug::KeepEvidence) {
            let counter = evidence.counter.load(Ordering::Acquire);
            return (counter != 0).then_some(counter);
        }
        let counter = evidence.counter.swap(0, Ordering::AcqRel);
        (counter != 0).then_some(counter)
    }

    pub(super) fn leave(&self, page: PageId, leaf: &Leaf) {
        let newest = (0..leaf.count()).map(|slot| leaf.word(slot).csn()).max();
        let newest = newest.filter(|_| !planted(PlantedBug::EvidenceWithoutNewest));
        let evidence = self.evidence.entry(page);
        evidence.newest.store(newest.unwrap_or(Csn::ZERO).0, Ordering::Release);
        evidence.counter.store(leaf.counter(), Ordering::Release);
    }
}

/// Loads several pages that are needed at once: until it is dropped, they do not force each other out.
#[must_use = "dropping it lets the pages be evicted again"]
pub(crate) struct EvictionHold<'b> {
    buffer: &'b Buffer,
    bytes: u64,
}

impl EvictionHold<'_> {
    /// As [`Buffer::load`].
    pub(crate) fn load(&mut self, miss: Miss) -> Result<()> {
        let bytes = self.buffer.loaded_bytes_of(miss.0);
        self.bytes += bytes;
        self.buffer.eviction.held_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.buffer.load(miss)
    }
}

impl Drop for EvictionHold<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.buffer.eviction.held_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

impl Buffer {
    /// True if pages may be evicted: the store may be larger than its cache.
    #[inline]
    pub(crate) fn evicts(&self) -> bool {
        self.evicts
    }

    /// For a caller that needs several pages at once.
    pub(crate) fn hold_eviction(&self) -> EvictionHold<'_> {
        EvictionHold { buffer: self, bytes: 0 }
    }

    /// Lets changed pages pass the cap, or ends that: recovery cannot make them clean.
    pub(crate) fn set_passes_cap(&self, passes_cap: bool) {
        self.eviction.passes_cap.store(passes_cap, Ordering::Relaxed);
    }

    /// The most memory for pages now, in bytes: eviction aims at it, and new pages are refused beyond it.
    pub(super) fn cap_bytes(&self) -> u64 {
        let (eviction, max) = (&self.eviction, self.resident_bytes_max);
        if !self.evicts {
            return max;
        }
        if eviction.passes_cap.load(Ordering::Relaxed) {
            return u64::MAX;
        }
        max.saturating_add(eviction.held_bytes.load(Ordering::Relaxed))
    }

    /// Pages evicted so far.
    pub(crate) fn evicted(&self) -> u64 {
        self.eviction.evicted.load(Ordering::Relaxed)
    }

    /// The evidence that a leaf has left; none if it is resident, or if its keys are not known to be those of
    /// any earlier time.
    pub(crate) fn evidence(&self, page: PageId) -> Option<Evidence> {
        let evidence = self.eviction.evidence.get(page)?;
        if !self.is_on_disk(page) {
            return None;
        }
        // If the page has come back and left again meanwhile, the commit is only newer.
        let counter = evidence.counter.load(Ordering::Acquire);
        let newest = Csn(evidence.newest.load(Ordering::Acquire));
        (counter != 0).then_some(Evidence { counter, newest })
    }

    /// True if pages have changed since the last snapshot, or a snapshot is being captured.
    pub(crate) fn has_changed(&self) -> bool {
        self.snapshots.changed_bytes() > 0
    }

    /// True if changed pages, which cannot be evicted, fill more than half of the cache.
    #[inline]
    pub(crate) fn has_many_changed(&self) -> bool {
        self.evicts && self.snapshots.changed_bytes() > self.resident_bytes_max / 2
    }

    /// True if a checkpoint should begin, before changed pages fill so much of the cache that writers wait.
    pub(crate) fn wants_checkpoint(&self) -> bool {
        self.evicts && self.snapshots.changed_bytes() > self.resident_bytes_max / 4
    }

    /// True if a running checkpoint should hurry: changed pages will soon fill so much of the cache that
    /// writers wait.
    pub(crate) fn changed_pages_press(&self) -> bool {
        self.evicts && self.snapshots.changed_bytes() > self.resident_bytes_max / 8 * 3
    }

    /// True if there is evidence of a page, in use or not.
    #[cfg(test)]
    pub(super) fn has_evidence(&self, page: PageId) -> bool {
        let evidence = self.eviction.evidence.get(page);
        evidence.is_some_and(|evidence| evidence.counter.load(Ordering::Acquire) != 0)
    }

    /// Evicts pages until `bytes` more bytes fit below the cap, if there are enough that may leave.
    pub(crate) fn evict_for(&self, bytes: u64) {
        if !self.evicts {
            return;
        }
        let held = self.eviction.held_bytes.load(Ordering::Relaxed);
        let promised = self.promised_bytes.load(Ordering::Relaxed);
        let over = (self.capped_bytes() + promised + bytes)
            .saturating_sub(self.resident_bytes_max.saturating_add(held));
        if over > 0 && !self.skip_eviction() {
            let batch = BATCH_PAGES * self.frame_bytes();
            self.evict(over + batch.min(self.resident_bytes_max / BATCH_PART));
        }
    }

    /// True if the last search found so little that this one would, too.
    fn skip_eviction(&self) -> bool {
        let skips = &self.eviction.skips;
        let one_less = |left: u64| left.checked_sub(1);
        skips.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    /// Pages have become clean: eviction looks for victims again.
    pub(super) fn resume_eviction(&self) {
        self.eviction.skips.store(0, Ordering::Relaxed);
    }

    /// Evicts pages of about that many bytes, in one or two turns of the hand.
    fn evict(&self, bytes: u64) {
        let end = self.page_allocator.lock().next().0;
        // The thread that holds it evicts.
        let Some(mut hand) = self.eviction.hand.try_lock() else {
            return;
        };
        let guard = super::pin();
        let mut freed = 0;
        for _ in 0..2 * end {
            if freed >= bytes {
                break;
            }
            *hand = if *hand + 1 >= end { 1 } else { *hand + 1 };
            let page = PageId(*hand);
            if let PageState::Resident(frame) = self.translation.state(page, &guard) {
                freed += self.evict_page(page, frame, &guard).unwrap_or(0);
            }
        }
        if freed == 0 {
            self.eviction.skips.store(end / ENTRIES_A_CALL, Ordering::Relaxed);
        }
        guard.flush();
    }

    /// Evicts a page if it may leave now. Returns the bytes that it took.
    fn evict_page(&self, page: PageId, frame: &Frame, guard: &Guard) -> Option<u64> {
        if !self.snapshots.is_evictable(frame) {
            return None;
        }
        match &frame.body {
            Body::Inner(_) => return None,
            Body::Leaf(latch) => {
                let mut leaf = latch.try_write()?;
                if leaf.is_gone() || leaf.take_reference() || !self.snapshots.is_evictable(frame) {
                    return None;
                }
                if Leaf::has_locked_row(leaf.image()) && !planted(PlantedBug::EvictLocked) {
                    return None;
                }
                self.eviction.leave(page, &leaf);
                let left = self.translation.evict(page, frame, true, guard);
                assert!(left, "{page} is replaced only under its latch");
                self.spare_leaves.keep(leaf.leave());
            }
            Body::Value(_) => {
                if !self.translation.evict(page, frame, false, guard) {
                    return None;
                }
            }
        }
        self.eviction.evicted.fetch_add(1, Ordering::Relaxed);
        Some(self.account.bytes_of(frame))
    }
}

impl PageSnapshots {
    /// True if the page's image belongs to the root in force.
    fn is_evictable(&self, frame: &Frame) -> bool {
        let modified_in = frame.modified_in.load(Ordering::Acquire);
        self.is_clean(modified_in) || planted(PlantedBug::EvictDirty) && !frame.is_detached()
    }
}
