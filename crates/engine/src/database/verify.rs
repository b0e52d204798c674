//! Checks everything: is each tree whole, does each index match its table, and is every byte of the data file
//! readable as it was written?
//!
//! It runs concurrently with writers. Trees are walked in parts of a fixed number of leaves, each part with
//! the gate closed, so that nothing changes within it. Tables and indexes are compared at snapshots, chunk by
//! chunk (`verify_rows`).
//!
//! Between two parts writers go on and pages come and go, and a page that a walk has not reached may have
//! been made behind it. So a problem in a walk is only a suspicion:
//! 1. A page of a tree that no walk has reached, and that a descent from the root does not reach either, is
//!    suspect. So is every problem within a part.
//! 2. If one pass after the other is suspicious, everything is walked at once with the gate closed, and the
//!    problems of that walk are the answer. So a concurrent writer is never mistaken for damage, and the gate
//!    is closed for a time that grows with the store only where damage is likely.

use crate::access::btree::{PageSet, Tree};
use crate::access::schema::Schema;
use crate::buffer::Miss;
use crate::catalog::{CATALOG_TREE, Catalog};
use crate::database::engine::Engine;
use crate::error::Result;
use crate::ids::{PageId, TreeId};
use crate::step::{Step, step};
use std::collections::BTreeSet;
use std::sync::Arc;
use syncline_vfs::Disk;

/// Leaves of one part.
const LEAVES_A_PART: usize = 32;

/// Suspicious passes in a row before everything is walked at once.
const PASSES: u32 = 3;

impl<D: Disk> Engine<D> {
    /// Returns the problems, one sentence each.
    pub(crate) fn verify(&self) -> Result<Vec<String>> {
        let mut problems = match &self.checkpoints {
            Some(checkpoints) => checkpoints.check(&self.core)?,
            None => Vec::new(),
        };
        let mut suspicious = 0;
        while suspicious < PASSES && self.is_suspicious()? {
            suspicious += 1;
        }
        if suspicious == PASSES {
            let closed = self.core.close_gate()?;
            problems.extend(self.verify_trees());
            drop(closed);
        }
        if problems.is_empty() {
            // Rows are read by scans, which need whole trees.
            for table in self.catalog().tables() {
                problems.extend(self.verify_table(table.schema.name())?);
            }
        }
        Ok(problems)
    }

    /// One pass over all trees, concurrent with writers. Returns true if anything may be wrong.
    fn is_suspicious(&self) -> Result<bool> {
        let listed: Vec<_> = self.core.buffer.labelled(|_tree| true).collect();
        let closed = self.core.close_gate()?;
        let catalog = self.catalog();
        let trees = self.tree_directory.snapshot();
        let hidden = self.hidden.lock().clone();
        drop(closed);
        let there: BTreeSet<TreeId> = trees.trees().map(|tree| tree.id).collect();
        if !misnamed(&catalog, &there, &hidden).is_empty() {
            return Ok(true);
        }
        let mut reached = PageSet::default();
        for tree in trees.trees() {
            if self.walk_in_parts(tree, &mut reached)? {
                return Ok(true);
            }
        }
        for (page, tree) in listed {
            if !reached.contains(page) && self.is_lost(page, tree)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Walks a tree, part by part. Returns true if something is wrong.
    fn walk_in_parts(&self, tree: &Arc<Tree>, reached: &mut PageSet) -> Result<bool> {
        let mut from = Some(Vec::new());
        while let Some(key) = from {
            step(Step::Build);
            let closed = self.core.close_gate()?;
            let tree = tree.newest();
            if tree.is_dropped() {
                return Ok(false);
            }
            let (problems, next) = tree.check_part(&self.core.buffer, &key, LEAVES_A_PART, reached);
            drop(closed);
            if !problems.is_empty() {
                return Ok(true);
            }
            from = next;
        }
        Ok(false)
    }

    /// True if a page is labelled as the tree's but not reachable from its root.
    fn is_lost(&self, page: PageId, id: TreeId) -> Result<bool> {
        let _closed = self.core.close_gate()?;
        let buffer = &self.core.buffer;
        if !buffer.is_labelled(page, id) || self.hidden.lock().contains(&id) {
            return Ok(false);
        }
        // An image that cannot be read is a problem of the data file's own check.
        if buffer.load(Miss(page)).is_err() {
            return Ok(true);
        }
        let tree = self.tree_directory.tree(id);
        if let (Some(tree), Some(key)) = (tree, buffer.key_within(page)) {
            let mut reached = PageSet::default();
            tree.check_part(buffer, &key, 1, &mut reached);
            return Ok(!reached.contains(page));
        }
        Ok(!self.core.pages_of_versions().contains(&page))
    }

    /// The problems of the trees, with the gate closed.
    fn verify_trees(&self) -> Vec<String> {
        let catalog = self.catalog();
        // Trees that are being built or freed at this moment.
        let hidden = self.hidden.lock().clone();
        let held = self.core.pages_of_versions();
        let (mut problems, mut there) = (Vec::new(), BTreeSet::new());
        for tree in self.tree_directory.trees() {
            there.insert(tree.id);
            problems.extend(tree.check_with_versions(&self.core.buffer, &held));
        }
        problems.extend(misnamed(&catalog, &there, &hidden));
        let is_stray = |id| !there.contains(&id) && !hidden.contains(&id);
        let strays = self.core.buffer.labelled(is_stray);
        let strays = strays.filter(|(page, _id)| !held.contains(page));
        problems.extend(
            strays.map(|(page, id)| format!("{page} belongs to {id}, which does not exist")),
        );
        problems
    }
}

/// Trees that the catalogue names and that do not exist, and the reverse.
fn misnamed(catalog: &Catalog, there: &BTreeSet<TreeId>, hidden: &BTreeSet<TreeId>) -> Vec<String> {
    let mut known = BTreeSet::from([CATALOG_TREE]);
    for table in catalog.tables() {
        known.insert(table.tree);
        known.extend(table.indexes.iter().map(|index| index.tree));
    }
    // Trees of an interrupted build may exist or not.
    let unfinished = catalog.unfinished().into_iter().flat_map(|one| one.trees);
    let unfinished: BTreeSet<TreeId> = unfinished.collect();
    let lost = known.difference(there).map(|id| format!("{id} of the catalogue is missing"));
    let spare = there
        .difference(&known)
        .filter(|id| !unfinished.contains(id) && !hidden.contains(id))
        .map(|id| format!("{id} belongs to no table"));
    lost.chain(spare).collect()
}

pub(super) fn unreadable(schema: &Schema, what: &str) -> String {
    format!("a row of table {} cannot be read: {what}", schema.name())
}
