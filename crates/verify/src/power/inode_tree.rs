//! The nodes of a mounted tree, with their paths in the backing directory.
//!
//! Nodes are never forgotten, and numbers are never reused. A node without names may still be open.

use super::recording::{Base, DirectoryEntry, Kind, Node};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// The nodes and names of a mounted tree.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
    children: BTreeMap<DirectoryEntry, Node>,
    nodes: BTreeMap<Node, NodeEntry>,
    next: u64,
}

#[derive(Debug)]
struct NodeEntry {
    kind: Kind,
    places: Vec<DirectoryEntry>,
}

impl Tree {
    /// The tree of a base, stored in `root`.
    pub(super) fn new(base: &Base, root: PathBuf) -> Tree {
        let mut tree = Tree {
            root,
            children: BTreeMap::new(),
            nodes: BTreeMap::new(),
            next: Node::ROOT.0 + 1,
        };
        let entry = NodeEntry { kind: Kind::Directory, places: Vec::new() };
        tree.nodes.insert(Node::ROOT, entry);
        for node in &base.nodes {
            tree.insert(node.node, node.place.clone(), node.kind.clone());
            tree.next = tree.next.max(node.node.0 + 1);
        }
        tree
    }

    /// An unused node number.
    pub(super) fn fresh(&mut self) -> Node {
        self.next += 1;
        Node(self.next - 1)
    }

    pub(super) fn insert(&mut self, node: Node, place: DirectoryEntry, kind: Kind) {
        self.children.insert(place.clone(), node);
        let entry = self.nodes.entry(node).or_insert(NodeEntry { kind, places: Vec::new() });
        entry.places.push(place);
    }

    pub(super) fn remove(&mut self, place: &DirectoryEntry) -> Option<Node> {
        let node = self.children.remove(place)?;
        if let Some(entry) = self.nodes.get_mut(&node) {
            entry.places.retain(|other| other != place);
        }
        Some(node)
    }

    pub(super) fn rename(&mut self, from: &DirectoryEntry, to: DirectoryEntry) {
        self.remove(&to);
        if let Some(node) = self.remove(from) {
            // The node already exists, so the kind is ignored.
            self.insert(node, to, Kind::File);
        }
    }

    pub(super) fn get(&self, place: &DirectoryEntry) -> Option<Node> {
        self.children.get(place).copied()
    }

    pub(super) fn kind(&self, node: Node) -> Option<&Kind> {
        self.nodes.get(&node).map(|entry| &entry.kind)
    }

    /// The entries of a directory, with `.` and `..`.
    pub(super) fn list(&self, directory: Node) -> Vec<(Node, Kind, OsString)> {
        let parent = self.place_of(directory).map_or(Node::ROOT, |place| place.0);
        let mut entries =
            vec![(directory, Kind::Directory, ".".into()), (parent, Kind::Directory, "..".into())];
        let children = self.children.range((directory, OsString::new())..);
        for ((parent, name), node) in children {
            if *parent != directory {
                break;
            }
            entries.push((*node, self.nodes[node].kind.clone(), name.clone()));
        }
        entries
    }

    /// The path of a node below the mount; none if it has no name left.
    pub(super) fn path(&self, node: Node) -> Option<PathBuf> {
        if node == Node::ROOT {
            return Some(PathBuf::new());
        }
        let (parent, name) = self.place_of(node)?;
        Some(self.path(*parent)?.join(name))
    }

    /// The path of a place below the mount.
    pub(super) fn path_of(&self, place: &DirectoryEntry) -> Option<PathBuf> {
        Some(self.path(place.0)?.join(&place.1))
    }

    /// The backing path of a path below the mount.
    pub(super) fn backing(&self, path: &std::path::Path) -> PathBuf {
        self.root.join(path)
    }

    fn place_of(&self, node: Node) -> Option<&DirectoryEntry> {
        self.nodes.get(&node)?.places.first()
    }
}
