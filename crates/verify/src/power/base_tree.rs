//! The tree that a recording starts from: read from a directory and copied.

use super::file_content::copy_sparse;
use super::recording::{Base, BaseNode, Kind, Node, Owner};
use crate::error::{Result, doing};
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

impl Base {
    /// Reads the tree of a directory.
    pub fn read(directory: &Path) -> Result<Base> {
        let mut base = Base { directory: directory.to_owned(), nodes: Vec::new() };
        base.read_below(Node::ROOT, Path::new(""))?;
        Ok(base)
    }

    /// The same tree with its files copied to another, empty directory.
    pub fn copied(mut self, to: &Path) -> Result<Base> {
        for node in &self.nodes {
            let (from, to) = (self.directory.join(&node.path), to.join(&node.path));
            match &node.kind {
                Kind::Directory => fs::create_dir(&to).map_err(doing("make", &to))?,
                Kind::Link(target) => symlink(target, &to).map_err(doing("make", &to))?,
                Kind::File => drop(copy_sparse(&from, &to).map_err(doing("copy to", &to))?),
            }
            own(&to, &node.kind, node.owner)?;
        }
        to.clone_into(&mut self.directory);
        Ok(self)
    }

    fn read_below(&mut self, parent: Node, path: &Path) -> Result<()> {
        let full = self.directory.join(path);
        let entries = fs::read_dir(&full).map_err(doing("read", &full))?;
        let mut names = entries
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<std::io::Result<Vec<_>>>()
            .map_err(doing("read", &full))?;
        names.sort();
        for name in names {
            let path = path.join(&name);
            let full = self.directory.join(&path);
            let metadata = fs::symlink_metadata(&full).map_err(doing("inspect", &full))?;
            // The root is node 1, so the first node below it is 2.
            let node = Node(self.nodes.len() as u64 + 2);
            let kind = kind_of(&metadata, &full)?;
            self.nodes.push(BaseNode {
                node,
                place: (parent, name),
                path: path.clone(),
                owner: owner_of(&metadata),
                len: if kind == Kind::File { metadata.len() } else { 0 },
                kind: kind.clone(),
            });
            if kind == Kind::Directory {
                self.read_below(node, &path)?;
            }
        }
        Ok(())
    }
}

/// The owner and mode of a file or directory.
pub(super) fn owner_of(metadata: &Metadata) -> Owner {
    Owner { mode: metadata.mode() & 0o7777, user: metadata.uid(), group: metadata.gid() }
}

/// Gives a path its owner and mode.
pub(super) fn own(path: &Path, kind: &Kind, owner: Owner) -> Result<()> {
    let now = fs::symlink_metadata(path).map_err(doing("inspect", path))?;
    if (now.uid(), now.gid()) != (owner.user, owner.group) {
        let (user, group) = (Some(owner.user), Some(owner.group));
        lchown(path, user, group).map_err(doing("change the owner of", path))?;
    }
    if !matches!(kind, Kind::Link(_)) && now.mode() & 0o7777 != owner.mode {
        let mode = fs::Permissions::from_mode(owner.mode);
        fs::set_permissions(path, mode).map_err(doing("change the mode of", path))?;
    }
    Ok(())
}

fn kind_of(metadata: &Metadata, path: &Path) -> Result<Kind> {
    Ok(if metadata.is_dir() {
        Kind::Directory
    } else if metadata.is_symlink() {
        let target: PathBuf = fs::read_link(path).map_err(doing("read", path))?;
        Kind::Link(target)
    } else {
        Kind::File
    })
}
