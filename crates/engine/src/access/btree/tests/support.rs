//! A tree with its buffer for tests: each access is repeated until it is done.

use crate::access::btree::extents::{self, EXTENT_POINTER_BYTES, ExtentPointer};
use crate::access::btree::prefetch::{PrefetchTarget, prefetch_leaves};
use crate::access::btree::{Blocked, MergeTrigger, Tree};
use crate::buffer::VersionWord;
use crate::buffer::{Buffer, BufferOptions, Leaf, Miss, Stop, without_misses};
use crate::ids::{Csn, PageId, TreeId};
use std::sync::Arc;

/// Key and value.
pub(super) type Row = (Vec<u8>, Vec<u8>);

/// A tree and its buffer.
pub(super) struct TestTree {
    pub(super) buffer: Arc<Buffer>,
    pub(super) tree: Arc<Tree>,
}

/// Tiny pages, a miss at every n-th page. With misses leaves are in blocks, without them they are not.
pub(super) fn options(miss_every: Option<u32>) -> BufferOptions {
    BufferOptions {
        page_bytes: 512,
        value_extent_bytes: 512,
        blocks_from_bytes: if miss_every.is_some() { 0 } else { u64::MAX },
        miss_every,
        ..BufferOptions::default()
    }
}

impl TestTree {
    pub(super) fn new(options: &BufferOptions) -> TestTree {
        let buffer = Buffer::new(options);
        let tree = Tree::create(TreeId(5), &buffer).expect("memory for one page");
        TestTree::of(buffer, tree)
    }

    pub(super) fn of(buffer: Buffer, tree: Tree) -> TestTree {
        TestTree { buffer: Arc::new(buffer), tree: Arc::new(tree) }
    }

    /// The same tree under a new handle.
    pub(super) fn renewed(&self) -> TestTree {
        TestTree { buffer: Arc::clone(&self.buffer), tree: self.tree.renewed() }
    }

    /// Inserts or replaces a row. `on_full` is called when the pool of pre-images is full.
    pub(super) fn put(&self, key: &[u8], value: &[u8], on_full: &mut dyn FnMut()) {
        let is_long = extents::is_needed(&self.buffer, value.len());
        let pointer = is_long.then(|| {
            extents::write(&self.buffer, self.tree.id, value).expect("memory is not capped")
        });
        let pointer_value = pointer.map(ExtentPointer::to_value);
        let in_leaf = pointer_value.as_ref().map_or(value, |pointer| pointer.as_slice());
        loop {
            if !self.make_room(key, value.len(), on_full) {
                continue;
            }
            let change = |leaf: &mut Leaf| write_row(leaf, key, in_leaf, is_long);
            let Some(outcome) = self.change(key, on_full, change) else {
                continue;
            };
            if let Ok(before) = outcome {
                if let Some(before) = before {
                    extents::free(&self.buffer, before);
                }
                if let Some(pointer) = pointer {
                    extents::attach(&self.buffer, pointer);
                }
                return;
            }
        }
    }

    /// Removes a row, and its leaf if that becomes poor. True if the row existed.
    pub(super) fn remove(&self, key: &[u8], on_full: &mut dyn FnMut()) -> bool {
        let change = |leaf: &mut Leaf| {
            let slot = leaf.search(key).ok()?;
            let pointer = pointer_of(leaf, slot);
            leaf.remove(slot);
            Some((pointer, leaf.is_poor()))
        };
        let found = loop {
            if let Some(found) = self.change(key, on_full, change) {
                break found;
            }
        };
        let Some((pointer, is_poor)) = found else {
            return false;
        };
        if let Some(pointer) = pointer {
            extents::free(&self.buffer, pointer);
        }
        if is_poor {
            let _tidied =
                without_misses(|| self.tree.merge_leaf(&self.buffer, key, MergeTrigger::First));
        }
        true
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.get_at(None, key)
    }

    /// The same by a hint.
    pub(super) fn get_at(&self, hint: Option<PageId>, key: &[u8]) -> Option<Vec<u8>> {
        let look = |leaf: &Leaf| leaf.search(key).ok().map(|slot| self.value(leaf, slot));
        loop {
            match self.tree.view_at(&self.buffer, hint, key, |leaf, _| look(leaf).transpose()) {
                Ok(Ok(found)) => return found,
                Ok(Err(miss)) | Err(miss) => self.buffer.load(miss).unwrap(),
            }
        }
    }

    /// Overwrites the row's value by one of the same length, starting at the hint; false if there is no such
    /// row.
    pub(super) fn overwrite_at(
        &self,
        hint: Option<PageId>,
        key: &[u8],
        value: &[u8],
        on_full: &mut dyn FnMut(),
    ) -> bool {
        loop {
            let write = |leaf: &mut Leaf, _| {
                let slot = leaf.search(key).ok()?;
                leaf.set_value(slot, value);
                Some(())
            };
            match self.tree.change_at(&self.buffer, hint, key, write) {
                Ok(written) => return written.is_some(),
                Err(Stop::Miss(page)) => self.buffer.load(Miss(page)).unwrap(),
                Err(Stop::PreImages) => on_full(),
            }
        }
    }

