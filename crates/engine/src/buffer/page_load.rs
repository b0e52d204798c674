//! Loading: a page that is on disk becomes resident.
//!
//! The first thread that finds a page on disk reads it, with nothing held; other threads that need it wait
//! for that read. A failed read leaves the page on disk and is the error of the thread that read; a waiting
//! thread then reads for itself.
//!
//! An image may hold ghosts of rows that were deleted before the store was opened, which no reader needs.
//! They are removed while the page is loaded, before any thread sees it, and the page counts as clean: its
//! next load removes them again. A leaf that is empty or poor without them is noted, so that it can be
//! merged ([`Buffer::take_stripped`]).
//!
//! Invariants:
//! 1. One thread at a time loads a page. So no read of it is under way when its image may have been
//!    superseded by another state: a page changes only while it is resident. The image may be moved
//!    meanwhile; then the page is read again ([`super::page_map`]).
//! 2. A load ends, also if its thread panics: other threads may wait for it.
//! 3. In a store that must fit in memory, pages on disk count towards the memory cap as if they were loaded.

use super::frame::{CLEAN, Content, Frame};
use super::miss::{Forced, Miss};
use super::page_map::{Entry, PageMap};
use super::pages::Buffer;
use super::translation::{LoadEnd, PageState};
use crate::error::Result;
use crate::ids::{Csn, PageId, TreeId};
use crate::planted_bug::{PlantedBug, planted};
use crate::step::{Step, step};
use crate::sync::rank::{LOADS, STRIPPED};
use crate::sync::ranked::{Condvar, Mutex};
use crate::sync::thread::yield_now;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the images of pages come from.
pub(crate) trait PageSource: Send + Sync {
    /// Reads the image that an entry of the page map names, verifies it and returns the page as in memory.
    fn read(&self, page: PageId, entry: Entry) -> Result<Box<[u8]>>;

    /// The same for pages whose images lie near each other, in the order of the file, with one read.
    fn read_run(&self, pages: &[(PageId, Entry)], each: &mut dyn FnMut(PageId, Result<Box<[u8]>>));

    /// The same for pages in the order of their images, with reads at the same time.
    fn read_batch(
        &self,
        pages: &[(PageId, Entry)],
        each: &mut dyn FnMut(PageId, Result<Box<[u8]>>),
    );

    /// For reads that one thread begins.
    fn queue(&self) -> Box<dyn PageQueue>;
}

/// Reads of images that are under way, begun by one thread.
pub(crate) trait PageQueue: Send {
    /// Begins to read the image that an entry of the page map names. There is room.
    fn begin(&mut self, page: PageId, entry: Entry);

    /// Hands what has begun to the system.
    fn submit(&mut self);

    /// True if another read may begin.
    fn has_room(&self) -> bool;

    /// Reads that have begun and have not been passed on.
    fn len(&self) -> usize;

    /// Waits until `at_least` images have arrived, or all if there are fewer, and passes on all that have:
    /// each verified, and as the page is in memory.
    fn wait(&mut self, at_least: usize, each: &mut dyn FnMut(PageId, Result<Box<[u8]>>));
}

/// The pages on disk: where they are, and what loading needs.
pub(super) struct PagesOnDisk {
    pub(super) map: Arc<PageMap>,
    pub(super) source: Box<dyn PageSource>,
    /// Ghosts of deletes up to this commit are removed from images.
    pub(super) ghosts_until: Csn,
}

impl PagesOnDisk {
    /// True if no entry has changed since [`PageMap::changes`] returned this.
    pub(super) fn is_unchanged(&self, changes: Option<u64>) -> bool {
        changes.is_some() && self.map.changes() == changes || planted(PlantedBug::TrustOldEntry)
    }

    pub(super) fn new(
        map: Arc<PageMap>,
        source: Box<dyn PageSource>,
        ghosts_until: Csn,
    ) -> PagesOnDisk {
        PagesOnDisk { map, source, ghosts_until }
    }
}

/// The loads under way, and what they leave to be done.
pub(super) struct Loads {
    /// Held to change the state of a page that other threads may wait for, and while they check it.
    ends: Mutex<(), LOADS>,
    ended: Condvar,
    stripped: Mutex<Vec<(TreeId, Vec<u8>)>, STRIPPED>,
    loaded: AtomicU64,
}

