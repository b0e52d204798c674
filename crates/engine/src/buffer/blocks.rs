//! Memory for pages: pieces of the allocator's, or cells of blocks for which the system has large pages.
//!
//! A read of a large store looks at a leaf that was long not looked at. With pages of 4 KiB the processor
//! must also look up where that leaf's page lies. So leaves lie in blocks, each as long as a large page of
//! the system and aligned to it, which the system is asked to back by one. A block:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 64 | the head: to whom the block belongs |
//! | 64 | page + 64, times as many as fit | cells: a page, then a line that stays unused |
//!
//! The unused line makes that the first lines of leaves, which are looked at most, do not all fall into the
//! same few places of a cache.
//!
//! The first block comes when a store has so many pages that large ones are worth it; then each leaf that
//! gets a frame moves into a cell. What is made on the way to that, and images from the disk, come from the
//! allocator, and so does everything where blocks are not to be had. Where the system has no large pages
//! blocks are ordinary memory. Frames of a large store lie in blocks of their own.
//!
//! A block goes back to the system when its last cell is free, but for the *spare* ones: one in so many
//! ([`spares`]), so that a leaf that comes and goes does not move a block each time. The block in use of the
//! lowest address that has room is filled first, so that others empty. Cells that stay free in other blocks
//! count as memory in use ([`Blocks::spare_bytes`]) and are what the next leaves get.
//!
//! The system backs a block by memory when it is first written to, and that can take long: 5 ms where a
//! hypervisor must have the memory first. Whoever splits a leaf must not wait for that, with others behind
//! its latches. So a thread *stocks* the shelf ([`Blocks::preallocate`]) while it runs low: it maps a block
//! and writes to all of it. Only who is faster than that thread maps and waits for itself.
//!
//! Invariants:
//! 1. A cell is marked as free in its block, or it is in exactly one [`PageBytes`].
//! 2. A block is unmapped after it has left the shelf, which it does only while all its cells are free.
//! 3. A head is written before the first cell is handed out, and stays until the block is unmapped.

#![allow(
    unsafe_code,
    reason = "memory that the system maps is handed out in pieces, each owned by one value"
)]

use super::frame::PIECE_BYTES;
use crate::sync::rank::BLOCKS;
use crate::sync::ranked::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A block's length and alignment in bytes: a large page of x86-64 and of most of the others.
pub(super) const BLOCK_BYTES: usize = 2 << 20;

const LINE_BYTES: usize = 64;

/// A small page of the system. Where they are larger, some bytes more are written.
const SMALL_PAGE_BYTES: usize = 4096;

/// How many blocks may be there without a cell in use beside so many blocks: one in 128, but one in any
/// case and no more than four.
fn spares(blocks: u64) -> usize {
    (blocks / 128).clamp(1, 4) as usize
}

/// The first line of a block.
#[repr(C, align(64))]
struct BlockHeader {
    shelf: Arc<BlockPool>,
}

const _: () = assert!(size_of::<BlockHeader>() == LINE_BYTES, "the head is a line");

/// A page's bytes, wherever they lie. Empty ones lie nowhere. Twelve bytes of memory, so that what is known
/// of a leaf fits into its frame's line.
#[repr(C, packed(4))]
pub(crate) struct PageBytes {
    start: NonNull<u8>,
    /// How many there are, and [`IS_CELL`].
    bytes: u32,
}

/// The bit of a length that says that a cell is meant.
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

// SAFETY: it owns its bytes as a box does; the head that a cell's drop looks at is never changed.
unsafe impl Send for PageBytes {}
// SAFETY: shared, it only lets its bytes be read.
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
        // SAFETY: so many bytes from there on are initialized and belong to this value alone: a box gave them
        // up, or they are a cell (invariant 1), which the system has mapped as zeros.
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
            // SAFETY: this value had the cell, and ends.
            unsafe { give_back(self.start) };
        } else {
            let all = NonNull::slice_from_raw_parts(self.start, self.length());
            // SAFETY: the bytes come of a leaked box of this length, and nobody uses them any more.
            drop(unsafe { Box::from_raw(all.as_ptr()) });
        }
    }
}

