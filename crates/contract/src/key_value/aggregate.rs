//! Aggregates, computed row by row during a scan.

use super::failure::statement;
use super::key;
use super::row::ColumnOffsets;
use crate::operation::Aggregate;
use crate::outcome::Failure;
use crate::rows::Rows;
use crate::schema::{Column, ColumnId};
use crate::value::{Decimal, Value};
use std::collections::BTreeSet;

/// An aggregate in progress.
#[derive(Debug)]
pub(super) struct Accumulator<'c> {
    function: Aggregate,
    columns: &'c [Column],
    count: i64,
    sum: Value<'static>,
    /// The distinct values so far, as sortable bytes; for a minimum or maximum only the best one.
    values: BTreeSet<Vec<u8>>,
    /// The row with the minimum or maximum.
    best: Vec<u8>,
}

impl<'c> Accumulator<'c> {
    /// An aggregate over no rows yet.
    pub(super) fn new(function: Aggregate, columns: &'c [Column]) -> Accumulator<'c> {
        Accumulator {
            function,
            columns,
            count: 0,
            sum: Value::Null,
            values: BTreeSet::new(),
            best: Vec::new(),
        }
    }

    /// Adds a row whose columns have been located. Null values are skipped, except by a count of rows.
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
        self.add_value(bytes, row);
        Ok(())
    }

    /// Adds the result as a row of one column.
    pub(super) fn answer(&self, places: &mut ColumnOffsets, reply: &mut Rows) {
        match self.function {
            Aggregate::Count => reply.push(Value::Int(self.count)),
            Aggregate::CountDistinct(_) => reply.push(Value::Int(self.values.len() as i64)),
            Aggregate::Sum(_) => reply.push(self.sum),
            Aggregate::Min(column) | Aggregate::Max(column) => {
                reply.push(self.of_best(column, places));
            }
        }
    }

    fn of_best(&self, column: ColumnId, places: &mut ColumnOffsets) -> Value<'_> {
        if self.values.is_empty() {
            return Value::Null;
        }
        let found = places.find(self.columns, &self.best);
        found.expect("the row was valid when it was added");
        places.value(self.columns, column, &self.best)
    }

    fn add_value(&mut self, bytes: Vec<u8>, row: &[u8]) {
        let is_better = match self.function {
            Aggregate::Min(_) => self.values.first().is_none_or(|least| bytes < *least),
            Aggregate::Max(_) => self.values.first().is_none_or(|most| bytes > *most),
            _ => {
                self.values.insert(bytes);
                return;
            }
        };
        if is_better {
            self.values.clear();
            self.values.insert(bytes);
            self.best.clear();
            self.best.extend_from_slice(row);
        }
    }
}

/// The sum of two values of a column; a null sum, as at the start, counts as zero.
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

/// The sum of two numbers of the same kind.
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