impl Loads {
    pub(super) fn new() -> Loads {
        Loads {
            ends: Mutex::new(()),
            ended: Condvar::new(),
            stripped: Mutex::new(Vec::new()),
            loaded: AtomicU64::new(0),
        }
    }
}

impl Buffer {
    /// At opening: every page that the map names is on disk. All page numbers are below `next`, and no reader
    /// needs a ghost of a delete up to `ghosts_until`.
    pub(crate) fn set_on_disk(
        &mut self,
        map: Arc<PageMap>,
        source: Box<dyn PageSource>,
        next: PageId,
        ghosts_until: Csn,
    ) {
        let mut promised = 0;
        for (page, entry) in map.pages(next) {
            self.translation.set_on_disk(page);
            promised += self.loaded_bytes(entry);
        }
        if !self.evicts {
            self.promised_bytes.fetch_add(promised, Ordering::Relaxed);
        }
        self.set_next_page(next);
        self.on_disk = Some(PagesOnDisk::new(map, source, ghosts_until));
    }

    /// Makes a page resident, or finds that it has become resident or does not exist any more. The caller
    /// holds no latch, no section and no [`pin`](super::pin).
    ///
    /// # Errors
    ///
    /// Those of the disk, and [`Error::Damaged`](crate::Error::Damaged) if the image is not the page's.
    pub(crate) fn load(&self, miss: Miss) -> Result<()> {
        let page = miss.0;
        if self.forced.is_some() {
            Forced::loaded();
        }
        loop {
            match self.state(page) {
                PlainState::Elsewhere => return Ok(()),
                PlainState::OnDisk if self.translation.begin_load(page) => {
                    return self.read_in(page);
                }
                PlainState::OnDisk => {}
                PlainState::Loading => {
                    let mut ends = self.loads.ends.lock();
                    let is_loading = |(): &mut ()| self.state(page) == PlainState::Loading;
                    self.loads.ended.wait_while(&mut ends, LOADS, is_loading);
                }
            }
        }
    }

    /// Loads pages from `from` on, in the order of their numbers, up to about `bytes` bytes of images, with
    /// few reads. Pages that cannot be read stay on disk. Returns where to continue; none at the end.
    pub(crate) fn load_some(&self, from: PageId, bytes: u64) -> Option<PageId> {
        let on_disk = self.on_disk.as_ref()?;
        let end = self.page_allocator.lock().next();
        let (mut pages, mut left, mut next) = (Vec::new(), bytes, from);
        while next < end && left > 0 {
            let entry = on_disk.map.get(next);
            if self.claim(next) {
                left = left.saturating_sub(entry.bytes.into());
                pages.push((next, entry));
            }
            next = PageId(next.0 + 1);
        }
        pages.sort_unstable_by_key(|(_, entry)| entry.offset);
        let mut rest = &pages[..];
        while !rest.is_empty() {
            let (run, later) = rest.split_at(near(rest, GAP_BYTES_MAX));
            rest = later;
            self.read_in_together(run, |each| on_disk.source.read_run(run, each));
        }
        (next < end).then_some(next)
    }

    /// Loads pages that are needed soon, with reads at the same time. It is a hint: pages that do not fit,
    /// that cannot be read or that another thread is loading are left to those who need them. The caller
    /// holds no latch, no section and no [`pin`](super::pin).
    pub(crate) fn load_batch(&self, pages: impl Iterator<Item = PageId>) {
        let Some(on_disk) = &self.on_disk else {
            return;
        };
        let mut left = self.resident_bytes_max / BATCH_PART;
        let mut claimed = Vec::new();
        for page in pages {
            let entry = on_disk.map.get(page);
            let bytes = self.loaded_bytes(entry);
            if bytes > left {
                break;
            }
            if self.claim(page) {
                left -= bytes;
                claimed.push((page, entry));
            }
        }
        if claimed.is_empty() {
            return;
        }
        step(Step::Read);
        claimed.sort_unstable_by_key(|(_, entry)| entry.offset);
        self.read_in_together(&claimed, |each| on_disk.source.read_batch(&claimed, each));
    }