    /// The leaves that a prefetch returns for the keys.
    pub(super) fn prefetch_leaves(&self, keys: &[[u8; 8]]) -> Vec<Option<PageId>> {
        let of = |index: usize| PrefetchTarget::new(&self.tree, 8 * index..8 * (index + 1));
        let mut targets: Vec<PrefetchTarget> = (0..keys.len()).map(of).collect();
        prefetch_leaves(&self.buffer, keys.as_flattened(), &mut targets);
        targets.iter().map(PrefetchTarget::leaf).collect()
    }

    /// All rows in ascending order, leaf by leaf.
    pub(super) fn scan(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut next = Some(Vec::new());
        while let Some(key) = next {
            let look = |leaf: &Leaf| (self.rows(leaf), leaf.upper_fence().map(<[u8]>::to_vec));
            match self.tree.view(&self.buffer, &key, |leaf, _| look(leaf)) {
                Ok((Ok(more), behind)) => {
                    rows.extend(more);
                    next = behind;
                }
                Ok((Err(miss), _)) | Err(miss) => {
                    self.buffer.load(miss).unwrap();
                    next = Some(key);
                }
            }
        }
        rows
    }

    /// All rows in descending order, leaf by leaf.
    pub(super) fn scan_back(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut next: Option<Vec<u8>> = None;
        loop {
            let look = |leaf: &Leaf| (self.rows(leaf), leaf.lower_fence().to_vec());
            match self.tree.view_before(&self.buffer, next.as_deref(), |leaf, _| look(leaf)) {
                Ok((Ok(more), lower)) => {
                    let below = |row: &&Row| next.as_ref().is_none_or(|key| row.0 < *key);
                    rows.extend(more.iter().rev().filter(below).cloned());
                    if lower.is_empty() {
                        return rows;
                    }
                    next = Some(lower);
                }
                Ok((Err(miss), _)) | Err(miss) => self.buffer.load(miss).unwrap(),
            }
        }
    }

    fn make_room(&self, key: &[u8], value_bytes: usize, on_full: &mut dyn FnMut()) -> bool {
        match self.tree.make_room(&self.buffer, key, value_bytes) {
            Ok(()) => return true,
            Err(Blocked::Miss(page)) => self.buffer.load(Miss(page)).unwrap(),
            Err(Blocked::PreImages) => on_full(),
            Err(Blocked::Busy) => std::thread::yield_now(),
            Err(Blocked::Failed(error)) => panic!("memory is not capped: {error}"),
        }
        false
    }

    fn change<R>(
        &self,
        key: &[u8],
        on_full: &mut dyn FnMut(),
        change: impl FnOnce(&mut Leaf) -> R,
    ) -> Option<R> {
        match self.tree.change(&self.buffer, key, |leaf, _| change(leaf)) {
            Ok(outcome) => return Some(outcome),
            Err(Stop::Miss(page)) => self.buffer.load(Miss(page)).unwrap(),
            Err(Stop::PreImages) => on_full(),
        }
        None
    }

    fn rows(&self, leaf: &Leaf) -> Result<Vec<Row>, Miss> {
        let row = |slot| {
            let mut key = Vec::new();
            leaf.key_into(slot, &mut key);
            Ok((key, self.value(leaf, slot)?))
        };
        (0..leaf.count()).map(row).collect()
    }

    fn value(&self, leaf: &Leaf, slot: usize) -> Result<Vec<u8>, Miss> {
        let Some(pointer) = pointer_of(leaf, slot) else {
            return Ok(leaf.value(slot).to_vec());
        };
        let mut value = Vec::new();
        let is_there = extents::read(&self.buffer, pointer, &mut value)?;
        assert!(is_there, "a value exists while its row is latched");
        Ok(value)
    }
}

fn pointer_of(leaf: &Leaf, slot: usize) -> Option<ExtentPointer> {
    let is_overflow = leaf.word(slot).is_overflow();
    is_overflow.then(|| ExtentPointer::from_value(leaf.value(slot)).expect("an extent pointer"))
}

/// Writes the row and returns its old value's extents.
fn write_row(
    leaf: &mut Leaf,
    key: &[u8],
    value: &[u8],
    is_long: bool,
) -> Result<Option<ExtentPointer>, crate::buffer::NoRoom> {
    assert!(!is_long || value.len() == EXTENT_POINTER_BYTES);
    let word = VersionWord::of(Csn(1));
    let word = if is_long { word.overflow() } else { word };
    let (slot, before) = match leaf.search(key) {
        Ok(slot) => {
            leaf.reserve(slot, value.len())?;
            (slot, pointer_of(leaf, slot))
        }
        Err(slot) => {
            leaf.insert(slot, key, word, value.len())?;
            (slot, None)
        }
    };
    leaf.set_value(slot, value);
    leaf.set_word(slot, word);
    Ok(before)
}
