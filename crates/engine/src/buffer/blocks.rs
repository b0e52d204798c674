//! Memory for pages: pieces from the allocator, or cells of blocks that the system backs with huge pages.
//!
//! A read of a large store often accesses a leaf that has not been accessed for long. With pages of 4 KiB the
//! processor must then also walk its page tables. So leaves lie in blocks, each as long as a huge page of the
//! system and aligned to it, and the system is asked to back each block by one. A block:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 64 | the header: the pool that the block belongs to |
//! | 64 | page + 64, times as many as fit | cells: a page, then an unused cache line |
//!
//! Because of the unused line, the first lines of leaves, which are accessed most, do not all map to the same
//! few sets of a cache.
//!
//! The first block is mapped when a store has enough pages to benefit; from then on each leaf that gets a
//! frame moves into a cell. Intermediate copies, and images from the disk, come from the allocator, and so
//! does everything when no block is available. If the system has no huge pages blocks are ordinary memory.
//! Frames of a large store lie in blocks of their own.
//!
//! A block goes back to the system when its last cell is free, except for a few *spare* ones ([`spares`]), so
//! that allocating and freeing one leaf does not map and unmap a block each time. Of the blocks in use, the
//! one with the lowest address that has room is filled first, so that others empty. Cells that stay free in
//! other blocks count as memory in use ([`Blocks::spare_bytes`]) and are used for the next leaves.
//!
//! The system backs a block by memory when it is first written to, which can take long: 5 ms if a hypervisor
//! must provide the memory first. A thread that splits a leaf must not wait for that, with others waiting for
//! its latches. So a thread *preallocates* blocks ([`Blocks::preallocate`]) when they run low: it maps a
//! block and writes to all of it. Only a thread that outruns it maps a block and waits itself.
//!
//! Invariants:
//! 1. A cell is marked as free in its block, or it is in exactly one [`PageBytes`].
//! 2. A block is unmapped after it has left the pool, which it does only while all its cells are free.
//! 3. A header is written before the first cell is handed out, and stays until the block is unmapped.

#![allow(unsafe_code, reason = "mapped memory is handed out in pieces, each owned by one value")]

use super::frame::PIECE_BYTES;
use crate::sync::rank::BLOCKS;
use crate::sync::ranked::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A block's length and alignment in bytes: a huge page of x86-64 and of most other processors.
pub(super) const BLOCK_BYTES: usize = 2 << 20;

const LINE_BYTES: usize = 64;

/// A small page of the system. If they are larger, a few unnecessary bytes are written.
const SMALL_PAGE_BYTES: usize = 4096;

/// How many of `blocks` blocks may stay mapped without a cell in use: one in 128, at least one and at most
/// four.
fn spares(blocks: u64) -> usize {
    (blocks / 128).clamp(1, 4) as usize
}

/// The first line of a block.
#[repr(C, align(64))]
struct BlockHeader {
    pool: Arc<BlockPool>,
}

const _: () = assert!(size_of::<BlockHeader>() == LINE_BYTES, "the header is a cache line");

/// A page's bytes, from the allocator or in a cell; an empty value owns no memory. It has twelve bytes, so
/// that the fields of a leaf fit into its frame's cache line.
#[repr(C, packed(4))]
pub(crate) struct PageBytes {
    start: NonNull<u8>,
    /// The number of bytes, and [`IS_CELL`].
    bytes: u32,
}

/// The bit of the length that marks a cell.
const IS_CELL: u32 = 1 << 31;

impl PageBytes {
    #[inline]
    fn length(&self) -> usize {
        (self.bytes & !IS_CELL) as usize
    }

    #[inline]
    fn is_cell(&self) -> bool {
        self.bytes & IS_CELL != 0
    }
}

// SAFETY: it owns its bytes as a box does; the header that a cell's drop reads is never changed.
unsafe impl Send for PageBytes {}
// SAFETY: a shared reference only allows reading its bytes.
unsafe impl Sync for PageBytes {}

