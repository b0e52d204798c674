//! The pool of images that a running checkpoint still needs although their pages have changed.
//!
//! There are two kinds: pre-images, copied when a page is changed before it was captured, which count against
//! the pool's limit; and images taken over from pages that were freed or replaced, which take no new memory
//! and are never refused.
//!
//! Copies of a large pool lie in blocks of its own (`blocks`), which go back to the system as they empty: the
//! allocator would keep the memory of thousands of pages for the process.

use super::blocks::{BLOCK_BYTES, Blocks, CellsOf, PageBytes};
use crate::ids::PageId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An image in the pool.
pub(super) enum Image {
    /// Copied or taken from a leaf.
    Own(PageBytes),
    /// Shared with a node that readers may still see.
    Shared(Arc<[u8]>),
}

impl Image {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Image::Own(bytes) => bytes,
            Image::Shared(bytes) => bytes,
        }
    }
}

/// Images by page, each with whether it is a copy.
pub(super) struct ImagePool {
    saved: BTreeMap<PageId, (Image, bool)>,
    copied_bytes: u64,
    all_bytes: u64,
}

/// The memory for copies.
pub(super) struct Copies(Blocks);

impl Copies {
    /// For pages of this length.
    pub(super) fn new(page_bytes: u32) -> Copies {
        Copies(Blocks::new(CellsOf {
            counted_bytes: page_bytes.into(),
            ..CellsOf::pages(page_bytes as usize)
        }))
    }

    /// Copies a page for a pool of `pool_bytes`; the first copies come from the allocator.
    pub(super) fn of(&self, page: &[u8], pool_bytes: u64) -> Image {
        let in_block = self.0.copy(page, is_large(pool_bytes));
        Image::Own(in_block.unwrap_or_else(|| page.into()))
    }

    /// True if a pool of `pool_bytes` needs another block: see [`Copies::preallocate`].
    pub(super) fn run_low(&self, pool_bytes: u64) -> bool {
        is_large(pool_bytes) && self.0.runs_low()
    }

    /// Prepares another block before it is needed; false if the system provides none.
    pub(super) fn preallocate(&self) -> bool {
        self.0.preallocate()
    }

    /// Memory of blocks that holds no image, in bytes.
    pub(super) fn spare_bytes(&self) -> u64 {
        self.0.spare_bytes()
    }
}

fn is_large(pool_bytes: u64) -> bool {
    pool_bytes >= BLOCK_BYTES as u64
}

impl ImagePool {
    /// An empty pool.
    pub(super) fn new() -> ImagePool {
        ImagePool { saved: BTreeMap::new(), copied_bytes: 0, all_bytes: 0 }
    }

    /// Bytes that count against the limit.
    pub(super) fn copied_bytes(&self) -> u64 {
        self.copied_bytes
    }

    /// Bytes in the pool.
    pub(super) fn all_bytes(&self) -> u64 {
        self.all_bytes
    }

    /// True if no image waits.
    pub(super) fn is_empty(&self) -> bool {
        self.saved.is_empty()
    }

    /// Keeps a page's image until it is captured.
    pub(super) fn keep(&mut self, page: PageId, image: Image, is_copy: bool) {
        let bytes = image.bytes().len() as u64;
        self.all_bytes += bytes;
        self.copied_bytes += if is_copy { bytes } else { 0 };
        let before = self.saved.insert(page, (image, is_copy));
        assert!(before.is_none(), "{page} gave its image to the pool twice");
    }

    /// A page with an image in the pool.
    pub(super) fn first(&self) -> Option<PageId> {
        self.saved.keys().next().copied()
    }

    /// Takes all images out.
    pub(super) fn take_all(&mut self) -> ImagePool {
        std::mem::replace(self, ImagePool::new())
    }

    /// Takes a page's image out of the pool; none if there is none.
    pub(super) fn take(&mut self, page: PageId) -> Option<Image> {
        let (image, is_copy) = self.saved.remove(&page)?;
        let bytes = image.bytes().len() as u64;
        self.all_bytes -= bytes;
        self.copied_bytes -= if is_copy { bytes } else { 0 };
        Some(image)
    }
}
