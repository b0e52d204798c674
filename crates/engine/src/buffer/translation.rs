//! The translation table: from a page's number to its frame, without a latch.
//!
//! An entry has sixteen bytes: the page's state, and its prefetch hint ([`super::prefetch_hint`]), so that
//! frame and page are fetched from memory at the same time. Threads that search a leaf keep its hint up to
//! date.
//!
//! A page is in one of these states:
//!
//! | state | word of the entry | left by |
//! |---|---|---|
//! | absent | zero | a new page, or opening, which finds it on the disk |
//! | on disk | a tag | the thread that begins to load it, or the end of the page |
//! | loading | a tag | the thread that loads it: resident, or on disk again after a failed read |
//! | abandoned | a tag | the same: the page was freed while it was loaded, and is absent from then on |
//! | resident | the address of its frame | another frame, eviction, or the end of the page |
//!
//! The number of an abandoned page is in use until its load has ended, so that a late load never meets
//! another page of that number.
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
use super::page_table::PageTable;
use super::prefetch::prefetch;
use super::prefetch_hint::PrefetchHint;
use crate::ids::PageId;
use crossbeam_epoch::{Atomic, Guard, Owned, Shared};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The tag of a frame in a cell of a block. Other frames are boxes.
const IN_CELL: usize = 1;

/// The tags of entries without a frame.
const ABSENT: usize = 0;
const ON_DISK: usize = 1;
const LOADING: usize = 2;
const ABANDONED: usize = 3;

/// Where a page is. A page that was abandoned counts as absent.
#[derive(Clone, Copy)]
pub(super) enum PageState<'g> {
    /// There is no such page.
    Absent,
    /// It has an image in the data file, named by the page map.
    OnDisk,
    /// A thread reads that image.
    Loading,
    /// It is in memory.
    Resident(&'g Frame),
}

/// What a page was when it was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removed {
    Absent,
    OnDisk,
    /// The thread that loads it frees its number.
    Loading,
    Resident,
}

/// How a load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadEnd {
    /// The page is resident, or on disk again.
    Kept,
    /// The page was freed meanwhile, and is absent now.
    Abandoned,
}

/// A page's frame, and its [`PrefetchHint`].
#[derive(Default)]
struct Entry {
    frame: Atomic<Frame>,
    prefetch_hint: AtomicU64,
}

/// The frames of all pages.
pub(super) struct Translation {
    entries: PageTable<Entry>,
    account: Arc<FrameMemory>,
    frames: Blocks,
}

impl Translation {
    /// An empty table. Frames are charged to the account as long as they exist.
    pub(super) fn new(account: &Arc<FrameMemory>) -> Translation {
        Translation {
            entries: PageTable::new(),
            account: Arc::clone(account),
            frames: Blocks::new(CELLS),
        }
    }

