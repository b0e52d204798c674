//! Reads rows by primary key, by unique index, and by a range of either.

use crate::access::btree::prefetch::{PrefetchTarget, load_leaves};
use crate::access::key::{self, ByteRange, KeyRange, Malformed};
use crate::access::row::{Entry, RowView, primary_key_of};
use crate::access::schema::Value;
use crate::error::{Error, Result};
use crate::ids::PageId;
use crate::table::handle::{Path, Table};
use crate::table::prefetch::PrefetchKey;
use crate::table::row::{OwnedRow, Row};
use crate::table::session_memory::Memory;
use crate::txn::{Direction, Scan, Session};
use std::ops::{Bound, ControlFlow};
use syncline_instrument::{Module, tag};
use syncline_vfs::Disk;

/// Index entries read before the first of their rows; the next batches double. So a visitor that stops early
/// has not read much in vain.
const ENTRIES_FIRST: usize = 8;
/// Maximum index entries read at once.
const ENTRIES_MAX: usize = 256;

/// Entries needed for a batched prefetch of their rows: for fewer it costs more than it gains.
const PREFETCH_MIN: usize = 3;

/// A range with its direction and limit.
#[derive(Clone, Copy)]
pub(super) struct Walk<'v> {
    pub(super) range: KeyRange<'v>,
    pub(super) direction: Direction,
    pub(super) limit: usize,
    /// Only the columns of the primary key are needed.
    pub(super) keys_only: bool,
}

/// Receives each row; breaking ends the walk.
pub(super) type Visitor<'v> = &'v mut dyn FnMut(Row<'_>) -> Result<ControlFlow<()>>;

/// The row of a primary key.
pub(super) fn get<'a, D: Disk>(
    session: &'a mut Session<D>,
    memory: &'a mut Memory,
    table: &'a Table,
    values: &[Value<'_>],
) -> Result<Option<Row<'a>>> {
    encode_key(memory, table, values)?;
    get_encoded(session, memory, table, None)
}

/// The row of a prefetch key.
#[inline]
pub(super) fn get_prefetched<'a, D: Disk>(
    session: &'a mut Session<D>,
    memory: &'a mut Memory,
    table: &'a Table,
    prefetch_key: &'a PrefetchKey,
) -> Result<Option<Row<'a>>> {
    memory.touch(table)?;
    check_key_table(table, prefetch_key)?;
    match session.get_at(table.tree(), prefetch_key.leaf, &prefetch_key.key) {
        Err(error) => Err(memory.named(error)),
        Ok(value) => opened(table, &prefetch_key.key, value, &mut memory.plain),
    }
}

/// Shows the row of a prefetch key in place.
#[inline]
pub(super) fn show_prefetched<D: Disk, R>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    prefetch_key: &PrefetchKey,
    look: impl FnOnce(Row<'_>) -> R,
) -> Result<Option<R>> {
    memory.touch(table)?;
    check_key_table(table, prefetch_key)?;
    let (schema, plain) = (table.schema(), &mut memory.plain);
    let open = |value: &[u8]| {
        let view = RowView::open(schema, &prefetch_key.key, value, plain);
        let view = view.map_err(|what| schema.damaged(what))?;
        Ok(look(Row { table, view }))
    };
    let shown = session.show_at(table.tree(), prefetch_key.leaf, &prefetch_key.key, open);
    shown.map_err(|error| memory.named(error))?.transpose()
}

/// The rows of several primary keys, read so that their cache misses overlap.
pub(super) fn get_many<'k, D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    keys: impl IntoIterator<Item = &'k [Value<'k>]>,
) -> Result<Vec<Option<OwnedRow>>> {
    session.check_open()?;
    memory.keys.clear();
    memory.key_ends.clear();
    for key in keys {
        encode_key(memory, table, key)?;
        memory.keys.extend_from_slice(&memory.key);
        memory.key_ends.push(memory.keys.len());
    }
    prefetch_rows(session, memory, table);
    let mut rows = Vec::with_capacity(memory.key_ends.len());
    for position in 0..memory.key_ends.len() {
        let leaf = next_key(memory, position);
        let row = get_encoded(session, memory, table, leaf)?;
        rows.push(row.map(Row::into_owned));
    }
    Ok(rows)
}

