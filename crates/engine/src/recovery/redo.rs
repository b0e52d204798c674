//! Redo: applies a log record to trees and pages while nothing else uses them.
//!
//! Deleted rows leave no ghost: there are no readers of older versions. No checkpoint runs, so pre-images are
//! never needed.
//!
//! Where pages may be on disk, commits wait until there are [`WAITING_BYTES`] of them: then the leaves of all
//! their rows are read at the same time, and the commits are redone in their order. A page that is missing
//! nevertheless is loaded when it is needed.

use crate::access::btree::extents::{self, ExtentPointer};
use crate::access::btree::prefetch::{PrefetchTarget, load_leaves};
use crate::access::btree::{Blocked, Leaf, MergeOutcome, MergeTrigger, SPLIT_PAGES, Tree};
use crate::buffer::VersionWord;
use crate::buffer::page::Kind;
use crate::buffer::{Buffer, MemoryNeed, Miss, NoRoom, Stop, without_misses};
use crate::error::{Error, Result};
use crate::ids::{Csn, TreeId};
use crate::planted_bug::{PlantedBug, planted};
use crate::tree_directory::TreeDirectory;
use crate::txn::{Operation, Pieces, operations, splice};
use std::sync::Arc;

/// Counters of redo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Redone {
    /// Commits with a record.
    pub(crate) commits: u64,
    /// Rows put or deleted.
    pub(crate) rows: u64,
    /// Bytes of records.
    pub(crate) bytes: u64,
    /// Trees that were freed because no catalogue names them: interrupted builds.
    pub(crate) unnamed_trees: Vec<TreeId>,
}

/// Bytes of records whose leaves are read together. Records of 100 bytes need as many pages as a cache of 20
/// MiB holds.
const WAITING_BYTES: usize = 256 << 10;

/// Redoes commits on the trees of a tree directory.
pub(crate) struct Redo<'d> {
    buffer: &'d Buffer,
    tree_directory: &'d TreeDirectory,
    /// The tree that was changed last; usually the next change is in the same one.
    tree: Option<Arc<Tree>>,
    redone: Redone,
    failure: Option<Error>,
    waiting: Waiting,
}

/// Commits that wait for their pages.
#[derive(Default)]
struct Waiting {
    /// Each commit, and where its record ends.
    commits: Vec<(Csn, usize)>,
    records: Vec<u8>,
    /// The keys of their rows, and the rows.
    keys: Vec<u8>,
    targets: Vec<PrefetchTarget>,
}

