//! The exact cut: every page as it was at one moment, read out while transactions go on.
//!
//! A page is in one of these states, told by its frame's `modified_in`:
//!
//! | state | `modified_in` | moved by |
//! |---|---|---|
//! | clean | 0 | captured; read from the disk |
//! | dirty | the current epoch | its first change in this epoch, which lists it |
//! | awaiting capture | the epoch before, while a cut runs | the cut, which begins a new epoch |
//! | detached | the greatest number | made so; ended by attaching |
//!
//! Who changes a page that awaits capture hands its image to the pool first ([`super::image_pool`]).
//! Whoever moves `modified_in` away from the old epoch, capture or change, has won the page: the
//! change does so while it holds the pool, so that a capture that lost finds the image there.
//!
//! Pages that change are listed in the order of their changes, each entry with what became of the page, so
//! that the last entry of a page says whether it is there at the cut. So the cut itself, which holds
//! commits up, takes the list and nothing more; sorting it comes later, beside commits.
//!
//! The pool must hold what is changed again and again, or writers wait for the disk: a load that keeps
//! changing a tenth of its pages changes all of these soon after each cut. So it may be large; but beyond
//! [`ALWAYS_BYTES`] it never takes more than half of what the cap on memory leaves, so that inserts beside
//! a checkpoint are not refused for its sake, and what it holds is captured first, and without a pace.

use super::frame::{Body, CLEAN, DETACHED, Frame};
use super::image_pool::{Copies, Image, ImagePool};
use super::leaf::Leaf;
use super::miss::Stop;
use super::pages::Buffer;
use crate::ids::PageId;
use crate::planted_bug::{PlantedBug, planted};
use crate::sync::rank::{GATE, IMAGES, LISTED};
use crate::sync::ranked::{Condvar, Mutex};
use std::sync::atomic::{AtomicU64, Ordering};

/// The pool may always grow to so many bytes, if its limit is not lower.
const ALWAYS_BYTES: u64 = 16 << 20;

/// What a checkpoint writes: all that changed since the last cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageSnapshot {
    /// Names the cut, to capture its pages.
    pub(crate) epoch: u64,
    /// Pages to capture, ascending.
    pub(crate) dirty: Vec<PageId>,
    /// Pages that are gone, ascending. A page may be among them that no checkpoint has seen.
    pub(crate) freed: Vec<PageId>,
    /// The first number that was never used.
    pub(crate) next_page: PageId,
}

/// A cut that was taken, and whose pages are still to be told.
#[derive(Debug)]
#[must_use = "a cut that was begun is to be ended and captured"]
pub(crate) struct StartedSnapshot {
    epoch: u64,
    listed: Vec<PageChange>,
    next_page: PageId,
}

/// What became of a page in an epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageChange(u64);

/// Marks a page that was freed. Page numbers have 40 bits.
const FREED: u64 = 1 << 63;

impl PageChange {
    /// It was made or changed.
    #[inline]
    pub(super) fn changed(page: PageId) -> PageChange {
        PageChange(page.0)
    }

    /// It was freed, and is not there any more.
    pub(super) fn freed(page: PageId) -> PageChange {
        PageChange(page.0 | FREED)
    }

    fn page(self) -> PageId {
        PageId(self.0 & !FREED)
    }

    fn is_freed(self) -> bool {
        self.0 & FREED != 0
    }
}

/// What the buffer keeps about cuts.
pub(super) struct PageSnapshots {
    /// Changes are counted to this epoch; it moves only while no section is active.
    epoch: AtomicU64,
    /// Pages changed or freed in this epoch, in the order of that. Held while a page is placed, so that the
    /// cut sees it wholly or not at all.
    pub(super) listed: Mutex<Vec<PageChange>, LISTED>,
    images: Mutex<ImagePool, IMAGES>,
    copies: Copies,
    room: Condvar,
    /// The cut that is being captured; zero if none.
    running: AtomicU64,
    /// Its dirty pages that are not captured yet.
    left: AtomicU64,
    page_bytes: u64,
    pre_image_bytes_max: u64,
}

