//! A frame: a page in memory with its state in the buffer.

use super::blocks::CellsOf;
use super::inner::Inner;
use super::leaf::Leaf;
use super::page::{self, Kind};
use super::prefetch_hint::PrefetchHint;
use crate::ids::{PageId, TreeId};
use crate::sync::IS_MODEL;
use crate::sync::rank::LATCH;
use crate::sync::ranked::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A frame: one cache line, so that a lookup waits for only one.
#[repr(C, align(64))]
pub(crate) struct Frame {
    /// The page's contents.
    pub(super) body: Body,
    /// [`CLEAN`], [`DETACHED`], the epoch of the last change, or that with [`CAPTURED`].
    pub(super) modified_in: AtomicU64,
}

const _: () = assert!(IS_MODEL || size_of::<Frame>() == 64, "a frame is a cache line");

/// `modified_in` of a page that has not changed since the last finished checkpoint.
pub(super) const CLEAN: u64 = 0;

/// A bit of `modified_in`: the running checkpoint, or one that is in force by now, has captured the page as
/// of that epoch, and the page has not changed since.
pub(super) const CAPTURED: u64 = 1 << 62;

/// `modified_in` of a page that no checkpoint may see yet.
pub(super) const DETACHED: u64 = u64::MAX;

/// The contents of a frame, by the page's kind.
pub(super) enum Body {
    Leaf(RwLock<Leaf, LATCH>),
    Inner(Inner),
    /// An extent, or an overflow page of format 2.
    Value(Arc<[u8]>),
}

/// A page's content before it has a frame.
pub(crate) enum Content {
    /// Rows.
    Leaf(Leaf),
    /// Separators and children.
    Inner(Inner),
    /// The bytes of an extent, or of an overflow page of format 2.
    Value(Arc<[u8]>),
}

impl Content {
    /// The content that an image from the disk holds. The caller has verified the image.
    pub(super) fn from_image(image: Box<[u8]>) -> Content {
        match page::kind(&image).expect("a verified image has a kind") {
            Kind::Leaf => Content::Leaf(Leaf::from_image(image.into())),
            Kind::Inner => Content::Inner(Inner::from_image(&image)),
            Kind::Extent | Kind::Overflow => Content::Value(image.into()),
        }
    }

    /// The page that the content names in its header.
    pub(super) fn page(&self) -> PageId {
        match self {
            Content::Leaf(leaf) => leaf.page(),
            Content::Inner(inner) => page::number(inner.image()),
            Content::Value(bytes) => page::number(bytes),
        }
    }
}

impl Frame {
    /// A frame for the content.
    pub(super) fn new(content: Content, modified_in: u64) -> Frame {
        Frame {
            body: match content {
                Content::Leaf(leaf) => Body::Leaf(RwLock::new(leaf)),
                Content::Inner(inner) => Body::Inner(inner),
                Content::Value(bytes) => Body::Value(bytes),
            },
            modified_in: AtomicU64::new(modified_in),
        }
    }

    /// The prefetch hint of a leaf; empty for other pages. Called before the frame is shared.
    pub(super) fn prefetch_hint(&self) -> PrefetchHint {
        self.leaf().map_or(PrefetchHint::NONE, |latch| {
            let leaf = latch.try_read();
            PrefetchHint::of(&leaf.expect("the frame is not shared yet"))
        })
    }

    /// The page and the tree in the page's header; none for a leaf that is gone.
    pub(crate) fn label(&self) -> Option<(PageId, TreeId)> {
        Some(match &self.body {
            Body::Leaf(latch) => {
                let leaf = latch.read();
                if leaf.is_gone() {
                    return None;
                }
                (leaf.page(), page::tree(leaf.image()))
            }
            Body::Inner(inner) => (inner.page(), inner.tree()),
            Body::Value(bytes) => (page::number(bytes), page::tree(bytes)),
        })
    }

    /// True if no checkpoint may see the page yet.
    pub(crate) fn is_detached(&self) -> bool {
        self.modified_in.load(Ordering::Acquire) == DETACHED
    }

    /// The latched leaf, if the page is a leaf.
    #[inline]
    pub(crate) fn leaf(&self) -> Option<&RwLock<Leaf, LATCH>> {
        match &self.body {
            Body::Leaf(leaf) => Some(leaf),
            Body::Inner(_) | Body::Value(_) => None,
        }
    }

    /// The inner node, if the page is one.
    #[inline]
    pub(crate) fn inner(&self) -> Option<&Inner> {
        match &self.body {
            Body::Inner(inner) => Some(inner),
            Body::Leaf(_) | Body::Value(_) => None,
        }
    }

