//! A new handle for a tree whose rows have got another meaning.
//!
//! A transaction that still holds the old handle gets a conflict at its next access or at its commit, as if
//! the tree had been dropped: otherwise it would write the table without its new index or column. Work that
//! the tree still needs, such as removing waiting ghosts, finds the new handle through the old one.

use super::tree::Tree;
use crate::ids::Csn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

impl Tree {
    /// The same pages under a new handle; the old one becomes unusable. Once for each handle, with the gate
    /// closed.
    pub(crate) fn renewed(&self) -> Arc<Tree> {
        self.renewed_since(self.since)
    }

    /// The same for a tree that was built under the old handle; that commit makes it known.
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

    /// The tree's current handle, given any that it ever had. The tree may be dropped.
    pub(crate) fn newest(&self) -> &Tree {
        let mut newest = self;
        while let Some(heir) = newest.heir.get() {
            newest = heir;
        }
        newest
    }
}
