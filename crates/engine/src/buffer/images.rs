//! The pool of images that a running checkpoint still needs although their pages have gone on.
//!
//! Two kinds: pre-images, copied when a page is changed before it was captured, which count against
//! the pool's limit; and images handed over by pages that were freed or replaced, which are no new
//! memory and so never refused.

use super::blocks::PageBytes;
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
    fn bytes(&self) -> &[u8] {
        match self {
            Image::Own(bytes) => bytes,
            Image::Shared(bytes) => bytes,
        }
    }
}

/// See the module.
pub(super) struct Images {
    saved: BTreeMap<PageId, (Image, bool)>,
    copied_bytes: u64,
    all_bytes: u64,
}

impl Images {
    /// Empty.
    pub(super) fn new() -> Images {
        Images {
            saved: BTreeMap::new(),
            copied_bytes: 0,
            all_bytes: 0,
        }
    }

    /// Bytes that count against the limit.
    pub(super) fn copied_bytes(&self) -> u64 {
        self.copied_bytes
    }

    /// Bytes in the pool.
    pub(super) fn all_bytes(&self) -> u64 {
        self.all_bytes
    }

    /// True if nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.saved.is_empty()
    }

    /// Keeps a page's image until it is captured.
    pub(super) fn keep(&mut self, page: PageId, image: Image, is_copy: bool) {
        let bytes = image.bytes().len() as u64;
        self.all_bytes += bytes;
        self.copied_bytes += if is_copy { bytes } else { 0 };
        let before = self.saved.insert(page, (image, is_copy));
        assert!(before.is_none(), "{page} handed its image over twice");
    }

    /// Copies a page's image out and lets it go; false if there is none.
    pub(super) fn take(&mut self, page: PageId, out: &mut [u8]) -> bool {
        let Some((image, is_copy)) = self.saved.remove(&page) else {
            return false;
        };
        let bytes = image.bytes();
        out.copy_from_slice(bytes);
        self.all_bytes -= bytes.len() as u64;
        self.copied_bytes -= if is_copy { bytes.len() as u64 } else { 0 };
        true
    }
}
