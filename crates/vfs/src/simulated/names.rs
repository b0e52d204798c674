//! The names of the simulated disk: which path leads to which file, stable and visible.
//!
//! A pending operation holds the resulting entries, not the step that led to them, so any selection of
//! operations can be applied. Operations on one path are in one directory and become stable together, so
//! stable operations are folded into `stable` at once.

use super::state::FileId;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// How names become stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// As POSIX promises: a name is stable after a sync of its directory and not before, names are
    /// lost or kept one by one, and of a rename between directories either half may be lost.
    Strict,
    /// Like ext4: names survive in the order in which they were changed, a rename is one step, and
    /// syncing a file makes its own name stable, with every earlier change of names.
    OrderedJournal,
}

/// The target of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Directory,
    File(FileId),
}

#[derive(Debug)]
struct Operation {
    sequence: u64,
    /// The resulting entries; `None` means that there is no entry.
    entries: Vec<(PathBuf, Option<Entry>)>,
    /// The file that was created, renamed or removed.
    file: Option<FileId>,
}

type Tree = BTreeMap<PathBuf, Entry>;

/// The names of a disk. Paths must be normal: see [`normal`].
#[derive(Debug)]
pub(super) struct Names {
    pub(super) model: Metadata,
    stable: Arc<Tree>,
    visible: Arc<Tree>,
    operations: Vec<Operation>,
}

impl Names {
    /// Only the root's name, which always exists.
    pub(super) fn new(model: Metadata) -> Names {
        Names::survived(model, Tree::from([(PathBuf::new(), Entry::Directory)]))
    }

    /// The names that a crash left.
    pub(super) fn survived(model: Metadata, tree: Tree) -> Names {
        let tree = Arc::new(tree);
        Names { model, stable: Arc::clone(&tree), visible: tree, operations: Vec::new() }
    }

    pub(super) fn get(&self, path: &Path) -> io::Result<Option<Entry>> {
        let found = self.visible.get(path).copied();
        if found.is_none() {
            let parent = path.parent().unwrap_or(Path::new(""));
            match self.visible.get(parent) {
                Some(Entry::Directory) => {}
                Some(Entry::File(_)) => return Err(Errno::NOTDIR.into()),
                None => return Err(Errno::NOENT.into()),
            }
        }
        Ok(found)
    }

    pub(super) fn file(&self, path: &Path) -> io::Result<FileId> {
        match self.get(path)? {
            Some(Entry::File(file)) => Ok(file),
            Some(Entry::Directory) => Err(Errno::ISDIR.into()),
            None => Err(Errno::NOENT.into()),
        }
    }

    pub(super) fn directory(&self, path: &Path) -> io::Result<()> {
        match self.get(path)? {
            Some(Entry::Directory) => Ok(()),
            Some(Entry::File(_)) => Err(Errno::NOTDIR.into()),
            None => Err(Errno::NOENT.into()),
        }
    }

    /// Names a new file or directory; the path must be free.
    pub(super) fn create(&mut self, sequence: u64, path: &Path, entry: Entry) -> io::Result<()> {
        if self.get(path)?.is_some() {
            return Err(Errno::EXIST.into());
        }
        let file = match entry {
            Entry::File(file) => Some(file),
            Entry::Directory => None,
        };
        self.change(sequence, file, vec![(path.to_owned(), Some(entry))]);
        Ok(())
    }

    /// Removes a file's name.
    pub(super) fn remove(&mut self, sequence: u64, path: &Path) -> io::Result<FileId> {
        let file = self.file(path)?;
        self.change(sequence, Some(file), vec![(path.to_owned(), None)]);
        Ok(file)
    }

    /// Renames a file; returns the file that the new name replaced.
    pub(super) fn rename(
        &mut self,
        sequence: u64,
        from: &Path,
        to: &Path,
    ) -> io::Result<Option<FileId>> {
        let file = self.file(from)?;
        let replaced = match self.get(to)? {
            Some(Entry::Directory) => return Err(Errno::ISDIR.into()),
            Some(Entry::File(replaced)) if replaced == file => return Ok(None),
            Some(Entry::File(replaced)) => Some(replaced),
            None => None,
        };
        let added = (to.to_owned(), Some(Entry::File(file)));
        let gone = (from.to_owned(), None);
        if self.model == Metadata::Strict && from.parent() != to.parent() {
            // Two directories, each written separately.
            self.change(sequence, Some(file), vec![added]);
            self.change(sequence + 1, Some(file), vec![gone]);
        } else {
            self.change(sequence, Some(file), vec![added, gone]);
        }
        Ok(replaced)
    }

