//! The nodes of a mounted tree, and where each stands in the backing directory.
//!
//! Nodes are never forgotten: a number is given once. A node without names may still be open.

use super::recording::{Base, DirectoryEntry, Kind, Node};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// See the module.
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
    /// The tree of a base, standing in `root`.
    pub(super) fn new(base: &Base, root: PathBuf) -> Tree {
        let mut tree = Tree {
            root,
            children: BTreeMap::new(),
            nodes: BTreeMap::new(),
            next: Node::ROOT.0 + 1,
        };
        let known = NodeEntry { kind: Kind::Directory, places: Vec::new() };
        tree.nodes.insert(Node::ROOT, known);
        for found in &base.nodes {
            tree.insert(found.node, found.place.clone(), found.kind.clone());
            tree.next = tree.next.max(found.node.0 + 1);
        }
        tree
    }

    /// A number that no node has.
    pub(super) fn fresh(&mut self) -> Node {
        self.next += 1;
        Node(self.next - 1)
    }

    pub(super) fn insert(&mut self, node: Node, place: DirectoryEntry, kind: Kind) {
        self.children.insert(place.clone(), node);
        let known = self.nodes.entry(node).or_insert(NodeEntry { kind, places: Vec::new() });
        known.places.push(place);
    }

    pub(super) fn remove(&mut self, place: &DirectoryEntry) -> Option<Node> {
        let node = self.children.remove(place)?;
        if let Some(known) = self.nodes.get_mut(&node) {
            known.places.retain(|other| other != place);
        }
        Some(node)
    }

    pub(super) fn rename(&mut self, from: &DirectoryEntry, to: DirectoryEntry) {
        self.remove(&to);
        if let Some(node) = self.remove(from) {
            // The node is known, so its kind is not used.
            self.insert(node, to, Kind::File);
        }
    }

    pub(super) fn get(&self, place: &DirectoryEntry) -> Option<Node> {
        self.children.get(place).copied()
    }

    pub(super) fn kind(&self, node: Node) -> Option<&Kind> {
        self.nodes.get(&node).map(|known| &known.kind)
    }

    /// What stands in a directory, and the directory that it stands in itself.
    pub(super) fn list(&self, directory: Node) -> Vec<(Node, Kind, OsString)> {
        let parent = self.place_of(directory).map_or(Node::ROOT, |place| place.0);
        let mut found =
            vec![(directory, Kind::Directory, ".".into()), (parent, Kind::Directory, "..".into())];
        let children = self.children.range((directory, OsString::new())..);
        for ((parent, name), node) in children {
            if *parent != directory {
                break;
            }
            found.push((*node, self.nodes[node].kind.clone(), name.clone()));
        }
        found
    }

    /// Where a node stands below the mount; none if it has lost its last name.
    pub(super) fn path(&self, node: Node) -> Option<PathBuf> {
        if node == Node::ROOT {
            return Some(PathBuf::new());
        }
        let (parent, name) = self.place_of(node)?;
        Some(self.path(*parent)?.join(name))
    }

    /// Where a place stands below the mount.
    pub(super) fn path_of(&self, place: &DirectoryEntry) -> Option<PathBuf> {
        Some(self.path(place.0)?.join(&place.1))
    }

    /// A path below the mount in the backing directory.
    pub(super) fn backing(&self, path: &std::path::Path) -> PathBuf {
        self.root.join(path)
    }

    fn place_of(&self, node: Node) -> Option<&DirectoryEntry> {
        self.nodes.get(&node)?.places.first()
    }
}
