//! The tree directory: every tree of the database by its number, and where its root page is.
//!
//! A checkpoint carries the tree directory as its metadata, all integers little-endian:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 1 | version of this list, 1 |
//! | 1 | 4 | how many trees follow |
//! | 5 | 12 each | number (4), root page (8), by ascending number |
//! | | 4 | how many orphans follow |
//! | | 16 each | the overflow pointer of a chain of overflow pages |
//!
//! Orphans are values that no row holds any more, only older versions of rows in memory, for snapshots
//! that are open. Their pages are among those of the cut; after opening nobody reads them, so they go.
//!
//! The tree directory does not know what a tree is for, nor whether it is finished: the catalogue does, and
//! gives the numbers.
//!
//! Invariant: it changes behind the closed gate or in recovery only, so that a cut sees it still.

use crate::access::btree::Tree;
use crate::access::btree::overflow::{OverflowPointer, STUB_BYTES};
use crate::ids::{Csn, PageId, TreeId};
use crate::persistent_map::PersistentMap;
use crate::sync::rank::TREE_DIRECTORY;
use crate::sync::ranked::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::Arc;

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 5;
const TREE_BYTES: usize = 12;

/// What a checkpoint's list says.
pub(crate) struct TreeList {
    /// The trees.
    pub(crate) tree_directory: TreeDirectory,
    /// Overflow pages to be freed.
    pub(crate) orphans: Vec<OverflowPointer>,
}

type Trees = PersistentMap<TreeId, Arc<Tree>>;

/// See the module.
pub(crate) struct TreeDirectory(RwLock<Trees, TREE_DIRECTORY>);

/// The trees of one moment.
pub(crate) struct Snapshot(Trees);

impl Default for TreeDirectory {
    fn default() -> TreeDirectory {
        TreeDirectory(RwLock::new(Trees::new()))
    }
}

impl TreeDirectory {
    /// A tree by its number.
    pub(crate) fn tree(&self, id: TreeId) -> Option<Arc<Tree>> {
        self.read().get(&id).map(Arc::clone)
    }

    /// Adds a tree.
    pub(crate) fn add(&self, tree: Arc<Tree>) {
        let before = self.write().insert(tree.id, tree);
        assert!(before.is_none(), "a tree's number is given once");
    }

    /// Takes a tree out.
    pub(crate) fn remove(&self, id: TreeId) -> Option<Arc<Tree>> {
        self.write().remove(&id)
    }

    /// Gives a tree a new handle; holders of the old one are told. With the gate closed.
    pub(crate) fn renew(&self, id: TreeId) {
        let mut trees = self.write();
        if let Some(tree) = trees.get(&id).map(|tree| tree.renewed()) {
            trees.insert(id, tree);
        }
    }

    /// Makes a tree that was built aside known as made by that commit. With the gate closed.
    pub(crate) fn publish(&self, id: TreeId, csn: Csn) {
        let mut trees = self.write();
        if let Some(tree) = trees.get(&id).map(|tree| tree.renewed_since(csn)) {
            trees.insert(id, tree);
        }
    }

    /// Every tree, by its number.
    pub(crate) fn trees(&self) -> Vec<Arc<Tree>> {
        self.read().values().map(Arc::clone).collect()
    }

    /// The trees as they are now, at the cost of a reference count.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot(self.read().clone())
    }

    /// The tree directory of a checkpoint; what is wrong with the list if it cannot be read. An empty list is
    /// that of a database without any checkpoint.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<TreeList, &'static str> {
        let tree_directory = TreeDirectory::default();
        if bytes.is_empty() {
            let orphans = Vec::new();
            return Ok(TreeList { tree_directory, orphans });
        }
        let split = bytes.split_at_checked(HEAD_BYTES);
        let (head, list) = split.ok_or("the list of trees is cut short")?;
        if head[0] != VERSION {
            return Err("the list of trees has an unknown version");
        }
        let trees_bytes = u32_at(head, 1) as usize * TREE_BYTES;
        let split = list.split_at_checked(trees_bytes);
        let (list, behind) = split.ok_or("the list of trees is shorter than its count says")?;
        let orphans = orphans(behind)?;
        let mut last = TreeId(0);
        for entry in list.chunks_exact(TREE_BYTES) {
            let (low, high) = (u32_at(entry, 4), u32_at(entry, 8));
            let root = PageId(u64::from(low) | u64::from(high) << 32);
            let id = TreeId(u32_at(entry, 0));
            if id <= last || root.0 == 0 {
                return Err("the list of trees is out of order, or names no root");
            }
            last = id;
            tree_directory.add(Arc::new(Tree::existing(id, root)));
        }
        Ok(TreeList { tree_directory, orphans })
    }

    fn read(&self) -> RwLockReadGuard<'_, Trees, TREE_DIRECTORY> {
        self.0.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Trees, TREE_DIRECTORY> {
        self.0.write()
    }
}