/// Marks a cell as free.
///
/// # Safety
///
/// The cell was handed out, and nobody uses it any more.
unsafe fn give_back(cell: NonNull<u8>) {
    let block = |address: NonZero<usize>| NonZero::new(address.get() & !(BLOCK_BYTES - 1));
    let head = cell.map_addr(|cell| block(cell).expect("no block lies at address zero"));
    let head = head.cast::<BlockHeader>();
    // SAFETY: the cell is not free yet, so its block is mapped (invariant 2) and has its head (invariant 3).
    let shelf = Arc::clone(unsafe { &head.as_ref().shelf });
    let unused = shelf.put_back(head.addr().get(), cell.addr().get());
    // The block's head holds the shelf, too: so it goes first, and outside of the lock.
    drop(unused);
}

/// The blocks of a store with cells of one length. Cells may outlive it.
pub(super) struct Blocks {
    shelf: Arc<BlockPool>,
}

/// The blocks and their free cells.
pub(super) struct BlockPool {
    cells_of: CellsOf,
    state: Mutex<State, BLOCKS>,
    blocks: AtomicU64,
    cells: AtomicU64,
}

/// What cells a block has.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellsOf {
    /// A cell's length, a multiple of a line.
    pub(super) bytes: usize,
    /// What stays unused behind each.
    pub(super) gap_bytes: usize,
    /// What is counted elsewhere for what lies in a cell.
    pub(super) counted_bytes: u64,
}

impl CellsOf {
    /// For pages of that length.
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

    /// How many a block has.
    pub(super) fn in_block(self) -> usize {
        (BLOCK_BYTES - LINE_BYTES) / self.stride()
    }
}

struct State {
    /// By their addresses.
    blocks: BTreeMap<usize, Cells>,
    /// Those with free cells and some in use.
    roomy: BTreeSet<usize>,
    /// Those with free cells only.
    unused: BTreeSet<usize>,
    /// No cells will be taken any more: nothing stays unused.
    ends: bool,
}

/// A block and which of its cells are free.
struct Cells {
    block: Block,
    free: Box<[u64]>,
    free_count: usize,
    count: usize,
}

impl Blocks {
    /// None yet.
    pub(super) fn new(cells_of: CellsOf) -> Blocks {
        let state = State {
            blocks: BTreeMap::new(),
            roomy: BTreeSet::new(),
            unused: BTreeSet::new(),
            ends: false,
        };
        Blocks {
            shelf: Arc::new(BlockPool {
                cells_of,
                state: Mutex::new(state),
                blocks: AtomicU64::new(0),
                cells: AtomicU64::new(0),
            }),
        }
    }

    /// The bytes in a cell. None if there is no free one and no block `may_come`, or none is to be had.
    pub(super) fn copy(&self, page: &[u8], may_come: bool) -> Option<PageBytes> {
        assert!(page.len() == self.shelf.cells_of.bytes, "a page fills a cell");
        let mut cell =
            PageBytes { start: self.shelf.take(may_come)?, bytes: page.len() as u32 | IS_CELL };
        cell.copy_from_slice(page);
        Some(cell)
    }

    /// Puts a value into a cell, to be had back by [`Blocks::release`]. The value itself if there is no free
    /// cell and no block `may_come`, or none is to be had.
    pub(super) fn hold<T>(&self, value: T, may_come: bool) -> Result<NonNull<T>, T> {
        const { assert!(align_of::<T>() <= LINE_BYTES) };
        assert!(size_of::<T>() <= self.shelf.cells_of.bytes, "a value fits into a cell");
        let Some(cell) = self.shelf.take(may_come) else {
            return Err(value);
        };
        let place = cell.cast::<T>();
        // SAFETY: the cell is as long as the value or longer and begins with a line, and nobody else has it.
        unsafe { place.write(value) };
        Ok(place)
    }

