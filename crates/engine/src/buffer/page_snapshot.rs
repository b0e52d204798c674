//! The exact snapshot: every page as it was at one moment, read while transactions continue.
//!
//! A page is in one of these states, according to its frame's `modified_in`:
//!
//! | state | `modified_in` | moved by |
//! |---|---|---|
//! | clean | 0 | reading it from the disk |
//! | dirty | the current epoch | its first change in this epoch, which lists it |
//! | captured | that epoch with [`CAPTURED`]; clean once the checkpoint is in force | its capture |
//! | awaiting capture | the epoch before, while a snapshot runs | the snapshot, which begins a new epoch |
//! | detached | the greatest number | its creation; ended by attaching |
//!
//! A thread that changes a page awaiting capture first gives its image to the pool ([`super::image_pool`]).
//! The side that moves `modified_in` away from the old epoch, capture or change, has won the page: the change
//! does so while it holds the pool, so that a capture that lost finds the image there.
//!
//! Changed pages are listed in the order of their changes, each entry with the page's new state, so that the
//! last entry of a page says whether it exists at the snapshot. So beginning the snapshot, which blocks
//! commits, only takes the list; sorting it comes later, concurrently with commits.
//!
//! The pool must hold the pages that are changed again and again, or writers wait for the disk: a load that
//! keeps changing a tenth of its pages changes all of these soon after each snapshot. So the pool may be
//! large; but beyond [`ALWAYS_BYTES`] it never takes more than half of what the memory cap leaves, so that it
//! does not cause inserts during a checkpoint to be refused; and its images are captured first, without
//! pacing.

use super::extent::EXTENT_IMAGE_BYTES_MAX;
use super::frame::{Body, CAPTURED, CLEAN, DETACHED, Frame};
use super::image_pool::{Copies, Image, ImagePool};
use super::leaf::Leaf;
use super::miss::Stop;
use super::pages::Buffer;
use crate::ids::PageId;
use crate::planted_bug::{PlantedBug, planted};
use crate::sync::rank::{GATE, IMAGES, LISTED};
use crate::sync::ranked::{Condvar, Mutex};
use std::sync::atomic::{AtomicU64, Ordering};

/// The pool may always grow to this size, unless its limit is lower.
const ALWAYS_BYTES: u64 = 16 << 20;

/// The pages that a checkpoint writes: all that changed since the last snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageSnapshot {
    /// Identifies the snapshot when its pages are captured.
    pub(crate) epoch: u64,
    /// Pages to capture, ascending.
    pub(crate) dirty: Vec<PageId>,
    /// The extents among them whose images are longer than a page, ascending, with the images' lengths.
    pub(crate) long: Vec<(PageId, u32)>,
    /// Pages that were freed, ascending. Some may never have been in a checkpoint.
    pub(crate) freed: Vec<PageId>,
    /// The first number that was never used.
    pub(crate) next_page: PageId,
}

/// A snapshot that has begun and whose pages have not been sorted out yet.
#[derive(Debug)]
#[must_use = "a snapshot that was begun must be ended and captured"]
pub(crate) struct StartedSnapshot {
    epoch: u64,
    listed: Vec<PageChange>,
    next_page: PageId,
}

/// About what a snapshot would contain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangedPages {
    /// All pages.
    pub(crate) pages: u64,
    /// Those of them whose images are longer than a page.
    pub(crate) long: u64,
    /// The sum of the lengths of these images.
    pub(crate) long_bytes: u64,
    /// The first number that was never used.
    pub(crate) next_page: PageId,
}

/// The changes of an epoch.
#[derive(Debug, Default)]
pub(super) struct ListedChanges {
    changes: Vec<PageChange>,
    /// The number of entries with an image longer than a page, and the sum of the lengths.
    long: u64,
    long_bytes: u64,
}

impl ListedChanges {
    #[inline]
    fn push(&mut self, change: PageChange) {
        let long_bytes = u64::from(change.long_image_bytes());
        self.long += u64::from(long_bytes > 0);
        self.long_bytes += long_bytes;
        self.changes.push(change);
    }

    fn len(&self) -> usize {
        self.changes.len()
    }
}