/// True if the row of a primary key exists.
pub(super) fn exists<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    key: &[Value<'_>],
) -> Result<bool> {
    encode_key(memory, table, key)?;
    let row = session.get(table.tree(), &memory.key);
    let exists = row.map(|row| row.is_some());
    exists.map_err(|error| memory.named(error))
}

/// The number of rows in a range.
pub(super) fn count<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    path: Path<'_>,
    range: KeyRange<'_>,
) -> Result<u64> {
    let mut count = 0;
    let walk = Walk { range, direction: Direction::Ascending, limit: usize::MAX, keys_only: true };
    scan(session, memory, path, walk, &mut |_| {
        count += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(count)
}

/// Fails if the key was made for another table, or not at all.
#[inline]
fn check_key_table(table: &Table, prefetch_key: &PrefetchKey) -> Result<()> {
    if prefetch_key.table == table.tree().handle {
        return Ok(());
    }
    Err(Error::OtherTable {
        object: "the prefetch key",
        table: table.name().to_owned(),
        advice: "make it with prepare_key for that table",
    })
}

/// The row with these values in a unique index.
pub(super) fn get_by<'a, D: Disk>(
    session: &'a mut Session<D>,
    memory: &'a mut Memory,
    path: Path<'a>,
    values: &[Value<'_>],
) -> Result<Option<Row<'a>>> {
    let table = path.table;
    let Some(index) = path.index else {
        return get(session, memory, table, values);
    };
    memory.touch(table)?;
    let (schema, shape) = (table.schema(), table.schema().index_shape(index));
    if !schema.indexes()[index].is_unique() {
        return Err(Error::NotUnique {
            table: table.name().to_owned(),
            index: schema.indexes()[index].name().to_owned(),
        });
    }
    memory.key.clear();
    let count = key::encode(schema, shape, values.iter().copied(), &mut memory.key)?;
    if count < shape.parts.len() {
        return Err(schema.wrong_count(shape.parts.len(), count));
    }
    if values.iter().any(|value| value.is_null()) {
        return Ok(None);
    }
    let entry = session.get(table.index_tree(index), &memory.key);
    let Some(primary_key) = entry.map_err(|error| memory.named(error))? else {
        return Ok(None);
    };
    memory.key.clear();
    memory.key.extend_from_slice(primary_key);
    get_of_entry(session, memory, table, None)
}

/// The encoded range; none if no row can be in it.
pub(super) fn range_of<D: Disk>(
    session: &Session<D>,
    memory: &mut Memory,
    path: Path<'_>,
    range: KeyRange<'_>,
) -> Result<Option<ByteRange>> {
    session.check_open()?;
    memory.touch(path.table)?;
    let schema = path.table.schema();
    let shape = path.index.map_or(schema.key_shape(), |index| schema.index_shape(index));
    let mut bytes = ByteRange::default();
    Ok(bytes.set(schema, shape, range)?.then_some(bytes))
}

/// Passes the rows of a range to `visitor`, in order.
pub(super) fn scan<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    path: Path<'_>,
    walk: Walk<'_>,
    visitor: Visitor<'_>,
) -> Result<()> {
    let table = path.table;
    memory.touch(table)?;
    let schema = table.schema();
    let shape = path.index.map_or(schema.key_shape(), |index| schema.index_shape(index));
    if !memory.range.set(schema, shape, walk.range)? {
        return Ok(());
    }
    match path.index {
        None => scan_table(session, memory, table, walk, visitor),
        Some(index) => scan_index(session, memory, (table, index), walk, visitor),
    }
}