    /// Takes a value out of its cell, and gives the cell back.
    ///
    /// # Safety
    ///
    /// The value was put there by [`Blocks::hold`], and nobody looks at it any more.
    pub(super) unsafe fn release<T>(place: NonNull<T>) -> T {
        // SAFETY: the caller says that the value is there and will not be used there again.
        let value = unsafe { place.read() };
        // SAFETY: so nobody uses the cell any more.
        unsafe { give_back(place.cast()) };
        value
    }

    /// Memory of blocks that is not counted elsewhere, in bytes: free cells, and what is beside cells.
    pub(super) fn spare_bytes(&self) -> u64 {
        // The cells first: others come and go meanwhile.
        let cells = self.shelf.cells.load(Ordering::Acquire);
        let blocks = self.shelf.blocks.load(Ordering::Acquire);
        let used = cells * self.shelf.cells_of.counted_bytes;
        (blocks * BLOCK_BYTES as u64).saturating_sub(used)
    }

    /// True if there are fewer free cells than the spare blocks have.
    pub(super) fn runs_low(&self) -> bool {
        let blocks = self.shelf.blocks.load(Ordering::Acquire);
        self.free_cells() < (spares(blocks) * self.shelf.cells_of.in_block()) as u64
    }

    /// Puts one more block on the shelf, backed by memory. False if the system gives none.
    pub(super) fn preallocate(&self) -> bool {
        let Some(mut block) = Block::map(&self.shelf) else {
            return false;
        };
        // Outside of the lock: others go on with what is there.
        block.fault_in();
        self.shelf.add(&mut self.shelf.state.lock(), block);
        true
    }

    /// What cells keep alive.
    #[cfg(test)]
    pub(super) fn weak(&self) -> std::sync::Weak<BlockPool> {
        Arc::downgrade(&self.shelf)
    }

    /// True if a cell is free.
    pub(super) fn has_room(&self) -> bool {
        self.free_cells() > 0
    }