    /// The names directly in a directory, sorted.
    pub(super) fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        self.directory(directory)?;
        let below = self.visible.range(directory.to_owned()..).skip(1);
        let below = below.take_while(|(path, _)| path.starts_with(directory));
        let children = below.filter(|(path, _)| path.parent() == Some(directory));
        Ok(children.filter_map(|(path, _)| path.file_name()).map(PathBuf::from).collect())
    }

    /// Makes the names in a directory stable.
    pub(super) fn sync_directory(&mut self, directory: &Path) -> io::Result<()> {
        self.directory(directory)?;
        let touches = |operation: &Operation| {
            operation.entries.iter().any(|(path, _)| path.parent() == Some(directory))
        };
        match self.model {
            Metadata::Strict => self.fold(touches),
            Metadata::OrderedJournal => self.fold_until(|operation| {
                touches(operation) || operation.entries.iter().any(|(path, _)| path == directory)
            }),
        }
        Ok(())
    }

    /// Applies the effect of a file's sync on its name.
    pub(super) fn sync_file(&mut self, file: FileId) {
        if self.model == Metadata::OrderedJournal && !self.operations.is_empty() {
            self.fold_until(|operation| operation.file == Some(file));
        }
    }

    /// The sequences of the operations that a crash may keep or lose, in order.
    pub(super) fn pending(&self) -> impl Iterator<Item = u64> {
        self.operations.iter().map(|operation| operation.sequence)
    }

    /// The names that a crash leaves if it keeps the operations with these sequences.
    pub(super) fn image(&self, keeps: impl Fn(u64) -> bool) -> Tree {
        let mut tree = Tree::clone(&self.stable);
        for operation in self.operations.iter().filter(|operation| keeps(operation.sequence)) {
            operation.apply(&mut tree);
        }
        let mut reachable = Tree::new();
        for (path, entry) in tree {
            // A tree is sorted by path, so a directory precedes its contents.
            let in_directory = |parent| reachable.get(parent) == Some(&Entry::Directory);
            if path.parent().is_none_or(in_directory) {
                reachable.insert(path, entry);
            }
        }
        reachable
    }

    /// True if a path leads to the file, or could do so after a crash.
    pub(super) fn mention(&self, file: FileId) -> bool {
        let leads = |entry: &Entry| *entry == Entry::File(file);
        self.visible.values().any(leads)
            || self.stable.values().any(leads)
            || self.operations.iter().any(|operation| operation.file == Some(file))
    }

    fn change(
        &mut self,
        sequence: u64,
        file: Option<FileId>,
        entries: Vec<(PathBuf, Option<Entry>)>,
    ) {
        let operation = Operation { sequence, entries, file };
        operation.apply(Arc::make_mut(&mut self.visible));
        self.operations.push(operation);
    }

    fn fold_until(&mut self, is_last: impl Fn(&Operation) -> bool) {
        if let Some(last) = self.operations.iter().rposition(is_last) {
            let last = self.operations[last].sequence;
            self.fold(|operation| operation.sequence <= last);
        }
    }

    fn fold(&mut self, covers: impl Fn(&Operation) -> bool) {
        for operation in self.operations.extract_if(.., |operation| covers(operation)) {
            operation.apply(Arc::make_mut(&mut self.stable));
        }
    }
}

impl Operation {
    fn apply(&self, tree: &mut Tree) {
        for (path, entry) in &self.entries {
            match entry {
                Some(entry) => drop(tree.insert(path.clone(), *entry)),
                None => drop(tree.remove(path)),
            }
        }
    }
}

/// A path without root and without `.`; the root itself is empty.
pub(super) fn normal(path: &Path) -> io::Result<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => return Err(Errno::INVAL.into()),
        }
    }
    Ok(normal)
}