impl PageSnapshots {
    /// No cut is running.
    pub(super) fn new(page_bytes: u32, pre_image_bytes_max: u64) -> PageSnapshots {
        PageSnapshots {
            epoch: AtomicU64::new(1),
            listed: Mutex::new(Vec::new()),
            images: Mutex::new(ImagePool::new()),
            copies: Copies::new(page_bytes),
            room: Condvar::new(),
            running: AtomicU64::new(0),
            left: AtomicU64::new(0),
            page_bytes: page_bytes.into(),
            pre_image_bytes_max,
        }
    }

    /// The epoch that changes count to now.
    #[inline]
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Memory of all images in the pool, and of what is kept ready for more, in bytes.
    pub(super) fn image_bytes(&self) -> u64 {
        self.images.lock().all_bytes() + self.copies.spare_bytes()
    }

    /// True if the pool can take another pre-image, where images and what is free of memory come to so many
    /// bytes.
    fn has_room(&self, images: &ImagePool, free_bytes: u64) -> bool {
        let copied = images.copied_bytes() + self.page_bytes;
        let leaves_as_much = || images.all_bytes() + copied <= free_bytes;
        copied <= self.pre_image_bytes_max && (copied <= ALWAYS_BYTES || leaves_as_much())
    }

    /// True if a page last changed in that epoch still has to be captured.
    fn awaits_capture(&self, modified_in: u64) -> bool {
        modified_in != CLEAN && modified_in != DETACHED && modified_in < self.epoch()
    }

    /// A page leaves its frame: hands its image over if the running cut still needs it.
    pub(super) fn hand_over(&self, frame: &Frame, page: PageId, image: Image) {
        let seen = frame.modified_in.load(Ordering::Acquire);
        if self.awaits_capture(seen) {
            let mut images = self.images.lock();
            if win(frame, seen) {
                images.keep(page, image, false);
            }
        }
    }

    /// The slow half of a page's first change in an epoch.
    #[cold]
    fn first_change(
        &self,
        frame: &Frame,
        page: PageId,
        free_bytes: impl Fn() -> u64,
        copy: impl FnOnce(u64) -> Image,
    ) -> Result<(), Stop> {
        let seen = frame.modified_in.load(Ordering::Acquire);
        assert!(seen != DETACHED, "{page} is detached and cannot change");
        if self.awaits_capture(seen) {
            if planted(PlantedBug::SkipPreImage) {
                return Ok(());
            }
            let free_bytes = free_bytes();
            let images = self.images.lock();
            if !self.has_room(&images, free_bytes) {
                return Err(Stop::PreImages);
            }
            // Others need the pool while this one copies. The page stays as it is: its latch is held.
            let pool_bytes = images.copied_bytes();
            drop(images);
            let image = copy(pool_bytes);
            let mut images = self.images.lock();
            if !self.has_room(&images, free_bytes) {
                return Err(Stop::PreImages);
            }
            if win(frame, seen) {
                images.keep(page, image, true);
            }
        }
        let mut listed = self.listed.lock();
        frame.modified_in.store(self.epoch(), Ordering::Release);
        listed.push(PageChange::changed(page));
        Ok(())
    }
}