impl Default for PageBytes {
    fn default() -> PageBytes {
        PageBytes::from(Box::default())
    }
}

impl From<Box<[u8]>> for PageBytes {
    fn from(boxed: Box<[u8]>) -> PageBytes {
        let bytes = u32::try_from(boxed.len()).ok().filter(|bytes| *bytes < IS_CELL);
        let bytes = bytes.expect("a page has a few kilobytes");
        PageBytes { start: NonNull::from(Box::leak(boxed)).cast(), bytes }
    }
}

impl From<&[u8]> for PageBytes {
    fn from(bytes: &[u8]) -> PageBytes {
        Box::<[u8]>::from(bytes).into()
    }
}

impl Deref for PageBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: this many bytes from `start` on are initialized and belong to this value alone: a box gave
        // them up, or they are a cell (invariant 1), which the system has mapped as zeros.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length()) }
    }
}

impl DerefMut for PageBytes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; and this value is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length()) }
    }
}

impl Drop for PageBytes {
    fn drop(&mut self) {
        if self.is_cell() {
            // SAFETY: this value owned the cell, and ends.
            unsafe { give_back(self.start) };
        } else {
            let all = NonNull::slice_from_raw_parts(self.start, self.length());
            // SAFETY: the bytes come from a leaked box of this length, and are not used any more.
            drop(unsafe { Box::from_raw(all.as_ptr()) });
        }
    }
}

/// Marks a cell as free.
///
/// # Safety
///
/// The cell was handed out, and is not used any more.
unsafe fn give_back(cell: NonNull<u8>) {
    let block = |address: NonZero<usize>| NonZero::new(address.get() & !(BLOCK_BYTES - 1));
    let head = cell.map_addr(|cell| block(cell).expect("no block lies at address zero"));
    let head = head.cast::<BlockHeader>();
    // SAFETY: the cell is not free yet, so its block is mapped (invariant 2) and has its header (invariant
    // 3).
    let pool = Arc::clone(unsafe { &head.as_ref().pool });
    let unused = pool.put_back(head.addr().get(), cell.addr().get());
    // The block's header holds a reference to the pool: drop it first, outside of the lock.
    drop(unused);
}

/// The blocks of a store with cells of one length. Cells may outlive it.
pub(super) struct Blocks {
    pool: Arc<BlockPool>,
}

/// The blocks and their free cells.
pub(super) struct BlockPool {
    cells_of: CellsOf,
    state: Mutex<State, BLOCKS>,
    blocks: AtomicU64,
    cells: AtomicU64,
}

/// The layout of cells in a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellsOf {
    /// A cell's length, a multiple of a line.
    pub(super) bytes: usize,
    /// Bytes that stay unused behind each cell.
    pub(super) gap_bytes: usize,
    /// Bytes already counted elsewhere for the contents of a cell.
    pub(super) counted_bytes: u64,
}

impl CellsOf {
    /// For pages of this length.
    pub(super) fn pages(page_bytes: usize) -> CellsOf {
        CellsOf {
            bytes: page_bytes,
            gap_bytes: LINE_BYTES,
            counted_bytes: page_bytes as u64 + PIECE_BYTES,
        }
    }

    fn stride(self) -> usize {
        self.bytes + self.gap_bytes
    }

    /// How many cells a block has.
    pub(super) fn in_block(self) -> usize {
        (BLOCK_BYTES - LINE_BYTES) / self.stride()
    }
}

struct State {
    /// By address.
    blocks: BTreeMap<usize, Cells>,
    /// Blocks with free cells and some in use.
    roomy: BTreeSet<usize>,
    /// Blocks with only free cells.
    unused: BTreeSet<usize>,
    /// No cells will be taken any more: no unused block is kept.
    ends: bool,
}

/// A block and its free cells.
struct Cells {
    block: Block,
    free: Box<[u64]>,
    free_count: usize,
    count: usize,
}

