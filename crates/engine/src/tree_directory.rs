//! The tree directory: every tree of the database by its number, and where its root page is.
//!
//! A checkpoint carries the tree directory as its metadata, all integers little-endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | version of this list, 1 |
//! | 1 | 4 | number of trees |
//! | 5 | 12 each | number (4), root page (8), in ascending order of the numbers |
//! | | 4 | number of orphans |
//! | | 16 each | an extent pointer |
//!
//! Orphans are values that no row holds any more; only older versions in memory refer to them, for open
//! snapshots. Their pages are part of the checkpoint's snapshot; no transaction reads them after opening,
//! which therefore frees them.
//!
//! The tree directory does not know what a tree is for, nor whether it is finished: the catalogue does, and
//! it assigns the numbers.
//!
//! Invariant: it changes only behind the closed gate or in recovery, so it is stable during a snapshot.

use crate::access::btree::Tree;
use crate::access::btree::extents::EXTENT_POINTER_BYTES;
use crate::ids::{Csn, PageId, TreeId};
use crate::persistent_map::PersistentMap;
use crate::sync::rank::TREE_DIRECTORY;
use crate::sync::ranked::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::sync::Arc;

const VERSION: u8 = 1;
const HEAD_BYTES: usize = 5;
const TREE_BYTES: usize = 12;

/// The decoded tree list of a checkpoint.
pub(crate) struct TreeList {
    /// The trees.
    pub(crate) tree_directory: TreeDirectory,
    /// Pointers to the values to be freed. In format 2 they name chains of overflow pages.
    pub(crate) orphans: Vec<[u8; EXTENT_POINTER_BYTES]>,
}

type Trees = PersistentMap<TreeId, Arc<Tree>>;

/// Maps tree numbers to trees.
pub(crate) struct TreeDirectory(RwLock<Trees, TREE_DIRECTORY>);

/// The trees at one moment.
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

    /// Removes a tree.
    pub(crate) fn remove(&self, id: TreeId) -> Option<Arc<Tree>> {
        self.write().remove(&id)
    }

    /// Gives a tree a new handle, so that holders of the old one notice. Call it with the gate closed.
    pub(crate) fn renew(&self, id: TreeId) {
        let mut trees = self.write();
        if let Some(tree) = trees.get(&id).map(|tree| tree.renewed()) {
            trees.insert(id, tree);
        }
    }

    /// Marks a tree that was built aside as made by commit `csn`. Call it with the gate closed.
    pub(crate) fn publish(&self, id: TreeId, csn: Csn) {
        let mut trees = self.write();
        if let Some(tree) = trees.get(&id).map(|tree| tree.renewed_since(csn)) {
            trees.insert(id, tree);
        }
    }

    /// Every tree, in the order of the numbers.
    pub(crate) fn trees(&self) -> Vec<Arc<Tree>> {
        self.read().values().map(Arc::clone).collect()
    }

    /// The trees as they are now, for the cost of a reference count.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot(self.read().clone())
    }

    /// Reads the tree directory of a checkpoint; the error says what is wrong with the list. An empty list
    /// belongs to a database without any checkpoint.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<TreeList, &'static str> {
        let tree_directory = TreeDirectory::default();
        if bytes.is_empty() {
            let orphans = Vec::new();
            return Ok(TreeList { tree_directory, orphans });
        }
        let split = bytes.split_at_checked(HEAD_BYTES);
        let (head, list) = split.ok_or("the list of trees is truncated")?;
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
    /// Every tree, in the order of the numbers.
    pub(crate) fn trees(&self) -> impl Iterator<Item = &Arc<Tree>> {
        self.0.values()
    }

    /// The encoded list for a checkpoint.
    pub(crate) fn to_bytes(&self, orphans: &[[u8; EXTENT_POINTER_BYTES]]) -> Vec<u8> {
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
            bytes.extend_from_slice(orphan);
        }
        bytes
    }
}

fn orphans(bytes: &[u8]) -> Result<Vec<[u8; EXTENT_POINTER_BYTES]>, &'static str> {
    let split = bytes.split_at_checked(4);
    let (count, pointers) = split.ok_or("the list of orphans is truncated")?;
    if pointers.len() as u64 != u64::from(u32_at(count, 0)) * EXTENT_POINTER_BYTES as u64 {
        return Err("the list of orphans has a length that does not match its count");
    }
    Ok(pointers.as_chunks().0.to_vec())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let four = bytes[at..at + 4].try_into().expect("four bytes are four");
    u32::from_le_bytes(four)
}

#[cfg(test)]
mod tests {
    use super::TreeDirectory;
    use crate::access::btree::Tree;
    use crate::access::btree::extents::ExtentPointer;
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
    fn a_tree_directory_reads_back_from_its_list() {
        let before = tree_directory();
        before.remove(TreeId(2)).unwrap();
        let orphan = ExtentPointer::of(5_000, PageId(77)).to_value();
        let again = TreeDirectory::from_bytes(&before.snapshot().to_bytes(&[orphan])).unwrap();
        assert_eq!(again.tree_directory.tree(TreeId(7)).unwrap().root(), PageId(1 << 35));
        assert!(again.tree_directory.tree(TreeId(2)).is_none());
        assert_eq!(again.tree_directory.trees().len(), 2);
        assert_eq!(again.orphans, [orphan]);
        assert!(TreeDirectory::from_bytes(&[]).unwrap().tree_directory.trees().is_empty());
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let orphan = ExtentPointer::of(5_000, PageId(77)).to_value();
        let bytes = tree_directory().snapshot().to_bytes(&[orphan]);
        for len in 1..bytes.len() {
            assert!(TreeDirectory::from_bytes(&bytes[..len]).is_err(), "truncated to {len} bytes");
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
