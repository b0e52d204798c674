//! The directory entries of a tree: which place leads to which node, stable and visible.
//!
//! The rules are those of the simulated disk's names (`syncline-vfs`, [`Metadata`]). Here an entry is a name
//! in a node and not a path, because directories are renamed and removed, and files have several names. A
//! pending operation holds the resulting entries, so any selection of operations can be applied. Operations
//! on one place become stable together, so stable operations are folded at once.

use super::loss_model::{Loss, Metadata};
use super::recording::{DirectoryEntry, Node};
use std::collections::BTreeMap;

/// Maps each place to its node.
pub(super) type Tree = BTreeMap<DirectoryEntry, Node>;

#[derive(Clone, Debug)]
struct Operation {
    /// The number of its step.
    number: u64,
    /// The resulting entries; none removes the entry.
    entries: Vec<(DirectoryEntry, Option<Node>)>,
    /// The node that was created, renamed or unlinked.
    node: Node,
}

/// Stable and visible entries, with the operations between them.
#[derive(Clone, Debug)]
pub(super) struct Names {
    model: Metadata,
    stable: Tree,
    visible: Tree,
    operations: Vec<Operation>,
}

impl Names {
    /// Entries that are all stable.
    pub(super) fn new(model: Metadata, stable: Tree) -> Names {
        Names { model, visible: stable.clone(), stable, operations: Vec::new() }
    }

    /// The entries as the store sees them.
    pub(super) fn visible(&self) -> &Tree {
        &self.visible
    }

    /// The rules by which entries become stable.
    pub(super) fn model(&self) -> Metadata {
        self.model
    }

    /// The node at a place.
    pub(super) fn get(&self, place: &DirectoryEntry) -> Option<Node> {
        self.visible.get(place).copied()
    }

    /// Adds an entry in step `step`.
    pub(super) fn add(&mut self, step: u64, place: DirectoryEntry, node: Node) {
        self.change(step, node, vec![(place, Some(node))]);
    }

    /// Removes an entry; see [`Names::add`].
    pub(super) fn remove(&mut self, step: u64, place: DirectoryEntry) {
        if let Some(node) = self.get(&place) {
            self.change(step, node, vec![(place, None)]);
        }
    }

    /// Moves an entry to another place; see [`Names::add`].
    pub(super) fn rename(&mut self, step: u64, from: DirectoryEntry, to: DirectoryEntry) {
        let Some(node) = self.get(&from) else { return };
        let (added, gone) = ((to, Some(node)), (from, None));
        if self.model == Metadata::Strict && added.0.0 != gone.0.0 {
            // Two directories, written independently.
            self.change(step, node, vec![added]);
            self.change(step, node, vec![gone]);
        } else {
            self.change(step, node, vec![gone, added]);
        }
    }

    /// Makes the entries in a directory stable, up to `step`.
    pub(super) fn sync_directory(&mut self, directory: Node, step: u64) {
        let touches = |operation: &Operation| {
            let places = &mut operation.entries.iter().map(|(place, _)| place);
            operation.number <= step && places.any(|(parent, _)| *parent == directory)
        };
        match self.model {
            Metadata::Strict => {
                for operation in self.operations.extract_if(.., |operation| touches(operation)) {
                    operation.apply(&mut self.stable);
                }
            }
            Metadata::OrderedJournal => {
                let names = |operation: &Operation| operation.node == directory;
                self.fold_until(|one| touches(one) || one.number <= step && names(one));
            }
        }
    }

    /// Makes those entries of a file stable that syncing the file makes stable, up to `step`.
    pub(super) fn sync_file(&mut self, file: Node, step: u64) {
        if self.model == Metadata::OrderedJournal {
            self.fold_until(|operation| operation.number <= step && operation.node == file);
        }
    }

    /// The entries that a power loss leaves, and how many operations it lost.
    pub(super) fn image(&self, loss: Loss) -> (Tree, u64) {
        let mut random = fastrand::Rng::with_seed(loss.seed() ^ 0x6e61_6d65);
        let count = self.operations.len();
        let survivors = random.usize(0..=count);
        let keeps: Vec<bool> = (0..count)
            .map(|index| match loss {
                Loss::Drop => false,
                Loss::Keep => true,
                // In a journal, operations survive up to some point, and none after it.
                _ if self.model == Metadata::OrderedJournal => index < survivors,
                _ => random.bool(),
            })
            .collect();
        let mut tree = self.stable.clone();
        for (operation, keeps) in self.operations.iter().zip(&keeps) {
            if *keeps {
                operation.apply(&mut tree);
            }
        }
        let lost = keeps.iter().filter(|keeps| !**keeps).count();
        (tree, lost as u64)
    }

    /// Number of operations that are not stable.
    pub(super) fn pending(&self) -> usize {
        self.operations.len()
    }

    fn change(&mut self, number: u64, node: Node, entries: Vec<(DirectoryEntry, Option<Node>)>) {
        let operation = Operation { number, entries, node };
        operation.apply(&mut self.visible);
        self.operations.push(operation);
    }

    fn fold_until(&mut self, is_last: impl Fn(&Operation) -> bool) {
        if let Some(last) = self.operations.iter().rposition(is_last) {
            for operation in self.operations.drain(..=last) {
                operation.apply(&mut self.stable);
            }
        }
    }
}

impl Operation {
    fn apply(&self, tree: &mut Tree) {
        for (place, node) in &self.entries {
            match node {
                Some(node) => drop(tree.insert(place.clone(), *node)),
                None => drop(tree.remove(place)),
            }
        }
    }
}
