//! A tree's handle: its number, its root page, and its state outside its pages.

use crate::buffer::page::Kind;
use crate::buffer::{Buffer, Content, Leaf};
use crate::error::Result;
use crate::ids::{Csn, PageId, TreeId};
use crate::sync::rank::STRUCTURE;
use crate::sync::ranked::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The number of the next handle.
static HANDLES: AtomicU64 = AtomicU64::new(1);

/// A tree of bytes. Keys may have up to [`Tree::key_bytes_max`] bytes, or none.
pub(crate) struct Tree {
    /// Its number.
    pub(crate) id: TreeId,
    /// The number of this handle, unique in the process and across databases; never 0.
    pub(crate) handle: u64,
    pub(super) root: PageId,
    /// Held during splits, merges and collapses. Only tried inside sections. All handles of a tree share it:
    /// some may still be in use when the tree is renewed.
    pub(super) structure: Arc<Mutex<(), STRUCTURE>>,
    pub(super) is_dropped: AtomicBool,
    /// The commit that made the tree.
    pub(super) since: Csn,
    /// The handle that replaced this one.
    pub(super) heir: OnceLock<Arc<Tree>>,
}

impl Tree {
    /// A new tree: an empty leaf as its root. In a section, or before any.
    pub(crate) fn create(id: TreeId, buffer: &Buffer) -> Result<Tree> {
        let root = buffer.allocate(Kind::Leaf)?;
        buffer.add_page(Content::Leaf(Leaf::empty(buffer.page_bytes(), root, id, &[], None)));
        Ok(Tree::existing(id, root))
    }

    /// A tree whose pages exist.
    pub(crate) fn existing(id: TreeId, root: PageId) -> Tree {
        Tree {
            id,
            handle: Tree::next_handle(),
            root,
            structure: Arc::new(Mutex::new(())),
            is_dropped: AtomicBool::new(false),
            since: Csn::ZERO,
            heir: OnceLock::new(),
        }
    }

    pub(super) fn next_handle() -> u64 {
        HANDLES.fetch_add(1, Ordering::Relaxed)
    }

    /// The same tree with the commit that makes it, before any other thread has the handle.
    pub(crate) fn made_by(self, csn: Csn) -> Tree {
        Tree { since: csn, ..self }
    }

    /// The commit that made the tree. Zero if it existed when the database was opened: no read point is
    /// before that.
    #[inline]
    pub(crate) fn since(&self) -> Csn {
        self.since
    }

    /// The root page's number, which never changes.
    pub(crate) fn root(&self) -> PageId {
        self.root
    }

    /// True once [`Tree::drop_pages`] has begun: from then on every access is a miss of the root. Check this
    /// after a miss, before loading.
    #[inline]
    pub(crate) fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Acquire)
    }

    /// Keeps the structure busy until the guard is dropped, like a change by another thread.
    #[cfg(test)]
    pub(crate) fn hold_structure(&self) -> crate::sync::ranked::MutexGuard<'_, (), STRUCTURE> {
        self.structure.lock()
    }

    /// The longest key of a tree, in bytes.
    pub(crate) fn key_bytes_max(buffer: &Buffer) -> usize {
        Leaf::key_bytes_max(buffer.page_bytes())
    }
}