    /// Memory of the table itself and of free cells in blocks of frames, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.entries.bytes() + self.frames.spare_bytes()
    }

    /// The frame of a page that is resident.
    #[inline]
    pub(super) fn get<'g>(&self, page: PageId, guard: &'g Guard) -> Option<&'g Frame> {
        let frame = self.find(page)?.frame.load(Ordering::Acquire, guard);
        // SAFETY: the frame was published by a release store of a whole value, and by invariant 2 it is not
        // freed while `guard`, under which it was found, is held; it is never borrowed mutably.
        unsafe { frame.as_ref() }
    }

    /// The page's state.
    pub(super) fn state<'g>(&self, page: PageId, guard: &'g Guard) -> PageState<'g> {
        let Some(entry) = self.find(page) else {
            return PageState::Absent;
        };
        let word = entry.frame.load(Ordering::Acquire, guard);
        // SAFETY: as in `get`.
        if let Some(frame) = unsafe { word.as_ref() } {
            return PageState::Resident(frame);
        }
        match word.tag() {
            ON_DISK => PageState::OnDisk,
            LOADING => PageState::Loading,
            _ => PageState::Absent,
        }
    }

    /// At opening: the page has an image in the data file.
    pub(super) fn set_on_disk(&self, page: PageId) {
        let guard = crossbeam_epoch::pin();
        let on_disk = Shared::null().with_tag(ON_DISK);
        let before = self.entries.entry(page).frame.swap(on_disk, Ordering::AcqRel, &guard);
        assert!(before == Shared::null(), "{page} is not absent");
    }

    /// Begins to load a page that is on disk; false if it is not, or no longer.
    pub(super) fn begin_load(&self, page: PageId) -> bool {
        self.exchange(page, ON_DISK, LOADING)
    }

    /// Ends a load: the page gets its frame, unless it was abandoned. A block of frames `may_come` for it.
    pub(super) fn end_load(
        &self,
        page: PageId,
        frame: Frame,
        may_come: bool,
        guard: &Guard,
    ) -> LoadEnd {
        let entry = self.entries.entry(page);
        let prefetch_hint = frame.prefetch_hint();
        self.account.charge(self.account.bytes_of(&frame));
        let frame = self.shared(frame, may_come, guard);
        let loading = Shared::null().with_tag(LOADING);
        entry.prefetch_hint.store(prefetch_hint.0, Ordering::Relaxed);
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        if entry.frame.compare_exchange(loading, frame, success, failure, guard).is_ok() {
            return LoadEnd::Kept;
        }
        // No reader has seen this frame.
        self.retire(frame, guard);
        self.end_abandoned(page)
    }

    /// Ends a failed load: the page is on disk again, unless it was abandoned.
    pub(super) fn cancel_load(&self, page: PageId) -> LoadEnd {
        if self.exchange(page, LOADING, ON_DISK) {
            return LoadEnd::Kept;
        }
        self.end_abandoned(page)
    }

    fn end_abandoned(&self, page: PageId) -> LoadEnd {
        let is_abandoned = self.exchange(page, ABANDONED, ABSENT);
        assert!(is_abandoned, "{page} left its load");
        LoadEnd::Abandoned
    }

    /// Changes the tag of an entry without a frame; false if it has another one.
    fn exchange(&self, page: PageId, from: usize, to: usize) -> bool {
        let guard = crossbeam_epoch::pin();
        let tagged = |tag| Shared::null().with_tag(tag);
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let entry = self.entries.entry(page);
        entry.frame.compare_exchange(tagged(from), tagged(to), success, failure, &guard).is_ok()
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
        self.entries.get(page)
    }

    /// Sets the page's frame, and retires the previous one. A block of frames `may_come` for it.
    pub(super) fn put(&self, page: PageId, frame: Frame, may_come: bool, guard: &Guard) {
        self.account.charge(self.account.bytes_of(&frame));
        let entry = self.entries.entry(page);
        entry.prefetch_hint.store(frame.prefetch_hint().0, Ordering::Relaxed);
        let frame = self.shared(frame, may_come, guard);
        let before = entry.frame.swap(frame, Ordering::AcqRel, guard);
        self.retire(before, guard);
    }

    /// The frame in a cell of a block or in a box.
    fn shared<'g>(&self, frame: Frame, may_come: bool, guard: &'g Guard) -> Shared<'g, Frame> {
        match self.frames.hold(frame, may_come) {
            Ok(cell) => Shared::from(cell.as_ptr().cast_const()).with_tag(IN_CELL),
            Err(frame) => Owned::new(frame).into_shared(guard),
        }
    }

    /// Removes a page. If it is being loaded it is abandoned.
    pub(super) fn remove(&self, page: PageId, guard: &Guard) -> Removed {
        let entry = self.entries.entry(page);
        loop {
            let before = entry.frame.load(Ordering::Acquire, guard);
            let (removed, after) = match (before.is_null(), before.tag()) {
                (false, _) => (Removed::Resident, ABSENT),
                (true, ON_DISK) => (Removed::OnDisk, ABSENT),
                (true, LOADING) => (Removed::Loading, ABANDONED),
                (true, _) => return Removed::Absent,
            };
            if removed == Removed::Resident {
                entry.prefetch_hint.store(PrefetchHint::NONE.0, Ordering::Relaxed);
            }
            let after = Shared::null().with_tag(after);
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            if entry.frame.compare_exchange(before, after, success, failure, guard).is_ok() {
                self.retire(before, guard);
                return removed;
            }
        }
    }

    /// The page leaves memory and is on disk again; false if it has another frame by now. If the caller frees
    /// its bytes, it counts as freed at once, and otherwise when its last reader is gone.
    pub(super) fn evict(
        &self,
        page: PageId,
        frame: &Frame,
        bytes_are_freed: bool,
        guard: &Guard,
    ) -> bool {
        let entry = self.entries.entry(page);
        let before = entry.frame.load(Ordering::Acquire, guard);
        if !std::ptr::eq(before.as_raw(), frame) {
            return false;
        }
        let on_disk = Shared::null().with_tag(ON_DISK);
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        if entry.frame.compare_exchange(before, on_disk, success, failure, guard).is_err() {
            return false;
        }
        entry.prefetch_hint.store(PrefetchHint::NONE.0, Ordering::Relaxed);
        if bytes_are_freed {
            self.account.release(self.account.frame_bytes());
            Translation::defer(before, || {}, guard);
        } else {
            self.retire(before, guard);
        }
        true
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
        Translation::defer(frame, move || account.discharge(frame_bytes), guard);
    }

    /// Frees a frame once no reader can see it any more, then calls `freed`.
    fn defer(frame: Shared<'_, Frame>, freed: impl FnOnce() + Send + 'static, guard: &Guard) {
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
            freed();
        };
        // SAFETY: the values in the closure may be dropped on any thread at any later time: `freed` owns what
        // it uses, and the frame is sendable and reachable only through the closure.
        unsafe { guard.defer_unchecked(release) };
    }
}

