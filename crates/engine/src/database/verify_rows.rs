//! Compares tables with their indexes at snapshots: every row must be readable and have its entries, and
//! every entry must belong to a row.
//!
//! Each chunk has its own snapshot, at which its rows are compared with their entries, or its entries with
//! their rows, so concurrent writers make no difference. If a chunk's snapshot ends because memory for
//! versions is full, the chunk is read again, in the end a smaller one with the gate closed. A table that is
//! changed or dropped meanwhile is checked again by its new definition, or not at all.

use super::definitions::entry_of;
use super::engine::Engine;
use super::tree_builder::Run;
use super::verify::unreadable;
use crate::access::btree::Tree;
use crate::access::row::{Entry, RowView, entry_key, primary_key_of};
use crate::catalog::TableEntry;
use crate::conflict::Conflict;
use crate::error::{Error, Result};
use crate::txn::{Begin, Direction, Scan, Session};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use syncline_vfs::Disk;

/// Maximum rows of a chunk.
const CHUNK_ROWS: usize = 512;

/// The same with the gate closed.
const CHUNK_ROWS_ALONE: usize = 32;

/// Bytes of a chunk, except for its last row.
const CHUNK_BYTES: usize = 1 << 20;

/// Attempts to read a chunk concurrently with others, before that.
const ATTEMPTS_MAX: u32 = 4;

/// Compares the rows of a chunk and adds the problems.
type Compare<'c, D> = dyn FnMut(&mut Session<D>, &Run, &mut Vec<String>) -> Result<()> + 'c;

impl<D: Disk> Engine<D> {
    /// The problems of a table and its indexes.
    pub(super) fn verify_table(&self, name: &str) -> Result<Vec<String>> {
        loop {
            let catalog = self.catalog();
            let Some(table) = catalog.table(name) else {
                return Ok(Vec::new());
            };
            match self.compare_table(table) {
                Err(Error::Conflict(_)) if self.catalog().table(name) != Some(table) => {}
                compared => return compared,
            }
        }
    }

    fn compare_table(&self, table: &TableEntry) -> Result<Vec<String>> {
        let mut session = Session::new(&self.core)?;
        let mut problems = Vec::new();
        // Trees of one moment; if one is dropped meanwhile, the first access conflicts.
        let trees = {
            let _catalog = self.catalog.read();
            let tree = |id| self.tree_directory.tree(id);
            let indexes = table.indexes.iter().map(|index| tree(index.tree));
            let indexes: Option<Vec<_>> = indexes.collect();
            tree(table.tree).zip(indexes)
        };
        let Some((rows, indexes)) = trees else {
            return Err(Error::Conflict(Conflict::Dropped));
        };
        in_chunks(&mut session, &rows, &mut problems, &mut |session, run, problems| {
            run.rows().try_for_each(|(key, row)| {
                compare_row(session, (table, &indexes), (key, row), problems)
            })
        })?;
        for (position, index) in indexes.iter().enumerate() {
            in_chunks(&mut session, index, &mut problems, &mut |session, run, problems| {
                run.rows().try_for_each(|(key, value)| {
                    let entry = Entry { key, value };
                    compare_entry(session, (table, &rows), (position, entry), problems)
                })
            })?;
        }
        Ok(problems)
    }
}

/// Passes a tree's rows to `compare`, chunk by chunk.
fn in_chunks<D: Disk>(
    session: &mut Session<D>,
    tree: &Arc<Tree>,
    problems: &mut Vec<String>,
    compare: &mut Compare<'_, D>,
) -> Result<()> {
    let mut last: Option<Vec<u8>> = None;
    let mut run = Run::default();
    let mut attempt = 0;
    loop {
        let rows_max = if attempt < ATTEMPTS_MAX {
            session.begin(Begin::Snapshot)?;
            CHUNK_ROWS
        } else {
            session.begin_exclusive()?;
            CHUNK_ROWS_ALONE
        };
        run.clear();
        let mut of_chunk = Vec::new();
        let compared = read_chunk(session, tree, (last.as_deref(), rows_max), &mut run)
            .and_then(|to| compare(session, &run, &mut of_chunk).map(|()| to));
        session.abort();
        match compared {
            Err(Error::Conflict(_)) if attempt < ATTEMPTS_MAX && !tree.is_dropped() => {
                attempt += 1;
                continue;
            }
            Err(error) => return Err(error),
            Ok(to) => {
                problems.append(&mut of_chunk);
                let Some(to) = to else {
                    return Ok(());
                };
                last = Some(to);
            }
        }
        attempt = 0;
    }
}

/// Reads the next rows of a tree into a run. Returns the key of the last one, or none at the end.
fn read_chunk<D: Disk>(
    session: &mut Session<D>,
    tree: &Arc<Tree>,
    (last, rows_max): (Option<&[u8]>, usize),
    run: &mut Run,
) -> Result<Option<Vec<u8>>> {
    let range = Scan {
        lower: last.map_or(Bound::Unbounded, Bound::Excluded),
        upper: Bound::Unbounded,
        direction: Direction::Ascending,
        limit: rows_max,
    };
    let (mut count, mut to) = (0, None);
    session.scan(tree, range, |key, row| {
        run.push(key, row);
        count += 1;
        if count == rows_max || run.len_bytes() >= CHUNK_BYTES {
            to = Some(key.to_vec());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(to)
}

fn compare_row<D: Disk>(
    session: &mut Session<D>,
    (table, indexes): (&TableEntry, &[Arc<Tree>]),
    (key, row): (&[u8], &[u8]),
    problems: &mut Vec<String>,
) -> Result<()> {
    let (schema, mut plain) = (&table.schema, Vec::new());
    let row = match RowView::open(schema, key, row, &mut plain) {
        Ok(row) => row,
        Err(what) => {
            problems.push(unreadable(schema, what.0));
            return Ok(());
        }
    };
    problems.extend(row.check().err().map(|what| unreadable(schema, what.0)));
    let mut entry = Vec::new();
    for (position, tree) in indexes.iter().enumerate() {
        let index = &schema.indexes()[position];
        entry.clear();
        entry_key(schema, position, &row, &mut entry)?;
        let is_there = session.get(tree, &entry)?;
        if is_there.is_none_or(|value| index.is_unique() && value != key) {
            let (index, table) = (index.name(), schema.name());
            problems.push(format!("index {index} of table {table} lacks the entry of a row"));
        }
    }
    Ok(())
}

fn compare_entry<D: Disk>(
    session: &mut Session<D>,
    (table, rows): (&TableEntry, &Arc<Tree>),
    (position, entry): (usize, Entry<'_>),
    problems: &mut Vec<String>,
) -> Result<()> {
    let schema = &table.schema;
    let of_row = match primary_key_of(schema, position, entry) {
        Ok(key) => {
            let row = session.get(rows, key)?;
            // An unreadable row was reported before.
            row.and_then(|row| entry_of(schema, position, key, row).ok())
        }
        Err(_) => None,
    };
    if of_row.is_none_or(|(of_row, _value)| of_row != entry.key) {
        let (index, table) = (schema.indexes()[position].name(), schema.name());
        problems.push(format!("index {index} of table {table} has an entry that no row has"));
    }
    Ok(())
}
