//! A client: executes reads at once, keeps writes to itself, and awaits its commit's ticket.

use super::codec::{answer, key_of, put, put_all, put_key};
use super::store::{NotCommitted, Store, numbered_key, stop};
use super::table::{Key, Row};
use super::writes::{Change, Place, Refusal, Seen, Writes};
use std::ops::Bound;
use std::rc::Rc;
use std::sync::Arc;
use syncline_contract::{
    Action, By, Cause, ColumnId, Failure, FailureKind, KeyGivenBy, Limit, OperationId, Order, Plan,
    Range, Replies, Rows, Session, Set, Shape, Stop, TableId, Value,
};
use syncline_disk::RealDisk;
use syncline_engine::log::{Ticket, Worker};

/// Rows that a load commits at once.
const LOAD_ROWS: usize = 500;

/// A client of the engine's log.
#[derive(Debug)]
pub struct EngineSession {
    store: Arc<Store>,
    /// The worker whose uncork completes the tickets; none where clients block their threads.
    worker: Option<Rc<Worker<RealDisk>>>,
    operations: Rc<[Prepared]>,
    tables: Rc<[Keys]>,
    writes: Writes,
    record: Vec<u8>,
    replies: Replies,
}

/// How a table's keys are made.
#[derive(Clone, Debug)]
struct Keys {
    columns: Vec<usize>,
    width: usize,
    by_server: bool,
}

/// An operation, ready to be executed.
#[derive(Clone, Debug)]
enum Prepared {
    Get {
        table: usize,
        columns: Vec<usize>,
    },
    Scan {
        table: usize,
        equal: usize,
        range: Range,
        backwards: bool,
        limit: Limit,
        columns: Vec<usize>,
    },
    Insert {
        table: usize,
    },
    Update {
        table: usize,
        sets: Box<[(ColumnId, Set)]>,
    },
    Delete {
        table: usize,
    },
    /// Refused before a run by the target's capabilities.
    Impossible,
}

impl EngineSession {
    pub(super) fn new(
        store: Arc<Store>,
        worker: Option<Rc<Worker<RealDisk>>>,
        plan: &Plan,
    ) -> EngineSession {
        let keys = plan.tables().iter().map(|table| Keys {
            columns: table.key.iter().map(|column| column.0).collect(),
            width: table.columns.len(),
            by_server: table.key_given_by == KeyGivenBy::Server,
        });
        let operations = plan.operations().iter().map(|one| prepare(&one.action));
        EngineSession {
            store,
            worker,
            operations: operations.collect(),
            tables: keys.collect(),
            writes: Writes::default(),
            record: Vec::new(),
            replies: Replies::default(),
        }
    }

