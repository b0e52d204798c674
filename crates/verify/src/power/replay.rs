//! Plays a recording forward: keeps track of stable and pending changes at each step.
//!
//! A replay plays one recording under one model of names, and only forward; images for several cuts are made
//! in the order of the cuts. Files that have lost their last name are kept, because a power loss may bring
//! the name back.

use super::directory_entries::{Names, Tree};
use super::file_content::Content;
use super::image::{Image, Lost};
use super::loss_model::{Loss, Metadata};
use super::pending::{Change, Pending};
use super::recording::{Base, Kind, Node, Owner, Step};
use crate::error::{Result, doing};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The state of a recording's files at one step.
#[derive(Clone, Debug)]
pub struct Replay {
    directory: PathBuf,
    names: Names,
    nodes: BTreeMap<Node, (Kind, Owner)>,
    files: BTreeMap<Node, Pending>,
    /// Number of the latest step.
    at: u64,
}

impl Replay {
    /// A replay at the beginning of a recording.
    pub fn new(base: &Base, model: Metadata) -> Replay {
        let mut replay = Replay {
            directory: base.directory.clone(),
            names: Names::new(model, Tree::new()),
            nodes: BTreeMap::new(),
            files: BTreeMap::new(),
            at: 0,
        };
        let mut tree = Tree::new();
        for node in &base.nodes {
            tree.insert(node.place.clone(), node.node);
            replay.nodes.insert(node.node, (node.kind.clone(), node.owner));
            if node.kind == Kind::File {
                let content = Content::of_base(base.directory.join(&node.path), node.len);
                replay.files.insert(node.node, Pending::new(content));
            }
        }
        replay.names = Names::new(model, tree);
        replay
    }

    /// Applies the next step.
    pub fn step(&mut self, step: &Step) -> Result<()> {
        self.try_step(step).map_err(doing("read the base of an image in", &self.directory))
    }

    fn try_step(&mut self, step: &Step) -> std::io::Result<()> {
        self.at += 1;
        match step {
            Step::Create { node, place, kind, owner } => {
                self.nodes.insert(*node, (kind.clone(), *owner));
                if *kind == Kind::File {
                    self.files.insert(*node, Pending::default());
                }
                self.names.add(self.at, place.clone(), *node);
            }
            Step::Link(node, place) => self.names.add(self.at, place.clone(), *node),
            Step::Remove(place) => self.names.remove(self.at, place.clone()),
            Step::Rename(from, to) => self.names.rename(self.at, from.clone(), to.clone()),
            Step::Own(node, owner) => {
                if let Some((_, old)) = self.nodes.get_mut(node) {
                    *old = *owner;
                }
            }
            Step::Write { node, offset, bytes } => {
                let (offset, bytes) = (*offset, bytes.clone());
                self.change(*node, Change::Write { offset, bytes });
            }
            Step::SyncWritten { node, write } => {
                self.file(*node).sync_written(*write)?;
                self.names.sync_file(*node, *write);
            }
            Step::Zeros { node, offset, len } => {
                let (offset, len) = (*offset, *len);
                self.change(*node, Change::Zeros { offset, len });
            }
            Step::SetLen(node, len) => self.change(*node, Change::SetLen(*len)),
            Step::Sync { node, began } => {
                self.file(*node).sync(*began)?;
                self.names.sync_file(*node, *began);
            }
            Step::SyncFailed(node) => self.file(*node).fail_sync(),
            Step::SyncDirectory { node, began } => self.names.sync_directory(*node, *began),
            Step::Acknowledged(_) => {}
        }
        Ok(())
    }

    /// The number of changes that a power loss could take now: files with unsynced bytes, and directory
    /// operations.
    pub fn pending(&self) -> usize {
        let open = self.files.values().filter(|file| !file.is_stable()).count();
        open + self.names.pending()
    }

    /// The tree that a power loss leaves now.
    pub fn image(&self, loss: Loss) -> Result<Image> {
        let (tree, names) = self.names.image(loss);
        let mut lost = Lost { names, files: Vec::new() };
        let paths = paths(self.names.visible(), &self.nodes);
        let mut contents = BTreeMap::new();
        for (node, file) in &self.files {
            let (content, taken) = file
                .image(loss, self.names.model(), node.0)
                .map_err(doing("read the base of an image in", &self.directory))?;
            contents.insert(*node, content);
            if let (true, Some(path)) = (taken.pending > 0, paths.get(node)) {
                lost.files.push((path.clone(), taken));
            }
        }
        let mut image = Image::empty(lost);
        for (path, node) in reachable(&tree, &self.nodes) {
            let (kind, owner) = &self.nodes[&node];
            image.add(path, node, kind.clone(), *owner, contents.get(&node));
        }
        Ok(image)
    }

    fn file(&mut self, node: Node) -> &mut Pending {
        self.files.entry(node).or_default()
    }

    fn change(&mut self, node: Node, change: Change) {
        let at = self.at;
        self.file(node).change(at, change);
    }
}

/// All paths of all nodes, parents first.
fn reachable(tree: &Tree, nodes: &BTreeMap<Node, (Kind, Owner)>) -> Vec<(PathBuf, Node)> {
    let mut found = Vec::new();
    walk(tree, nodes, Node::ROOT, Path::new(""), &mut found);
    found
}

fn walk(
    tree: &Tree,
    nodes: &BTreeMap<Node, (Kind, Owner)>,
    directory: Node,
    path: &Path,
    found: &mut Vec<(PathBuf, Node)>,
) {
    let from = (directory, std::ffi::OsString::new());
    let here = tree.range(from..).take_while(|((parent, _), _)| *parent == directory);
    for ((_, name), node) in here {
        let path = path.join(name);
        found.push((path.clone(), *node));
        // The strict model may leave a directory under both its old and its new name: list its contents once.
        let is_directory = nodes.get(node).is_some_and(|(kind, _)| *kind == Kind::Directory);
        let is_new = found.iter().filter(|(_, other)| other == node).count() == 1;
        if is_directory && is_new {
            walk(tree, nodes, *node, &path, found);
        }
    }
}

/// One path for every node that has one.
fn paths(tree: &Tree, nodes: &BTreeMap<Node, (Kind, Owner)>) -> BTreeMap<Node, PathBuf> {
    let found = reachable(tree, nodes);
    found.into_iter().map(|(path, node)| (node, path)).collect()
}
