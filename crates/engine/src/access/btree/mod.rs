//! Trees of bytes: values are found, changed and scanned by key, in pages of the buffer.
//!
//! A B+tree: rows in leaves, inner nodes above them. Readers descend without a latch over inner nodes that
//! never change, and latch one leaf. A thread that changes the structure holds the tree's structure mutex;
//! since that happens inside commit sections, the mutex is only tried, never waited for.
//!
//! Invariants:
//! 1. The number of a tree's root page never changes. A root that splits moves its content to two new
//!    pages and becomes their parent.
//! 2. A leaf knows its fences. A reader whose key they do not cover, or that meets a page of another
//!    kind, tree or level, came through an old inner node and starts again: the new node is installed, or
//!    will be in an instant.
//! 3. Only the holder of the structure mutex latches two leaves.
//! 4. A split installs the right leaf, replaces the parents from the top down, truncates the left leaf, and
//!    only then unlatches it. New pages are in the table before anything leads to them; pages leave
//!    the table after nothing leads to them.
//! 5. Everything that can be refused (memory, pre-images) is requested before the first change.
//!
//! Values longer than a quarter of a page are in [`extents`], with an extent pointer in the leaf.
//!
//! `merge` frees leaves that become empty or poor when rows are removed, if their neighbours have room; if
//! that is not possible at the moment, the caller must retry. A tree that is only read or inserted into never
//! merges.
//!
//! | file | what it holds |
//! |---|---|
//! | `tree.rs`, `handle_renewal.rs` | a tree's handle; a new handle for the same pages |
//! | `descend.rs` | the descent to a leaf, and reads |
//! | `change.rs`, `split.rs`, `merge.rs` | changes of leaves and of the structure |
//! | `extents.rs` | the extents of long values |
//! | `prefetch.rs`, `read_ahead.rs` | batched prefetch; the leaves that a scan will need |
//! | `bulk_load.rs`, `drop_tree.rs` | building and freeing whole trees |
//! | `walk.rs`, `check.rs` | all rows of a tree at rest; checks of its structure |

mod bulk_load;
mod change;
mod check;
mod descend;
mod drop_tree;
pub(crate) mod extents;
mod handle_renewal;
mod merge;
pub(crate) mod prefetch;
mod read_ahead;
mod split;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

pub(crate) use crate::buffer::Leaf;
pub(crate) use bulk_load::BulkLoader;
pub(crate) use change::Blocked;
pub(crate) use check::PageSet;
pub(crate) use descend::Goal;
pub(crate) use drop_tree::TreeDrop;
pub(crate) use merge::{MergeOutcome, MergeTrigger};
pub(crate) use read_ahead::ReadAhead;
pub(crate) use split::SPLIT_PAGES;
pub(crate) use tree::Tree;
