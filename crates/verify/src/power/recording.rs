//! What a store did to its files, in order: every change, every sync, every acknowledgement.
//!
//! Invariants:
//! 1. Steps stand in the order in which the file system took them, under one lock; a step is recorded
//!    only after it has succeeded on the backing directory.
//! 2. An acknowledgement stands behind everything that its commit has synced: the client writes it to
//!    [`ACKNOWLEDGEMENTS`], on the same file system, after the commit has answered.
//! 3. Nothing is recorded once the power is off.
//! 4. Steps are numbered from 1 up. A sync takes time: it is recorded when it answers, and covers what was
//!    done up to the step at which it began.

use super::file_class::{Class, Classify};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// The name, at the root of a mount, of the file that is not there: what is written to it is an
/// acknowledgement, and leads to no file.
pub const ACKNOWLEDGEMENTS: &str = ".syncline-acknowledged";

/// A file, directory or symbolic link, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node(pub u64);

impl Node {
    /// The directory that everything stands in.
    pub const ROOT: Node = Node(1);
}

/// Where a name stands.
pub type DirectoryEntry = (Node, OsString);

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Holds bytes.
    File,
    /// Holds names.
    Directory,
    /// Leads to another path.
    Link(PathBuf),
}

/// Mode and owners. They are no part of what may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Permission bits.
    pub mode: u32,
    /// User.
    pub user: u32,
    /// Group.
    pub group: u32,
}

/// One step of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A new node gets its first name.
    Create {
        /// The node.
        node: Node,
        /// Its name.
        place: DirectoryEntry,
        /// What it is.
        kind: Kind,
        /// Whose it is.
        owner: Owner,
    },
    /// A file gets one more name.
    Link(Node, DirectoryEntry),
    /// A name goes; of a directory, an empty one.
    Remove(DirectoryEntry),
    /// A name goes and another leads to its node.
    Rename(DirectoryEntry, DirectoryEntry),
    /// Mode or owners change.
    Own(Node, Owner),
    /// Bytes at an offset.
    Write {
        /// The file.
        node: Node,
        /// Where the bytes begin.
        offset: u64,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// A write that was itself a sync of its own bytes (`O_DSYNC`, `O_SYNC`) has answered.
    SyncWritten {
        /// The file.
        node: Node,
        /// The number of the write's step.
        write: u64,
    },
    /// Zeros over a range that stays within the file.
    Zeros {
        /// The file.
        node: Node,
        /// Where they begin.
        offset: u64,
        /// How many.
        len: u64,
    },
    /// The length cut or grown.
    SetLen(Node, u64),
    /// A sync of a file, of its data at least, succeeded.
    Sync {
        /// The file.
        node: Node,
        /// The number of the last step before it began.
        began: u64,
    },
    /// A sync of a file failed: what it should have covered counts as clean and is not stable.
    SyncFailed(Node),
    /// A sync of a directory succeeded.
    SyncDirectory {
        /// The directory.
        node: Node,
        /// See `Sync`.
        began: u64,
    },
    /// What a client wrote to [`ACKNOWLEDGEMENTS`].
    Acknowledged(Arc<[u8]>),
}

#[cfg(test)]
impl Step {
    /// A sync of all that was done before it.
    pub(crate) fn sync(node: Node) -> Step {
        let began = u64::MAX;
        Step::Sync { node, began }
    }
}

/// A tree that was there when the recording began, all of it stable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// Where the tree's copy stands.
    pub directory: PathBuf,
    /// Every node in it but the root, parents first.
    pub nodes: Vec<BaseNode>,
}

/// A node that was there when the recording began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseNode {
    /// The node.
    pub node: Node,
    /// Its name.
    pub place: DirectoryEntry,
    /// The path below the tree's root.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// Whose it is.
    pub owner: Owner,
    /// Bytes in a file.
    pub len: u64,
}

/// A base and what was done on it.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The tree at its beginning.
    pub base: Base,
    /// What was done, in order.
    pub steps: Vec<Step>,
}

impl Recording {
    /// The acknowledgements that stand among the first `steps` steps.
    pub fn acknowledged(&self, steps: usize) -> impl Iterator<Item = &[u8]> {
        self.steps[..steps].iter().filter_map(|step| match step {
            Step::Acknowledged(bytes) => Some(&**bytes),
            _ => None,
        })
    }

    /// What each node is to its store, by the last name that was given to it.
    pub fn classes(&self, classify: Classify) -> BTreeMap<Node, Class> {
        let (mut nodes, mut places) = (BTreeMap::new(), BTreeMap::new());
        let of_base = self.base.nodes.iter().map(|one| (&one.place, one.node));
        let named = self.steps.iter().filter_map(|step| match step {
            Step::Create { place, node, .. } | Step::Link(node, place) => {
                Some((None, place, Some(*node)))
            }
            Step::Rename(from, to) => Some((Some(from), to, None)),
            _ => None,
        });
        let all = of_base.map(|(place, node)| (None, place, Some(node)));
        for (from, place, node) in all.chain(named) {
            let renamed = from.and_then(|from| nodes.remove(from));
            if let Some(node) = node.or(renamed) {
                nodes.insert(place.clone(), node);
                places.insert(node, place.clone());
            }
        }
        let path = |mut node: Node| {
            let mut names = Vec::new();
            while let Some((parent, name)) = places.get(&node) {
                names.push(name);
                node = *parent;
            }
            names.into_iter().rev().collect::<PathBuf>()
        };
        let classes = places.keys().map(|node| (*node, classify(&path(*node))));
        classes.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Base, Class, DirectoryEntry, Kind, Node, Owner, Recording, Step};
    use std::path::Path;

    fn of(path: &Path) -> Class {
        match path.to_str().unwrap() {
            "folder/log" => Class::Log,
            "data" => Class::Data,
            _ => Class::Other,
        }
    }

    #[test]
    fn a_node_is_what_its_last_name_says() {
        let place = |node, name: &str| -> DirectoryEntry { (Node(node), name.into()) };
        let owner = Owner { mode: 0o644, user: 0, group: 0 };
        let create = |node, place, kind| Step::Create { node: Node(node), place, kind, owner };
        let steps = vec![
            create(2, place(1, "old"), Kind::Directory),
            create(3, place(2, "log"), Kind::File),
            create(4, place(1, "data.new"), Kind::File),
            create(5, place(1, "lock"), Kind::File),
            Step::Rename(place(1, "data.new"), place(1, "data")),
            Step::Rename(place(1, "old"), place(1, "folder")),
        ];
        let base = Base::default();
        let classes = Recording { base, steps }.classes(of);
        let found = [2, 3, 4, 5].map(|node| classes[&Node(node)]);
        assert_eq!(found, [Class::Other, Class::Log, Class::Data, Class::Other]);
    }
}