impl<'d> Redo<'d> {
    pub(crate) fn new(buffer: &'d Buffer, tree_directory: &'d TreeDirectory) -> Redo<'d> {
        Redo {
            buffer,
            tree_directory,
            tree: None,
            redone: Redone::default(),
            failure: None,
            waiting: Waiting::default(),
        }
    }

    /// Redoes a commit, now or when its pages have been read. After a failure it does nothing more;
    /// [`Redo::finish`] returns the failure.
    pub(crate) fn commit(&mut self, csn: Csn, record: &[u8]) {
        if !self.buffer.may_miss() {
            self.redo_waiting();
            return self.redo(csn, record);
        }
        let waiting = &mut self.waiting;
        waiting.records.extend_from_slice(record);
        waiting.commits.push((csn, waiting.records.len()));
        if waiting.records.len() >= WAITING_BYTES {
            self.redo_waiting();
        }
    }

    /// Reads the pages of the waiting commits and redoes these.
    fn redo_waiting(&mut self) {
        if self.waiting.commits.is_empty() {
            return;
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        self.load_leaves_of(&mut waiting);
        let mut start = 0;
        for (csn, end) in waiting.commits.drain(..) {
            self.redo(csn, &waiting.records[start..end]);
            start = end;
        }
        waiting.records.clear();
        self.waiting = waiting;
    }

    /// Reads the leaves of all rows of the waiting commits, except in trees that these make.
    fn load_leaves_of(&self, waiting: &mut Waiting) {
        let Waiting { commits, records, keys, targets } = waiting;
        keys.clear();
        targets.clear();
        let mut start = 0;
        for &(_, end) in &*commits {
            // A malformed record is refused when it is redone.
            for operation in operations(&records[start..end]).flatten() {
                let (Operation::Put { tree, key, .. }
                | Operation::Delete { tree, key }
                | Operation::Splice { tree, key, .. }) = operation
                else {
                    continue;
                };
                if let Some(tree) = self.tree_directory.tree(tree) {
                    let from = keys.len();
                    keys.extend_from_slice(key);
                    targets.push(PrefetchTarget::new(&tree, from..keys.len()));
                }
            }
            start = end;
        }
        load_leaves(self.buffer, keys, targets);
    }

    fn redo(&mut self, csn: Csn, record: &[u8]) {
        if self.failure.is_some() {
            return;
        }
        self.redone.commits += 1;
        self.redone.bytes += record.len() as u64;
        if let Err(error) = self.operations(csn, record) {
            self.failure = Some(error);
        }
    }

    /// Ends redo.
    pub(crate) fn finish(mut self) -> Result<Redone> {
        self.redo_waiting();
        match self.failure {
            None => Ok(self.redone),
            Some(error) => Err(error),
        }
    }

    fn operations(&mut self, csn: Csn, record: &[u8]) -> Result<()> {
        for operation in operations(record) {
            let operation = operation
                .map_err(|malformed| Error::Record { csn, what: malformed.to_string() })?;
            match operation {
                Operation::Put { tree, key, value } => {
                    let tree = self.tree(csn, tree)?;
                    put(self.buffer, &tree, csn, key, value)?;
                    self.redone.rows += 1;
                }
                Operation::Delete { tree, key } => {
                    let tree = self.tree(csn, tree)?;
                    if !planted(PlantedBug::RedoSkipsDeletes) {
                        delete(self.buffer, &tree, key)?;
                    }
                    self.redone.rows += 1;
                }
                Operation::Splice { tree, key, length, pieces } => {
                    let tree = self.tree(csn, tree)?;
                    if !planted(PlantedBug::RedoSkipsSplices)
                        && !splice_row(self.buffer, &tree, csn, (key, length, pieces))?
                    {
                        return Err(no_such_row(csn, tree.id, length));
                    }
                    self.redone.rows += 1;
                }
                Operation::CreateTree(id) => {
                    // A definition that needed memory or space in the log may have begun a checkpoint between
                    // making the tree and its commit: then the tree is there, and empty. In a restore it may
                    // be one that an interrupted build left: opening frees such trees without a record, and
                    // their numbers may be used again.
                    self.tree = None;
                    if planted(PlantedBug::KeepTreeOfNumber)
                        && self.tree_directory.tree(id).is_some()
                    {
                        continue;
                    }
                    if let Some(left) = self.tree_directory.remove(id) {
                        left.drop_pages(self.buffer);
                    }
                    let tree = Tree::create(id, self.buffer)?;
                    self.tree_directory.add(Arc::new(tree));
                }
                Operation::DropTree(id) => {
                    self.tree = None;
                    if let Some(tree) = self.tree_directory.remove(id) {
                        tree.drop_pages(self.buffer);
                    }
                }
            }
        }
        Ok(())
    }

    fn tree(&mut self, csn: Csn, id: TreeId) -> Result<Arc<Tree>> {
        if let Some(tree) = self.tree.as_ref().filter(|tree| tree.id == id) {
            return Ok(Arc::clone(tree));
        }
        let tree = self.tree_directory.tree(id).ok_or_else(|| unknown(csn, id))?;
        self.tree = Some(Arc::clone(&tree));
        Ok(tree)
    }
}

/// Gives a row this value, whether or not it existed.
fn put(buffer: &Buffer, tree: &Tree, csn: Csn, key: &[u8], value: &[u8]) -> Result<()> {
    if !extents::is_needed(buffer, value.len()) {
        return put_value(buffer, tree, key, value, VersionWord::of(csn));
    }
    let write = || extents::write(buffer, tree.id, value);
    let pointer = write().or_else(|_at_cap| {
        // Freed pages wait until no reader can access them: now there is none.
        buffer.free_retired(extents::memory(buffer, value.len()));
        write()
    })?;
    extents::attach(buffer, pointer);
    put_value(buffer, tree, key, &pointer.to_value(), VersionWord::of(csn).overflow())
}

fn put_value(
    buffer: &Buffer,
    tree: &Tree,
    key: &[u8],
    value: &[u8],
    word: VersionWord,
) -> Result<()> {
    loop {
        let placed = change(buffer, tree, key, |leaf| put_in_leaf(leaf, key, value, word))?;
        match placed {
            Ok(replaced) => {
                if let Some(pointer) = replaced {
                    extents::free(buffer, pointer);
                }
                return Ok(());
            }
            Err(NoRoom) => make_room(buffer, tree, key, value.len())?,
        }
    }
}

