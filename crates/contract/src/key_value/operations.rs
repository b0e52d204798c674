//! The operations of a plan on keys and values, within one transaction.
//!
//! A write locks its row, looks at the latest committed state and at what the transaction has written
//! itself, and is kept until the commit. A read takes the latest committed state too, with the
//! transaction's own writes over it; one for update locks first and reads then.

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

/// A transaction's state, in memory reused from one to the next.
#[derive(Debug)]
pub(super) struct TransactionState<K> {
    pub(super) shared: Arc<Shared<K>>,
    pub(super) layouts: Vec<Layout>,
    /// The next number of each table that [`Layout::counts`].
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
                let way = ScanRange { keys, order: *order, limit };
                match lock {
                    Lock::None => self.scan(path, &way, columns),
                    Lock::Update => self.scan_for_update(path, &way, columns),
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
                Err(statement("a key-value store takes no statements").into())
            }
        }
    }

    /// Commits what is pending; whoever calls this forgets it then.
    pub(super) fn commit(&self) -> Result<(), Stop> {
        let changes = self.pending.changes();
        if changes.is_empty() {
            return Ok(());
        }
        let committed = self.shared.store.commit(changes);
        committed.map_err(|error| of_commit(&error, &self.shared.name))
    }

    /// Writes whole rows, in one commit or in as many as the store needs. That no key stands in the
    /// batch twice is looked at; that the store holds none of them yet is not, since a load fills what
    /// was just made.
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
                return Err(refused(layout, "is loaded with two rows of one key"));
            }
            let mut row = self.pending.buffer();
            for (column, value) in layout.columns.iter().zip(whole.values()) {
                row::put(&mut row, column, value)?;
            }
            self.pending.put(&self.key, Some(row));
        }
        self.commit()
    }

    /// Forgets everything and lets go of every row.
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
            // Nobody else has that number, so there is nothing to lock and nothing to find.
            number = self.numbers[table].fetch_add(1, Ordering::Relaxed);
            layout.key_of_number(number, &mut self.key);
        } else {
            let key = layout.key.iter().map(|id| values[id.0]);
            layout.key_of(key, &mut self.key)?;
            if locked_row(&mut self.held, &self.pending, &self.shared, &self.key)?.is_some() {
                return Err(refused(layout, "holds a row of that key already"));
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
            Err(refused(&self.layouts[table], "has no row of that key"))
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
        let (key, given) = values.split_at(layout.key.len());
        layout.key_of(key.iter().copied(), &mut self.key)?;
        let mut changed = self.pending.buffer();
        let Some(row) = locked_row(&mut self.held, &self.pending, &self.shared, &self.key)? else {
            return Ok(false);
        };
        locate_columns(&mut self.places, layout, &self.shared, &row)?;
        change(layout, &self.places, sets, given, &row, &mut changed)?;
        drop(row);
        self.pending.put(&self.key, Some(changed));
        Ok(true)
    }

    fn delete(&mut self, table: usize, values: &[Value<'_>]) -> Result<(), Stop> {
        let layout = &self.layouts[table];
        layout.key_of(values.iter().copied(), &mut self.key)?;
        if locked_row(&mut self.held, &self.pending, &self.shared, &self.key)?.is_none() {
            return Err(refused(layout, "has no row of that key"));
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
        let way = ScanRange {
            keys: of(&self.layouts, path.table).span(path, values)?,
            order: Order::Ascending,
            limit: u64::MAX,
        };
        self.scan(path, &way, &[column])?;
        self.replies.newest().sort(distinct);
        Ok(())
    }

    fn scan(&mut self, path: &Path, way: &ScanRange, columns: &[ColumnId]) -> Result<(), Stop> {
        let (shared, layout) = (&self.shared, of(&self.layouts, path.table));
        let reply = self.replies.push(columns.len());
        let places = &mut self.places;
        walk(&shared.store, &shared.name, &self.pending, way, |_, row| {
            locate_columns(places, layout, shared, row)?;
            answer(places, layout, columns, row, reply);
            Ok(())
        })
    }

    /// Finds the rows, locks each, and answers what it then is: one that went meanwhile is left out.
    fn scan_for_update(
        &mut self,
        path: &Path,
        way: &ScanRange,
        columns: &[ColumnId],
    ) -> Result<(), Stop> {
        let (shared, layout) = (&self.shared, of(&self.layouts, path.table));
        let mut keys = Vec::new();
        walk(&shared.store, &shared.name, &self.pending, way, |key, _| {
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
        let way = ScanRange {
            keys: layout.span(path, values)?,
            order: Order::Ascending,
            limit: u64::MAX,
        };
        let mut figure = Accumulator::new(function, &layout.columns);
        let places = &mut self.places;
        walk(&shared.store, &shared.name, &self.pending, &way, |_, row| {
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

/// The row of a key as the transaction sees it, kept as it is until the transaction's end: others wait,
/// or the commit fails if they did not.
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

/// Finds the columns of a row; a value that is no row of the table was changed by the store.
fn locate_columns<K>(
    places: &mut ColumnOffsets,
    layout: &Layout,
    shared: &Shared<K>,
    row: &[u8],
) -> Result<(), Stop> {
    places.find(&layout.columns, row).ok_or_else(|| {
        let (store, table) = (&shared.name, &layout.name);
        statement(format!("{store} answered for table {table} other bytes than were written"))
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

/// A row with some columns set.
fn change(
    layout: &Layout,
    places: &ColumnOffsets,
    sets: &[(ColumnId, Set)],
    given: &[Value<'_>],
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
            Set::To => given[set],
            Set::Add => match (places.value(&layout.columns, id, row), given[set]) {
                (Value::Null, _) | (_, Value::Null) => Value::Null,
                (old, more) => added(old, more, column)?,
            },
        };
        row::put(changed, column, value)?;
    }
    Ok(())
}

/// The parameters of the path, and the limit.
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
        other => Err(statement(format!("a key to be counted up is no integer: {other:?}"))),
    }
}

fn refused(layout: &Layout, what: &str) -> Stop {
    statement(format!("table {} {what}", layout.name)).into()
}
