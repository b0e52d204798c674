//! The memory that a caller needs for new pages.

use super::frame::FRAME_OVERHEAD_BYTES;
use super::page::{HEADER_BYTES, Kind};

/// Memory for new pages, below the cap on all pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryNeed {
    /// For leaves or inner nodes: their kind and their number.
    Pages(Kind, u64),
    /// For extents: their number, and the bytes of the value in them.
    Extents { count: u64, value_bytes: u64 },
}

impl MemoryNeed {
    /// The bytes of the frames with their pages, where one with a leaf or an inner node takes `frame_bytes`.
    pub(crate) fn bytes(self, frame_bytes: u64) -> u64 {
        match self {
            MemoryNeed::Pages(_, pages) => pages * frame_bytes,
            MemoryNeed::Extents { count, value_bytes } => {
                value_bytes + count * (HEADER_BYTES as u64 + FRAME_OVERHEAD_BYTES)
            }
        }
    }

    /// The same and `more` pages, unless it is for extents, whose number is exact.
    pub(crate) fn with_more_pages(self, more: u64) -> MemoryNeed {
        match self {
            MemoryNeed::Pages(kind, pages) => MemoryNeed::Pages(kind, pages + more),
            extents @ MemoryNeed::Extents { .. } => extents,
        }
    }

    /// How many of them are leaves.
    pub(super) fn leaves(self) -> u64 {
        match self {
            MemoryNeed::Pages(Kind::Leaf, leaves) => leaves,
            MemoryNeed::Pages(..) | MemoryNeed::Extents { .. } => 0,
        }
    }
}