    /// The page, if it is an extent.
    pub(crate) fn extent(&self) -> Option<&[u8]> {
        self.value(Kind::Extent)
    }

    /// The page, if it is an overflow page of format 2.
    pub(crate) fn overflow(&self) -> Option<&[u8]> {
        self.value(Kind::Overflow)
    }

    /// The length of the page, if it is an extent or an overflow page.
    pub(super) fn value_bytes(&self) -> Option<usize> {
        match &self.body {
            Body::Value(bytes) => Some(bytes.len()),
            Body::Leaf(_) | Body::Inner(_) => None,
        }
    }

    fn value(&self, kind: Kind) -> Option<&[u8]> {
        match &self.body {
            Body::Value(bytes) => Some(&**bytes).filter(|bytes| page::kind(bytes) == Some(kind)),
            Body::Leaf(_) | Body::Inner(_) => None,
        }
    }
}

/// Frames in cells, each a cache line.
pub(super) const CELLS: CellsOf = CellsOf {
    bytes: size_of::<Frame>(),
    gap_bytes: 0,
    counted_bytes: size_of::<Frame>() as u64 + PIECE_BYTES + 32,
};

/// Memory in use for frames: all of them, those in the table, and those that wait for their last reader. Any
/// thread may free waiting frames, at any moment. Each part has a counter of its own, so that the bytes in
/// the table, by which pages are evicted, do not depend on that.
#[derive(Debug)]
pub(super) struct FrameMemory {
    frame_bytes: u64,
    bytes: AtomicU64,
    placed_bytes: AtomicU64,
    retired_bytes: AtomicU64,
}

/// The allocator's overhead for a piece of memory, in bytes: its header.
pub(super) const PIECE_BYTES: u64 = 16;

/// The overhead for a frame and its page: two headers, and the gap from aligning the frame to a cache line.
const ALLOCATOR_BYTES: u64 = 2 * PIECE_BYTES + 32;

/// The memory of a frame in addition to that of its page.
pub(super) const FRAME_OVERHEAD_BYTES: u64 = size_of::<Frame>() as u64 + ALLOCATOR_BYTES;

impl FrameMemory {
    /// For frames with pages of this length.
    pub(super) fn new(page_bytes: u32) -> FrameMemory {
        FrameMemory {
            frame_bytes: u64::from(page_bytes) + FRAME_OVERHEAD_BYTES,
            bytes: AtomicU64::new(0),
            placed_bytes: AtomicU64::new(0),
            retired_bytes: AtomicU64::new(0),
        }
    }

    /// Bytes in use, including frames that wait for their last reader.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes in use without frames that wait for their last reader.
    pub(super) fn placed_bytes(&self) -> u64 {
        self.placed_bytes.load(Ordering::Relaxed)
    }

    /// Counts a new frame, which takes `frame_bytes` with its page.
    pub(super) fn charge(&self, frame_bytes: u64) {
        self.bytes.fetch_add(frame_bytes, Ordering::Relaxed);
        self.placed_bytes.fetch_add(frame_bytes, Ordering::Relaxed);
    }

    /// Counts a frame as freed, although the frame itself waits for its last reader: its page is freed.
    pub(super) fn release(&self, frame_bytes: u64) {
        self.bytes.fetch_sub(frame_bytes, Ordering::Relaxed);
        self.placed_bytes.fetch_sub(frame_bytes, Ordering::Relaxed);
    }

    /// Counts a frame that waits for its last reader.
    pub(super) fn retire(&self, frame_bytes: u64) {
        self.retired_bytes.fetch_add(frame_bytes, Ordering::Relaxed);
        self.placed_bytes.fetch_sub(frame_bytes, Ordering::Relaxed);
    }

    /// Bytes of frames that wait for their last reader.
    pub(super) fn retired_bytes(&self) -> u64 {
        self.retired_bytes.load(Ordering::Relaxed)
    }

    /// Counts a waiting frame as freed.
    pub(super) fn discharge(&self, frame_bytes: u64) {
        self.retired_bytes.fetch_sub(frame_bytes, Ordering::Relaxed);
        self.bytes.fetch_sub(frame_bytes, Ordering::Relaxed);
    }

    /// The bytes of a frame with a leaf or an inner node.
    pub(super) fn frame_bytes(&self) -> u64 {
        self.frame_bytes
    }

    /// The bytes of that frame with its page: an extent is as long as its content.
    #[inline]
    pub(super) fn bytes_of(&self, frame: &Frame) -> u64 {
        match &frame.body {
            Body::Value(bytes) => bytes.len() as u64 + FRAME_OVERHEAD_BYTES,
            Body::Leaf(_) | Body::Inner(_) => self.frame_bytes,
        }
    }
}
