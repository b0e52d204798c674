//! A table by page number that grows without moving its entries, so that they are found without a lock.
//!
//! Chunks double in size and are allocated when first needed: chunk 0 holds the numbers below 1024, chunk c
//! the numbers from 512 * 2^c to 1024 * 2^c.

use super::page_allocator::PAGE_ID_END;
use crate::ids::PageId;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

const FIRST_CHUNK_BITS: u32 = 10;
const CHUNKS: usize = (40 - FIRST_CHUNK_BITS + 1) as usize;

/// An entry for each page, by its number.
#[derive(Debug)]
pub(super) struct PageTable<T> {
    chunks: [OnceLock<Box<[T]>>; CHUNKS],
    bytes: AtomicU64,
}

impl<T: Default> PageTable<T> {
    /// A table without chunks.
    pub(super) fn new() -> PageTable<T> {
        PageTable { chunks: [const { OnceLock::new() }; CHUNKS], bytes: AtomicU64::new(0) }
    }

    /// Memory of the chunks, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The page's entry, if its chunk exists.
    #[inline]
    pub(super) fn get(&self, page: PageId) -> Option<&T> {
        let (chunk, index) = chunk_and_index(page);
        self.chunks.get(chunk)?.get()?.get(index)
    }

    /// The page's entry; makes its chunk if it is missing.
    pub(super) fn entry(&self, page: PageId) -> &T {
        assert!(page.0 < PAGE_ID_END, "{page} is beyond all pages");
        let (chunk, index) = chunk_and_index(page);
        let chunk = self.chunks[chunk].get_or_init(|| {
            let count = chunk_entries(chunk);
            self.bytes.fetch_add((count * size_of::<T>()) as u64, Ordering::Relaxed);
            (0..count).map(|_| T::default()).collect()
        });
        &chunk[index]
    }

    /// Every entry in a chunk that exists.
    pub(super) fn entries(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().filter_map(OnceLock::get).flat_map(|chunk| chunk.iter())
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
    use super::{CHUNKS, PageTable, chunk_and_index, chunk_entries};
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

    #[test]
    fn a_table_takes_memory_only_for_chunks_in_use() {
        let table = PageTable::<u64>::new();
        assert_eq!((table.get(PageId(5)), table.bytes()), (None, 0));
        table.entry(PageId(5));
        assert_eq!((table.get(PageId(5)), table.bytes()), (Some(&0), 8 * 1024));
        table.entry(PageId(4096));
        assert_eq!((table.get(PageId(1024)), table.bytes()), (None, 8 * (1024 + 4096)));
    }
}
