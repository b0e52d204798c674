//! What a store did to its files, in order: every change, sync and acknowledgement.
//!
//! Invariants:
//! 1. Steps are in the order in which the file system performed them, under one lock. A step is recorded
//!    only after it has succeeded on the backing directory.
//! 2. An acknowledgement comes after everything that its commit has synced: the client writes it to
//!    [`ACKNOWLEDGEMENTS`], on the same file system, after the commit has returned.
//! 3. Nothing is recorded once the power is off.
//! 4. Steps are numbered from 1. A sync takes time: it is recorded when it returns, and covers the steps
//!    up to the one at which it began.

use super::file_class::{Class, Classify};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// The name of a virtual file at the root of a mount: a write to it is recorded as an acknowledgement and not
/// stored.
pub const ACKNOWLEDGEMENTS: &str = ".syncline-acknowledged";

/// A file, directory or symbolic link, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node(pub u64);

impl Node {
    /// The root directory.
    pub const ROOT: Node = Node(1);
}

/// A place for a name: the directory and the name in it.
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

/// Mode and owner, which a power loss never takes.
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
        /// Its owner and mode.
        owner: Owner,
    },
    /// A file gets another name.
    Link(Node, DirectoryEntry),
    /// A name is removed; a directory must be empty.
    Remove(DirectoryEntry),
    /// A name is replaced by another for the same node.
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
    /// The sync of a synced write (`O_DSYNC`, `O_SYNC`) has returned.
    SyncWritten {
        /// The file.
        node: Node,
        /// The number of the write's step.
        write: u64,
    },
    /// Zeros written over a range within the file.
    Zeros {
        /// The file.
        node: Node,
        /// Where they begin.
        offset: u64,
        /// How many.
        len: u64,
    },
    /// The file is truncated or extended.
    SetLen(Node, u64),
    /// A sync of a file's data, or of data and metadata, succeeded.
    Sync {
        /// The file.
        node: Node,
        /// Number of the last step before the sync began.
        began: u64,
    },
    /// A sync of a file failed: everything that it should have covered counts as clean and is not stable.
    SyncFailed(Node),
    /// A sync of a directory succeeded.
    SyncDirectory {
        /// The directory.
        node: Node,
        /// As for `Sync`.
        began: u64,
    },
    /// The bytes that a client wrote to [`ACKNOWLEDGEMENTS`].
    Acknowledged(Arc<[u8]>),
}

#[cfg(test)]
impl Step {
    /// A sync of everything before it.
    pub(crate) fn sync(node: Node) -> Step {
        let began = u64::MAX;
        Step::Sync { node, began }
    }
}

/// The tree at the beginning of a recording, all of it stable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// The directory that holds the copy of the tree.
    pub directory: PathBuf,
    /// All nodes except the root, parents first.
    pub nodes: Vec<BaseNode>,
}

/// A node that existed when the recording began.
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
    /// Its owner and mode.
    pub owner: Owner,
    /// Length of a file in bytes.
    pub len: u64,
}

/// A base and the steps on it.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The tree at the beginning.
    pub base: Base,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

impl Recording {
    /// The acknowledgements in the first `steps` steps.
    pub fn acknowledged(&self, steps: usize) -> impl Iterator<Item = &[u8]> {
        self.steps[..steps].iter().filter_map(|step| match step {
            Step::Acknowledged(bytes) => Some(&**bytes),
            _ => None,
        })
    }

    /// The class of each node, by the last name it was given.
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
    fn a_nodes_last_name_determines_its_class() {
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