impl Blocks {
    /// An empty set of blocks.
    pub(super) fn new(cells_of: CellsOf) -> Blocks {
        let state = State {
            blocks: BTreeMap::new(),
            roomy: BTreeSet::new(),
            unused: BTreeSet::new(),
            ends: false,
        };
        Blocks {
            pool: Arc::new(BlockPool {
                cells_of,
                state: Mutex::new(state),
                blocks: AtomicU64::new(0),
                cells: AtomicU64::new(0),
            }),
        }
    }

    /// Copies a page into a cell. None if there is no free cell and no block `may_come`, or none is
    /// available.
    pub(super) fn copy(&self, page: &[u8], may_come: bool) -> Option<PageBytes> {
        assert!(page.len() == self.pool.cells_of.bytes, "a page fills a cell");
        let mut cell =
            PageBytes { start: self.pool.take(may_come)?, bytes: page.len() as u32 | IS_CELL };
        cell.copy_from_slice(page);
        Some(cell)
    }

    /// Moves a value into a cell; [`Blocks::release`] returns it. Returns the value itself if there is no
    /// free cell and no block `may_come`, or none is available.
    pub(super) fn hold<T>(&self, value: T, may_come: bool) -> Result<NonNull<T>, T> {
        const { assert!(align_of::<T>() <= LINE_BYTES) };
        assert!(size_of::<T>() <= self.pool.cells_of.bytes, "a value fits into a cell");
        let Some(cell) = self.pool.take(may_come) else {
            return Err(value);
        };
        let place = cell.cast::<T>();
        // SAFETY: the cell is at least as long as the value, starts at a cache line, and has no other owner.
        unsafe { place.write(value) };
        Ok(place)
    }

    /// Takes a value out of its cell, and frees the cell.
    ///
    /// # Safety
    ///
    /// The value was moved there by [`Blocks::hold`], and is not accessed any more.
    pub(super) unsafe fn release<T>(place: NonNull<T>) -> T {
        // SAFETY: the caller guarantees that the value is there and will not be used there again.
        let value = unsafe { place.read() };
        // SAFETY: so the cell is not used any more.
        unsafe { give_back(place.cast()) };
        value
    }

    /// Memory of blocks that is not counted elsewhere, in bytes: free cells, and the gaps between cells.
    pub(super) fn spare_bytes(&self) -> u64 {
        // Load the cells first: others are taken and freed meanwhile.
        let cells = self.pool.cells.load(Ordering::Acquire);
        let blocks = self.pool.blocks.load(Ordering::Acquire);
        let used = cells * self.pool.cells_of.counted_bytes;
        (blocks * BLOCK_BYTES as u64).saturating_sub(used)
    }

    /// True if there are fewer free cells than the spare blocks have.
    pub(super) fn runs_low(&self) -> bool {
        let blocks = self.pool.blocks.load(Ordering::Acquire);
        self.free_cells() < (spares(blocks) * self.pool.cells_of.in_block()) as u64
    }

    /// Adds a block to the pool, backed by memory. False if the system provides none.
    pub(super) fn preallocate(&self) -> bool {
        let Some(mut block) = Block::map(&self.pool) else {
            return false;
        };
        // Outside of the lock, so that others can use the existing blocks.
        block.fault_in();
        self.pool.add(&mut self.pool.state.lock(), block);
        true
    }

    /// The pool that cells keep alive.
    #[cfg(test)]
    pub(super) fn weak(&self) -> std::sync::Weak<BlockPool> {
        Arc::downgrade(&self.pool)
    }

    /// True if a cell is free.
    pub(super) fn has_room(&self) -> bool {
        self.free_cells() > 0
    }

