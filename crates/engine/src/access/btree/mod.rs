//! Trees of bytes: values found, changed and scanned by key, in pages of the buffer.
//!
//! A B+tree: rows in leaves, inner nodes above them. Readers descend without a latch over inner nodes
//! that never change, and latch one leaf. Who changes the structure holds the tree's structure mutex,
//! which is only tried, never waited for, as it is taken inside commit sections.
//!
//! Invariants:
//! 1. The number of a tree's root page never changes. A root that splits moves its content to two new
//!    pages and becomes their parent.
//! 2. A leaf knows its fences. A reader whose key they do not cover, or who meets a page of another
//!    kind, tree or level, came through an old inner node and starts again: the new one is there, or
//!    will be in an instant.
//! 3. Nobody latches two leaves but who holds the structure mutex.
//! 4. A split installs the right leaf, replaces the parents from the top down, cuts the left leaf, and
//!    only then unlatches it. New pages are in the table before anything leads to them; pages leave
//!    the table after nothing leads to them.
//! 5. Whatever can be refused (memory, pre-images) is asked for before the first change.
//!
//! Values longer than a quarter of a page lie in [`overflow`] pages, with an overflow pointer in the leaf.
//!
//! Leaves that are empty or poor after rows have gone are given back by `merge`, if their neighbours have
//! room; one that cannot be at that moment is for the caller to come back to. A tree that is only read or
//! inserted into stays as it is.

mod bulk_load;
mod change;
mod check;
mod descend;
mod drop_tree;
mod handle_renewal;
mod merge;
pub(crate) mod overflow;
pub(crate) mod prefetch;
mod split;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

pub(crate) use crate::buffer::Leaf;
pub(crate) use bulk_load::BulkLoader;
pub(crate) use change::Blocked;
pub(crate) use check::PageSet;
pub(crate) use drop_tree::TreeDrop;
pub(crate) use merge::{MergeOutcome, MergeTrigger};
pub(crate) use split::SPLIT_PAGES;
pub(crate) use tree::Tree;
