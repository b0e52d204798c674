//! Aggregates, computed row by row on a walk.

use super::failure::statement;
use super::key;
use super::row::ColumnOffsets;
use crate::operation::Aggregate;
use crate::outcome::Failure;
use crate::rows::Rows;
use crate::schema::{Column, ColumnId};
use crate::value::{Decimal, Value};
use std::collections::BTreeSet;

/// An aggregate under way.
#[derive(Debug)]
pub(super) struct Accumulator<'c> {
    function: Aggregate,
    columns: &'c [Column],
    count: i64,
    sum: Value<'static>,
    /// The values seen, as bytes that sort; of a least or greatest only that one.
    seen: BTreeSet<Vec<u8>>,
    /// The row of the least or greatest value.
    best: Vec<u8>,
}

impl<'c> Accumulator<'c> {
    /// Over no rows yet.
    pub(super) fn new(function: Aggregate, columns: &'c [Column]) -> Accumulator<'c> {
        Accumulator {
            function,
            columns,
            count: 0,
            sum: Value::Null,
            seen: BTreeSet::new(),
            best: Vec::new(),
        }
    }

    /// Takes a row, found whole. Of columns, null is passed over.
    pub(super) fn take(&mut self, row: &[u8], places: &ColumnOffsets) -> Result<(), Failure> {
        let column = match self.function {
            Aggregate::Count => {
                self.count += 1;
                return Ok(());
            }
            Aggregate::CountDistinct(column)
            | Aggregate::Sum(column)
            | Aggregate::Min(column)
            | Aggregate::Max(column) => column,
        };
        let value = places.value(self.columns, column, row);
        if value == Value::Null {
            return Ok(());
        }
        if let Aggregate::Sum(_) = self.function {
            self.sum = sum(self.sum, value, &self.columns[column.0])?;
            return Ok(());
        }
        let mut bytes = Vec::new();
        key::put(&mut bytes, &self.columns[column.0], value)?;
        self.see(bytes, row);
        Ok(())
    }

    /// Answers one row of one column.
    pub(super) fn answer(&self, places: &mut ColumnOffsets, reply: &mut Rows) {
        match self.function {
            Aggregate::Count => reply.push(Value::Int(self.count)),
            Aggregate::CountDistinct(_) => reply.push(Value::Int(self.seen.len() as i64)),
            Aggregate::Sum(_) => reply.push(self.sum),
            Aggregate::Min(column) | Aggregate::Max(column) => {
                reply.push(self.of_best(column, places));
            }
        }
    }

    fn of_best(&self, column: ColumnId, places: &mut ColumnOffsets) -> Value<'_> {
        if self.seen.is_empty() {
            return Value::Null;
        }
        let found = places.find(self.columns, &self.best);
        found.expect("the row was whole when it was seen");
        places.value(self.columns, column, &self.best)
    }

    fn see(&mut self, bytes: Vec<u8>, row: &[u8]) {
        let is_better = match self.function {
            Aggregate::Min(_) => self.seen.first().is_none_or(|least| bytes < *least),
            Aggregate::Max(_) => self.seen.first().is_none_or(|most| bytes > *most),
            _ => {
                self.seen.insert(bytes);
                return;
            }
        };
        if is_better {
            self.seen.clear();
            self.seen.insert(bytes);
            self.best.clear();
            self.best.extend_from_slice(row);
        }
    }
}

/// The sum of two values of a column; null adds to nothing and nothing to null, as a sum starts.
fn sum(
    so_far: Value<'static>,
    more: Value<'_>,
    column: &Column,
) -> Result<Value<'static>, Failure> {
    let zero = match more {
        Value::Int(_) => Value::Int(0),
        Value::Float(_) => Value::Float(0.0),
        Value::Decimal(Decimal { scale, .. }) => Value::Decimal(Decimal { units: 0, scale }),
        _ => return Err(key::misfit(column, more)),
    };
    let so_far = if so_far == Value::Null { zero } else { so_far };
    added(so_far, more, column)
}

/// One number added to another of the same kind.
pub(super) fn added(
    one: Value<'_>,
    other: Value<'_>,
    column: &Column,
) -> Result<Value<'static>, Failure> {
    let whole = |one: i64, other: i64| {
        let overflows = || statement(format!("column {} overflows", column.name));
        one.checked_add(other).ok_or_else(overflows)
    };
    match (one, other) {
        (Value::Int(one), Value::Int(other)) => whole(one, other).map(Value::Int),
        (Value::Timestamp(one), Value::Timestamp(other)) => whole(one, other).map(Value::Timestamp),
        (Value::Float(one), Value::Float(other)) => Ok(Value::Float(one + other)),
        (Value::Decimal(one), Value::Decimal(other)) if one.scale == other.scale => {
            let (units, scale) = (whole(one.units, other.units)?, one.scale);
            Ok(Value::Decimal(Decimal { units, scale }))
        }
        _ => Err(key::misfit(column, other)),
    }
}