    fn get(&mut self, table: usize, columns: &[usize], values: &[Value<'_>]) {
        let place = (table, key_of(values));
        let rows = self.replies.push(columns.len());
        let mut found = |row: Option<&[u8]>| {
            if let Some(row) = row {
                answer(rows, row, columns.iter().copied());
            }
        };
        match self.writes.seen(&place) {
            Seen::Row(row) => found(Some(row)),
            Seen::Deleted => {}
            Seen::NotWritten => self.store.tables[table].look(&place.1, found),
        }
    }

    fn scan(&mut self, scan: &Prepared, values: &[Value<'_>]) -> Result<(), Stop> {
        let Prepared::Scan {
            table,
            equal,
            range,
            backwards,
            limit,
            columns,
        } = scan
        else {
            return Err(misused());
        };
        let limit = rows_max(*limit, values)?;
        let low = low(*equal, *range, values);
        let high = high(*equal, *range, values);
        let is_above = |key: &[u8]| match &high {
            Bound::Excluded(high) => key >= high.as_ref(),
            Bound::Included(high) => key > high.as_ref(),
            Bound::Unbounded => false,
        };
        if let Bound::Included(low) = &low
            && is_above(low)
        {
            self.replies.push(columns.len());
            return Ok(());
        }
        let own = self.writes.seen_between(*table, &low, is_above);
        let bounds = (
            low.as_ref().map(AsRef::as_ref),
            high.as_ref().map(AsRef::as_ref),
        );
        let mut found =
            self.store.tables[*table].range(bounds, *backwards, limit.saturating_add(own.len()));
        for (key, row) in own {
            match row {
                Some(row) => found.insert(key, row),
                None => found.remove(&key),
            };
        }
        let rows = self.replies.push(columns.len());
        let mut add = |row: &[u8]| answer(rows, row, columns.iter().copied());
        if *backwards {
            found.values().rev().take(limit).for_each(|row| add(row));
        } else {
            found.values().take(limit).for_each(|row| add(row));
        }
        Ok(())
    }

    fn insert(&mut self, table: usize, values: &[Value<'_>]) -> Result<(), Stop> {
        let (key, row) = self.new_row(table, values);
        self.change((table, key), Change::Insert(row))
    }

    /// Key and bytes of a row whose columns are given, but for a key that the store gives.
    fn new_row(&self, table: usize, values: &[Value<'_>]) -> (Key, Row) {
        let keys = &self.tables[table];
        let mut row = Vec::with_capacity(9 * keys.width);
        if keys.by_server {
            let given = self.store.tables[table].give();
            let mut rest = values.iter();
            for column in 0..keys.width {
                let value = match rest.next() {
                    _ if keys.columns == [column] => Value::Int(given),
                    next => next.copied().unwrap_or(Value::Null),
                };
                put(&mut row, value);
                if keys.columns == [column] {
                    rest = values[column..].iter();
                }
            }
            return (numbered_key(given), row.into());
        }
        put_all(&mut row, values);
        (self.key_in(table, values), row.into())
    }

    /// The key of a whole row; a table without one numbers its rows.
    fn key_in(&self, table: usize, values: &[Value<'_>]) -> Key {
        let keys = &self.tables[table];
        if keys.columns.is_empty() {
            return numbered_key(self.store.tables[table].give());
        }
        let mut key = Vec::with_capacity(9 * keys.columns.len());
        for column in &keys.columns {
            put_key(&mut key, values[*column]);
        }
        key.into()
    }

    fn change(&mut self, place: Place, change: Change) -> Result<(), Stop> {
        let after = match self.writes.seen(&place) {
            Seen::Row(row) => change.apply(Some(row)),
            Seen::Deleted => change.apply(None),
            Seen::NotWritten => self.store.tables[place.0].look(&place.1, |row| change.apply(row)),
        };
        let after = after.map_err(refused)?;
        self.writes.push(place, change, after);
        Ok(())
    }

    /// Publishes what the transaction has written; none if it has written nothing.
    fn publish(&mut self) -> Result<Option<Ticket>, Stop> {
        if self.writes.changes.is_empty() {
            return Ok(None);
        }
        let committed = self.store.commit(&self.writes, &mut self.record);
        let (ticket, bytes) = committed.map_err(|why| match why {
            // Each fitted when it was sent: another transaction has come between.
            NotCommitted::Refused(Refusal::Overflow) => refused(Refusal::Overflow),
            NotCommitted::Refused(_) => Stop::Conflict(Cause::Serialization),
            NotCommitted::Log(error) => stop(&error),
        })?;
        self.writes.clear();
        if let Some(worker) = &self.worker {
            worker.staged(bytes);
        }
        Ok(Some(ticket))
    }

    async fn complete(&self, ticket: Ticket) -> Result<(), Stop> {
        let completed = match &self.worker {
            Some(worker) => worker.completion(ticket).await,
            None => self.store.log.wait(ticket),
        };
        completed.map_err(|error| stop(&error))
    }
}

impl Session for EngineSession {
    #[inline]
    fn begin(&mut self, _shape: Shape) {
        self.writes.clear();
        self.replies.clear();
    }

    #[inline]
    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        let operations = Rc::clone(&self.operations);
        let sent = match &operations[operation.0] {
            Prepared::Insert { table } => self.insert(*table, values),
            Prepared::Get { table, columns } => {
                self.get(*table, columns, values);
                Ok(())
            }
            scan @ Prepared::Scan { .. } => self.scan(scan, values),
            Prepared::Update { table, sets } => {
                let (key, given) = values.split_at(self.tables[*table].columns.len());
                let mut values = Vec::new();
                put_all(&mut values, given);
                let (sets, values) = (sets.clone(), values.into());
                self.change((*table, key_of(key)), Change::Update { sets, values })
            }
            Prepared::Delete { table } => self.change((*table, key_of(values)), Change::Delete),
            Prepared::Impossible => Err(misused()),
        };
        sent.map_err(|stop| in_operation(stop, operation))
    }

    #[inline]
    async fn receive(&mut self) -> Result<&Rows, Stop> {
        self.replies.receive().ok_or_else(misused)
    }

    #[inline]
    async fn commit(&mut self) -> Result<(), Stop> {
        match self.publish()? {
            Some(ticket) => self.complete(ticket).await,
            None => Ok(()),
        }
    }

    async fn abort(&mut self) {
        self.writes.clear();
        self.replies.clear();
    }

    async fn load(&mut self, table: TableId, batch: &Rows) -> Result<(), Stop> {
        self.writes.clear();
        let mut last = None;
        let mut values: Vec<Value<'_>> = Vec::new();
        for (number, row) in batch.iter().enumerate() {
            values.clear();
            values.extend(row.values());
            let mut bytes = Vec::new();
            put_all(&mut bytes, &values);
            let key = self.key_in(table.0, &values);
            if let (true, [column]) = (
                self.tables[table.0].by_server,
                &self.tables[table.0].columns[..],
            ) && let Value::Int(given) = values[*column]
            {
                self.store.tables[table.0].keep_clear_of(given);
            }
            self.change((table.0, key), Change::Insert(bytes.into()))?;
            if (number + 1) % LOAD_ROWS == 0 {
                last = self.publish()?.or(last);
            }
        }
        last = self.publish()?.or(last);
        // What is complete is a prefix: the last part's ticket answers for all.
        match last {
            Some(ticket) => self.complete(ticket).await,
            None => Ok(()),
        }
    }
}

fn prepare(action: &Action) -> Prepared {
    let indexes = |columns: &[ColumnId]| columns.iter().map(|column| column.0).collect();
    match action {
        Action::Get { table, columns, .. } => Prepared::Get {
            table: table.0,
            columns: indexes(columns),
        },
        Action::Scan {
            path,
            order,
            limit,
            columns,
            ..
        } if path.by == By::Key => Prepared::Scan {
            table: path.table.0,
            equal: path.equal,
            range: path.range,
            backwards: *order == Order::Descending,
            limit: *limit,
            columns: indexes(columns),
        },
        Action::Insert { table } => Prepared::Insert { table: table.0 },
        Action::Update { table, sets } => Prepared::Update {
            table: table.0,
            sets: sets.clone().into(),
        },
        Action::Delete { table } => Prepared::Delete { table: table.0 },
        Action::Scan { .. } | Action::Join { .. } | Action::Aggregate { .. } => {
            Prepared::Impossible
        }
    }
}

/// The first key of a scan, inclusive: the equal columns, and the start of the range.
fn low(equal: usize, range: Range, values: &[Value<'_>]) -> Bound<Key> {
    let columns = match range {
        Range::All => equal,
        Range::From | Range::Between => equal + 1,
    };
    Bound::Included(key_of(&values[..columns]))
}

/// Behind the last key of a scan: the first that does not begin with the equal columns and the end of
/// the range.
fn high(equal: usize, range: Range, values: &[Value<'_>]) -> Bound<Key> {
    let mut key = match range {
        Range::All | Range::From => key_of(&values[..equal]).into_vec(),
        Range::Between => {
            let mut key = key_of(&values[..equal]).into_vec();
            put_key(&mut key, values[equal + 1]);
            key
        }
    };
    while let Some(last) = key.pop() {
        if let Some(next) = last.checked_add(1) {
            key.push(next);
            return Bound::Excluded(key.into());
        }
    }
    Bound::Unbounded
}

fn rows_max(limit: Limit, values: &[Value<'_>]) -> Result<usize, Stop> {
    let rows = match limit {
        Limit::None => return Ok(usize::MAX),
        Limit::Fixed(rows) => Some(rows),
        Limit::Asked => match values.last() {
            Some(Value::Int(rows)) => u64::try_from(*rows).ok(),
            _ => None,
        },
    };
    let rows = rows.ok_or_else(|| statement("the limit of a scan is no whole number from 0"))?;
    Ok(usize::try_from(rows).unwrap_or(usize::MAX))
}

fn refused(why: Refusal) -> Stop {
    statement(match why {
        Refusal::Duplicate => "a row of that key is there already",
        Refusal::Absent => "there is no row of that key",
        Refusal::Overflow => "a sum is out of its column's range",
    })
}

#[cold]
fn misused() -> Stop {
    statement("the operation is none of this target, or no question waits for an answer")
}

fn statement(what: &str) -> Stop {
    Failure::new(FailureKind::Statement, what).into()
}

fn in_operation(stop: Stop, operation: OperationId) -> Stop {
    match stop {
        Stop::Failed(failure) => Stop::Failed(Box::new(failure.in_operation(operation))),
        other => other,
    }
}
