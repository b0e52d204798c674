//! The buffer: pages found, made, replaced and freed.

use super::blocks::{BLOCK_BYTES, Blocks, CellsOf};
use super::eviction::Eviction;
#[cfg(test)]
use super::frame::CLEAN;
use super::frame::{Body, Content, DETACHED, Frame, FrameMemory};
use super::image_pool::Image;
use super::leaf::Leaf;
use super::memory_need::MemoryNeed;
use super::miss::{Forced, Miss, Stop};
use super::options::BufferOptions;
#[cfg(test)]
use super::page;
use super::page::Kind;
use super::page_allocator::PageAllocator;
use super::page_load::{Loads, PagesOnDisk};
use super::page_snapshot::{PageChange, PageSnapshots};
use super::prefetch::prefetch;
use super::prefetch_hint::PrefetchHint;
use super::spare_leaves::SpareLeaves;
use super::translation::{PageState, Removed, Translation};
use crate::error::{Error, Result};
use crate::ids::{PageId, TreeId};
use crate::sync::rank::PAGE_ALLOCATOR;
use crate::sync::ranked::Mutex;
use crate::sync::signal::Signal;
use crate::sync::thread::yield_now;
use crossbeam_epoch::Guard;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often [`Buffer::free_retired`] retries: at first at once, since a few rounds are enough without
/// readers; then with turns of the scheduler, then with pauses, since a reader may have lost its core.
const RETIRED_ROUNDS_AT_ONCE: u32 = 16;
const RETIRED_ROUNDS_AWAKE: u32 = 128;
const RETIRED_ROUNDS: u32 = RETIRED_ROUNDS_AWAKE + 100;
const RETIRED_PAUSE: Duration = Duration::from_millis(1);

/// All pages of a database.
pub(crate) struct Buffer {
    pub(super) translation: Translation,
    pub(super) snapshots: PageSnapshots,
    pub(super) page_allocator: Mutex<PageAllocator, PAGE_ALLOCATOR>,
    pub(super) account: Arc<FrameMemory>,
    blocks: Blocks,
    low: Arc<Signal>,
    /// The memory that is spoken for, in bytes: of pages whose numbers are allocated and that have not been
    /// placed yet, and, where none is evicted, of pages on disk.
    pub(super) promised_bytes: AtomicU64,
    pub(super) forced: Option<Forced>,
    /// None in a database that is not stored, and before its data file is opened.
    pub(super) on_disk: Option<PagesOnDisk>,
    pub(super) loads: Loads,
    pub(super) eviction: Eviction,
    pub(super) spare_leaves: SpareLeaves,
    pub(super) evicts: bool,
    page_bytes: u32,
    value_extent_bytes: u32,
    pub(super) resident_bytes_max: u64,
    blocks_from_bytes: u64,
}

/// Pins the current epoch so that frames cannot be freed. Every page access pins; pin once around a loop over
/// many pages, which makes the inner pins nearly free. Do not wait while pinned.
#[inline]
pub(crate) fn pin() -> Guard {
    crossbeam_epoch::pin()
}

impl Buffer {
    /// An empty buffer.
    pub(crate) fn new(options: &BufferOptions) -> Buffer {
        options.assert_sound();
        let account = Arc::new(FrameMemory::new(options.page_bytes));
        Buffer {
            translation: Translation::new(&account),
            snapshots: PageSnapshots::new(options.page_bytes, options.pre_image_bytes_max),
            page_allocator: Mutex::new(PageAllocator::new()),
            account,
            blocks: Blocks::new(CellsOf::pages(options.page_bytes as usize)),
            low: Arc::default(),
            promised_bytes: AtomicU64::new(0),
            forced: options.miss_every.map(Forced::new),
            on_disk: None,
            loads: Loads::new(),
            eviction: Eviction::new(),
            spare_leaves: SpareLeaves::new(
                if options.evicts { options.resident_bytes_max } else { 0 },
                options.page_bytes,
            ),
            evicts: options.evicts,
            page_bytes: options.page_bytes,
            value_extent_bytes: options.value_extent_bytes,
            resident_bytes_max: options.resident_bytes_max,
            // Evicted leaves would leave free cells behind, whose memory only other leaves could use.
            blocks_from_bytes: if options.evicts { u64::MAX } else { options.blocks_from_bytes },
        }
    }

