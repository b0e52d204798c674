//! The translation table: from a page's number to its frame, without a latch.
//!
//! Chunks double in size and are allocated when first needed: chunk 0 holds the numbers below 1024, chunk c
//! the numbers from 512 * 2^c to 1024 * 2^c. An entry has sixteen bytes: a frame or nothing, and the page's
//! prefetch hint ([`super::prefetch_hint`]), so that frame and page are fetched from memory at the same time.
//! Threads that search a leaf keep its hint up to date.
//!
//! Frames of a large store lie in blocks of their own, see [`super::blocks`].
//!
//! Invariants:
//! 1. A frame enters an empty entry or replaces the previous frame; it is reachable through at most one
//!    entry.
//! 2. A frame that left its entry is freed once every guard that existed when it left is gone.
//! 3. A reference to a frame does not outlive the guard under which it was found.

#![allow(
    unsafe_code,
    reason = "epochs free frames that readers may still see; the references are tied to their guards here"
)]

use super::blocks::Blocks;
use super::frame::{CELLS, Frame, FrameMemory};
use super::page_allocator::PAGE_ID_END;
use super::prefetch::prefetch;
use super::prefetch_hint::PrefetchHint;
use crate::ids::PageId;
use crossbeam_epoch::{Atomic, Guard, Owned, Shared};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

const FIRST_CHUNK_BITS: u32 = 10;
const CHUNKS: usize = (40 - FIRST_CHUNK_BITS + 1) as usize;

type Chunk = Box<[Entry]>;

/// The tag of a frame in a cell of a block. Other frames are boxes.
const IN_CELL: usize = 1;

/// A page's frame, and its [`PrefetchHint`].
#[derive(Default)]
struct Entry {
    frame: Atomic<Frame>,
    prefetch_hint: AtomicU64,
}

/// The frames of all pages.
pub(super) struct Translation {
    chunks: [OnceLock<Chunk>; CHUNKS],
    bytes: AtomicU64,
    account: Arc<FrameMemory>,
    frames: Blocks,
}

impl Translation {
    /// An empty table. Frames are charged to the account as long as they exist.
    pub(super) fn new(account: &Arc<FrameMemory>) -> Translation {
        Translation {
            chunks: [const { OnceLock::new() }; CHUNKS],
            bytes: AtomicU64::new(0),
            account: Arc::clone(account),
            frames: Blocks::new(CELLS),
        }
    }

