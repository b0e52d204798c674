//! A tree as a power loss left it, and what was lost from it.

use super::base_tree::own;
use super::file_content::Content;
use super::pending::FileLoss;
use super::recording::{Kind, Node, Owner};
use crate::error::{Result, doing};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// What a power loss took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Directory operations that were lost.
    pub names: u64,
    /// For each file with unsynced bytes, by its last path.
    pub files: Vec<(PathBuf, FileLoss)>,
}

/// The files, directories and links that a power loss left.
#[derive(Clone, Debug)]
pub struct Image {
    entries: Vec<Entry>,
    /// What was lost.
    pub lost: Lost,
}

#[derive(Clone, Debug)]
struct Entry {
    path: PathBuf,
    node: Node,
    kind: Kind,
    owner: Owner,
    content: Content,
}

impl Image {
    pub(super) fn empty(lost: Lost) -> Image {
        Image { entries: Vec::new(), lost }
    }

    pub(super) fn add(
        &mut self,
        path: PathBuf,
        node: Node,
        kind: Kind,
        owner: Owner,
        content: Option<&Content>,
    ) {
        self.entries.push(Entry {
            path,
            node,
            kind,
            owner,
            content: content.cloned().unwrap_or_default(),
        });
    }

    /// The paths, parents first.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().map(|entry| &*entry.path)
    }

    /// Writes the tree into an empty directory of an ordinary file system.
    pub fn write_to(&self, directory: &Path) -> Result<()> {
        let mut written: BTreeMap<Node, PathBuf> = BTreeMap::new();
        for entry in &self.entries {
            let path = directory.join(&entry.path);
            let made = match (&entry.kind, written.get(&entry.node)) {
                (Kind::File, Some(first)) => {
                    fs::hard_link(first, &path).map_err(doing("make", &path))?;
                    continue;
                }
                (Kind::File, None) => entry.content.write_to(&path),
                (Kind::Directory, _) => fs::create_dir(&path),
                (Kind::Link(target), _) => symlink(target, &path),
            };
            made.map_err(doing("make", &path))?;
            own(&path, &entry.kind, entry.owner)?;
            written.insert(entry.node, path);
        }
        Ok(())
    }

    /// The bytes of a file.
    #[cfg(test)]
    pub(super) fn bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let entry = self.entries.iter().find(|entry| entry.path == path)?;
        Some(entry.content.clone().bytes())
    }
}
