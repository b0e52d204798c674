//! A tree under a new handle, when what its rows mean has changed.
//!
//! Whoever still holds the old handle is told at its next access or at its commit, as if the tree had
//! been dropped: a table with another index or column would else be written without it. What has to be
//! done in the tree nevertheless, such as removing ghosts that wait, finds the new handle through the
//! old one.

use super::tree::Tree;
use crate::ids::Csn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

impl Tree {
    /// The same pages under a handle of their own; the old one is good for nothing any more. Once for
    /// each handle, with the gate closed.
    pub(crate) fn renewed(&self) -> Arc<Tree> {
        self.renewed_since(self.since)
    }

    /// The same, where that commit makes the tree known: it was built under the old handle.
    pub(crate) fn renewed_since(&self, since: Csn) -> Arc<Tree> {
        let heir = Arc::new(Tree {
            id: self.id,
            handle: Tree::next_handle(),
            root: self.root,
            structure: Arc::clone(&self.structure),
            is_dropped: AtomicBool::new(false),
            since,
            heir: OnceLock::new(),
        });
        let first = self.heir.set(Arc::clone(&heir));
        assert!(first.is_ok(), "a handle of {} is renewed twice", self.id);
        self.is_dropped.store(true, Ordering::Release);
        heir
    }

    /// The tree's handle of this moment, by any that it ever had. The tree may be dropped.
    pub(crate) fn newest(&self) -> &Tree {
        let mut newest = self;
        while let Some(heir) = newest.heir.get() {
            newest = heir;
        }
        newest
    }
}
