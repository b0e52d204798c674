//! A tree under a new handle, when what its rows mean has changed.
//!
//! Whoever still holds the old handle is told at its next access or at its commit, as if the tree had
//! been dropped: a table with another index or column would else be written without it.

use super::tree::Tree;
use std::sync::atomic::Ordering;

impl Tree {
    /// The same pages under a handle of their own; the old one is good for nothing any more. With the
    /// gate closed.
    pub(crate) fn renewed(&self) -> Tree {
        self.is_dropped.store(true, Ordering::Release);
        Tree::existing(self.id, self.root)
    }
}