/// Puts a row into its leaf; returns the extents that it had, which the caller frees.
fn put_in_leaf(
    leaf: &mut Leaf,
    key: &[u8],
    value: &[u8],
    word: VersionWord,
) -> std::result::Result<Option<ExtentPointer>, NoRoom> {
    let mut replaced = None;
    let slot = match leaf.search(key) {
        Ok(slot) => {
            leaf.reserve(slot, value.len())?;
            if leaf.word(slot).is_overflow() {
                replaced = ExtentPointer::from_value(leaf.value(slot));
            }
            slot
        }
        Err(slot) => {
            leaf.insert(slot, key, word, value.len())?;
            slot
        }
    };
    leaf.set_value(slot, value);
    leaf.set_word(slot, word);
    Ok(replaced)
}

/// Changes pieces of a row in its leaf; false if there is no row of that length.
fn splice_row(
    buffer: &Buffer,
    tree: &Tree,
    csn: Csn,
    (key, length, pieces): (&[u8], usize, Pieces<'_>),
) -> Result<bool> {
    change(buffer, tree, key, |leaf| {
        let Ok(slot) = leaf.search(key) else {
            return false;
        };
        let word = leaf.word(slot);
        let is_it = !word.is_ghost() && !word.is_overflow() && leaf.value(slot).len() == length;
        if is_it {
            splice(leaf.value_mut(slot), pieces);
            leaf.set_word(slot, VersionWord::of(csn));
        }
        is_it
    })
}

/// Deletes a row, if it exists: redoing a record twice finds it gone.
fn delete(buffer: &Buffer, tree: &Tree, key: &[u8]) -> Result<()> {
    let (replaced, is_poor) = change(buffer, tree, key, |leaf| {
        let Ok(slot) = leaf.search(key) else {
            return (None, false);
        };
        let pointer = Some(leaf.word(slot))
            .filter(|word| word.is_overflow())
            .and_then(|_| ExtentPointer::from_value(leaf.value(slot)));
        leaf.remove(slot);
        (pointer, leaf.is_poor())
    })?;
    if let Some(pointer) = replaced {
        extents::free(buffer, pointer);
    }
    if is_poor {
        let merge = |trigger| without_misses(|| tree.merge_leaf(buffer, key, trigger));
        // Several leaves are needed at once.
        let mut hold = buffer.hold_eviction();
        let mut outcome = merge(MergeTrigger::First);
        while let MergeOutcome::Miss(page) = outcome {
            hold.load(Miss(page))?;
            outcome = merge(MergeTrigger::Again);
        }
        debug_assert_eq!(outcome, MergeOutcome::Done, "no other thread uses the tree");
    }
    Ok(())
}

fn change<R>(
    buffer: &Buffer,
    tree: &Tree,
    key: &[u8],
    mut body: impl FnMut(&mut Leaf) -> R,
) -> Result<R> {
    loop {
        match tree.change(buffer, key, |leaf, _| body(leaf)) {
            Ok(done) => return Ok(done),
            Err(Stop::Miss(page)) => buffer.load(Miss(page))?,
            Err(Stop::PreImages) => unreachable!("no checkpoint runs during recovery"),
        }
    }
}

fn make_room(buffer: &Buffer, tree: &Tree, key: &[u8], value_bytes: usize) -> Result<()> {
    let mut waited = false;
    loop {
        match tree.make_room(buffer, key, value_bytes) {
            Ok(()) => return Ok(()),
            Err(Blocked::Miss(page)) => buffer.load(Miss(page))?,
            Err(Blocked::Failed(Error::Capped { .. })) if !waited => {
                waited = true;
                buffer.free_retired(MemoryNeed::Pages(Kind::Leaf, SPLIT_PAGES));
            }
            Err(Blocked::Failed(error)) => return Err(error),
            Err(Blocked::PreImages | Blocked::Busy) => {
                unreachable!("no other thread works on the trees during recovery")
            }
        }
    }
}

#[cold]
fn no_such_row(csn: Csn, tree: TreeId, length: usize) -> Error {
    Error::Record {
        csn,
        what: format!(
            "it changes a part of a row of {length} bytes in {tree}, which does not exist"
        ),
    }
}

fn unknown(csn: Csn, tree: TreeId) -> Error {
    Error::Record { csn, what: format!("it changes {tree}, which does not exist") }
}