    /// Ends the loads of pages that this thread has begun, with the images that `read` passes on. Pages that
    /// cannot be read stay on disk.
    fn read_in_together(
        &self,
        pages: &[(PageId, Entry)],
        read: impl FnOnce(&mut dyn FnMut(PageId, Result<Box<[u8]>>)),
    ) {
        let loads: Vec<EndOnDrop<'_>> =
            pages.iter().map(|&(page, _)| EndOnDrop { buffer: self, page: Some(page) }).collect();
        let ghosts_until = self.on_disk.as_ref().map_or(Csn::ZERO, |on_disk| on_disk.ghosts_until);
        read(&mut |page, image| match image {
            Ok(image) => self.place(page, image, ghosts_until),
            Err(_unreadable) => {
                self.end_failed(page);
            }
        });
        loads.into_iter().for_each(EndOnDrop::disarm);
    }

    /// True if a page that exists may be on disk: the store evicts, or has not been loaded yet.
    #[inline]
    pub(crate) fn may_miss(&self) -> bool {
        self.on_disk.is_some() && (self.evicts || self.promised_bytes.load(Ordering::Relaxed) > 0)
    }

    /// Leaves that lost ghosts when they were loaded and are empty or poor now: each by its tree and a key
    /// that it covers.
    pub(crate) fn take_stripped(&self) -> Vec<(TreeId, Vec<u8>)> {
        std::mem::take(&mut *self.loads.stripped.lock())
    }

    /// True if opening has found pages in the data file.
    pub(crate) fn has_pages_on_disk(&self) -> bool {
        self.on_disk.as_ref().is_some_and(|on_disk| {
            let end = self.page_allocator.lock().next();
            on_disk.map.pages(end).next().is_some()
        })
    }

    /// Pages loaded so far.
    pub(crate) fn loaded(&self) -> u64 {
        self.loads.loaded.load(Ordering::Relaxed)
    }

    /// True if the page is on disk or being loaded.
    pub(crate) fn is_on_disk(&self, page: PageId) -> bool {
        matches!(self.state(page), PlainState::OnDisk | PlainState::Loading)
    }

    /// The tree of a page that is on disk.
    pub(super) fn tree_on_disk(&self, page: PageId) -> Option<TreeId> {
        let on_disk = self.on_disk.as_ref()?;
        self.is_on_disk(page).then(|| on_disk.map.get(page).tree)
    }

    /// The kind of a page's state, without its frame.
    fn state(&self, page: PageId) -> PlainState {
        match self.translation.state(page, &super::pin()) {
            PageState::Absent | PageState::Resident(_) => PlainState::Elsewhere,
            PageState::OnDisk => PlainState::OnDisk,
            PageState::Loading => PlainState::Loading,
        }
    }

    /// Reads a page whose load this thread has begun.
    fn read_in(&self, page: PageId) -> Result<()> {
        let on_disk = self.on_disk.as_ref().expect("a page is on disk only in a stored database");
        let load = EndOnDrop { buffer: self, page: Some(page) };
        let image = loop {
            let changes = on_disk.map.changes();
            let entry = on_disk.map.get(page);
            step(Step::Read);
            match on_disk.source.read(page, entry) {
                // Its image may have been moved, and something else written there.
                Err(_) if !on_disk.is_unchanged(changes) => yield_now(),
                read => break read,
            }
        };
        load.disarm();
        match image {
            Ok(image) => {
                self.place(page, image, on_disk.ghosts_until);
                Ok(())
            }
            // The image of a page that was freed meanwhile may be anything.
            Err(error) => match self.end_failed(page) {
                LoadEnd::Kept => Err(error),
                LoadEnd::Abandoned => Ok(()),
            },
        }
    }

    /// Claims a page that is on disk; false if it is not.
    pub(super) fn claim(&self, page: PageId) -> bool {
        self.state(page) == PlainState::OnDisk && self.translation.begin_load(page)
    }