impl Drop for Translation {
    fn drop(&mut self) {
        let guard = crossbeam_epoch::pin();
        for entry in self.entries.entries() {
            self.retire(entry.frame.swap(Shared::null(), Ordering::AcqRel, &guard), &guard);
        }
        guard.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::{LoadEnd, PageState, Removed, Translation};
    use crate::buffer::frame::{CLEAN, Content, Frame, FrameMemory};
    use crate::buffer::leaf::Leaf;
    use crate::ids::{PageId, TreeId};
    use std::sync::Arc;

    const PAGE: PageId = PageId(7);

    fn table() -> Translation {
        Translation::new(&Arc::new(FrameMemory::new(512)))
    }

    fn frame() -> Frame {
        Frame::new(Content::Leaf(Leaf::empty(512, PAGE, TreeId(3), &[], None)), CLEAN)
    }

    #[test]
    fn a_page_on_disk_is_loaded_by_one_thread_and_resident_afterwards() {
        let (table, guard) = (table(), crossbeam_epoch::pin());
        assert!(matches!(table.state(PAGE, &guard), PageState::Absent) && !table.begin_load(PAGE));
        table.set_on_disk(PAGE);
        assert!(matches!(table.state(PAGE, &guard), PageState::OnDisk));
        assert!(table.get(PAGE, &guard).is_none());
        assert!(table.begin_load(PAGE) && !table.begin_load(PAGE), "one thread wins");
        assert!(matches!(table.state(PAGE, &guard), PageState::Loading));
        assert_eq!(table.cancel_load(PAGE), LoadEnd::Kept);
        assert!(table.begin_load(PAGE), "after a failed read another thread tries");
        assert_eq!(table.end_load(PAGE, frame(), false, &guard), LoadEnd::Kept);
        assert!(matches!(table.state(PAGE, &guard), PageState::Resident(_)));
        assert_eq!(table.remove(PAGE, &guard), Removed::Resident);
        assert_eq!(table.remove(PAGE, &guard), Removed::Absent);
    }

    #[test]
    fn a_page_that_is_freed_while_it_is_loaded_does_not_come_back() {
        let (table, guard) = (table(), crossbeam_epoch::pin());
        for fails in [false, true] {
            table.set_on_disk(PAGE);
            assert!(table.begin_load(PAGE));
            assert_eq!(table.remove(PAGE, &guard), Removed::Loading);
            assert!(matches!(table.state(PAGE, &guard), PageState::Absent));
            assert_eq!(table.remove(PAGE, &guard), Removed::Absent, "only once");
            let end = if fails {
                table.cancel_load(PAGE)
            } else {
                table.end_load(PAGE, frame(), false, &guard)
            };
            assert_eq!(end, LoadEnd::Abandoned);
            assert!(matches!(table.state(PAGE, &guard), PageState::Absent));
        }
        table.set_on_disk(PAGE);
        assert_eq!(table.remove(PAGE, &guard), Removed::OnDisk);
    }
}
