//! A walk over everything: is each tree whole, does each index say what its table says, can every byte
//! of the data file be read as it was written?
//!
//! It runs beside writers. Trees are walked in parts of a fixed number of leaves, each part with the gate
//! closed, so that nothing changes within it; tables and indexes are compared at snapshots, chunk by chunk
//! (`verify_rows`).
//!
//! Between two parts writers go on: pages come and go, and what a walk has not reached may have been made
//! behind it. So what walks find is a suspicion only:
//! 1. A page of a tree that no walk has reached, and that a look from the root does not reach either, is
//!    suspect; so is whatever a part finds wrong.
//! 2. If one pass after the other has a suspicion, everything is walked at once with the gate closed, and
//!    what that finds is the answer. So a writer at work is never taken for damage, and the gate is closed
//!    for a time that grows with the store only where damage is likely.

use crate::access::btree::{PageSet, Tree};
use crate::access::schema::Schema;
use crate::catalog::{CATALOG_TREE, Catalog};
use crate::database::engine::Engine;
use crate::error::Result;
use crate::ids::{PageId, TreeId};
use crate::txn::step::{Step, step};
use std::collections::BTreeSet;
use std::sync::Arc;
use syncline_vfs::Disk;

/// So many leaves are walked over behind one closed gate.
const LEAVES_A_PART: usize = 32;

/// So many passes must be suspicious in a row.
const PASSES: u32 = 3;

impl<D: Disk> Engine<D> {
    /// What is wrong, in sentences; empty if nothing is.
    pub(crate) fn verify(&self) -> Result<Vec<String>> {
        let mut found = match &self.checkpoints {
            Some(checkpoints) => checkpoints.check(&self.core)?,
            None => Vec::new(),
        };
        let mut suspicious = 0;
        while suspicious < PASSES && self.is_suspicious()? {
            suspicious += 1;
        }
        if suspicious == PASSES {
            let closed = self.core.close_gate()?;
            found.extend(self.verify_trees());
            drop(closed);
        }
        if found.is_empty() {
            // Rows are read by scans, which need whole trees.
            for table in self.catalog().tables() {
                found.extend(self.verify_table(table.schema.name())?);
            }
        }
        Ok(found)
    }

    /// One pass over all trees beside writers; true if anything may be wrong.
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

    /// Walks over a tree, part by part; true if something is wrong.
    fn walk_in_parts(&self, tree: &Arc<Tree>, reached: &mut PageSet) -> Result<bool> {
        let mut from = Some(Vec::new());
        while let Some(key) = from {
            step(Step::Build);
            let closed = self.core.close_gate()?;
            let tree = tree.newest();
            if tree.is_dropped() {
                return Ok(false);
            }
            let (found, next) = tree.check_part(&self.core.buffer, &key, LEAVES_A_PART, reached);
            drop(closed);
            if !found.is_empty() {
                return Ok(true);
            }
            from = next;
        }
        Ok(false)
    }

    /// True if nothing leads to a page that is labelled as the tree's.
    fn is_lost(&self, page: PageId, id: TreeId) -> Result<bool> {
        let _closed = self.core.close_gate()?;
        let buffer = &self.core.buffer;
        if !buffer.is_labelled(page, id) || self.hidden.lock().contains(&id) {
            return Ok(false);
        }
        let tree = self.tree_directory.tree(id);
        if let (Some(tree), Some(key)) = (tree, buffer.key_within(page)) {
            let mut reached = PageSet::default();
            tree.check_part(buffer, &key, 1, &mut reached);
            return Ok(!reached.contains(page));
        }
        Ok(!self.core.pages_of_versions().contains(&page))
    }

    /// What is wrong with the trees, with the gate closed.
    fn verify_trees(&self) -> Vec<String> {
        let catalog = self.catalog();
        // Trees that are being built or freed at this moment.
        let hidden = self.hidden.lock().clone();
        let held = self.core.pages_of_versions();
        let (mut found, mut there) = (Vec::new(), BTreeSet::new());
        for tree in self.tree_directory.trees() {
            there.insert(tree.id);
            found.extend(tree.check_beside(&self.core.buffer, &held));
        }
        found.extend(misnamed(&catalog, &there, &hidden));
        let is_stray = |id| !there.contains(&id) && !hidden.contains(&id);
        let strays = self.core.buffer.labelled(is_stray);
        let strays = strays.filter(|(page, _id)| !held.contains(page));
        found.extend(
            strays.map(|(page, id)| format!("{page} belongs to {id}, which does not exist")),
        );
        found
    }
}

/// Trees that the catalogue names and that are not there, and the other way round.
fn misnamed(catalog: &Catalog, there: &BTreeSet<TreeId>, hidden: &BTreeSet<TreeId>) -> Vec<String> {
    let mut known = BTreeSet::from([CATALOG_TREE]);
    for table in catalog.tables() {
        known.insert(table.tree);
        known.extend(table.indexes.iter().map(|index| index.tree));
    }
    // Trees that an earlier program was building may be there or not.
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
