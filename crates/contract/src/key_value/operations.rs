//! The operations of a plan on keys and values, within one transaction.
//!
//! A write locks its row, reads the latest committed state and the transaction's own writes, and is buffered
//! until the commit. A read also uses the latest committed state, with the transaction's own writes merged
//! in; a read for update locks first.

use super::aggregate::{Accumulator, added};
use super::failure::{of_commit, of_read, statement};
use super::layout::{Layout, of};
use super::locks::HeldLocks;
use super::row::{self, ColumnOffsets};
use super::scan::{ScanRange, walk};
use super::store::KeyValue;
use super::target::Shared;
use super::write_buffer::WriteBuffer;
use crate::operation::{Action, Aggregate, Limit, Lock, Order, Path, Set};
use crate::outcome::{Failure, Stop};
use crate::rows::{Replies, Rows};
use crate::schema::ColumnId;
use crate::value::Value;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A transaction's state, in memory that is reused by the next.
#[derive(Debug)]
pub(super) struct TransactionState<K> {
    pub(super) shared: Arc<Shared<K>>,
    pub(super) layouts: Vec<Layout>,
    /// The next number of each table with [`Layout::counts`].
    pub(super) numbers: Arc<[AtomicI64]>,
    pub(super) held: HeldLocks,
    pub(super) pending: WriteBuffer,
    pub(super) replies: Replies,
    pub(super) key: Vec<u8>,
    pub(super) places: ColumnOffsets,
}

