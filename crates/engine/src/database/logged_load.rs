//! Loads a table through the log, for a database with an archive: what an archive lacks cannot be restored.
//!
//! The hidden trees are made by one commit and filled by ordinary transactions, whose rows no other
//! transaction sees before the catalogue names the trees. A load that does not end leaves trees that the
//! catalogue does not name; opening frees them, as after an index build.

use super::definitions::{BytesRow, entry_of};
use super::tree_builder::Run;
use crate::access::btree::Tree;
use crate::buffer::MemoryNeed;
use crate::buffer::page::Kind;
use crate::catalog::TableEntry;
use crate::database::engine::Engine;
use crate::error::{Error, Result};
use crate::step::{Step, step};
use crate::txn::{Begin, Operation, Session};
use std::sync::Arc;
use syncline_vfs::Disk;

/// Maximum bytes of rows and entries that one transaction writes; a quarter of the longest log record is a
/// limit, too. A longer row has a transaction of its own.
const CHUNK_BYTES: usize = 64 << 10;

/// Attempts of a transaction concurrent with others, before it runs alone.
const ATTEMPTS_MAX: u32 = 4;

/// A load in progress.
struct LoggedLoad<'e, D: Disk> {
    entry: &'e TableEntry,
    session: Session<D>,
    /// The tree of the rows, then those of the indexes.
    trees: Vec<Arc<Tree>>,
    /// What the next transaction writes to each of them.
    runs: Vec<Run>,
    bytes_max: usize,
}

impl<D: Disk> Engine<D> {
    /// Makes the trees of a table and its indexes, and fills them.
    pub(super) fn load_logged(
        &self,
        entry: &TableEntry,
        rows: impl IntoIterator<Item = Result<BytesRow>>,
    ) -> Result<()> {
        let mut load = LoggedLoad::begin(self, entry)?;
        for row in rows {
            let (key, value) = row?;
            load.push(&key, &value)?;
        }
        load.write()
    }
}

impl<'e, D: Disk> LoggedLoad<'e, D> {
    fn begin(engine: &'e Engine<D>, entry: &'e TableEntry) -> Result<LoggedLoad<'e, D>> {
        let mut session = engine.alone()?;
        let ids = entry.indexes.iter().map(|index| index.tree);
        let mut trees = Vec::new();
        for id in std::iter::once(entry.tree).chain(ids) {
            let create = || Tree::create(id, &engine.core.buffer);
            let tree = Arc::new(session.with_memory(MemoryNeed::Pages(Kind::Leaf, 1), create)?);
            engine.tree_directory.add(Arc::clone(&tree));
            session.note(Operation::CreateTree(id))?;
            trees.push(tree);
        }
        let (ticket, closed) = session.commit_closed();
        ticket?;
        drop(closed);
        let bytes_max = CHUNK_BYTES.min(engine.core.log.record_bytes_max() / 4);
        let runs = trees.iter().map(|_| Run::default()).collect();
        Ok(LoggedLoad { entry, session, trees, runs, bytes_max })
    }

    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let bytes: usize = self.runs.iter().map(Run::len_bytes).sum();
        if bytes > 0 && bytes + key.len() + value.len() > self.bytes_max {
            self.write()?;
        }
        self.runs[0].push(key, value);
        for (position, run) in self.runs[1..].iter_mut().enumerate() {
            let (entry, value) = entry_of(&self.entry.schema, position, key, value)?;
            run.push(&entry, &value);
        }
        Ok(())
    }

    /// Writes what was pushed, in one transaction.
    fn write(&mut self) -> Result<()> {
        for run in &mut self.runs {
            run.sort();
        }
        for attempt in 0.. {
            step(Step::Build);
            let is_last = attempt == ATTEMPTS_MAX;
            if is_last {
                self.session.begin_exclusive()?;
            } else {
                self.session.begin(Begin::Snapshot)?;
            }
            let committed = match self.put_all() {
                Ok(()) => self.session.commit_unsynced().map(drop),
                Err(error) => {
                    self.session.abort();
                    Err(error)
                }
            };
            match committed {
                Err(Error::Conflict(_)) if !is_last => {}
                committed => {
                    self.runs.iter_mut().for_each(Run::clear);
                    return committed;
                }
            }
        }
        unreachable!("the last attempt returns")
    }

    fn put_all(&mut self) -> Result<()> {
        for (at, (tree, run)) in self.trees.iter().zip(&self.runs).enumerate() {
            for (key, value) in run.rows() {
                if self.session.get(tree, key)?.is_some() {
                    let schema = &self.entry.schema;
                    let index = at.checked_sub(1).map(|index| &schema.indexes()[index]);
                    return Err(Error::DuplicateBuilt {
                        table: schema.name().to_owned(),
                        index: index.map(|index| index.name().to_owned()),
                    });
                }
                self.session.put(tree, key, value)?;
            }
        }
        Ok(())
    }
}