    /// Memory of the table itself and of free cells in blocks of frames, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed) + self.frames.spare_bytes()
    }

    /// The page's frame.
    #[inline]
    pub(super) fn get<'g>(&self, page: PageId, guard: &'g Guard) -> Option<&'g Frame> {
        let frame = self.find(page)?.frame.load(Ordering::Acquire, guard);
        // SAFETY: the frame was published by a release store of a whole value, and by invariant 2 it is not
        // freed while `guard`, under which it was found, is held; it is never borrowed mutably.
        unsafe { frame.as_ref() }
    }

    /// The page's prefetch hint.
    #[inline]
    pub(super) fn prefetch_hint(&self, page: PageId) -> Option<PrefetchHint> {
        Some(PrefetchHint(self.find(page)?.prefetch_hint.load(Ordering::Relaxed)))
    }

    /// Updates the hint. The caller has access to the page.
    #[inline]
    pub(super) fn update_hint(&self, page: PageId, prefetch_hint: PrefetchHint) {
        if let Some(entry) = self.find(page) {
            entry.prefetch_hint.store(prefetch_hint.0, Ordering::Relaxed);
        }
    }

    /// Prefetches the page's entry.
    #[inline]
    pub(super) fn prefetch_entry(&self, page: PageId) {
        if let Some(entry) = self.find(page) {
            prefetch(std::ptr::from_ref(entry).addr(), size_of::<Entry>());
        }
    }

    #[inline]
    fn find(&self, page: PageId) -> Option<&Entry> {
        let (chunk, index) = chunk_and_index(page);
        self.chunks.get(chunk)?.get()?.get(index)
    }

    /// Sets the page's frame, and retires the previous one. A block of frames `may_come` for it.
    pub(super) fn put(&self, page: PageId, frame: Frame, may_come: bool, guard: &Guard) {
        self.account.charge(self.account.bytes_of(&frame));
        let entry = self.entry(page);
        entry.prefetch_hint.store(frame.prefetch_hint().0, Ordering::Relaxed);
        let frame = match self.frames.hold(frame, may_come) {
            Ok(cell) => Shared::from(cell.as_ptr().cast_const()).with_tag(IN_CELL),
            Err(frame) => Owned::new(frame).into_shared(guard),
        };
        let before = entry.frame.swap(frame, Ordering::AcqRel, guard);
        self.retire(before, guard);
    }

    /// Removes the page's frame; false if there was none.
    pub(super) fn remove(&self, page: PageId, guard: &Guard) -> bool {
        let entry = self.entry(page);
        entry.prefetch_hint.store(PrefetchHint::NONE.0, Ordering::Relaxed);
        let before = entry.frame.swap(Shared::null(), Ordering::AcqRel, guard);
        let was_there = !before.is_null();
        self.retire(before, guard);
        was_there
    }

    /// Frees a frame that has left its entry, once no reader can see it any more.
    fn retire(&self, frame: Shared<'_, Frame>, guard: &Guard) {
        // SAFETY: as in `get`; the frame has just left its entry, and `guard` keeps it.
        let Some(frame_bytes) = (unsafe { frame.as_ref() }).map(|it| self.account.bytes_of(it))
        else {
            return;
        };
        self.account.retire(frame_bytes);
        let account = Arc::clone(&self.account);
        let release = move || {
            match NonNull::new(frame.as_raw().cast_mut()) {
                Some(cell) if frame.tag() == IN_CELL => {
                    // SAFETY: as below; and `put` has stored it there.
                    drop(unsafe { Blocks::release(cell) });
                }
                // SAFETY: the swap that returned the frame removed it from the only entry that led to it
                // (invariant 1), and this runs once, when no guard that could have seen it is left.
                _ => drop(unsafe { frame.into_owned() }),
            }
            account.discharge(frame_bytes);
        };
        // SAFETY: the values in the closure may be dropped on any thread at any later time: the account is
        // reference-counted, and the frame is sendable and reachable only through the closure.
        unsafe { guard.defer_unchecked(release) };
    }

    fn entry(&self, page: PageId) -> &Entry {
        assert!(page.0 < PAGE_ID_END, "{page} is beyond all pages");
        let (chunk, index) = chunk_and_index(page);
        let chunk = self.chunks[chunk].get_or_init(|| {
            let count = chunk_entries(chunk);
            let bytes = (count * size_of::<Entry>()) as u64;
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            (0..count).map(|_| Entry::default()).collect()
        });
        &chunk[index]
    }
}

impl Drop for Translation {
    fn drop(&mut self) {
        let guard = crossbeam_epoch::pin();
        let chunks = self.chunks.iter().filter_map(OnceLock::get);
        for entry in chunks.flat_map(|chunk| chunk.iter()) {
            self.retire(entry.frame.swap(Shared::null(), Ordering::AcqRel, &guard), &guard);
        }
        guard.flush();
    }
}

/// Chunk and index of a page's entry.
#[inline]
fn chunk_and_index(page: PageId) -> (usize, usize) {
    let bits = u64::BITS - (page.0 >> FIRST_CHUNK_BITS).leading_zeros();
    let start = if bits == 0 { 0 } else { 1_u64 << (FIRST_CHUNK_BITS + bits - 1) };
    (bits as usize, (page.0 - start) as usize)
}

fn chunk_entries(chunk: usize) -> usize {
    1 << (FIRST_CHUNK_BITS as usize + chunk.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::{CHUNKS, chunk_and_index, chunk_entries};
    use crate::ids::PageId;

    #[test]
    fn every_number_has_an_entry_of_its_own() {
        let mut expected = (0, 0);
        for number in 0..300_000 {
            assert_eq!(chunk_and_index(PageId(number)), expected, "page {number}");
            expected.1 += 1;
            if expected.1 == chunk_entries(expected.0) {
                expected = (expected.0 + 1, 0);
            }
        }
        let (chunk, index) = chunk_and_index(PageId((1 << 40) - 1));
        assert_eq!((chunk, index), (CHUNKS - 1, chunk_entries(CHUNKS - 1) - 1));
    }
}