    /// How many cells are free.
    pub(super) fn free_cells(&self) -> u64 {
        let cells = self.pool.cells.load(Ordering::Acquire);
        let blocks = self.pool.blocks.load(Ordering::Acquire);
        (blocks * self.pool.cells_of.in_block() as u64).saturating_sub(cells)
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        if self.pool.blocks.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut state = self.pool.state.lock();
        state.ends = true;
        let unused = std::mem::take(&mut state.unused);
        let unused = unused.into_iter();
        let gone: Vec<Block> =
            unused.map(|address| self.pool.remove(&mut state, address)).collect();
        drop(state);
        drop(gone);
    }
}

impl BlockPool {
    fn take(self: &Arc<BlockPool>, may_come: bool) -> Option<NonNull<u8>> {
        if !may_come && self.blocks.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut state = self.state.lock();
        let state = &mut *state;
        let in_use = state.roomy.first().copied();
        let address = match in_use.or_else(|| state.unused.pop_first()) {
            Some(address) => address,
            None if may_come => {
                let address = self.add(state, Block::map(self)?);
                state.unused.remove(&address);
                address
            }
            None => return None,
        };
        let cells = state.blocks.get_mut(&address).expect("it has room");
        let index = cells.take();
        if cells.free_count == 0 {
            state.roomy.remove(&address);
        } else {
            state.roomy.insert(address);
        }
        self.cells.fetch_add(1, Ordering::AcqRel);
        Some(cells.block.cell(index, self.cells_of))
    }

    /// Adds a new block to the pool; returns its address.
    fn add(&self, state: &mut State, block: Block) -> usize {
        let address = block.0.addr().get();
        let count = self.cells_of.in_block();
        state.blocks.insert(address, Cells::all_free(block, count));
        state.unused.insert(address);
        self.blocks.fetch_add(1, Ordering::AcqRel);
        address
    }

    /// Takes a cell back; returns the blocks to unmap.
    fn put_back(&self, block: usize, cell: usize) -> Vec<Block> {
        let mut state = self.state.lock();
        let index = (cell - block - LINE_BYTES) / self.cells_of.stride();
        let cells = state.blocks.get_mut(&block).expect("a cell belongs to a block");
        cells.put_back(index);
        self.cells.fetch_sub(1, Ordering::AcqRel);
        if !cells.is_unused() {
            state.roomy.insert(block);
            return Vec::new();
        }
        state.roomy.remove(&block);
        state.unused.insert(block);
        let mut gone = Vec::new();
        while state.ends || state.unused.len() > spares(self.blocks.load(Ordering::Acquire)) {
            let Some(highest) = state.unused.pop_last() else {
                break;
            };
            gone.push(self.remove(&mut state, highest));
        }
        gone
    }

    /// Removes a block that is in neither set from the pool.
    fn remove(&self, state: &mut State, address: usize) -> Block {
        let cells = state.blocks.remove(&address).expect("it is in the pool");
        self.blocks.fetch_sub(1, Ordering::AcqRel);
        cells.block
    }
}

impl Cells {
    fn all_free(block: Block, count: usize) -> Cells {
        let mut free = vec![0; count.div_ceil(64)].into_boxed_slice();
        for index in 0..count {
            free[index / 64] |= 1 << (index % 64);
        }
        Cells { block, free, free_count: count, count }
    }

    fn is_unused(&self) -> bool {
        self.free_count == self.count
    }

    /// Takes the lowest free cell.
    fn take(&mut self) -> usize {
        let word = self.free.iter().position(|word| *word != 0);
        let word = word.expect("a block in the sets has a free cell");
        let bit = self.free[word].trailing_zeros() as usize;
        self.free[word] &= !(1 << bit);
        self.free_count -= 1;
        64 * word + bit
    }

    fn put_back(&mut self, index: usize) {
        let (word, bit) = (index / 64, 1 << (index % 64));
        assert!(self.free[word] & bit == 0, "cell {index} is already free");
        self.free[word] |= bit;
        self.free_count += 1;
    }
}

/// Memory from the system, [`BLOCK_BYTES`] long and aligned to that, with its header.
struct Block(NonNull<u8>);

