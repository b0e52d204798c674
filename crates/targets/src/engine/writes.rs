//! What a transaction has written and not committed.
//!
//! It is a list of writes in order, made on the newest rows when the transaction commits. A
//! transaction that has read nothing is *blind*: nothing can tell it from one that came whole at its
//! commit, so its writes are not looked at before, and a commit finds what does not fit. With its
//! first read a transaction starts to see: each write is tried on the rows as they are then, and the
//! rows as it sees them itself are kept.
//!
//! Invariant: `seen` holds what all of `writes` make of the rows, or nothing while it is blind.

use super::codec::{self, Columns};
use super::key::Key;
use super::table::{KeyRange, Row, Table};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;
use syncline_contract::{ColumnId, Decimal, OperationId, Set, Value};

/// What is done to a row.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// It must not be there, and is then this one.
    Insert(Row),
    /// It must be there; the columns are set or added to, each by the value at its place in the row
    /// of parameters.
    Update {
        sets: Rc<[(ColumnId, Set)]>,
        values: Row,
    },
    /// It must be there, and is then gone.
    Delete,
}

/// A change of one row.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) table: usize,
    pub(super) key: Key,
    pub(super) change: Change,
    /// Of which operation; none in a load.
    pub(super) operation: Option<OperationId>,
}

/// Why a change cannot be made to the row that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// A row of that key is there.
    Duplicate,
    /// No row of that key is there.
    Absent,
    /// A sum is out of its column's range.
    Overflow,
}

/// A write that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) why: Refusal,
    pub(super) operation: Option<OperationId>,
}

impl Change {
    /// The row after the change, none if it is deleted.
    fn apply(&self, row: Option<&[u8]>) -> Result<Option<Row>, Refusal> {
        match (self, row) {
            (Change::Insert(row), None) => Ok(Some(row.clone())),
            (Change::Insert(_), Some(_)) => Err(Refusal::Duplicate),
            (Change::Delete | Change::Update { .. }, None) => Err(Refusal::Absent),
            (Change::Delete, Some(_)) => Ok(None),
            (Change::Update { sets, values }, Some(row)) => updated(row, sets, values).map(Some),
        }
    }
}

/// A row after an update.
pub(super) fn updated(row: &[u8], sets: &[(ColumnId, Set)], values: &[u8]) -> Result<Row, Refusal> {
    let mut after = Vec::with_capacity(row.len());
    for (index, before) in Columns(row).enumerate() {
        let mut value = before;
        for ((_, set), given) in sets
            .iter()
            .zip(Columns(values))
            .filter(|((c, _), _)| c.0 == index)
        {
            value = match set {
                Set::To => given,
                Set::Add => sum(value, given).ok_or(Refusal::Overflow)?,
            };
        }
        codec::put(&mut after, value);
    }
    Ok(after.into())
}

/// A sum of two values of one kind; null and anything is null.
fn sum<'a>(one: Value<'a>, other: Value<'a>) -> Option<Value<'a>> {
    Some(match (one, other) {
        (Value::Int(one), Value::Int(other)) => Value::Int(one.checked_add(other)?),
        (Value::Timestamp(one), Value::Timestamp(other)) => {
            Value::Timestamp(one.checked_add(other)?)
        }
        (Value::Float(one), Value::Float(other)) => {
            Value::Float(Some(one + other).filter(|sum| sum.is_finite())?)
        }
        (Value::Decimal(one), Value::Decimal(other)) if one.scale == other.scale => {
            let units = one.units.checked_add(other.units)?;
            Value::Decimal(Decimal { units, ..one })
        }
        (Value::Null, _) | (_, Value::Null) => Value::Null,
        _ => return None,
    })
}

/// What a transaction has made of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen<'a> {
    /// Nothing: the table's row is seen.
    NotWritten,
    /// This row.
    Row(&'a [u8]),
    /// It is gone.
    Deleted,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Writes {
    list: Vec<Write>,
    seen: BTreeMap<(usize, Key), Option<Row>>,
    sees: bool,
}

impl Writes {
    /// Forgets everything, keeping the memory of the list.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.seen.clear();
        self.sees = false;
    }

    /// The writes in order, for the commit to take.
    pub(super) fn list(&mut self) -> &mut Vec<Write> {
        &mut self.list
    }

    /// True if it has read nothing since it began.
    pub(super) fn is_blind(&self) -> bool {
        !self.sees
    }

    /// Adds a write; a transaction that sees learns now whether it fits.
    #[inline]
    pub(super) fn push(&mut self, write: Write, tables: &[Table]) -> Result<(), Refused> {
        if self.sees {
            see(&mut self.seen, &write, tables)?;
        }
        self.list.push(write);
        Ok(())
    }

    /// Before a read: from now on it sees, first what it has written blindly.
    pub(super) fn open_eyes(&mut self, tables: &[Table]) -> Result<(), Refused> {
        if !self.sees {
            self.sees = true;
            for write in &self.list {
                see(&mut self.seen, write, tables)?;
            }
        }
        Ok(())
    }

    /// The transaction's own view of a row.
    pub(super) fn seen(&self, table: usize, key: &Key) -> Seen<'_> {
        if self.seen.is_empty() {
            return Seen::NotWritten;
        }
        match self.seen.get(&(table, key.clone())) {
            Some(Some(row)) => Seen::Row(row),
            Some(None) => Seen::Deleted,
            None => Seen::NotWritten,
        }
    }

    /// The transaction's own rows of a table between two bounds, by key; none where a row is deleted.
    pub(super) fn seen_between(
        &self,
        table: usize,
        (low, high): &KeyRange,
    ) -> impl DoubleEndedIterator<Item = (&Key, Option<&[u8]>)> {
        let place = |key: &Key| (table, key.clone());
        let low = match low {
            Bound::Unbounded => Bound::Included(place(&Key::LEAST)),
            bound => bound.as_ref().map(place),
        };
        let high = match high {
            Bound::Unbounded => Bound::Excluded((table + 1, Key::LEAST)),
            bound => bound.as_ref().map(place),
        };
        let rows = self.seen.range((low, high));
        rows.map(|((_, key), row)| (key, row.as_deref()))
    }
}

/// Makes a write in the transaction's own view.
fn see(
    seen: &mut BTreeMap<(usize, Key), Option<Row>>,
    write: &Write,
    tables: &[Table],
) -> Result<(), Refused> {
    let Write {
        table, key, change, ..
    } = write;
    let place = (*table, key.clone());
    let after = match seen.get(&place) {
        Some(row) => change.apply(row.as_deref()),
        None => tables[*table].look(key, |row| change.apply(row)),
    };
    let operation = write.operation;
    let after = after.map_err(|why| Refused { why, operation })?;
    seen.insert(place, after);
    Ok(())
}
