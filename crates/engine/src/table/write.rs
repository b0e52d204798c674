//! Writes rows together with their index entries.
//!
//! A write that changes index entries must know the row's old ones: it reads the row. If the row does not
//! allow the write, it is passed to the session nevertheless, blind: the commit then refuses it, once the
//! read is validated and stable.

use crate::access::key::{KeyRange, check_length};
use crate::access::patch::{self, PatchError};
use crate::access::row::{Entry, RowView, encode};
use crate::access::schema::Value;
use crate::error::{self, Result};
use crate::planted_bug::{PlantedBug, planted};
use crate::table::change::{self, Change};
use crate::table::handle::Table;
use crate::table::read::encode_key;
use crate::table::session_memory::Memory;
use crate::txn::{Direction, Scan, Session};
use std::ops::{Bound, ControlFlow};
use syncline_instrument::{Module, tag};
use syncline_vfs::Disk;

/// Rows of a range whose keys are read before they are deleted.
const DELETED_AT_ONCE: usize = 256;

/// What [`Transaction::upsert`](crate::Transaction::upsert) did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upserted {
    /// It added the row.
    Inserted,
    /// It changed the row that had the key.
    Updated,
}

pub(super) fn insert<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    values: &[Value<'_>],
) -> Result<()> {
    encode_row(session, memory, table, values)?;
    whole(session, memory, |session, memory| {
        session.insert(table.tree(), &memory.key, &memory.row)?;
        write_entries(session, memory, table, (false, true))
    })
}

/// Sets a row, whether it exists or not.
pub(super) fn put<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    values: &[Value<'_>],
) -> Result<()> {
    encode_row(session, memory, table, values)?;
    whole(session, memory, |session, memory| {
        let was_there = table.has_indexes() && read_old(session, memory, table)?;
        session.put(table.tree(), &memory.key, &memory.row)?;
        write_entries(session, memory, table, (was_there, true))
    })
}

/// Adds a row unless one with its key, or with its values in a unique index, exists. Returns true if it did.
pub(super) fn insert_or_ignore<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    values: &[Value<'_>],
) -> Result<bool> {
    encode_row(session, memory, table, values)?;
    whole(session, memory, |session, memory| {
        if session.get(table.tree(), &memory.key)?.is_some()
            || is_duplicate(session, memory, table)?
        {
            return Ok(false);
        }
        session.insert(table.tree(), &memory.key, &memory.row)?;
        write_entries(session, memory, table, (false, true))?;
        Ok(true)
    })
}

/// Adds a row, or changes columns of the one that has its key.
pub(super) fn upsert<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    values: &[Value<'_>],
    changes: &[Change<'_>],
) -> Result<Upserted> {
    encode_row(session, memory, table, values)?;
    let is_indexed = encode_changes(memory, table, changes)?;
    whole(session, memory, |session, memory| {
        if session.get(table.tree(), &memory.key)?.is_some() {
            update_encoded(session, memory, table, is_indexed)?;
            return Ok(Upserted::Updated);
        }
        session.insert(table.tree(), &memory.key, &memory.row)?;
        write_entries(session, memory, table, (false, true))?;
        Ok(Upserted::Inserted)
    })
}

pub(super) fn update<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    key: &[Value<'_>],
    changes: &[Change<'_>],
) -> Result<()> {
    encode_key(memory, table, key)?;
    let is_indexed = encode_changes(memory, table, changes)?;
    whole(session, memory, |session, memory| update_encoded(session, memory, table, is_indexed))
}

/// Writes the changes into `memory.patch`; true if one of them is of an indexed column.
fn encode_changes(memory: &mut Memory, table: &Table, changes: &[Change<'_>]) -> Result<bool> {
    let schema = table.schema();
    change::write(schema, changes, &mut memory.patch)?;
    let mut is_indexed = false;
    for change in changes {
        is_indexed |= schema.is_indexed(change.column().position_in(schema)?);
    }
    Ok(is_indexed)
}

/// Changes the row of `memory.key` by `memory.patch`.
fn update_encoded<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    is_indexed: bool,
) -> Result<()> {
    if is_indexed && read_old(session, memory, table)? {
        let patched = patch::apply(&memory.patch, &memory.old, &mut memory.row);
        match patched {
            Ok(()) => {
                session.update(table.tree(), &memory.key, &memory.row)?;
                return write_entries(session, memory, table, (true, true));
            }
            Err(PatchError::Malformed(what)) => return Err(table.schema().damaged(what)),
            Err(_) => {}
        }
    }
    session.patch(table.tree(), &memory.key, apply, &memory.patch)
}

pub(super) fn delete<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    key: &[Value<'_>],
) -> Result<()> {
    encode_key(memory, table, key)?;
    whole(session, memory, |session, memory| delete_encoded(session, memory, table))
}

/// Deletes the row of `memory.key`.
fn delete_encoded<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
) -> Result<()> {
    let was_there = table.has_indexes() && read_old(session, memory, table)?;
    session.delete(table.tree(), &memory.key)?;
    write_entries(session, memory, table, (was_there, false))
}

/// Deletes the rows of a range of the primary key; returns their number.
pub(super) fn delete_range<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    range: KeyRange<'_>,
) -> Result<u64> {
    memory.touch(table)?;
    if !memory.range.set(table.schema(), table.schema().key_shape(), range)? {
        return Ok(0);
    }
    whole(session, memory, |session, memory| {
        let mut deleted = 0;
        loop {
            let Memory { range, keys, key_ends, .. } = memory;
            keys.clear();
            key_ends.clear();
            let scan = Scan {
                lower: Bound::Included(&range.lower),
                upper: range.upper().map_or(Bound::Unbounded, Bound::Excluded),
                direction: Direction::Ascending,
                limit: DELETED_AT_ONCE,
            };
            session.scan(table.tree(), scan, |key, _| {
                keys.extend_from_slice(key);
                key_ends.push(keys.len());
                ControlFlow::Continue(())
            })?;
            let count = memory.key_ends.len();
            for position in 0..count {
                memory.take_key(position);
                delete_encoded(session, memory, table)?;
            }
            deleted += count as u64;
            if count < DELETED_AT_ONCE {
                return Ok(deleted);
            }
            // The next rows lie behind the last one.
            let Memory { range, key, .. } = memory;
            range.lower.clear();
            range.lower.extend_from_slice(key);
            range.lower.push(0);
        }
    })
}