/// A page and what happened to it in an epoch: its number in 40 bits, then the length of its image if that is
/// longer than a page, and whether it was freed.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageChange(u64);

const PAGE_BITS: u32 = 40;

/// Marks a page that was freed.
const FREED: u64 = 1 << 63;

const _: () = assert!(EXTENT_IMAGE_BYTES_MAX << PAGE_BITS < FREED, "a length fits before the mark");

impl PageChange {
    /// It was made or changed.
    #[inline]
    pub(super) fn changed(page: PageId) -> PageChange {
        PageChange(page.0)
    }

    /// It was freed and does not exist any more.
    pub(super) fn freed(page: PageId) -> PageChange {
        PageChange(page.0 | FREED)
    }

    /// The same page with the length of its image if that is longer than a page, otherwise 0.
    pub(super) fn with_long_image(self, image_bytes: usize) -> PageChange {
        PageChange(self.0 | (image_bytes as u64) << PAGE_BITS)
    }

    fn page(self) -> PageId {
        PageId(self.0 & ((1 << PAGE_BITS) - 1))
    }

    fn long_image_bytes(self) -> u32 {
        ((self.0 & !FREED) >> PAGE_BITS) as u32
    }

    fn is_freed(self) -> bool {
        self.0 & FREED != 0
    }
}

/// The buffer's state of snapshots.
pub(super) struct PageSnapshots {
    /// The current epoch of changes; it moves only while no section is active.
    epoch: AtomicU64,
    /// Pages changed or freed in this epoch, in the order of their changes. Held while a page is placed, so
    /// that a snapshot sees all of it or nothing.
    pub(super) listed: Mutex<ListedChanges, LISTED>,
    images: Mutex<ImagePool, IMAGES>,
    copies: Copies,
    room: Condvar,
    /// The epoch of the snapshot that is being captured; zero if none.
    running: AtomicU64,
    /// Its dirty pages that are not captured yet.
    left: AtomicU64,
    /// The epoch of the last snapshot whose checkpoint came into force.
    finished: AtomicU64,
    /// The bytes of the pages in `listed`.
    listed_bytes: AtomicU64,
    /// The bytes of the pages of the running snapshot; zero if none.
    running_bytes: AtomicU64,
    page_bytes: u64,
    pre_image_bytes_max: u64,
}

impl PageSnapshots {
    /// No snapshot is running.
    pub(super) fn new(page_bytes: u32, pre_image_bytes_max: u64) -> PageSnapshots {
        PageSnapshots {
            epoch: AtomicU64::new(1),
            listed: Mutex::default(),
            images: Mutex::new(ImagePool::new()),
            copies: Copies::new(page_bytes),
            room: Condvar::new(),
            running: AtomicU64::new(0),
            left: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            listed_bytes: AtomicU64::new(0),
            running_bytes: AtomicU64::new(0),
            page_bytes: page_bytes.into(),
            pre_image_bytes_max,
        }
    }

    /// The current epoch of changes.
    #[inline]
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Memory of all images in the pool and of the blocks prepared for more, in bytes.
    pub(super) fn image_bytes(&self) -> u64 {
        self.images.lock().all_bytes() + self.copies.spare_bytes()
    }

    /// True if the pool can take another pre-image, where images and free memory together are `free_bytes`.
    fn has_room(&self, images: &ImagePool, free_bytes: u64) -> bool {
        let copied = images.copied_bytes() + self.page_bytes;
        let leaves_as_much = || images.all_bytes() + copied <= free_bytes;
        copied <= self.pre_image_bytes_max && (copied <= ALWAYS_BYTES || leaves_as_much())
    }

    /// True if a page last changed in that epoch still has to be captured.
    fn awaits_capture(&self, modified_in: u64) -> bool {
        modified_in != CLEAN && modified_in < self.epoch()
    }

    /// True if a page in that state is as its image under the root in force.
    pub(super) fn is_clean(&self, modified_in: u64) -> bool {
        let is_captured = modified_in != DETACHED && modified_in & CAPTURED != 0;
        let finished = self.finished.load(Ordering::Acquire);
        modified_in == CLEAN || is_captured && modified_in & !CAPTURED <= finished
    }

