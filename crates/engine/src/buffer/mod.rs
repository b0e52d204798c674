//! Buffer: pages in memory, found by their number, and the exact image of all of them at one moment.
//!
//! A page is found through the [`translation`] table: number in, frame out, without a latch. What a
//! frame holds depends on the page's kind: a [`Leaf`] behind a latch; an [`Inner`]
//! node, a value that is never changed but replaced whole; or the immutable bytes of an overflow page.
//! Readers hold an epoch guard while they look at a frame; frames that left the table are freed when no
//! guard can see them any more. On the disk pages are [`packed`].
//!
//! Invariants:
//! 1. Every change of a page that a tree leads to happens inside a commit section; the cut is taken while
//!    none is active. Bulk loads and detached overflow pages are written outside of sections.
//! 2. The first change of a page since the cut hands the image of the cut over ([`images`]) if it was
//!    not captured yet. A change is any byte: lock bits and ghosts too.
//! 3. A page is listed when it is first changed in an interval, when it is made and when it is freed, in that
//!    order: its last entry says whether it is there at the cut.
//! 4. A frame keeps its kind. A page changes its kind by getting a new frame.
//! 5. A leaf that was freed or replaced is marked as gone under its latch before its frame leaves the
//!    table: whoever waited for the latch looks the page up again.
//! 6. A detached page (an overflow page of an unfinished transaction) is in no list and no image.
//!
//! Leaves lie in [`blocks`] for which the system has large pages; all else comes from the allocator.
//!
//! Everything is resident: a page that is not there is a bug, but for the misses that tests force.

mod blocks;
mod frame;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod image_pool;
mod inner;
mod leaf;
mod miss;
mod options;
pub(crate) mod page;
mod page_allocator;
pub(crate) mod page_packing;
pub(crate) mod page_snapshot;
mod pages;
mod prefetch;
mod prefetch_hint;
mod retry;
mod separator_index;
#[cfg(test)]
mod tests;
mod translation;
mod version_word;

pub(crate) use frame::{Content, Frame};
pub(crate) use inner::{Branches, Inner};
pub(crate) use leaf::{Leaf, NoRoom, POOR, SplitPlan, common_bytes};
#[cfg(test)]
pub(crate) use miss::reset_forced_misses;
pub(crate) use miss::{Miss, Stop, without_misses};
pub(crate) use options::BufferOptions;
pub(crate) use pages::{Buffer, pin};
pub(crate) use prefetch::prefetch;
pub(crate) use retry::{RECLAIMS_MAX, retry_at_cap};
pub(crate) use version_word::VersionWord;