fn scan_table<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    walk: Walk<'_>,
    visitor: Visitor<'_>,
) -> Result<()> {
    let Memory { range, plain, .. } = memory;
    let mut outcome = Ok(());
    let scan = Scan {
        lower: Bound::Included(&range.lower),
        upper: range.upper().map_or(Bound::Unbounded, Bound::Excluded),
        direction: walk.direction,
        limit: walk.limit,
    };
    let scanned = session.scan(table.tree(), scan, |key, value| {
        let visited = match RowView::open(table.schema(), key, value, plain) {
            Ok(view) => visitor(Row { table, view }),
            Err(what) => Err(table.schema().damaged(what)),
        };
        visited.unwrap_or_else(|error| {
            outcome = Err(error);
            ControlFlow::Break(())
        })
    });
    scanned.map_err(|error| memory.named(error))?;
    outcome
}

fn scan_index<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    (table, index): (&Table, usize),
    walk: Walk<'_>,
    visitor: Visitor<'_>,
) -> Result<()> {
    let mut left = walk.limit;
    let mut at_once = ENTRIES_FIRST;
    let mut goes_on = false;
    while left > 0 {
        let count = left.min(at_once);
        read_entries(session, memory, (table, index), (walk.direction, count, goes_on))?;
        let read = memory.key_ends.len();
        let visited = if walk.keys_only {
            visit_keys(session, memory, table, visitor)?
        } else {
            visit_entries(session, memory, table, visitor)?
        };
        if visited.is_break() || read < count {
            break;
        }
        left -= read;
        at_once = (2 * at_once).min(ENTRIES_MAX);
        goes_on = true;
    }
    Ok(())
}

/// Reads some index entries, from the start of the range or after the last one read.
fn read_entries<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    (table, index): (&Table, usize),
    (direction, limit, goes_on): (Direction, usize, bool),
) -> Result<()> {
    let Memory { range, keys, key_ends, last_entry, from_entry, .. } = memory;
    keys.clear();
    key_ends.clear();
    // The last entry is saved, since the visitor overwrites the buffer.
    std::mem::swap(from_entry, last_entry);
    last_entry.clear();
    let mut scan = Scan {
        lower: Bound::Included(&range.lower),
        upper: range.upper().map_or(Bound::Unbounded, Bound::Excluded),
        direction,
        limit,
    };
    if goes_on {
        match direction {
            Direction::Ascending => scan.lower = Bound::Excluded(from_entry),
            Direction::Descending => scan.upper = Bound::Excluded(from_entry),
        }
    }
    let mut outcome = Ok(());
    let scanned = session.scan(table.index_tree(index), scan, |key, value| {
        let entry = Entry { key, value };
        match primary_key_of(table.schema(), index, entry) {
            Ok(primary_key) => keys.extend_from_slice(primary_key),
            Err(what) => {
                outcome = Err(table.schema().damaged(what));
                return ControlFlow::Break(());
            }
        }
        key_ends.push(keys.len());
        if key_ends.len() == limit {
            last_entry.extend_from_slice(key);
        }
        ControlFlow::Continue(())
    });
    scanned.map_err(|error| memory.named(error))?;
    outcome
}

