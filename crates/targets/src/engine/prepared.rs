//! Operations of a plan, ready to be executed; and the keys between which a scan walks.

use super::codec::{key_of, put_key};
use super::key::Key;
use super::table::KeyRange;
use std::ops::Bound;
use std::rc::Rc;
use syncline_contract::{Action, By, ColumnId, KeyGivenBy, Limit, Order, Plan, Range, Set, Value};

/// What a client needs of a plan.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) operations: Box<[Operation]>,
    pub(super) tables: Box<[Keys]>,
}

/// How a table's keys are made.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) columns: Vec<usize>,
    pub(super) width: usize,
    pub(super) by_server: bool,
}

/// An operation.
#[derive(Debug)]
pub(super) enum Operation {
    Get {
        table: usize,
        columns: Vec<usize>,
    },
    Scan(Scan),
    Insert {
        table: usize,
    },
    Update {
        table: usize,
        sets: Rc<[(ColumnId, Set)]>,
    },
    Delete {
        table: usize,
    },
    /// Refused before a run by the target's capabilities.
    Impossible,
}

/// A scan by primary key.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) table: usize,
    equal: usize,
    range: Range,
    pub(super) backwards: bool,
    limit: Limit,
    pub(super) columns: Vec<usize>,
}

impl Prepared {
    pub(super) fn new(plan: &Plan) -> Prepared {
        let keys = plan.tables().iter().map(|table| Keys {
            columns: table.key.iter().map(|column| column.0).collect(),
            width: table.columns.len(),
            by_server: table.key_given_by == KeyGivenBy::Server,
        });
        let operations = plan.operations().iter().map(|one| prepare(&one.action));
        Prepared {
            operations: operations.collect(),
            tables: keys.collect(),
        }
    }
}

fn prepare(action: &Action) -> Operation {
    let indexes = |columns: &[ColumnId]| columns.iter().map(|column| column.0).collect();
    match action {
        Action::Get { table, columns, .. } => Operation::Get {
            table: table.0,
            columns: indexes(columns),
        },
        Action::Scan {
            path,
            order,
            limit,
            columns,
            ..
        } if path.by == By::Key => Operation::Scan(Scan {
            table: path.table.0,
            equal: path.equal,
            range: path.range,
            backwards: *order == Order::Descending,
            limit: *limit,
            columns: indexes(columns),
        }),
        Action::Insert { table } => Operation::Insert { table: table.0 },
        Action::Update { table, sets } => Operation::Update {
            table: table.0,
            sets: sets.clone().into(),
        },
        Action::Delete { table } => Operation::Delete { table: table.0 },
        Action::Scan { .. } | Action::Join { .. } | Action::Aggregate { .. } => {
            Operation::Impossible
        }
    }
}

impl Scan {
    /// The keys that it walks over; none if there can be none. `bytes` is memory to be used again.
    pub(super) fn bounds(&self, bytes: &mut Vec<u8>, values: &[Value<'_>]) -> Option<KeyRange> {
        let low = self.low(bytes, values);
        let high = self.high(bytes, values);
        let is_empty = matches!(&high, Bound::Excluded(high) if *high <= low);
        (!is_empty).then_some((Bound::Included(low), high))
    }

    /// The first key, inclusive: the equal columns, and the start of the range.
    fn low(&self, bytes: &mut Vec<u8>, values: &[Value<'_>]) -> Key {
        let columns = match self.range {
            Range::All => self.equal,
            Range::From | Range::Between => self.equal + 1,
        };
        key_of(bytes, values[..columns].iter().copied())
    }

    /// Behind the last key: the first that does not begin with the equal columns and the end of the
    /// range.
    fn high(&self, bytes: &mut Vec<u8>, values: &[Value<'_>]) -> Bound<Key> {
        bytes.clear();
        for value in &values[..self.equal] {
            put_key(bytes, *value);
        }
        if self.range == Range::Between {
            put_key(bytes, values[self.equal + 1]);
        }
        while let Some(last) = bytes.pop() {
            if let Some(next) = last.checked_add(1) {
                bytes.push(next);
                return Bound::Excluded(Key::new(bytes));
            }
        }
        Bound::Unbounded
    }

    /// How many rows it answers at most; none if the limit asked for is no number of rows.
    pub(super) fn rows_max(&self, values: &[Value<'_>]) -> Option<usize> {
        let rows = match self.limit {
            Limit::None => return Some(usize::MAX),
            Limit::Fixed(rows) => rows,
            Limit::Asked => match values.last() {
                Some(Value::Int(rows)) => u64::try_from(*rows).ok()?,
                _ => return None,
            },
        };
        Some(usize::try_from(rows).unwrap_or(usize::MAX))
    }
}