// SAFETY: it owns its memory; its header is written once and its cells are owned by values of their own.
unsafe impl Send for Block {}

impl Block {
    /// A cell. The caller has marked it as taken, so it has no other owner.
    fn cell(&self, index: usize, cells_of: CellsOf) -> NonNull<u8> {
        assert!(index < cells_of.in_block(), "cell {index} of a block");
        // SAFETY: by the assertion the cell lies within the block.
        unsafe { self.0.add(LINE_BYTES + index * cells_of.stride()) }
    }

    /// Makes the system back all of it by memory now. No cell of it has been handed out yet.
    fn fault_in(&mut self) {
        for at in (SMALL_PAGE_BYTES..BLOCK_BYTES).step_by(SMALL_PAGE_BYTES) {
            // SAFETY: the address lies in the block, behind the header.
            let place = unsafe { self.0.add(at) };
            // SAFETY: no other thread knows the block. Volatile, because the value is already there and only
            // the write itself matters.
            unsafe { place.write_volatile(0) };
        }
    }

    /// Maps a new block; none if the system has no memory.
    #[cfg(target_os = "linux")]
    fn map(pool: &Arc<BlockPool>) -> Option<Block> {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
        let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // Map twice as much, and keep the aligned part.
        // SAFETY: a new mapping at no address of our choice touches no memory in use.
        let mapped =
            unsafe { mmap_anonymous(std::ptr::null_mut(), 2 * BLOCK_BYTES, rights, flags) };
        let mapped = mapped.ok()?.cast::<u8>();
        let before = mapped.addr().next_multiple_of(BLOCK_BYTES) - mapped.addr();
        let start = mapped.wrapping_add(before);
        unmap(mapped, before);
        unmap(start.wrapping_add(BLOCK_BYTES), BLOCK_BYTES - before);
        // A system without huge pages refuses, and then the block is as good as other memory.
        // SAFETY: the advice changes only how long memory accesses take.
        let _refused =
            unsafe { madvise(start.cast(), BLOCK_BYTES, Advice::LinuxHugepage) }.is_err();
        let (block, pool) = (NonNull::new(start)?, Arc::clone(pool));
        // SAFETY: the block is mapped, aligned and longer than a header, and no other thread knows it yet.
        unsafe { block.cast::<BlockHeader>().write(BlockHeader { pool }) };
        Some(Block(block))
    }

    /// None: other systems are not known to provide huge pages on request.
    #[cfg(not(target_os = "linux"))]
    fn map(_pool: &Arc<BlockPool>) -> Option<Block> {
        None
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let head = self.0.cast::<BlockHeader>();
        // SAFETY: all cells are free (invariant 2), so the header is not accessed any more.
        unsafe { head.drop_in_place() };
        unmap(self.0.as_ptr(), BLOCK_BYTES);
    }
}

/// Unmaps memory that is not used any more. If a process has reached its limit of mappings, the system
/// refuses to split one in two: then the addresses stay mapped, and only the memory behind them is released.
#[cfg(target_os = "linux")]
fn unmap(start: *mut u8, bytes: usize) {
    use rustix::mm::{Advice, madvise, munmap};
    if bytes == 0 {
        return;
    }
    // SAFETY: the callers in this file own the memory and give it up here.
    let unmapped = unsafe { munmap(start.cast(), bytes) };
    if unmapped.is_err() {
        // SAFETY: as above; these bytes are not accessed again.
        let _kept = unsafe { madvise(start.cast(), bytes, Advice::LinuxDontNeed) }.is_err();
    }
}

/// There is nothing to unmap.
#[cfg(not(target_os = "linux"))]
fn unmap(_start: *mut u8, _bytes: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::unmap;

    /// A refusal used to panic in the middle of a split, which closed the log.
    #[test]
    fn a_refused_unmap_does_not_panic() {
        // No mapping begins within a page, so the system refuses.
        unmap(std::ptr::without_provenance_mut(4097), 4096);
    }
}