/// Passes the primary keys in the entries to the visitor. Their rows are not read: an entry is written, and
/// validated, with its row. Only rows that the transaction inserts are looked up: see [`visit_entries`].
fn visit_keys<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    visitor: Visitor<'_>,
) -> Result<ControlFlow<()>> {
    let mut start = 0;
    for entry in 0..memory.key_ends.len() {
        let end = memory.key_ends[entry];
        let key = &memory.keys[start..end];
        start = end;
        let checked = session.check_inserted(table.tree(), None, key);
        checked.map_err(|error| memory.named(error))?;
        let view = RowView::of_key(table.schema(), key, &mut memory.plain);
        let view = view.map_err(|what| table.schema().damaged(what))?;
        if visitor(Row { table, view })?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Reads the rows of the entries. A stored entry of a row that the transaction inserts shows that the row
/// exists: that is refused as the commit would refuse it. So every entry leads to its row.
fn visit_entries<D: Disk>(
    session: &mut Session<D>,
    memory: &mut Memory,
    table: &Table,
    visitor: Visitor<'_>,
) -> Result<ControlFlow<()>> {
    prefetch_rows(session, memory, table);
    for entry in 0..memory.key_ends.len() {
        let leaf = next_key(memory, entry);
        let row = get_of_entry(session, memory, table, leaf)?;
        let lost = Malformed("an index entry leads to no row");
        let row = row.ok_or_else(|| table.schema().damaged(lost))?;
        if visitor(row)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Copies the key at a position of `memory.keys` into `memory.key`; the hint of its leaf, if it was
/// prefetched.
fn next_key(memory: &mut Memory, position: usize) -> Option<PageId> {
    memory.take_key(position);
    memory.ahead.get(position).and_then(PrefetchTarget::leaf)
}

/// Copies the row of an index entry, by its primary key, into `value`.
pub(super) fn row_of_entry<D: Disk>(
    session: &mut Session<D>,
    memory: &Memory,
    table: &Table,
    key: &[u8],
    value: &mut Vec<u8>,
) -> Result<()> {
    let row = session.get_of_entry(table.tree(), None, key);
    let row = row.map_err(|error| memory.named(error))?;
    let lost = Malformed("an index entry leads to no row");
    let row = row.ok_or_else(|| table.schema().damaged(lost))?;
    value.clear();
    value.extend_from_slice(row);
    Ok(())
}

/// Refuses an index entry whose row the transaction inserts: see [`visit_entries`].
pub(super) fn check_entry<D: Disk>(
    session: &mut Session<D>,
    memory: &Memory,
    table: &Table,
    key: &[u8],
) -> Result<()> {
    let checked = session.check_inserted(table.tree(), None, key);
    checked.map_err(|error| memory.named(error))
}

/// Prefetches the rows of the entries.
fn prefetch_rows<D: Disk>(session: &Session<D>, memory: &mut Memory, table: &Table) {
    let Memory { keys, key_ends, ahead, .. } = memory;
    ahead.clear();
    if key_ends.len() < PREFETCH_MIN {
        return;
    }
    let mut start = 0;
    for end in key_ends.iter().copied() {
        ahead.push(PrefetchTarget::new(table.tree(), start..end));
        start = end;
    }
    load_leaves(&session.core().buffer, keys, ahead);
}

/// Writes a complete primary key into `memory.key`.
pub(super) fn encode_key(memory: &mut Memory, table: &Table, values: &[Value<'_>]) -> Result<()> {
    memory.touch(table)?;
    make_key(table, values, &mut memory.key)
}

/// Encodes a complete primary key.
pub(super) fn make_key(table: &Table, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<()> {
    let _entered = tag::enter(Module::Access);
    let (schema, shape) = (table.schema(), table.schema().key_shape());
    out.clear();
    let count = key::encode(schema, shape, values.iter().copied(), out)?;
    if count < shape.parts.len() {
        return Err(schema.wrong_count(shape.parts.len(), count));
    }
    Ok(())
}

/// The row whose key is in `memory.key`. The hint names the leaf that likely covers it.
fn get_encoded<'a, D: Disk>(
    session: &'a mut Session<D>,
    memory: &'a mut Memory,
    table: &'a Table,
    leaf: Option<PageId>,
) -> Result<Option<Row<'a>>> {
    match session.get_at(table.tree(), leaf, &memory.key) {
        Err(error) => Err(memory.named(error)),
        Ok(value) => opened(table, &memory.key, value, &mut memory.plain),
    }
}

/// The same for the row of an index entry.
fn get_of_entry<'a, D: Disk>(
    session: &'a mut Session<D>,
    memory: &'a mut Memory,
    table: &'a Table,
    leaf: Option<PageId>,
) -> Result<Option<Row<'a>>> {
    match session.get_of_entry(table.tree(), leaf, &memory.key) {
        Err(error) => Err(memory.named(error)),
        Ok(value) => opened(table, &memory.key, value, &mut memory.plain),
    }
}

/// A view of the row, if there is one.
#[inline]
fn opened<'a>(
    table: &'a Table,
    key: &'a [u8],
    value: Option<&'a [u8]>,
    plain: &'a mut Vec<u8>,
) -> Result<Option<Row<'a>>> {
    let Some(value) = value else {
        return Ok(None);
    };
    let schema = table.schema();
    let view = RowView::open(schema, key, value, plain);
    let view = view.map_err(|what| schema.damaged(what))?;
    Ok(Some(Row { table, view }))
}
