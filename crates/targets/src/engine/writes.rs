//! What a transaction has written and not committed: its operations in order, to be done again on the
//! newest rows when it commits, and the rows as it sees them itself.

use super::codec::{self, Columns};
use super::table::{Key, Row};
use std::collections::BTreeMap;
use std::ops::Bound;
use syncline_contract::{ColumnId, Decimal, Set, Value};

/// A key of a table.
pub(super) type Place = (usize, Key);

/// What is done to a row.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// It must not be there, and is then this one.
    Insert(Row),
    /// It must be there; the columns are set or added to, each by the value at its place in the row
    /// of parameters.
    Update {
        sets: Box<[(ColumnId, Set)]>,
        values: Box<[u8]>,
    },
    /// It must be there, and is then gone.
    Delete,
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

impl Change {
    /// The row after the change, none if it is deleted.
    pub(super) fn apply(&self, row: Option<&[u8]>) -> Result<Option<Row>, Refusal> {
        match (self, row) {
            (Change::Insert(row), None) => Ok(Some(row.clone())),
            (Change::Insert(_), Some(_)) => Err(Refusal::Duplicate),
            (Change::Delete | Change::Update { .. }, None) => Err(Refusal::Absent),
            (Change::Delete, Some(_)) => Ok(None),
            (Change::Update { sets, values }, Some(row)) => update(row, sets, values).map(Some),
        }
    }
}

fn update(row: &[u8], sets: &[(ColumnId, Set)], values: &[u8]) -> Result<Row, Refusal> {
    let mut after = Vec::with_capacity(row.len() + values.len());
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

/// Rows by key; none where a row is deleted.
pub(super) type Changed = Vec<(Key, Option<Row>)>;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Writes {
    pub(super) changes: Vec<(Place, Change)>,
    seen: BTreeMap<Place, Option<Row>>,
}

impl Writes {
    /// Forgets everything, keeping the memory of the list.
    pub(super) fn clear(&mut self) {
        self.changes.clear();
        self.seen.clear();
    }

    /// The transaction's own view of a row.
    pub(super) fn seen(&self, place: &Place) -> Seen<'_> {
        match self.seen.get(place) {
            Some(Some(row)) => Seen::Row(row),
            Some(None) => Seen::Deleted,
            None => Seen::NotWritten,
        }
    }

    /// Adds a change, after which the transaction sees `row`.
    pub(super) fn push(&mut self, place: Place, change: Change, row: Option<Row>) {
        self.seen.insert(place.clone(), row);
        self.changes.push((place, change));
    }

    /// The transaction's own rows of a table between two bounds.
    pub(super) fn seen_between(
        &self,
        table: usize,
        low: &Bound<Key>,
        is_above: impl Fn(&[u8]) -> bool,
    ) -> Changed {
        let from = match low {
            Bound::Included(key) => Bound::Included((table, key.clone())),
            Bound::Excluded(key) => Bound::Excluded((table, key.clone())),
            Bound::Unbounded => Bound::Included((table, Box::default())),
        };
        let rows = self.seen.range((from, Bound::Unbounded));
        rows.take_while(|((of, key), _)| *of == table && !is_above(key))
            .map(|((_, key), row)| (key.clone(), row.clone()))
            .collect()
    }
}
