//! Writes rows together with their index entries.
//!
//! A write that changes index entries must know the row's old ones: it reads the row. If the row does not
//! allow the write, it is passed to the session nevertheless, blind: the commit then refuses it, once the
//! read is validated and stable.

use crate::access::key::check_length;
use crate::access::patch::{self, PatchError};
use crate::access::row::{Entry, RowView, encode};
use crate::access::schema::Value;
use crate::error::{self, Result};
use crate::planted_bug::{PlantedBug, planted};
use crate::table::change::{self, Change};
use crate::table::handle::Table;
use crate::table::read::encode_key;
use crate::table::session_memory::Memory;
use crate::txn::Session;
use syncline_instrument::{Module, tag};
use syncline_vfs::Disk;

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

pub(super) fn update<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    key: &[Value<'_>],
    changes: &[Change<'_>],
) -> Result<()> {
    encode_key(memory, table, key)?;
    let schema = table.schema();
    change::write(schema, changes, &mut memory.patch)?;
    let is_indexed = changes.iter().any(|change| schema.is_indexed(change.column()));
    whole(session, memory, |session, memory| {
        if is_indexed && read_old(session, memory, table)? {
            let patched = patch::apply(&memory.patch, &memory.old, &mut memory.row);
            match patched {
                Ok(()) => {
                    session.update(table.tree(), &memory.key, &memory.row)?;
                    return write_entries(session, memory, table, (true, true));
                }
                Err(PatchError::Malformed(what)) => return Err(schema.damaged(what)),
                Err(_) => {}
            }
        }
        session.patch(table.tree(), &memory.key, apply, &memory.patch)
    })
}

pub(super) fn delete<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    key: &[Value<'_>],
) -> Result<()> {
    encode_key(memory, table, key)?;
    whole(session, memory, |session, memory| {
        let was_there = table.has_indexes() && read_old(session, memory, table)?;
        session.delete(table.tree(), &memory.key)?;
        write_entries(session, memory, table, (was_there, false))
    })
}

/// Runs a call that writes several rows of trees: all of them, or none if it fails.
fn whole<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    call: impl FnOnce(&mut Session<D>, &mut Memory) -> Result<()>,
) -> Result<()> {
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