    /// Ends a load with the page's image.
    pub(super) fn place(&self, page: PageId, image: Box<[u8]>, ghosts_until: Csn) {
        let image_bytes = image.len() as u64;
        let mut content = Content::from_image(image);
        assert!(content.page() == page, "{page} carries the number of {}", content.page());
        let counter = self.eviction.take_counter(page);
        let mut stripped = None;
        if let Content::Leaf(leaf) = &mut content {
            let is_stripped = !planted(PlantedBug::KeepGhosts) && leaf.strip_ghosts(ghosts_until);
            if is_stripped && leaf.is_poor() {
                stripped = Some((leaf.tree(), leaf.lower_fence().to_vec()));
            }
            if let Some(counter) = counter {
                leaf.restore_counter(counter);
            }
        }
        self.evict_for(self.frame_bytes().max(image_bytes));
        let frame = Frame::new(self.moved(content), CLEAN);
        let guard = super::pin();
        let end = self.translation.end_load(page, frame, self.frame_block_may_come(), &guard);
        self.ended(page, end);
        self.loads.loaded.fetch_add(1, Ordering::Relaxed);
        if end == LoadEnd::Kept
            && let Some(leaf) = stripped
        {
            self.loads.stripped.lock().push(leaf);
        }
        self.take_promise(page);
    }

    /// A page that counted towards the cap while it was on disk does so no longer.
    pub(super) fn take_promise(&self, page: PageId) {
        if let Some(on_disk) = self.on_disk.as_ref().filter(|_| !self.evicts) {
            let bytes = self.loaded_bytes(on_disk.map.get(page));
            self.promised_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// The memory that a page on disk takes once it is loaded, at most.
    pub(super) fn loaded_bytes_of(&self, page: PageId) -> u64 {
        let entry = self.on_disk.as_ref().map(|on_disk| on_disk.map.get(page));
        self.loaded_bytes(entry.unwrap_or_default())
    }

    /// The memory that a page takes once it is loaded, at most.
    pub(super) fn loaded_bytes(&self, entry: Entry) -> u64 {
        let more = u64::from(entry.bytes).saturating_sub(self.page_bytes() as u64);
        self.frame_bytes() + more
    }

    /// Ends a load without an image.
    pub(super) fn end_failed(&self, page: PageId) -> LoadEnd {
        let end = self.translation.cancel_load(page);
        if end == LoadEnd::Abandoned {
            self.take_promise(page);
        }
        self.ended(page, end);
        end
    }

    /// Wakes the threads that wait for the load. The number of an abandoned page is free now.
    fn ended(&self, page: PageId, end: LoadEnd) {
        if end == LoadEnd::Abandoned {
            self.page_allocator.lock().free(page);
        }
        drop(self.loads.ends.lock());
        self.loads.ended.notify_all();
    }
}

/// A page's state without its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlainState {
    /// Absent or resident.
    Elsewhere,
    OnDisk,
    Loading,
}

/// Ends a load that a panic cuts off.
struct EndOnDrop<'b> {
    buffer: &'b Buffer,
    /// None if the load has ended.
    page: Option<PageId>,
}

impl EndOnDrop<'_> {
    fn disarm(mut self) {
        self.page = None;
    }
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        // Some pages of a run may be placed already.
        if let Some(page) = self.page
            && self.buffer.state(page) == PlainState::Loading
        {
            self.buffer.end_failed(page);
        }
    }
}

/// Gaps between two images up to this size are read rather than skipped, since another read costs more.
pub(crate) const GAP_BYTES_MAX: u64 = 64 << 10;

/// The part of the memory cap that a batch may load: small caches hold few pages.
pub(super) const BATCH_PART: u64 = 8;

/// The most bytes in one read.
const READ_BYTES_MAX: u64 = 1 << 20;

/// How many of these pages, in the order of their images, one read takes, without a gap of more bytes.
pub(crate) fn near(pages: &[(PageId, Entry)], gap_bytes_max: u64) -> usize {
    let from = pages[0].1.offset;
    let fits = pages.windows(2).take_while(|pair| {
        let (one, next) = (pair[0].1, pair[1].1);
        next.offset.saturating_sub(one.end()) <= gap_bytes_max
            && next.end() - from <= READ_BYTES_MAX
    });
    fits.count() + 1
}
