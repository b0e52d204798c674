//! The buffer: pages in memory, found by their number, and the exact image of all of them at one moment.
//!
//! The [`translation`] table finds a page: number in, frame out, without a latch. The contents of a frame
//! depend on the page's kind: a [`Leaf`] behind a latch; an [`Inner`] node, which is immutable and replaced
//! as a whole; or the immutable bytes of an [`extent`]. Readers hold an epoch guard while they use a
//! frame; frames that left the table are freed when no guard can see them any more. On the disk pages are
//! [`packed`](page_packing).
//!
//! Invariants:
//! 1. Every change of a page that a tree refers to happens inside a commit section; a snapshot is taken while
//!    none is active. Bulk loads and detached extents are written outside of sections.
//! 2. The first change of a page since a snapshot passes the snapshot's image to the pool ([`image_pool`]) if
//!    it was not captured yet. Any changed byte counts: lock bits and ghosts too.
//! 3. A page is listed when it is first changed in an interval, when it is made and when it is freed, in that
//!    order: its last entry says whether it exists at the snapshot.
//! 4. A frame keeps its kind. A page changes its kind by getting a new frame.
//! 5. A leaf that was freed or replaced is marked as gone under its latch before its frame leaves the table:
//!    a thread that waited for the latch looks the page up again.
//! 6. A detached page (an extent of an unfinished transaction) is in no list and no image.
//! 7. The extents of a value have consecutive numbers, so that nothing need be read to attach or free them.
//!    Every other page takes one number.
//!
//! Leaves lie in [`blocks`], which the system backs with huge pages; all other pages come from the allocator.
//!
//! A page is absent, on disk, loading or resident ([`translation`]). A page that is not resident is a
//! [`Miss`]: its user releases everything, loads it ([`page_load`]) and starts again.
//!
//! | file | contents |
//! |---|---|
//! | `pages`, `options` | the buffer: pages found, made, replaced and freed |
//! | `frame`, `translation`, `page_table` | a page in memory; the table from numbers to frames; its chunks |
//! | `page_map`, `page_load`, `load_queue`, `eviction` | where images lie in the data file; pages that come and go |
//! | `page`, `leaf/`, `inner`, `extent`, `version_word` | the formats of pages and rows in memory |
//! | `page_packing` | the format of images on the disk |
//! | `page_snapshot`, `image_pool` | the snapshot for a checkpoint, and the images that it still needs |
//! | `page_allocator`, `memory_need`, `retry` | page numbers, memory below the cap |
//! | `blocks`, `spare_leaves` | huge pages; the memory of evicted leaves |
//! | `prefetch`, `prefetch_hint`, `separator_index` | fewer cache misses on the way to a row |
//! | `miss`, `memory_source`, `fuzzing`, `tests` | misses, also forced ones; eviction, fuzzing and tests |

mod blocks;
mod eviction;
pub(crate) mod extent;
mod frame;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod image_pool;
mod inner;
mod leaf;
mod load_queue;
mod memory_need;
#[cfg(test)]
mod memory_source;
mod miss;
mod options;
pub(crate) mod page;
mod page_allocator;
mod page_load;
pub(crate) mod page_map;
pub(crate) mod page_packing;
pub(crate) mod page_snapshot;
mod page_table;
mod pages;
mod prefetch;
mod prefetch_hint;
mod retry;
mod separator_index;
mod spare_leaves;
#[cfg(test)]
mod tests;
mod translation;
mod version_word;

pub(crate) use frame::{Content, Frame};
pub(crate) use inner::{Branches, Inner};
pub(crate) use leaf::{Leaf, NoRoom, POOR, RowCopy, SplitPlan, common_bytes};
pub(crate) use load_queue::{BeginLoad, LoadQueue};
pub(crate) use memory_need::MemoryNeed;
#[cfg(test)]
pub(crate) use memory_source::MemoryEvictor;
#[cfg(test)]
pub(crate) use miss::reset_forced_misses;
pub(crate) use miss::{Miss, MissesOff, Stop, without_misses};
pub(crate) use options::BufferOptions;
pub(crate) use page_load::{GAP_BYTES_MAX, PageQueue, PageSource, near};
pub(crate) use pages::{Buffer, pin};
pub(crate) use prefetch::prefetch;
pub(crate) use retry::{RECLAIMS_MAX, retry_at_cap};
pub(crate) use version_word::VersionWord;