/// Takes the page from the running cut's captures, or from its changes; false if the other side did.
fn win(frame: &Frame, seen: u64) -> bool {
    frame.modified_in.compare_exchange(seen, CLEAN, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

impl Buffer {
    /// How many pages a cut would name now, about: what was changed and then freed counts, too. And the first
    /// number that was never used.
    pub(crate) fn changed_pages(&self) -> (u64, PageId) {
        let changed = self.cuts.listed.lock().len() as u64;
        (changed, self.page_allocator.lock().next())
    }

    /// Begins a new epoch, in constant time. Called with no section active; the cut before must be
    /// finished. [`Buffer::end_snapshot`] follows, with or without sections.
    pub(crate) fn begin_snapshot(&self) -> StartedSnapshot {
        let cuts = &self.cuts;
        let mut listed = cuts.listed.lock();
        let epoch = cuts.epoch();
        let before = cuts.running.swap(epoch, Ordering::AcqRel);
        assert!(before == 0, "the cut of epoch {before} is not finished");
        cuts.epoch.store(epoch + 1, Ordering::Release);
        StartedSnapshot {
            epoch,
            listed: std::mem::take(&mut *listed),
            next_page: self.page_allocator.lock().next(),
        }
    }

    /// Tells what changed in the epoch that a cut has ended. Before its first capture.
    pub(crate) fn end_snapshot(&self, begun: StartedSnapshot) -> PageSnapshot {
        let StartedSnapshot { epoch, mut listed, next_page } = begun;
        // Stable: what became of a page last stays behind.
        listed.sort_by_key(|entry| entry.page());
        let (mut dirty, mut freed) = (Vec::with_capacity(listed.len()), Vec::new());
        for of_page in listed.chunk_by(|one, other| one.page() == other.page()) {
            let last = of_page[of_page.len() - 1];
            // A detached page may be where one was freed: for the checkpoint that one is gone.
            let pages = if last.is_freed() { &mut freed } else { &mut dirty };
            pages.push(last.page());
        }
        self.cuts.left.store(dirty.len() as u64, Ordering::Release);
        PageSnapshot { epoch, dirty, freed, next_page }
    }

    /// Both at once.
    #[cfg(test)]
    pub(crate) fn cut(&self) -> PageSnapshot {
        self.end_snapshot(self.begin_snapshot())
    }

    /// A page of the cut that should be captured before others: its image is in the pool.
    pub(crate) fn capture_first(&self) -> Option<PageId> {
        self.cuts.images.lock().first()
    }

    /// Copies the page as it was at the cut into `out`, a page long. Once for each dirty page of the
    /// cut, from any thread, while transactions go on.
    pub(crate) fn capture(&self, epoch: u64, page: PageId, out: &mut [u8]) {
        let cuts = &self.cuts;
        assert!(epoch == cuts.running.load(Ordering::Acquire), "no cut of epoch {epoch} runs");
        if !self.capture_in_place(epoch, page, out) {
            let found = cuts.images.lock().take(page);
            let image = found.unwrap_or_else(|| {
                panic!("{page} was not dirty at the cut, or is captured already")
            });
            out.copy_from_slice(image.bytes());
            drop(image);
            cuts.room.notify_all();
        }
        cuts.left.fetch_sub(1, Ordering::AcqRel);
        if super::page::kind(out) == Some(super::page::Kind::Leaf) {
            let has_locked = Leaf::has_locked_row(out);
            assert!(!has_locked, "{page} was cut with a locked row");
        }
    }

    /// Captures the page from its frame, unless it has changed since.
    fn capture_in_place(&self, epoch: u64, page: PageId, out: &mut [u8]) -> bool {
        let guard = crossbeam_epoch::pin();
        let Some(frame) = self.translation.get(page, &guard) else {
            return false;
        };
        let seen = frame.modified_in.load(Ordering::Acquire);
        if seen == CLEAN || seen > epoch {
            return false;
        }
        match &frame.body {
            Body::Leaf(latch) => {
                let leaf = latch.read();
                if leaf.is_gone() || !win(frame, seen) {
                    return false;
                }
                out.copy_from_slice(leaf.image());
            }
            Body::Inner(inner) => {
                if !win(frame, seen) {
                    return false;
                }
                out.copy_from_slice(inner.image());
            }
            Body::Overflow(bytes) => {
                if !win(frame, seen) {
                    return false;
                }
                out.copy_from_slice(bytes);
            }
        }
        true
    }

    /// Ends the cut: every dirty page is captured. Wakes who waits for the pool.
    pub(crate) fn finish_snapshot(&self, epoch: u64) {
        let cuts = &self.cuts;
        let left = cuts.left.load(Ordering::Acquire);
        assert!(left == 0, "{left} dirty pages of the cut are not captured");
        let images = cuts.images.lock();
        assert!(images.is_empty(), "images wait that no capture asks for");
        let running = cuts.running.swap(0, Ordering::AcqRel);
        assert!(running == epoch, "the cut of epoch {running} runs, not that of {epoch}");
        cuts.room.notify_all();
    }

    /// Gives the running cut up: its pages are dirty again, captured or not, and those that it found freed
    /// count as freed since. Transactions go on meanwhile; the caller is the one who captures.
    pub(crate) fn abandon_snapshot(&self, epoch: u64, dirty: &[PageId], freed: &[PageId]) {
        let cuts = &self.cuts;
        let running = cuts.running.load(Ordering::Acquire);
        assert!(running == epoch, "the cut of epoch {running} runs, not that of {epoch}");
        let guard = crossbeam_epoch::pin();
        for page in dirty {
            if let Some(frame) = self.translation.get(*page, &guard) {
                // Who changes the page at this moment moves it there, too.
                let _moved =
                    frame.modified_in.fetch_update(Ordering::AcqRel, Ordering::Acquire, |seen| {
                        (seen <= epoch).then_some(epoch + 1)
                    });
            }
        }
        // They come before what was listed since: the last entry of a page counts.
        let dirty = dirty.iter().map(|page| PageChange::changed(*page));
        let freed = freed.iter().map(|page| PageChange::freed(*page));
        cuts.listed.lock().splice(0..0, dirty.chain(freed));
        // Nobody keeps an image any more: no page awaits capture.
        let gone = cuts.images.lock().take_all();
        cuts.left.store(0, Ordering::Release);
        cuts.running.store(0, Ordering::Release);
        cuts.room.notify_all();
        drop(gone);
    }

    /// Waits, outside a section, until the pool can take another pre-image.
    pub(crate) fn wait_for_pre_images(&self) {
        let cuts = &self.cuts;
        let mut images = cuts.images.lock();
        let is_full = |images: &mut ImagePool| !cuts.has_room(images, self.free_for_images());
        cuts.room.wait_while(&mut images, GATE, is_full);
    }

    /// True if who captures should hurry: the pool is half full, or larger than it need be.
    pub(crate) fn pre_images_press(&self) -> bool {
        let may_always = self.cuts.pre_image_bytes_max.min(ALWAYS_BYTES);
        self.cuts.images.lock().copied_bytes() > may_always / 2
    }

    /// Has memory ready for more images while a cut is running, as far as the pool may grow.
    pub(super) fn preallocate_copies(&self) {
        let cuts = &self.cuts;
        let may_grow = || {
            let images = cuts.images.lock();
            let runs = cuts.running.load(Ordering::Acquire) != 0;
            runs && cuts.has_room(&images, self.free_for_images())
                && cuts.copies.run_low(images.copied_bytes())
        };
        while may_grow() && cuts.copies.preallocate() {}
    }

    /// A page's image, copied while its latch is held.
    fn copy(&self, page: &[u8], pool_bytes: u64) -> Image {
        let copy = self.cuts.copies.of(page, pool_bytes);
        if self.cuts.copies.run_low(pool_bytes) {
            self.low().raise();
        }
        copy
    }

    /// Must come before any change of the leaf, under its exclusive latch: lists it as dirty, and
    /// keeps the cut's image if it still is to be captured.
    #[inline]
    pub(crate) fn touch_leaf(&self, frame: &Frame, leaf: &Leaf) -> Result<(), Stop> {
        if frame.modified_in.load(Ordering::Relaxed) == self.cuts.epoch() {
            return Ok(());
        }
        let copy = |pool_bytes| self.copy(leaf.image(), pool_bytes);
        let free_bytes = || self.free_for_images();
        self.cuts.first_change(frame, leaf.page(), free_bytes, copy)
    }

    /// The same for a page that is about to be replaced by a node with another content.
    pub(crate) fn touch_inner(&self, frame: &Frame) -> Result<(), Stop> {
        if frame.modified_in.load(Ordering::Relaxed) == self.cuts.epoch() {
            return Ok(());
        }
        let inner = frame.inner().expect("the frame of an inner node");
        let share = |_| Image::Shared(inner.image().clone());
        let free_bytes = || self.free_for_images();
        self.cuts.first_change(frame, inner.page(), free_bytes, share)
    }
}