impl Snapshot {
    /// Every tree, by its number.
    pub(crate) fn trees(&self) -> impl Iterator<Item = &Arc<Tree>> {
        self.0.values()
    }

    /// The list for a checkpoint.
    pub(crate) fn to_bytes(&self, orphans: &[OverflowPointer]) -> Vec<u8> {
        let mut bytes = vec![VERSION, 0, 0, 0, 0];
        let mut count = 0_u32;
        for (id, tree) in self.0.iter() {
            bytes.extend_from_slice(&id.0.to_le_bytes());
            bytes.extend_from_slice(&tree.root().0.to_le_bytes());
            count += 1;
        }
        bytes[1..HEAD_BYTES].copy_from_slice(&count.to_le_bytes());
        bytes.extend_from_slice(&(orphans.len() as u32).to_le_bytes());
        for orphan in orphans {
            bytes.extend_from_slice(&orphan.to_value());
        }
        bytes
    }
}

fn orphans(bytes: &[u8]) -> Result<Vec<OverflowPointer>, &'static str> {
    let split = bytes.split_at_checked(4);
    let (count, stubs) = split.ok_or("the list of orphans is cut short")?;
    if stubs.len() as u64 != u64::from(u32_at(count, 0)) * STUB_BYTES as u64 {
        return Err("the list of orphans has a length that does not fit its count");
    }
    Ok(stubs.chunks_exact(STUB_BYTES).filter_map(OverflowPointer::from_value).collect())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let four = bytes[at..at + 4].try_into().expect("four bytes are four");
    u32::from_le_bytes(four)
}

#[cfg(test)]
mod tests {
    use super::TreeDirectory;
    use crate::access::btree::Tree;
    use crate::access::btree::overflow::OverflowPointer;
    use crate::ids::{PageId, TreeId};
    use std::sync::Arc;

    fn tree_directory() -> TreeDirectory {
        let tree_directory = TreeDirectory::default();
        for (id, root) in [(1, 3), (2, 9), (7, 1 << 35)] {
            tree_directory.add(Arc::new(Tree::existing(TreeId(id), PageId(root))));
        }
        tree_directory
    }

    #[test]
    fn a_forest_comes_back_from_its_list() {
        let before = tree_directory();
        before.remove(TreeId(2)).unwrap();
        let stub = OverflowPointer { bytes: 5_000, first: PageId(77) };
        let again = TreeDirectory::from_bytes(&before.snapshot().to_bytes(&[stub])).unwrap();
        assert_eq!(again.tree_directory.tree(TreeId(7)).unwrap().root(), PageId(1 << 35));
        assert!(again.tree_directory.tree(TreeId(2)).is_none());
        assert_eq!(again.tree_directory.trees().len(), 2);
        assert_eq!(again.orphans, [stub]);
        assert!(TreeDirectory::from_bytes(&[]).unwrap().tree_directory.trees().is_empty());
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let stub = OverflowPointer { bytes: 5_000, first: PageId(77) };
        let bytes = tree_directory().snapshot().to_bytes(&[stub]);
        for cut in 1..bytes.len() {
            assert!(TreeDirectory::from_bytes(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..10_000 {
            let mut changed = bytes.clone();
            let at = random.usize(..changed.len());
            changed[at] = random.u8(..);
            if let Ok(listed) = TreeDirectory::from_bytes(&changed) {
                assert_eq!(listed.tree_directory.trees().len(), 3);
            }
        }
    }
}