/// Runs a call that writes several rows of trees: all of them, or none if it fails.
fn whole<D: Disk, R>(
    session: &mut Session<D>,
    memory: &mut Memory,
    call: impl FnOnce(&mut Session<D>, &mut Memory) -> Result<R>,
) -> Result<R> {
    session.check_open()?;
    let before = session.savepoint();
    call(session, memory).map_err(|error| {
        if !planted(PlantedBug::KeepHalfCall) {
            session.rollback_to(before);
        }
        memory.named(error)
    })
}

/// Writes key and row of `values` into `memory.key` and `memory.row`.
fn encode_row<D: Disk>(
    session: &Session<D>,
    memory: &mut Memory,
    table: &Table,
    values: &[Value<'_>],
) -> Result<()> {
    let _entered = tag::enter(Module::Access);
    memory.touch(table)?;
    memory.key.clear();
    memory.row.clear();
    encode(table.schema(), values, &mut memory.key, &mut memory.row)?;
    check_length(table.name(), memory.key.len(), key_bytes_max(session))
}

fn key_bytes_max<D: Disk>(session: &Session<D>) -> usize {
    session.core().options.key_bytes_max as usize
}

/// Reads the row of `memory.key` into `memory.old`; false if it does not exist.
fn read_old<D: Disk>(session: &mut Session<D>, memory: &mut Memory, table: &Table) -> Result<bool> {
    memory.old.clear();
    let old = session.get(table.tree(), &memory.key)?;
    memory.old.extend_from_slice(old.unwrap_or_default());
    Ok(old.is_some())
}

/// True if a unique index has an entry with the values of the row in `memory.row`.
fn is_duplicate<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
) -> Result<bool> {
    let schema = table.schema();
    let bytes_max = key_bytes_max(session);
    let Memory { key, row, plain_new, entries, .. } = memory;
    let new = RowView::open(schema, key, row, plain_new);
    let new = new.map_err(|what| schema.damaged(what))?;
    let mut is_duplicate = false;
    entries.changes(schema, None, Some(&new), bytes_max, |index, _, new| {
        if let Some(new) = new
            && schema.indexes()[index].is_unique()
        {
            is_duplicate |= session.get(table.index_tree(index), new.key)?.is_some();
        }
        Ok(())
    })?;
    Ok(is_duplicate)
}

/// Writes the difference of index entries between `memory.old`, if the row existed, and `memory.row`, if it
/// still does.
fn write_entries<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    (was_there, is_there): (bool, bool),
) -> Result<()> {
    if !table.has_indexes() {
        return Ok(());
    }
    let schema = table.schema();
    let bytes_max = key_bytes_max(session);
    let Memory { key, plain, old, row, plain_new, entries, .. } = memory;
    let old = was_there.then(|| RowView::open(schema, key, old, plain));
    let old = old.transpose().map_err(|what| schema.damaged(what))?;
    let new = is_there.then(|| RowView::open(schema, key, row, plain_new));
    let new = new.transpose().map_err(|what| schema.damaged(what))?;
    entries.changes(schema, old.as_ref(), new.as_ref(), bytes_max, |index, old, new| {
        write_entry(session, table, index, (old, new))
    })
}

fn write_entry<D: Disk>(
    session: &mut Session<D>,
    table: &Table,
    index: usize,
    (old, new): (Option<Entry<'_>>, Option<Entry<'_>>),
) -> Result<()> {
    let tree = table.index_tree(index);
    if let Some(old) = old {
        session.delete(tree, old.key)?;
    }
    match new {
        // Insert, not put: a unique index must refuse a second row with this entry.
        Some(new) if table.schema().indexes()[index].is_unique() => {
            session.insert(tree, new.key, new.value)
        }
        Some(new) => session.put(tree, new.key, new.value),
        None => Ok(()),
    }
}

/// A patch as the commit applies it, under the row's lock.
fn apply(
    patch: &[u8],
    old: &[u8],
    new: &mut Vec<u8>,
) -> std::result::Result<(), error::PatchFailure> {
    let _entered = tag::enter(Module::Access);
    patch::apply(patch, old, new).map_err(|failure| match failure {
        PatchError::OutOfBounds { column } => error::PatchFailure::Bound { column },

        PatchError::Overflow { column } => error::PatchFailure::Overflow { column },
        PatchError::Malformed(_) => error::PatchFailure::Damaged,
    })
}
