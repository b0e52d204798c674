//! Builds an index while other transactions write its table.
//!
//! 1. With the gate closed for a moment, a commit makes an empty tree that the catalogue does not name, and
//!    the table's *row log* is installed: from now on each commit that changes a row logs the row's key and
//!    its old entry ([`crate::txn::RowLog`]).
//! 2. Rows are read in chunks, by ascending key, each chunk at a new snapshot. Their entries are written by
//!    ordinary transactions, which are in the database's log like all others.
//! 3. Between chunks, and in rounds after the last one, the row log is drained: for each row that it names,
//!    the old entries are deleted, and the entry that the row has at the snapshot is written.
//! 4. When little is left, the gate is closed, the rest is drained, and the commit that does it puts the
//!    index into the catalogue.
//!
//! Invariants:
//! 1. After a chunk, or a round, at snapshot `s`: for each row up to the chunk's end the index holds the
//!    entry of that row at `s`, or at an earlier snapshot if the row log names a change since. So with
//!    the gate closed and the row log drained, it holds the entry of each row, and no other.
//! 2. A change of a row beyond the chunks may be dropped from the row log, since the chunk that reaches the
//!    row has a later snapshot: the commits in the drained part are waited for before the chunk begins.
//! 3. Only the builder writes the tree, and it reads at snapshots, so no writer makes it conflict. It may
//!    still get a conflict when memory for versions is full; then it tries again, in the end with a smaller
//!    chunk and the gate closed.
//! 4. Behind the closed gate it works on a bounded number of rows: a small chunk, or the rest of the row
//!    log, which is [`REST_BYTES`] plus the appends of transactions under way. If writers are faster than
//!    the builder, the row log makes them wait for it.
//! 5. A crash before the last commit leaves a tree that no catalogue names; opening frees it.
//! 6. Two rows with one key of a unique index are a duplicate if they have it at one snapshot. The entry
//!    of a row that has changed since is stale: it is replaced, and the drain of its own row ignores it.
//!
//! Memory: a chunk, the row log with its drained part, and the write set of one transaction.

use super::definitions::entry_of;
use super::engine::Engine;
use super::tree_builder::Run;
use crate::access::btree::Tree;
use crate::access::row::{RowView, entry_key};
use crate::access::schema::Schema;
use crate::buffer::MemoryNeed;
use crate::buffer::page::Kind;
use crate::catalog::{Catalog, IndexEntry, TableEntry};
use crate::error::{Error, Result};
use crate::log::Ticket;
use crate::planted_bug::{PlantedBug, planted};
use crate::step::{Step, step};
use crate::txn::{Begin, Direction, Operation, RowChange, RowLog, Scan, Session, row_changes};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use syncline_vfs::Disk;

/// Maximum rows read at one snapshot.
const CHUNK_ROWS: usize = 512;

/// The same with the gate closed.
const CHUNK_ROWS_ALONE: usize = 32;

/// Maximum bytes of entries that one transaction writes; a quarter of the longest log record is a limit, too.
const CHUNK_BYTES: usize = 64 << 10;

/// Attempts of a transaction concurrent with others, before it runs alone.
const ATTEMPTS_MAX: u32 = 4;

/// When the row log is longer than this, writers of the table wait.
const ROW_LOG_BYTES: usize = 1 << 20;

/// When the row log is no longer than this, the rest may be drained behind the closed gate.
const REST_BYTES: usize = 8 << 10;

/// After this many rounds the gate is closed, whatever is left.
const ROUNDS_MAX: u32 = 16;

/// The rows that are in the index.
enum IndexProgress {
    /// All rows up to that key; none at the beginning.
    To(Option<Vec<u8>>),
    All,
}

impl IndexProgress {
    fn contains(&self, key: &[u8]) -> bool {
        match self {
            IndexProgress::To(last) => last.as_deref().is_some_and(|last| key <= last),
            IndexProgress::All => true,
        }
    }
}

/// A build in progress.
pub(super) struct IndexBuild<'e, D: Disk> {
    engine: &'e Engine<D>,
    session: Session<D>,
    /// The table's definition, with the index as its last one.
    schema: Schema,
    rows: Arc<Tree>,
    index: Arc<Tree>,
    row_log: Arc<RowLog>,
    filled: IndexProgress,
    run: Run,
    /// Records drained from the row log.
    records: Vec<u8>,
    chunk_bytes: usize,
}

