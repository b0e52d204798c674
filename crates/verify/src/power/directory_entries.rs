//! The names of a tree: which place leads to which node, for certain and as seen.
//!
//! The rules are those of the simulated disk's names (`syncline-vfs`, [`Metadata`]); here a name stands
//! in a node and not in a path, since directories are renamed and removed and files have several names.
//! A pending operation holds the entries as they shall be, so any selection of operations can be
//! applied; operations on one place become stable together, so what is stable is folded at once.

use super::loss_model::{Loss, Metadata};
use super::recording::{DirectoryEntry, Node};
use std::collections::BTreeMap;

/// Which place leads to which node.
pub(super) type Tree = BTreeMap<DirectoryEntry, Node>;

#[derive(Clone, Debug)]
struct Operation {
    /// The number of its step.
    number: u64,
    /// The entries as they shall be; none is no entry.
    entries: Vec<(DirectoryEntry, Option<Node>)>,
    /// The node that was named, renamed or lost a name.
    node: Node,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Names {
    model: Metadata,
    stable: Tree,
    visible: Tree,
    operations: Vec<Operation>,
}

impl Names {
    /// Names that are all stable.
    pub(super) fn new(model: Metadata, stable: Tree) -> Names {
        Names { model, visible: stable.clone(), stable, operations: Vec::new() }
    }

    /// The names as the store sees them.
    pub(super) fn visible(&self) -> &Tree {
        &self.visible
    }

    /// How they become stable.
    pub(super) fn model(&self) -> Metadata {
        self.model
    }

    /// What a place leads to.
    pub(super) fn get(&self, place: &DirectoryEntry) -> Option<Node> {
        self.visible.get(place).copied()
    }

    /// A place leads to a node, from the step of that number on.
    pub(super) fn add(&mut self, step: u64, place: DirectoryEntry, node: Node) {
        self.change(step, node, vec![(place, Some(node))]);
    }

    /// A place leads nowhere; see [`Names::add`].
    pub(super) fn remove(&mut self, step: u64, place: DirectoryEntry) {
        if let Some(node) = self.get(&place) {
            self.change(step, node, vec![(place, None)]);
        }
    }

    /// One place leads nowhere, another to its node; see [`Names::add`].
    pub(super) fn rename(&mut self, step: u64, from: DirectoryEntry, to: DirectoryEntry) {
        let Some(node) = self.get(&from) else { return };
        let (added, gone) = ((to, Some(node)), (from, None));
        if self.model == Metadata::Strict && added.0.0 != gone.0.0 {
            // Two directories, each written by itself.
            self.change(step, node, vec![added]);
            self.change(step, node, vec![gone]);
        } else {
            self.change(step, node, vec![gone, added]);
        }
    }

    /// The names in a directory, as a step has left them, become stable.
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

    /// What the sync of a file does for its names, as a step has left them.
    pub(super) fn sync_file(&mut self, file: Node, step: u64) {
        if self.model == Metadata::OrderedJournal {
            self.fold_until(|operation| operation.number <= step && operation.node == file);
        }
    }

    /// The names that a loss of power leaves, and how many operations it took.
    pub(super) fn image(&self, loss: Loss) -> (Tree, u64) {
        let mut random = fastrand::Rng::with_seed(loss.seed() ^ 0x6e61_6d65);
        let count = self.operations.len();
        let survivors = random.usize(0..=count);
        let keeps: Vec<bool> = (0..count)
            .map(|index| match loss {
                Loss::Drop => false,
                Loss::Keep => true,
                // In a journal names survive up to some point, and none after it.
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

    /// How many changes of names are not stable.
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
