//! What a session has beside its plan: the transaction under way, and memory to be used again.

use super::codec::{answer, key_of, numbered_key, row_of};
use super::key::Key;
use super::prepared::{Keys, Scan};
use super::store::{NotCommitted, Store, stop};
use super::table::Row;
use super::writes::{Change, Refusal, Refused, Seen, Write, Writes};
use std::rc::Rc;
use std::sync::Arc;
use syncline_contract::{
    Cause, ColumnId, Failure, FailureKind, OperationId, Replies, Rows, Set, Stop, Value,
};
use syncline_engine::log::Ticket;

/// See the module.
#[derive(Debug)]
pub(super) struct Client {
    store: Arc<Store>,
    writes: Writes,
    key: Vec<u8>,
    record: Vec<u8>,
    replies: Replies,
}

impl Client {
    pub(super) fn new(store: Arc<Store>) -> Client {
        Client {
            store,
            writes: Writes::default(),
            key: Vec::new(),
            record: Vec::new(),
            replies: Replies::default(),
        }
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Forgets the transaction.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.writes.clear();
        self.replies.clear();
    }

    /// The oldest answer.
    #[inline]
    pub(super) fn receive(&mut self) -> Option<&Rows> {
        self.replies.receive()
    }

    pub(super) fn get(
        &mut self,
        table: usize,
        columns: &[usize],
        values: &[Value<'_>],
    ) -> Result<(), Stop> {
        self.open_eyes()?;
        let key = key_of(&mut self.key, values.iter().copied());
        let rows = self.replies.push(columns.len());
        let mut found = |row: Option<&[u8]>| {
            if let Some(row) = row {
                answer(rows, row, columns);
            }
        };
        match self.writes.seen(table, &key) {
            Seen::Row(row) => found(Some(row)),
            Seen::Deleted => {}
            Seen::NotWritten => self.store.tables[table].look(&key, found),
        }
        Ok(())
    }

    pub(super) fn scan(&mut self, scan: &Scan, values: &[Value<'_>]) -> Result<(), Stop> {
        self.open_eyes()?;
        let limit = scan.rows_max(values);
        let limit =
            limit.ok_or_else(|| statement("the limit of a scan is no whole number from 0"))?;
        let bounds = scan.bounds(&mut self.key, values);
        let rows = self.replies.push(scan.columns.len());
        let Some(bounds) = bounds else {
            return Ok(());
        };
        let own = self.writes.seen_between(scan.table, &bounds);
        let add = |row: &[u8]| answer(rows, row, &scan.columns);
        self.store.tables[scan.table].scan(&bounds, own, scan.backwards, limit, add);
        Ok(())
    }

    #[inline]
    pub(super) fn insert(
        &mut self,
        operation: Option<OperationId>,
        table: usize,
        keys: &Keys,
        values: &[Value<'_>],
    ) -> Result<(), Stop> {
        let (key, row) = if keys.by_server {
            let given = self.store.tables[table].give();
            (numbered_key(given), numbered_row(keys, given, values))
        } else {
            (
                self.key_in(table, keys, values),
                row_of(values.iter().copied()),
            )
        };
        self.push(operation, table, key, Change::Insert(row))
    }

    pub(super) fn update(
        &mut self,
        operation: Option<OperationId>,
        table: usize,
        keys: &Keys,
        sets: &Rc<[(ColumnId, Set)]>,
        values: &[Value<'_>],
    ) -> Result<(), Stop> {
        let (key, given) = values.split_at(keys.columns.len());
        let (sets, values) = (Rc::clone(sets), row_of(given.iter().copied()));
        self.write(operation, table, key, Change::Update { sets, values })
    }

    /// Changes the row of the key that these values are.
    pub(super) fn write(
        &mut self,
        operation: Option<OperationId>,
        table: usize,
        key: &[Value<'_>],
        change: Change,
    ) -> Result<(), Stop> {
        let key = key_of(&mut self.key, key.iter().copied());
        self.push(operation, table, key, change)
    }

    /// Inserts a whole row of a load, also where the store gives keys.
    pub(super) fn load(
        &mut self,
        table: usize,
        keys: &Keys,
        row: syncline_contract::Row<'_>,
    ) -> Result<(), Stop> {
        let values: Vec<_> = row.values().collect();
        if let (true, [column]) = (keys.by_server, &keys.columns[..])
            && let Value::Int(given) = values[*column]
        {
            self.store.tables[table].keep_clear_of(given);
        }
        let key = self.key_in(table, keys, &values);
        let row = row_of(values.iter().copied());
        self.push(None, table, key, Change::Insert(row))
    }

    /// Publishes what the transaction has written, and says how long its record is; none if it has
    /// written nothing.
    #[inline]
    pub(super) fn publish(&mut self) -> Result<Option<(Ticket, usize)>, Stop> {
        if self.writes.list().is_empty() {
            return Ok(None);
        }
        let committed = self.store.commit(self.writes.list(), &mut self.record);
        let committed = committed.map_err(|why| not_committed(why, self.writes.is_blind()))?;
        self.writes.clear();
        Ok(Some(committed))
    }

    /// The key of a whole row; a table without one numbers its rows.
    #[inline]
    fn key_in(&mut self, table: usize, keys: &Keys, values: &[Value<'_>]) -> Key {
        if keys.columns.is_empty() {
            return numbered_key(self.store.tables[table].give());
        }
        // One integer is the rule, and needs no memory to be put together in.
        if let [column] = keys.columns[..]
            && let Value::Int(number) = values[column]
        {
            return numbered_key(number);
        }
        let values = keys.columns.iter().map(|column| values[*column]);
        key_of(&mut self.key, values)
    }

    #[inline]
    fn push(
        &mut self,
        operation: Option<OperationId>,
        table: usize,
        key: Key,
        change: Change,
    ) -> Result<(), Stop> {
        let write = Write {
            table,
            key,
            change,
            operation,
        };
        let pushed = self.writes.push(write, &self.store.tables);
        pushed.map_err(refused)
    }

    fn open_eyes(&mut self) -> Result<(), Stop> {
        let opened = self.writes.open_eyes(&self.store.tables);
        opened.map_err(refused)
    }
}

/// A row whose columns are given, but for the key that the store gives.
fn numbered_row(keys: &Keys, given: i64, values: &[Value<'_>]) -> Row {
    let of = |column: usize| match keys.columns[..] {
        [key] if column == key => Value::Int(given),
        [key] if column > key => values.get(column - 1).copied().unwrap_or(Value::Null),
        _ => values.get(column).copied().unwrap_or(Value::Null),
    };
    row_of((0..keys.width).map(of))
}

#[cold]
fn not_committed(why: NotCommitted, is_blind: bool) -> Stop {
    match why {
        // Nothing of it happened before its commit, so the statement itself is wrong.
        NotCommitted::Refused(why) if is_blind => refused(why),
        NotCommitted::Refused(why) if why.why == Refusal::Overflow => refused(why),
        // It fitted when it was sent: another transaction has come between.
        NotCommitted::Refused(_) => Stop::Conflict(Cause::Serialization),
        NotCommitted::Log(error) => stop(&error),
    }
}

#[cold]
fn refused(refused: Refused) -> Stop {
    let what = match refused.why {
        Refusal::Duplicate => "a row of that key is there already",
        Refusal::Absent => "there is no row of that key",
        Refusal::Overflow => "a sum is out of its column's range",
    };
    let failure = Failure::new(FailureKind::Statement, what);
    match refused.operation {
        Some(operation) => failure.in_operation(operation).into(),
        None => failure.into(),
    }
}

fn statement(what: &str) -> Stop {
    Failure::new(FailureKind::Statement, what).into()
}
