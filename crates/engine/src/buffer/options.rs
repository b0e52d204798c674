//! The options of a buffer.

use super::extent::{EXTENT_BYTES_MAX, EXTENT_BYTES_MIN};
use super::page::{PAGE_BYTES_MAX, PAGE_BYTES_MIN};

/// A buffer's limits.
#[derive(Clone, Debug)]
pub(crate) struct BufferOptions {
    /// A page's length in bytes: a power of two, 512 to 32768.
    pub(crate) page_bytes: u32,
    /// Memory for pages, their frames and the translation table, in bytes; nothing is allocated beyond it.
    pub(crate) resident_bytes_max: u64,
    /// Leaves lie in blocks once pages take this much memory, see `blocks`: with fewer pages the processor's
    /// address translation is fast anyway, and a partly filled block would waste much memory.
    pub(crate) blocks_from_bytes: u64,
    /// Memory for images that wait for a checkpoint after their pages have changed, in bytes; at least a
    /// page.
    pub(crate) pre_image_bytes_max: u64,
    /// Clean pages are evicted at `resident_bytes_max`: the store may be larger.
    pub(crate) evicts: bool,
    /// The bytes of a value in each of its extents but the last, which may have fewer: a power of two, 512
    /// bytes to 1 MiB. Pointers to existing values keep their own. Default 1 MiB; small ones are for tests.
    pub(crate) value_extent_bytes: u32,
    /// Every n-th translation misses; for tests only.
    pub(crate) miss_every: Option<u32>,
}

impl Default for BufferOptions {
    fn default() -> BufferOptions {
        BufferOptions {
            page_bytes: 8192,
            resident_bytes_max: u64::MAX,
            blocks_from_bytes: 4 << 20,
            pre_image_bytes_max: 16 << 20,
            evicts: false,
            value_extent_bytes: EXTENT_BYTES_MAX as u32,
            miss_every: None,
        }
    }
}

impl BufferOptions {
    /// Asserts limits that the store's own options have already checked with an error for the user.
    pub(super) fn assert_sound(&self) {
        let page_bytes = self.page_bytes;
        assert!(
            page_bytes.is_power_of_two() && (PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&page_bytes),
            "page_bytes is {page_bytes}"
        );
        assert!(
            self.pre_image_bytes_max >= u64::from(page_bytes),
            "the pool of pre-images must hold a page"
        );
        let extent_bytes = u64::from(self.value_extent_bytes);
        assert!(
            extent_bytes.is_power_of_two()
                && (EXTENT_BYTES_MIN..=EXTENT_BYTES_MAX).contains(&extent_bytes),
            "value_extent_bytes is {extent_bytes}"
        );
    }
}