impl<K: KeyValue> TransactionState<K> {
    /// Performs an operation.
    pub(super) fn perform(&mut self, action: &Action, values: &[Value<'_>]) -> Result<(), Stop> {
        match action {
            Action::Get { table, columns, lock } => self.get(table.0, columns, *lock, values),
            Action::Scan { path, order, limit, columns, lock } => {
                let (values, limit) = limited(*limit, values);
                let keys = of(&self.layouts, path.table).span(path, values)?;
                let range = ScanRange { keys, order: *order, limit };
                match lock {
                    Lock::None => self.scan(path, &range, columns),
                    Lock::Update => self.scan_for_update(path, &range, columns),
                }
            }
            Action::Sorted { path, column, distinct } => {
                self.sorted(path, *column, *distinct, values)
            }
            Action::Aggregate { path, function } => self.aggregate(path, *function, values),
            Action::Insert { table } => self.insert(table.0, values),
            Action::Put { table } => self.put(table.0, values),
            Action::Update { table, sets } => self.update(table.0, sets, values),
            Action::Change { table, sets } => self.change(table.0, sets, values).map(drop),
            Action::Delete { table } => self.delete(table.0, values),
            Action::Remove { table } => self.remove(table.0, values),
            Action::Join { .. } => Err(statement("a key-value store cannot join").into()),
            Action::Statement { .. } => {
                Err(statement("a key-value store does not take statements").into())
            }
        }
    }

    /// Commits the buffered writes; the caller clears them afterwards.
    pub(super) fn commit(&self) -> Result<(), Stop> {
        let changes = self.pending.changes();
        if changes.is_empty() {
            return Ok(());
        }
        let committed = self.shared.store.commit(changes);
        committed.map_err(|error| of_commit(&error, &self.shared.name))
    }

    /// Writes whole rows, in one commit or as many as the store needs. Detects two rows with one key in a
    /// batch, but does not check for rows already in the store, because a load fills new tables.
    pub(super) fn load(&mut self, table: usize, batch: &Rows) -> Result<(), Stop> {
        let changes_max = self.shared.store.changes_max();
        for whole in batch.iter() {
            if self.pending.changes().len() == changes_max {
                self.commit()?;
                self.pending.clear();
            }
            let layout = &self.layouts[table];
            let number = match layout.counted {
                Some(column) => Some(loaded_number(whole.value(column.0))?),
                None => None,
            };
            if let Some(number) = number {
                self.numbers[table].fetch_max(number.saturating_add(1), Ordering::Relaxed);
                layout.key_of_number(number, &mut self.key);
            } else if layout.counts() {
                let number = self.numbers[table].fetch_add(1, Ordering::Relaxed);
                layout.key_of_number(number, &mut self.key);
            } else {
                let values = layout.key.iter().map(|id| whole.value(id.0));
                layout.key_of(values, &mut self.key)?;
            }
            if self.pending.find(&self.key).is_some() {
                return Err(refused(layout, "is loaded with two rows with one key"));
            }
            let mut row = self.pending.buffer();
            for (column, value) in layout.columns.iter().zip(whole.values()) {
                row::put(&mut row, column, value)?;
            }
            self.pending.put(&self.key, Some(row));
        }
        self.commit()
    }

    /// Clears the buffers and releases all locks.
    pub(super) fn clear(&mut self) {
        self.shared.store.unwatch();
        self.pending.clear();
        self.replies.clear();
        self.held.release();
    }

    fn get(
        &mut self,
        table: usize,
        columns: &[ColumnId],
        lock: Lock,
        values: &[Value<'_>],
    ) -> Result<(), Stop> {
        let layout = &self.layouts[table];
        layout.key_of(values.iter().copied(), &mut self.key)?;
        let row = match lock {
            Lock::Update => locked_row(&mut self.held, &self.pending, &self.shared, &self.key)?,
            Lock::None => current(&self.pending, &self.shared, &self.key)?,
        };
        let reply = self.replies.push(columns.len());
        if let Some(row) = row {
            locate_columns(&mut self.places, layout, &self.shared, &row)?;
            answer(&self.places, layout, columns, &row, reply);
        }
        Ok(())
    }

    fn insert(&mut self, table: usize, values: &[Value<'_>]) -> Result<(), Stop> {
        let layout = &self.layouts[table];
        let mut number = 0;
        if layout.counts() {
            // The number is unique, so there is nothing to lock and no row to find.
            number = self.numbers[table].fetch_add(1, Ordering::Relaxed);
            layout.key_of_number(number, &mut self.key);
        } else {
            let key = layout.key.iter().map(|id| values[id.0]);
            layout.key_of(key, &mut self.key)?;
            if locked_row(&mut self.held, &self.pending, &self.shared, &self.key)?.is_some() {
                return Err(refused(layout, "already has a row with this key"));
            }
        }
        let mut row = self.pending.buffer();
        layout.row_of(number, values, &mut row)?;
        self.pending.put(&self.key, Some(row));
        Ok(())
    }

    fn put(&mut self, table: usize, values: &[Value<'_>]) -> Result<(), Stop> {
        let layout = &self.layouts[table];
        let key = layout.key.iter().map(|id| values[id.0]);
        layout.key_of(key, &mut self.key)?;
        lock(&mut self.held, &self.shared, &self.key)?;
        let mut row = self.pending.buffer();
        layout.row_of(0, values, &mut row)?;
        self.pending.put(&self.key, Some(row));
        Ok(())
    }

    fn update(
        &mut self,
        table: usize,
        sets: &[(ColumnId, Set)],
        values: &[Value<'_>],
    ) -> Result<(), Stop> {
        if self.change(table, sets, values)? {
            Ok(())
        } else {
            Err(refused(&self.layouts[table], "has no row with this key"))
        }
    }

    /// True if there was a row to change.
    fn change(
        &mut self,
        table: usize,
        sets: &[(ColumnId, Set)],
        values: &[Value<'_>],
    ) -> Result<bool, Stop> {
        let layout = &self.layouts[table];
        let (key, values_set) = values.split_at(layout.key.len());
        layout.key_of(key.iter().copied(), &mut self.key)?;
        let mut changed = self.pending.buffer();
        let Some(row) = locked_row(&mut self.held, &self.pending, &self.shared, &self.key)? else {
            return Ok(false);
        };
        locate_columns(&mut self.places, layout, &self.shared, &row)?;
        change(layout, &self.places, sets, values_set, &row, &mut changed)?;
        drop(row);
        self.pending.put(&self.key, Some(changed));
        Ok(true)
    }

    fn delete(&mut self, table: usize, values: &[Value<'_>]) -> Result<(), Stop> {
        let layout = &self.layouts[table];
        layout.key_of(values.iter().copied(), &mut self.key)?;
        if locked_row(&mut self.held, &self.pending, &self.shared, &self.key)?.is_none() {
            return Err(refused(layout, "has no row with this key"));
        }
        self.pending.put(&self.key, None);
        Ok(())
    }

    fn remove(&mut self, table: usize, values: &[Value<'_>]) -> Result<(), Stop> {
        let layout = &self.layouts[table];
        layout.key_of(values.iter().copied(), &mut self.key)?;
        lock(&mut self.held, &self.shared, &self.key)?;
        self.pending.put(&self.key, None);
        Ok(())
    }

    fn sorted(
        &mut self,
        path: &Path,
        column: ColumnId,
        distinct: bool,
        values: &[Value<'_>],
    ) -> Result<(), Stop> {
        let range = ScanRange {
            keys: of(&self.layouts, path.table).span(path, values)?,
            order: Order::Ascending,
            limit: u64::MAX,
        };
        self.scan(path, &range, &[column])?;
        self.replies.newest().sort(distinct);
        Ok(())
    }

    fn scan(&mut self, path: &Path, range: &ScanRange, columns: &[ColumnId]) -> Result<(), Stop> {
        let (shared, layout) = (&self.shared, of(&self.layouts, path.table));
        let reply = self.replies.push(columns.len());
        let places = &mut self.places;
        walk(&shared.store, &shared.name, &self.pending, range, |_, row| {
            locate_columns(places, layout, shared, row)?;
            answer(places, layout, columns, row, reply);
            Ok(())
        })
    }

    /// Finds the rows, locks each, and returns its then current state; rows deleted meanwhile are left out.
    fn scan_for_update(
        &mut self,
        path: &Path,
        range: &ScanRange,
        columns: &[ColumnId],
    ) -> Result<(), Stop> {
        let (shared, layout) = (&self.shared, of(&self.layouts, path.table));
        let mut keys = Vec::new();
        walk(&shared.store, &shared.name, &self.pending, range, |key, _| {
            keys.push(key.to_vec());
            Ok(())
        })?;
        let reply = self.replies.push(columns.len());
        for key in keys {
            if let Some(row) = locked_row(&mut self.held, &self.pending, shared, &key)? {
                locate_columns(&mut self.places, layout, shared, &row)?;
                answer(&self.places, layout, columns, &row, reply);
            }
        }
        Ok(())
    }

    fn aggregate(
        &mut self,
        path: &Path,
        function: Aggregate,
        values: &[Value<'_>],
    ) -> Result<(), Stop> {
        let (shared, layout) = (&self.shared, of(&self.layouts, path.table));
        let range = ScanRange {
            keys: layout.span(path, values)?,
            order: Order::Ascending,
            limit: u64::MAX,
        };
        let mut figure = Accumulator::new(function, &layout.columns);
        let places = &mut self.places;
        walk(&shared.store, &shared.name, &self.pending, &range, |_, row| {
            locate_columns(places, layout, shared, row)?;
            Ok(figure.take(row, places)?)
        })?;
        figure.answer(places, self.replies.push(1));
        Ok(())
    }
}

/// Locks a row against other writers until the transaction's end, unless the store watches rows.
fn lock<K: KeyValue>(held: &mut HeldLocks, shared: &Shared<K>, key: &[u8]) -> Result<(), Stop> {
    if shared.store.watches() {
        return Ok(());
    }
    held.lock(key).map_err(Stop::Conflict)
}

/// The row of a key as the transaction sees it. It stays unchanged until the transaction's end: other writers
/// wait, or the commit fails.
fn locked_row<'p, K: KeyValue>(
    held: &mut HeldLocks,
    pending: &'p WriteBuffer,
    shared: &Shared<K>,
    key: &[u8],
) -> Result<Option<Cow<'p, [u8]>>, Stop> {
    lock(held, shared, key)?;
    if !shared.store.watches() || pending.find(key).is_some() {
        return current(pending, shared, key);
    }
    let watched = shared.store.watch(key);
    let watched = watched.map_err(|error| of_read(&error, &shared.name))?;
    Ok(watched.map(Cow::Owned))
}

/// The row of a key as the transaction sees it.
fn current<'p, K: KeyValue>(
    pending: &'p WriteBuffer,
    shared: &Shared<K>,
    key: &[u8],
) -> Result<Option<Cow<'p, [u8]>>, Stop> {
    if let Some(change) = pending.find(key) {
        return Ok(change.value.as_deref().map(Cow::Borrowed));
    }
    let stored = shared.store.get(key);
    let stored = stored.map_err(|error| of_read(&error, &shared.name))?;
    Ok(stored.map(Cow::Owned))
}

/// Locates the columns of a row; an invalid row means that the store changed the value.
fn locate_columns<K>(
    places: &mut ColumnOffsets,
    layout: &Layout,
    shared: &Shared<K>,
    row: &[u8],
) -> Result<(), Stop> {
    places.find(&layout.columns, row).ok_or_else(|| {
        let (store, table) = (&shared.name, &layout.name);
        statement(format!("{store} returned bytes for table {table} that were never written"))
            .into()
    })
}

fn answer(
    places: &ColumnOffsets,
    layout: &Layout,
    columns: &[ColumnId],
    row: &[u8],
    reply: &mut Rows,
) {
    for column in columns {
        reply.push(places.value(&layout.columns, *column, row));
    }
}

/// Encodes a row with some columns set.
fn change(
    layout: &Layout,
    places: &ColumnOffsets,
    sets: &[(ColumnId, Set)],
    values_set: &[Value<'_>],
    row: &[u8],
    changed: &mut Vec<u8>,
) -> Result<(), Failure> {
    for (index, column) in layout.columns.iter().enumerate() {
        let set = sets.iter().position(|(id, _)| id.0 == index);
        let Some(set) = set else {
            changed.extend_from_slice(places.bytes(index, row));
            continue;
        };
        let (id, how) = sets[set];
        let value = match how {
            Set::To => values_set[set],
            Set::Add => match (places.value(&layout.columns, id, row), values_set[set]) {
                (Value::Null, _) | (_, Value::Null) => Value::Null,
                (old, more) => added(old, more, column)?,
            },
        };
        row::put(changed, column, value)?;
    }
    Ok(())
}

/// Splits off the limit from the parameters of the path.
fn limited<'v, 'a>(limit: Limit, values: &'v [Value<'a>]) -> (&'v [Value<'a>], u64) {
    match (limit, values.split_last()) {
        (Limit::None, _) => (values, u64::MAX),
        (Limit::Fixed(rows), _) => (values, rows),
        (Limit::Parameter, Some((Value::Int(rows), path))) => {
            (path, u64::try_from(*rows).unwrap_or(0))
        }
        (Limit::Parameter, _) => unreachable!("the plan declares the limit as an integer"),
    }
}

fn loaded_number(value: Value<'_>) -> Result<i64, Failure> {
    match value {
        Value::Int(number) => Ok(number),
        other => Err(statement(format!(
            "a generated key must be an integer, but a load gives {other:?}"
        ))),
    }
}

fn refused(layout: &Layout, what: &str) -> Stop {
    statement(format!("table {} {what}", layout.name)).into()
}