    /// How many cells are free.
    pub(super) fn free_cells(&self) -> u64 {
        let cells = self.shelf.cells.load(Ordering::Acquire);
        let blocks = self.shelf.blocks.load(Ordering::Acquire);
        (blocks * self.shelf.cells_of.in_block() as u64).saturating_sub(cells)
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        if self.shelf.blocks.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut state = self.shelf.state.lock();
        state.ends = true;
        let unused = std::mem::take(&mut state.unused);
        let unused = unused.into_iter();
        let gone: Vec<Block> =
            unused.map(|address| self.shelf.remove(&mut state, address)).collect();
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

    /// Puts a new block on the shelf; answers its address.
    fn add(&self, state: &mut State, block: Block) -> usize {
        let address = block.0.addr().get();
        let count = self.cells_of.in_block();
        state.blocks.insert(address, Cells::all_free(block, count));
        state.unused.insert(address);
        self.blocks.fetch_add(1, Ordering::AcqRel);
        address
    }

    /// Takes a cell back; answers blocks that go.
    fn put_back(&self, block: usize, cell: usize) -> Vec<Block> {
        let mut state = self.state.lock();
        let index = (cell - block - LINE_BYTES) / self.cells_of.stride();
        let cells = state.blocks.get_mut(&block).expect("a cell is of a block");
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

    /// Takes a block off the shelf that is in neither set.
    fn remove(&self, state: &mut State, address: usize) -> Block {
        let cells = state.blocks.remove(&address).expect("it is on the shelf");
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

    /// The lowest free cell, which is not free any more.
    fn take(&mut self) -> usize {
        let word = self.free.iter().position(|word| *word != 0);
        let word = word.expect("a block on the shelf has a free cell");
        let bit = self.free[word].trailing_zeros() as usize;
        self.free[word] &= !(1 << bit);
        self.free_count -= 1;
        64 * word + bit
    }

    fn put_back(&mut self, index: usize) {
        let (word, bit) = (index / 64, 1 << (index % 64));
        assert!(self.free[word] & bit == 0, "cell {index} is free already");
        self.free[word] |= bit;
        self.free_count += 1;
    }
}

/// Memory from the system, [`BLOCK_BYTES`] long and aligned to them, with its head.
struct Block(NonNull<u8>);

// SAFETY: it owns its memory, whose head is written once and whose cells are owned by values of their own.
unsafe impl Send for Block {}

impl Block {
    /// A cell. The caller has marked it as not free, so that nobody else has it.
    fn cell(&self, index: usize, cells_of: CellsOf) -> NonNull<u8> {
        assert!(index < cells_of.in_block(), "cell {index} of a block");
        // SAFETY: by the assertion the cell lies within the block.
        unsafe { self.0.add(LINE_BYTES + index * cells_of.stride()) }
    }

    /// Has the system back all of it by memory now. No cell of it is handed out yet.
    fn fault_in(&mut self) {
        for at in (SMALL_PAGE_BYTES..BLOCK_BYTES).step_by(SMALL_PAGE_BYTES) {
            // SAFETY: it lies in the block, behind the head.
            let place = unsafe { self.0.add(at) };
            // SAFETY: nobody else knows the block. Volatile, since the value is there already, and only that
            // it is written matters.
            unsafe { place.write_volatile(0) };
        }
    }

    /// A new one; none if the system has no memory or is one that we do not ask.
    #[cfg(target_os = "linux")]
    fn map(shelf: &Arc<BlockPool>) -> Option<Block> {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
        let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // Twice as much, of which the aligned part stays.
        // SAFETY: a new mapping at no address of our choice touches no memory in use.
        let mapped =
            unsafe { mmap_anonymous(std::ptr::null_mut(), 2 * BLOCK_BYTES, rights, flags) };
        let mapped = mapped.ok()?.cast::<u8>();
        let before = mapped.addr().next_multiple_of(BLOCK_BYTES) - mapped.addr();
        let start = mapped.wrapping_add(before);
        unmap(mapped, before);
        unmap(start.wrapping_add(BLOCK_BYTES), BLOCK_BYTES - before);
        // A system without large pages refuses, and then the block is as good as other memory.
        // SAFETY: the advice changes nothing that a program could see, but how long memory takes.
        let _refused =
            unsafe { madvise(start.cast(), BLOCK_BYTES, Advice::LinuxHugepage) }.is_err();
        let (block, shelf) = (NonNull::new(start)?, Arc::clone(shelf));
        // SAFETY: the block is mapped, aligned and longer than a head, and nobody else knows it yet.
        unsafe { block.cast::<BlockHeader>().write(BlockHeader { shelf }) };
        Some(Block(block))
    }

    /// None: of other systems it is not known that they have large pages for who asks.
    #[cfg(not(target_os = "linux"))]
    fn map(_shelf: &Arc<BlockPool>) -> Option<Block> {
        None
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let head = self.0.cast::<BlockHeader>();
        // SAFETY: all cells are free (invariant 2), so nobody looks at the head any more.
        unsafe { head.drop_in_place() };
        unmap(self.0.as_ptr(), BLOCK_BYTES);
    }
}

/// Gives so much mapped memory back, which nobody uses any more. Where a process has as many mappings as it
/// may, the system refuses to cut one in two: then the addresses stay mapped, and only the memory behind them
/// goes.
#[cfg(target_os = "linux")]
fn unmap(start: *mut u8, bytes: usize) {
    use rustix::mm::{Advice, madvise, munmap};
    if bytes == 0 {
        return;
    }
    // SAFETY: the callers in this file own the memory and give it up here.
    let unmapped = unsafe { munmap(start.cast(), bytes) };
    if unmapped.is_err() {
        // SAFETY: as above; nobody looks at these bytes again.
        let _kept = unsafe { madvise(start.cast(), bytes, Advice::LinuxDontNeed) }.is_err();
    }
}

/// There is none.
#[cfg(not(target_os = "linux"))]
fn unmap(_start: *mut u8, _bytes: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::unmap;

    /// It panicked, in the middle of a split, which closes the log.
    #[test]
    fn memory_that_the_system_does_not_take_back_is_no_panic() {
        // No mapping begins within a page, so the system refuses.
        unmap(std::ptr::without_provenance_mut(4097), 4096);
    }
}