impl<'e, D: Disk> IndexBuild<'e, D> {
    /// Makes the empty tree and begins to log changes. The caller holds `defining`. `table` already has the
    /// index as its last one.
    pub(super) fn begin(
        engine: &'e Engine<D>,
        table: &TableEntry,
        index: IndexEntry,
    ) -> Result<IndexBuild<'e, D>> {
        let mut session = engine.alone()?;
        let create = || Tree::create(index.tree, &engine.core.buffer);
        let tree = Arc::new(session.with_memory(MemoryNeed::Pages(Kind::Leaf, 1), create)?);
        engine.tree_directory.add(Arc::clone(&tree));
        session.note(Operation::CreateTree(index.tree))?;
        let (ticket, closed) = session.commit_closed();
        ticket?;
        let schema = table.schema.clone();
        let logged = schema.clone();
        let entry_of = move |key: &[u8], row: &[u8], out: &mut Vec<u8>| {
            let (mut plain, position) = (Vec::new(), logged.indexes().len() - 1);
            RowView::open(&logged, key, row, &mut plain)
                .is_ok_and(|row| entry_key(&logged, position, &row, out).is_ok())
        };
        let row_log = Arc::new(RowLog::new(table.tree, ROW_LOG_BYTES, Box::new(entry_of)));
        engine.core.install_row_log(Arc::clone(&row_log), &closed);
        drop(closed);
        Ok(IndexBuild {
            engine,
            session,
            schema,
            rows: engine.tree(table.tree),
            index: tree,
            row_log,
            filled: IndexProgress::To(None),
            run: Run::default(),
            records: Vec::new(),
            chunk_bytes: CHUNK_BYTES.min(engine.core.log.record_bytes_max() / 4),
        })
    }

    /// Writes the entries of all rows, and keeps them up to date with concurrent writers.
    pub(super) fn fill(&mut self) -> Result<()> {
        while let IndexProgress::To(_) = self.filled {
            self.filled = self.transact(&mut |build, rows_max| build.fill_chunk(rows_max))?;
            self.drain()?;
        }
        Ok(())
    }

    /// Closes the gate, drains the rest and commits the catalogue with the index.
    pub(super) fn finish(mut self, next: Catalog) -> Result<Ticket> {
        let mut bytes_max = ROW_LOG_BYTES;
        for round in 0.. {
            self.drain()?;
            bytes_max = (bytes_max / 2).max(REST_BYTES);
            self.row_log.set_bytes_max(bytes_max);
            let is_last = round == ROUNDS_MAX;
            if !is_last && self.row_log.bytes() > REST_BYTES {
                continue;
            }
            step(Step::Build);
            self.session.begin_exclusive()?;
            if is_last || self.row_log.bytes() <= REST_BYTES {
                break;
            }
            self.session.abort();
        }
        self.drain_rest()?;
        let (engine, rows, index) = (self.engine, self.rows.id, self.index.id);
        engine.commit_then(&mut self.session, next, |csn, closed| {
            engine.core.remove_row_log(closed);
            engine.tree_directory.renew(rows);
            engine.tree_directory.publish(index, csn);
        })
    }

    /// Runs a transaction at a new snapshot. `work` receives the maximum number of rows to read.
    fn transact<R>(&mut self, work: &mut dyn FnMut(&mut Self, usize) -> Result<R>) -> Result<R> {
        for attempt in 0.. {
            let rows_max = if attempt < ATTEMPTS_MAX {
                self.session.begin(Begin::Snapshot)?;
                CHUNK_ROWS
            } else {
                self.session.begin_exclusive()?;
                CHUNK_ROWS_ALONE
            };
            let done = work(self, rows_max);
            let committed = match done {
                Ok(done) => self.session.commit_unsynced().map(|_csn| done),
                Err(error) => {
                    self.session.abort();
                    Err(error)
                }
            };
            match committed {
                Err(Error::Conflict(_)) if attempt < ATTEMPTS_MAX => {}
                committed => return committed,
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Writes the entries of the next rows. Returns the new progress.
    fn fill_chunk(&mut self, rows_max: usize) -> Result<IndexProgress> {
        let position = self.position();
        let IndexProgress::To(last) = &self.filled else {
            return Ok(IndexProgress::All);
        };
        let lower = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let (mut count, mut to) = (0, None);
        let mut failed = Ok(());
        let mut run = std::mem::take(&mut self.run);
        run.clear();
        let range = Scan {
            lower,
            upper: Bound::Unbounded,
            direction: Direction::Ascending,
            limit: rows_max,
        };
        let is_full = |run: &Run| run.len_bytes() >= self.chunk_bytes;
        let scanned = self.session.scan(&self.rows, range, |key, row| {
            match entry_of(&self.schema, position, key, row) {
                Ok((entry, value)) => run.push(&entry, &value),
                Err(error) => failed = Err(error),
            }
            count += 1;
            if failed.is_err() || count == rows_max || is_full(&run) {
                to = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        scanned.and(failed)?;
        run.sort();
        let mut at = 0;
        while let Some((entry, value)) = run.get(at) {
            self.put(entry, value)?;
            at += 1;
        }
        self.run = run;
        Ok(to.map_or(IndexProgress::All, |to| IndexProgress::To(Some(to))))
    }

    /// Drains the row log and applies its changes to the index.
    fn drain(&mut self) -> Result<()> {
        let mut records = std::mem::take(&mut self.records);
        let newest = self.row_log.take(&mut records);
        // The next snapshot contains all drained changes, including those dropped here.
        self.engine.core.wait_published(newest)?;
        let changes = self.changes(&records);
        for batch in self.batches(&changes) {
            self.transact(&mut |build, _| build.catch_up(batch))?;
        }
        self.records = records;
        Ok(())
    }

    /// The same with the gate closed, in the exclusive transaction and, if that is too much for its record,
    /// in others before it.
    fn drain_rest(&mut self) -> Result<()> {
        let mut records = std::mem::take(&mut self.records);
        self.row_log.take(&mut records);
        let changes = self.changes(&records);
        for (at, batch) in self.batches(&changes).enumerate() {
            if at > 0 {
                let (ticket, closed) = self.session.commit_closed();
                ticket?;
                self.session.begin_with(closed)?;
            }
            self.catch_up(batch)?;
        }
        Ok(())
    }

    /// The drained changes of rows that are in the index, one for each key.
    fn changes<'r>(&self, records: &'r [u8]) -> Vec<RowChange<'r>> {
        if planted(PlantedBug::IndexMissesCatchUp) {
            return Vec::new();
        }
        let changes = row_changes(records).filter(|change| self.filled.contains(change.key));
        let mut changes: Vec<_> = changes.collect();
        changes.sort_unstable();
        changes.dedup();
        changes
    }

    /// Splits changes into batches, each small enough for one transaction.
    fn batches<'c, 'r>(
        &self,
        changes: &'c [RowChange<'r>],
    ) -> impl Iterator<Item = &'c [RowChange<'r>]> + use<'c, 'r, D> {
        let bytes_max = self.chunk_bytes;
        let mut left = changes;
        std::iter::from_fn(move || {
            let mut bytes = 0;
            let fits = |change: &&RowChange<'_>| {
                // A change deletes the old entry and writes the new one, each with its name.
                bytes += change.key.len() + 2 * change.old.map_or(64, <[u8]>::len) + 64;
                bytes <= bytes_max
            };
            let count = left.iter().take_while(fits).count().max(1);
            let (batch, rest) = left.split_at(count.min(left.len()));
            left = rest;
            (!batch.is_empty()).then_some(batch)
        })
    }

    /// Gives changed rows the entries that they have at the transaction's snapshot.
    fn catch_up(&mut self, changes: &[RowChange<'_>]) -> Result<()> {
        for of_row in changes.chunk_by(|one, other| one.key == other.key) {
            let key = of_row[0].key;
            let now = self.entry_at_snapshot(key)?;
            let now_entry = now.as_ref().map(|(entry, _)| &entry[..]);
            for old in of_row.iter().filter_map(|change| change.old) {
                if now_entry != Some(old) {
                    self.delete(old, key)?;
                }
            }
            if let Some((entry, value)) = now {
                self.put(&entry, &value)?;
            }
        }
        Ok(())
    }

    /// The entry that the index must hold for a row; none if there is no row.
    fn entry_at_snapshot(&mut self, key: &[u8]) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let position = self.position();
        let row = self.session.get(&self.rows, key)?;
        row.map(|row| entry_of(&self.schema, position, key, row)).transpose()
    }

    /// Writes the entry of a row, unless it exists.
    fn put(&mut self, entry: &[u8], value: &[u8]) -> Result<()> {
        let there = self.session.get(&self.index, entry)?.map(<[u8]>::to_vec);
        match there {
            Some(there) if there == value => return Ok(()),
            Some(other) => {
                let of_other = self.entry_at_snapshot(&other)?;
                if of_other.is_some_and(|(other, _)| other == entry) {
                    return Err(Error::DuplicateBuilt {
                        table: self.schema.name().to_owned(),
                        index: Some(self.schema.indexes()[self.position()].name().to_owned()),
                    });
                }
            }
            None => {}
        }
        self.session.put(&self.index, entry, value)
    }

    /// Deletes an entry if it belongs to that row.
    fn delete(&mut self, entry: &[u8], key: &[u8]) -> Result<()> {
        let is_unique = self.schema.indexes()[self.position()].is_unique();
        let there = self.session.get(&self.index, entry)?;
        if there.is_some_and(|value| !is_unique || value == key) {
            self.session.delete(&self.index, entry)?;
        }
        Ok(())
    }

    /// The position of the index among those of the table: the last.
    fn position(&self) -> usize {
        self.schema.indexes().len() - 1
    }
}

impl<D: Disk> Drop for IndexBuild<'_, D> {
    fn drop(&mut self) {
        // A failed build leaves the log installed; writers must not wait for it.
        self.row_log.abandon();
    }
}