    /// Lists a change.
    #[inline]
    pub(super) fn list(&self, listed: &mut ListedChanges, change: PageChange) {
        listed.push(change);
        let bytes = match (change.is_freed(), change.long_image_bytes()) {
            (true, _) => 0,
            (false, 0) => self.page_bytes,
            (false, long_bytes) => u64::from(long_bytes),
        };
        self.listed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// About the bytes of the pages that no checkpoint in force holds as they are: those that have changed
    /// since the last snapshot, and those of the running one.
    #[inline]
    pub(super) fn changed_bytes(&self) -> u64 {
        self.listed_bytes.load(Ordering::Relaxed) + self.running_bytes.load(Ordering::Relaxed)
    }

    /// A page leaves its frame: gives its image to the pool if the running snapshot still needs it.
    pub(super) fn hand_over(&self, frame: &Frame, page: PageId, image: Image) {
        let seen = frame.modified_in.load(Ordering::Acquire);
        if self.awaits_capture(seen) {
            let mut images = self.images.lock();
            if win(frame, seen, CLEAN) {
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
            // Release the pool during the copy. The page does not change: its latch is held.
            let pool_bytes = images.copied_bytes();
            drop(images);
            let image = copy(pool_bytes);
            let mut images = self.images.lock();
            if !self.has_room(&images, free_bytes) {
                return Err(Stop::PreImages);
            }
            if win(frame, seen, CLEAN) {
                images.keep(page, image, true);
            }
        }
        let mut listed = self.listed.lock();
        frame.modified_in.store(self.epoch(), Ordering::Release);
        self.list(&mut listed, PageChange::changed(page));
        Ok(())
    }
}

/// Takes the page from the snapshot's captures, or from its changes; false if the other side was first.
fn win(frame: &Frame, seen: u64, to: u64) -> bool {
    frame.modified_in.compare_exchange(seen, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

/// Replaces the content of a buffer.
fn replace(out: &mut Vec<u8>, image: &[u8]) {
    out.clear();
    out.extend_from_slice(image);
}

impl Buffer {
    /// About what a snapshot would contain now; pages that were changed and then freed also count.
    pub(crate) fn changed_pages(&self) -> ChangedPages {
        let listed = self.snapshots.listed.lock();
        let (pages, long_bytes, long) = (listed.len() as u64, listed.long_bytes, listed.long);
        drop(listed);
        ChangedPages { pages, long, long_bytes, next_page: self.page_allocator.lock().next() }
    }

    /// Begins a new epoch, in constant time. No section may be active, and the previous snapshot must be
    /// finished. [`Buffer::end_snapshot`] follows, with or without sections.
    pub(crate) fn begin_snapshot(&self) -> StartedSnapshot {
        let snapshots = &self.snapshots;
        let mut listed = snapshots.listed.lock();
        let epoch = snapshots.epoch();
        let before = snapshots.running.swap(epoch, Ordering::AcqRel);
        assert!(before == 0, "the snapshot of epoch {before} is not finished");
        snapshots.epoch.store(epoch + 1, Ordering::Release);
        let bytes = snapshots.listed_bytes.swap(0, Ordering::Relaxed);
        snapshots.running_bytes.store(bytes, Ordering::Relaxed);
        StartedSnapshot {
            epoch,
            listed: std::mem::take(&mut *listed).changes,
            next_page: self.page_allocator.lock().next(),
        }
    }

    /// Returns the pages that changed in the epoch which a snapshot has ended. Call it before the first
    /// capture.
    pub(crate) fn end_snapshot(&self, begun: StartedSnapshot) -> PageSnapshot {
        let StartedSnapshot { epoch, mut listed, next_page } = begun;
        // A stable sort: the last change of a page stays last.
        listed.sort_by_key(|entry| entry.page());
        let (mut dirty, mut freed) = (Vec::with_capacity(listed.len()), Vec::new());
        let mut long = Vec::new();
        for of_page in listed.chunk_by(|one, other| one.page() == other.page()) {
            let last = of_page[of_page.len() - 1];
            // A detached page may have the number of a freed one: for the checkpoint that page is gone.
            let pages = if last.is_freed() { &mut freed } else { &mut dirty };
            pages.push(last.page());
            if !last.is_freed() && last.long_image_bytes() > 0 {
                long.push((last.page(), last.long_image_bytes()));
            }
        }
        self.snapshots.left.store(dirty.len() as u64, Ordering::Release);
        PageSnapshot { epoch, dirty, long, freed, next_page }
    }

    /// Both at once.
    #[cfg(test)]
    pub(crate) fn take_snapshot(&self) -> PageSnapshot {
        self.end_snapshot(self.begin_snapshot())
    }

    /// A page of the snapshot that should be captured before others, because its image is in the pool.
    pub(crate) fn capture_first(&self) -> Option<PageId> {
        self.snapshots.images.lock().first()
    }

    /// Copies the page as of the snapshot into `out`, replacing its content. Once for each dirty page of the
    /// snapshot, from any thread, while transactions continue.
    pub(crate) fn capture(&self, epoch: u64, page: PageId, out: &mut Vec<u8>) {
        let snapshots = &self.snapshots;
        assert!(
            epoch == snapshots.running.load(Ordering::Acquire),
            "no snapshot of epoch {epoch} is running"
        );
        if !self.capture_in_place(epoch, page, out) {
            let found = snapshots.images.lock().take(page);
            let image = found.unwrap_or_else(|| {
                panic!("{page} was not dirty at the snapshot, or is already captured")
            });
            replace(out, image.bytes());
            drop(image);
            snapshots.room.notify_all();
        }
        snapshots.left.fetch_sub(1, Ordering::AcqRel);
        if super::page::kind(out) == Some(super::page::Kind::Leaf) {
            let has_locked = Leaf::has_locked_row(out);
            assert!(!has_locked, "{page} was captured with a locked row");
        }
    }

    /// Captures the page from its frame, unless it has changed since the snapshot.
    fn capture_in_place(&self, epoch: u64, page: PageId, out: &mut Vec<u8>) -> bool {
        let guard = crossbeam_epoch::pin();
        let Some(frame) = self.translation.get(page, &guard) else {
            return false;
        };
        let seen = frame.modified_in.load(Ordering::Acquire);
        if seen == CLEAN || seen > epoch {
            return false;
        }
        let captured = epoch | CAPTURED;
        match &frame.body {
            Body::Leaf(latch) => {
                let leaf = latch.read();
                if leaf.is_gone() || !win(frame, seen, captured) {
                    return false;
                }
                replace(out, leaf.image());
            }
            Body::Inner(inner) => {
                if !win(frame, seen, captured) {
                    return false;
                }
                replace(out, inner.image());
            }
            Body::Value(bytes) => {
                if !win(frame, seen, captured) {
                    return false;
                }
                replace(out, bytes);
            }
        }
        true
    }

    /// Ends the snapshot: every dirty page is captured. Wakes threads that wait for the pool.
    pub(crate) fn finish_snapshot(&self, epoch: u64) {
        let snapshots = &self.snapshots;
        let left = snapshots.left.load(Ordering::Acquire);
        assert!(left == 0, "{left} dirty pages of the snapshot are not captured");
        let images = snapshots.images.lock();
        assert!(images.is_empty(), "the pool holds images that no capture has taken");
        snapshots.finished.store(epoch, Ordering::Release);
        let running = snapshots.running.swap(0, Ordering::AcqRel);
        assert!(
            running == epoch,
            "the snapshot of epoch {running} is running, not that of {epoch}"
        );
        snapshots.running_bytes.store(0, Ordering::Relaxed);
        self.resume_eviction();
        snapshots.room.notify_all();
    }

    /// Abandons the running snapshot: its pages are dirty again, captured or not, and those that it found
    /// freed count as freed since. Transactions continue meanwhile; only the capturing thread calls this.
    pub(crate) fn abandon_snapshot(
        &self,
        epoch: u64,
        (dirty, long): (&[PageId], &[(PageId, u32)]),
        freed: &[PageId],
    ) {
        let snapshots = &self.snapshots;
        let running = snapshots.running.load(Ordering::Acquire);
        assert!(
            running == epoch,
            "the snapshot of epoch {running} is running, not that of {epoch}"
        );
        let guard = crossbeam_epoch::pin();
        for page in dirty {
            if let Some(frame) = self.translation.get(*page, &guard) {
                // A thread that changes the page at this moment also moves it there.
                let _moved =
                    frame.modified_in.fetch_update(Ordering::AcqRel, Ordering::Acquire, |seen| {
                        let is_of_snapshot = seen <= epoch || seen == epoch | CAPTURED;
                        is_of_snapshot.then_some(epoch + 1)
                    });
            }
        }
        // Insert them before the changes listed since: the last entry of a page counts.
        let mut long = long.iter().peekable();
        let dirty = dirty.iter().map(|page| {
            let is_it = |of_long: &&(PageId, u32)| of_long.0 == *page;
            let image_bytes = long.next_if(is_it).map_or(0, |of_long| of_long.1);
            PageChange::changed(*page).with_long_image(image_bytes as usize)
        });
        let freed = freed.iter().map(|page| PageChange::freed(*page));
        let mut listed = snapshots.listed.lock();
        let since = std::mem::take(&mut *listed).changes;
        snapshots.listed_bytes.store(0, Ordering::Relaxed);
        for change in dirty.chain(freed).chain(since) {
            snapshots.list(&mut listed, change);
        }
        snapshots.running_bytes.store(0, Ordering::Relaxed);
        drop(listed);
        // No thread adds an image any more: no page awaits capture.
        let gone = snapshots.images.lock().take_all();
        snapshots.left.store(0, Ordering::Release);
        snapshots.running.store(0, Ordering::Release);
        snapshots.room.notify_all();
        drop(gone);
    }

    /// Waits, outside a section, until the pool can take another pre-image.
    pub(crate) fn wait_for_pre_images(&self) {
        let snapshots = &self.snapshots;
        let mut images = snapshots.images.lock();
        let is_full = |images: &mut ImagePool| !snapshots.has_room(images, self.free_for_images());
        snapshots.room.wait_while(&mut images, GATE, is_full);
    }

    /// True if the capturing thread should hurry: the pool is half full, or larger than its guaranteed size.
    pub(crate) fn pre_images_press(&self) -> bool {
        let may_always = self.snapshots.pre_image_bytes_max.min(ALWAYS_BYTES);
        self.snapshots.images.lock().copied_bytes() > may_always / 2
    }

    /// Prepares memory for more images while a snapshot is running, within the limits of the pool.
    pub(super) fn preallocate_copies(&self) {
        let snapshots = &self.snapshots;
        let may_grow = || {
            let images = snapshots.images.lock();
            let runs = snapshots.running.load(Ordering::Acquire) != 0;
            runs && snapshots.has_room(&images, self.free_for_images())
                && snapshots.copies.run_low(images.copied_bytes())
        };
        while may_grow() && snapshots.copies.preallocate() {}
    }

    /// A page's image, copied while its latch is held.
    fn copy(&self, page: &[u8], pool_bytes: u64) -> Image {
        let copy = self.snapshots.copies.of(page, pool_bytes);
        if self.snapshots.copies.run_low(pool_bytes) {
            self.low().raise();
        }
        copy
    }

    /// Must precede any change of the leaf, under its exclusive latch: lists it as dirty, and saves the
    /// snapshot's image if it still has to be captured.
    #[inline]
    pub(crate) fn touch_leaf(&self, frame: &Frame, leaf: &Leaf) -> Result<(), Stop> {
        if frame.modified_in.load(Ordering::Relaxed) == self.snapshots.epoch() {
            return Ok(());
        }
        let copy = |pool_bytes| self.copy(leaf.image(), pool_bytes);
        let free_bytes = || self.free_for_images();
        self.snapshots.first_change(frame, leaf.page(), free_bytes, copy)
    }

    /// The same for a page that is about to be replaced by a node with other contents.
    pub(crate) fn touch_inner(&self, frame: &Frame) -> Result<(), Stop> {
        if frame.modified_in.load(Ordering::Relaxed) == self.snapshots.epoch() {
            return Ok(());
        }
        let inner = frame.inner().expect("the frame of an inner node");
        let share = |_| Image::Shared(inner.image().clone());
        let free_bytes = || self.free_for_images();
        self.snapshots.first_change(frame, inner.page(), free_bytes, share)
    }
}