    /// A page's length in bytes.
    #[inline]
    pub(crate) fn page_bytes(&self) -> usize {
        self.page_bytes as usize
    }

    /// The bytes of a new value in each of its extents but the last.
    pub(crate) fn value_extent_bytes(&self) -> u32 {
        self.value_extent_bytes
    }

    /// The bytes of a leaf or an inner node in memory with its frame.
    pub(crate) fn frame_bytes(&self) -> u64 {
        self.account.frame_bytes()
    }

    /// Memory in use, in bytes: frames with their pages, including those that wait for their last reader and
    /// the allocator's overhead; free cells in blocks; the translation table; images in the pool.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.bytes_without_images() + self.snapshots.image_bytes() + self.spare_leaves.bytes()
    }

    fn bytes_without_images(&self) -> u64 {
        self.account.bytes() + self.bytes_beside_frames()
    }

    fn bytes_beside_frames(&self) -> u64 {
        let map_bytes = self.on_disk.as_ref().map_or(0, |on_disk| on_disk.map.bytes());
        let tables = self.translation.bytes() + map_bytes + self.eviction.bytes();
        self.blocks.spare_bytes() + tables
    }

    /// The same with the pages that are on disk, as if they were loaded.
    pub(crate) fn bytes_with_promised(&self) -> u64 {
        self.resident_bytes() + self.promised_bytes.load(Ordering::Relaxed)
    }

    /// The memory that counts towards the cap. Where pages are evicted, frames that wait for their last
    /// reader do not: they are few, and evicting others for them would not free them sooner.
    pub(super) fn capped_bytes(&self) -> u64 {
        self.capped_without_images() + self.snapshots.image_bytes()
    }

    fn capped_without_images(&self) -> u64 {
        let frames = if self.evicts { self.account.placed_bytes() } else { self.account.bytes() };
        frames + self.bytes_beside_frames()
    }

    /// The memory that the cap leaves for images, in bytes.
    pub(super) fn free_for_images(&self) -> u64 {
        let promised = self.promised_bytes.load(Ordering::Relaxed);
        self.resident_bytes_max.saturating_sub(self.capped_without_images() + promised)
    }

    /// Allocates a number for a new page of that kind, the lowest free one. [`Buffer::add_page`] then adds
    /// the page. Refused when memory would exceed its cap; frames that are replaced while readers may see
    /// them can exceed it briefly by a few pages.
    pub(crate) fn allocate(&self, kind: Kind) -> Result<PageId> {
        let frame_bytes = self.account.frame_bytes();
        // The memory of a free cell is already counted.
        let is_counted = kind == Kind::Leaf && self.blocks.has_room();
        self.promise(frame_bytes, if is_counted { self.page_bytes.into() } else { 0 })?;
        Ok(self.page_allocator.lock().allocate())
    }

    /// Allocates consecutive numbers for extents, `count` of them for `value_bytes` of a value; returns the
    /// first. [`Buffer::add_detached_page`] then adds each extent. Refused like [`Buffer::allocate`].
    pub(crate) fn allocate_extents(&self, count: u64, value_bytes: u64) -> Result<PageId> {
        let needed = MemoryNeed::Extents { count, value_bytes };
        self.promise(needed.bytes(self.account.frame_bytes()), 0)?;
        Ok(self.page_allocator.lock().allocate_run(count))
    }

    /// Promises memory for pages that are about to be placed, of which `counted_bytes` are in use already.
    fn promise(&self, frame_bytes: u64, counted_bytes: u64) -> Result<()> {
        self.evict_for(frame_bytes);
        let promised = self.promised_bytes.fetch_add(frame_bytes, Ordering::Relaxed) + frame_bytes;
        let bytes = (self.capped_bytes() + promised).saturating_sub(counted_bytes);
        if bytes <= self.cap_bytes() {
            return Ok(());
        }
        self.promised_bytes.fetch_sub(frame_bytes, Ordering::Relaxed);
        Err(Error::Capped {
            what: "memory for pages (resident_bytes_max)",
            bytes,
            bytes_max: self.resident_bytes_max,
            advice: "delete rows or raise it",
        })
    }

    /// True if that memory is free below the cap now.
    pub(crate) fn has_memory(&self, need: MemoryNeed) -> bool {
        let needed = need.bytes(self.account.frame_bytes());
        let promised = self.promised_bytes.load(Ordering::Relaxed);
        let cells = self.blocks.free_cells().min(need.leaves());
        let counted = cells * u64::from(self.page_bytes);
        let bytes = (self.capped_bytes() + promised + needed).saturating_sub(counted);
        bytes <= self.cap_bytes()
    }

    /// Frees pages that have left the table, until the needed memory is free below the cap, or none waits for
    /// readers any more, or readers take too long. The caller must not hold a [`pin`]. Where pages are
    /// evicted, those that wait for readers do not count towards the cap, so there is nothing to wait for.
    pub(crate) fn free_retired(&self, need: MemoryNeed) {
        if !self.evicts {
            self.free_retired_until(|| self.has_memory(need));
        }
    }

    /// The same until none waits for readers any more, for tests that count bytes.
    #[cfg(test)]
    pub(crate) fn free_all_retired(&self) {
        self.free_retired_until(|| false);
    }

    fn free_retired_until(&self, is_enough: impl Fn() -> bool) {
        for round in 0..RETIRED_ROUNDS {
            if self.account.retired_bytes() == 0 || is_enough() {
                return;
            }
            // Each call advances the epoch by at most one, and frees part of the garbage that is old enough.
            crossbeam_epoch::pin().flush();
            match round {
                0..RETIRED_ROUNDS_AT_ONCE => {}
                RETIRED_ROUNDS_AT_ONCE..RETIRED_ROUNDS_AWAKE => yield_now(),
                _ => std::thread::sleep(RETIRED_PAUSE),
            }
        }
    }

    /// Returns an allocated number that got no page.
    pub(crate) fn release(&self, page: PageId) {
        self.promised_bytes.fetch_sub(self.account.frame_bytes(), Ordering::Relaxed);
        self.page_allocator.lock().free(page);
    }

    /// Adds a new leaf or inner node under its allocated number; it is dirty from the start.
    pub(crate) fn add_page(&self, content: Content) {
        let content = self.moved(content);
        let mut listed = self.snapshots.listed.lock();
        let page = content.page();
        self.put_new(content, self.snapshots.epoch());
        self.promised_bytes.fetch_sub(self.account.frame_bytes(), Ordering::Relaxed);
        self.snapshots.list(&mut listed, PageChange::changed(page));
    }

    /// Adds a new extent under its allocated number. No checkpoint sees it until it is attached.
    pub(crate) fn add_detached_page(&self, extent: Arc<[u8]>) {
        let frame_bytes = self.put_new(Content::Value(extent), DETACHED);
        self.promised_bytes.fetch_sub(frame_bytes, Ordering::Relaxed);
    }

    /// Ends the detached state of a page: it is dirty now.
    pub(crate) fn attach(&self, page: PageId) {
        let guard = crossbeam_epoch::pin();
        let mut listed = self.snapshots.listed.lock();
        let frame =
            self.translation.get(page, &guard).expect("a detached page stays until attached");
        let before = frame.modified_in.swap(self.snapshots.epoch(), Ordering::AcqRel);
        assert!(before == DETACHED, "{page} was not detached");
        let image_bytes = frame.value_bytes().filter(|bytes| *bytes > self.page_bytes());
        self.snapshots
            .list(&mut listed, PageChange::changed(page).with_long_image(image_bytes.unwrap_or(0)));
    }

    /// Adds a page from its image; it is clean.
    #[cfg(test)]
    pub(crate) fn install(&self, page: PageId, image: Box<[u8]>) {
        let is_extent = page::kind(&image) == Some(Kind::Extent);
        assert!(image.len() == self.page_bytes() || is_extent, "{page} has {} bytes", image.len());
        let content = self.moved(Content::from_image(image));
        assert!(content.page() == page, "{page} carries the number of {}", content.page());
        self.put_new(content, CLEAN);
    }

    /// At opening, when all pages are known: numbers below `next` without a page are free.
    pub(crate) fn set_next_page(&self, next: PageId) {
        let guard = crossbeam_epoch::pin();
        let is_there = |page| !matches!(self.translation.state(page, &guard), PageState::Absent);
        self.page_allocator.lock().restore(next, is_there);
    }

    /// Replaces a page's contents, in a section, by the thread that holds its tree's structure. The page must
    /// have been touched in this section.
    pub(crate) fn replace(&self, content: Content, guard: &Guard) {
        let content = self.moved(content);
        let page = content.page();
        let frame = self.translation.get(page, guard).expect("a page to be replaced is there");
        let epoch = self.snapshots.epoch();
        assert!(
            frame.modified_in.load(Ordering::Acquire) == epoch,
            "{page} is replaced without having been touched"
        );
        self.put_frame(page, Frame::new(content, epoch), guard);
        // The replaced frame is a page long; do not let it wait for a full bag of garbage.
        guard.flush();
    }

    /// Frees a page, in a section; a snapshot that still needs its image gets it. Never refused: the image's
    /// memory is already in use. No snapshot needs a page that is on disk.
    pub(crate) fn free(&self, page: PageId) {
        let guard = crossbeam_epoch::pin();
        let PageState::Resident(frame) = self.translation.state(page, &guard) else {
            self.forget(page, &guard);
            return;
        };
        match &frame.body {
            Body::Leaf(latch) => {
                let mut leaf = latch.write();
                // It may have been evicted a moment ago.
                if !leaf.is_gone() {
                    self.retire_leaf(frame, &mut leaf);
                }
            }
            Body::Inner(inner) => {
                self.snapshots.hand_over(frame, page, Image::Shared(inner.image().clone()));
            }
            Body::Value(bytes) => {
                self.snapshots.hand_over(frame, page, Image::Shared(bytes.clone()));
            }
        }
        self.forget(page, &guard);
    }

    /// Marks a leaf as gone under its latch and gives its image to the pool; [`Buffer::forget`] or
    /// [`Buffer::replace`] follows.
    pub(crate) fn retire_leaf(&self, frame: &Frame, leaf: &mut Leaf) {
        let page = leaf.page();
        self.snapshots.hand_over(frame, page, Image::Own(leaf.leave()));
    }

    /// Removes a page from the table after its image was handed to the pool, and frees its number.
    pub(crate) fn forget(&self, page: PageId, guard: &Guard) {
        let mut listed = self.snapshots.listed.lock();
        let is_detached = self
            .translation
            .get(page, guard)
            .is_some_and(|frame| frame.modified_in.load(Ordering::Acquire) == DETACHED);
        let removed = self.translation.remove(page, guard);
        assert!(removed != Removed::Absent, "{page} is freed twice");
        if !is_detached {
            self.snapshots.list(&mut listed, PageChange::freed(page));
        }
        drop(listed);
        self.eviction.take_counter(page);
        if removed == Removed::OnDisk {
            self.take_promise(page);
        }
        if removed != Removed::Loading {
            self.page_allocator.lock().free(page);
        }
    }

    /// The page's frame; none if there is no such page.
    #[inline]
    pub(crate) fn find<'g>(
        &self,
        page: PageId,
        guard: &'g Guard,
    ) -> std::result::Result<Option<&'g Frame>, Miss> {
        if let Some(forced) = &self.forced
            && forced.misses()
        {
            return Err(Miss(page));
        }
        match self.translation.get(page, guard) {
            Some(frame) => Ok(Some(frame)),
            None => self.find_absent(page),
        }
    }

    /// A page without a frame: a miss if it is on disk.
    #[cold]
    fn find_absent<'g>(&self, page: PageId) -> std::result::Result<Option<&'g Frame>, Miss> {
        if self.is_on_disk(page) { Err(Miss(page)) } else { Ok(None) }
    }

    /// The same for a page that is probably a leaf: prefetches by its hint. `part` is the relative position
    /// of the wanted key in the leaf's range, see [`Inner::part`].
    #[inline]
    pub(crate) fn find_leaf<'g>(
        &self,
        page: PageId,
        part: impl FnOnce() -> Option<f64>,
        guard: &'g Guard,
    ) -> std::result::Result<Option<&'g Frame>, Miss> {
        if let Some(prefetch_hint) = self.translation.prefetch_hint(page) {
            prefetch_hint.prefetch_lines();
            prefetch_hint.prefetch_row(self.page_bytes(), part);
        }
        self.find(page, guard)
    }

    /// Prefetches the table entry of a page that is probably a leaf. The page need not exist.
    #[inline]
    pub(crate) fn prefetch_entry(&self, page: PageId) {
        self.translation.prefetch_entry(page);
    }

    /// Prefetches a page's frame, and returns it without reading it. None if there is no such page.
    #[inline]
    pub(crate) fn prefetch_frame<'g>(&self, page: PageId, guard: &'g Guard) -> Option<&'g Frame> {
        let frame = self.translation.get(page, guard)?;
        prefetch(ptr::from_ref(frame).addr(), size_of::<Frame>());
        Some(frame)
    }

    /// Prefetches a page that is probably a leaf, and returns its frame without reading it. None if there is
    /// no such page.
    #[inline]
    pub(crate) fn prefetch_leaf<'g>(&self, page: PageId, guard: &'g Guard) -> Option<&'g Frame> {
        self.translation.prefetch_hint(page)?.prefetch_lines();
        let frame = self.translation.get(page, guard)?;
        prefetch(ptr::from_ref(frame).addr(), size_of::<Frame>());
        Some(frame)
    }

    /// Updates the prefetch hint of a latched leaf if the lines of its search have moved.
    #[inline]
    pub(crate) fn update_hint(&self, page: PageId, leaf: &Leaf) {
        let lines = PrefetchHint::lines_of(leaf);
        let known = self.translation.prefetch_hint(page);
        if known.is_some_and(|known| !known.has_lines_of(lines)) {
            self.refresh_hint(page, leaf);
        }
    }

    /// The same if the leaf may have become even, or is no longer even.
    pub(crate) fn refresh_hint(&self, page: PageId, leaf: &Leaf) {
        self.translation.update_hint(page, PrefetchHint::of(leaf));
    }

    /// The frame of a page that is resident, without forced misses.
    #[inline]
    pub(crate) fn frame<'g>(&self, page: PageId, guard: &'g Guard) -> Option<&'g Frame> {
        self.translation.get(page, guard)
    }

    /// Every page labelled as the tree's, except detached ones, ascending. Scans all pages.
    pub(crate) fn pages_of(&self, tree: TreeId) -> Vec<PageId> {
        let labelled = self.labelled(|label| label == tree);
        labelled.map(|(page, _tree)| page).collect()
    }

    /// True if a page exists, is attached, and is labelled as the tree's.
    pub(crate) fn is_labelled(&self, page: PageId, tree: TreeId) -> bool {
        self.attached_tree(page, &crossbeam_epoch::pin()) == Some(tree)
    }

    /// A key whose path from the root leads through that page, if the page is in the tree; none for an
    /// extent, for a leaf that is gone and for a page that is not resident.
    pub(crate) fn key_within(&self, page: PageId) -> Option<Vec<u8>> {
        let guard = crossbeam_epoch::pin();
        let frame = self.translation.get(page, &guard)?;
        if let Some(latch) = frame.leaf() {
            let leaf = latch.read();
            return (!leaf.is_gone()).then(|| leaf.lower_fence().to_vec());
        }
        let branches = frame.inner()?.branches();
        (branches.count() > 0).then(|| branches.separator(0).to_vec())
    }

    /// Every page whose tree satisfies `is_of`, with that tree, ascending; without detached pages and leaves
    /// that are gone. Scans all pages, also while writers run.
    pub(crate) fn labelled(
        &self,
        is_of: impl Fn(TreeId) -> bool,
    ) -> impl Iterator<Item = (PageId, TreeId)> {
        let guard = crossbeam_epoch::pin();
        let end = self.page_allocator.lock().next();
        (1..end.0).map(PageId).filter_map(move |page| {
            let tree = self.attached_tree(page, &guard)?;
            is_of(tree).then_some((page, tree))
        })
    }

    /// The tree of a page, resident or on disk; none if it is detached or a leaf that is gone.
    fn attached_tree(&self, page: PageId, guard: &Guard) -> Option<TreeId> {
        loop {
            let frame = match self.translation.state(page, guard) {
                PageState::Resident(frame) => frame,
                PageState::OnDisk | PageState::Loading => return self.tree_on_disk(page),
                PageState::Absent => return None,
            };
            let label = frame.label();
            let is_still = self.translation.get(page, guard).is_some_and(|now| ptr::eq(now, frame));
            // A leaf that is gone was evicted if the table has something else by now.
            if label.is_some() || is_still {
                return label.filter(|_| !frame.is_detached()).map(|(_, tree)| tree);
            }
        }
    }

    /// Passes a leaf to `read`, under its shared latch; none if the page is gone or not a leaf.
    #[inline]
    pub(crate) fn view_leaf<R>(
        &self,
        page: PageId,
        guard: &Guard,
        read: impl FnOnce(&Leaf) -> R,
    ) -> Option<R> {
        self.translation.prefetch_hint(page)?.prefetch_lines();
        let leaf = self.translation.get(page, guard)?.leaf()?.read();
        (!leaf.is_gone()).then(|| read(&leaf))
    }

    /// Changes a leaf, in a section, under its exclusive latch; none if the page is gone or not a leaf.
    #[inline]
    pub(crate) fn change_leaf<R>(
        &self,
        page: PageId,
        guard: &Guard,
        change: impl FnOnce(&mut Leaf) -> R,
    ) -> std::result::Result<Option<R>, Stop> {
        let Some(frame) = self.translation.get(page, guard) else {
            return Ok(None);
        };
        let Some(latch) = frame.leaf() else {
            return Ok(None);
        };
        let mut leaf = latch.write();
        if leaf.is_gone() {
            return Ok(None);
        }
        self.touch_leaf(frame, &leaf)?;
        Ok(Some(change(&mut leaf)))
    }

    /// Moves a leaf's contents into a block, if blocks are worth it and there is room; in a store that
    /// evicts, into the memory of an evicted leaf.
    pub(super) fn moved(&self, mut content: Content) -> Content {
        let Content::Leaf(leaf) = &mut content else {
            return content;
        };
        if self.evicts {
            leaf.move_to_spare(&self.spare_leaves);
        } else if self.account.bytes() >= self.blocks_from_bytes {
            let may_come = self.block_may_come(self.blocks_from_bytes);
            leaf.move_to(&self.blocks, may_come);
            if may_come && self.blocks.runs_low() {
                self.low.raise();
            }
        }
        content
    }

    /// Raised when blocks for leaves or images run low: a thread should then call [`Buffer::preallocate`].
    pub(crate) fn low(&self) -> &Arc<Signal> {
        &self.low
    }

    /// True if there are fewer free cells than the spare blocks have.
    #[cfg(test)]
    pub(crate) fn runs_low(&self) -> bool {
        self.blocks.runs_low()
    }

    /// Prepares blocks before leaves and images need them, within the cap.
    pub(crate) fn preallocate(&self) {
        self.preallocate_copies();
        while self.blocks.runs_low()
            && self.block_may_come(self.blocks_from_bytes)
            && self.blocks.preallocate()
        {}
    }

    /// True if pages take at least `from_bytes`, and another block fits below the cap.
    fn block_may_come(&self, from_bytes: u64) -> bool {
        let frames = self.account.bytes();
        let promised = self.promised_bytes.load(Ordering::Relaxed);
        let with_block = || self.resident_bytes() + promised + BLOCK_BYTES as u64;
        frames >= from_bytes && with_block() <= self.resident_bytes_max
    }

    /// True if another block of frames fits below the cap. A block holds many frames: at least as many as
    /// four blocks of leaves have leaves.
    pub(super) fn frame_block_may_come(&self) -> bool {
        self.block_may_come(self.blocks_from_bytes.saturating_mul(8))
    }

    fn put_frame(&self, page: PageId, frame: Frame, guard: &Guard) {
        self.translation.put(page, frame, self.frame_block_may_come(), guard);
    }

    /// Returns the memory of the new frame with its page.
    fn put_new(&self, content: Content, modified_in: u64) -> u64 {
        let guard = crossbeam_epoch::pin();
        let page = content.page();
        let is_new = matches!(self.translation.state(page, &guard), PageState::Absent);
        assert!(is_new, "{page} already exists");
        let frame = Frame::new(content, modified_in);
        let frame_bytes = self.account.bytes_of(&frame);
        self.put_frame(page, frame, &guard);
        frame_bytes
    }
}
