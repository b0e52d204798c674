//! What a buffer is made with.

use super::page::{PAGE_BYTES_MAX, PAGE_BYTES_MIN};

/// A buffer's limits.
#[derive(Clone, Debug)]
pub(crate) struct BufferOptions {
    /// A page's length in bytes: a power of two, 512 to 32768.
    pub(crate) page_bytes: u32,
    /// Memory for pages, their frames and the translation table, in bytes; beyond it nothing is
    /// allocated.
    pub(crate) resident_bytes_max: u64,
    /// Leaves lie in blocks once pages take so many bytes of memory, see `blocks`: the processor knows where
    /// fewer lie anyway, and a block that is not full yet would be much beside them.
    pub(crate) blocks_from_bytes: u64,
    /// Memory for images that wait for a checkpoint while their pages go on, in bytes; at least a page.
    pub(crate) pre_image_bytes_max: u64,
    /// Every so manieth translation misses; none in use, for tests only.
    pub(crate) miss_every: Option<u32>,
}

impl Default for BufferOptions {
    fn default() -> BufferOptions {
        BufferOptions {
            page_bytes: 8192,
            resident_bytes_max: u64::MAX,
            blocks_from_bytes: 4 << 20,
            pre_image_bytes_max: 16 << 20,
            miss_every: None,
        }
    }
}

impl BufferOptions {
    /// Asserts what the store's own options have checked with a sentence for the user.
    pub(super) fn assert_sound(&self) {
        let page_bytes = self.page_bytes;
        assert!(
            page_bytes.is_power_of_two() && (PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&page_bytes),
            "a page of {page_bytes} bytes"
        );
        assert!(
            self.pre_image_bytes_max >= u64::from(page_bytes),
            "the pool of pre-images holds no page"
        );
    }
}
