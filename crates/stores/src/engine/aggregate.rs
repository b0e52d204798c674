//! Aggregates over the rows of a path: a count, a sum, the minimum, the maximum.

use super::failure::{statement, stop};
use super::prepared::Figure;
use super::read::PathScan;
use super::session::Client;
use super::values::{from_engine, to_engine};
use std::cmp::Ordering;
use std::collections::HashSet;
use syncline_contract::{Aggregate, Decimal, Rows, Stop, Value};
use syncline_vfs::Disk;

impl<D: Disk> Client<D> {
    /// Answers one row of one column.
    pub(super) fn figure(&mut self, figure: &Figure, values: &[Value<'_>]) -> Result<(), Stop> {
        let mut fold = Fold::new(figure.function);
        let scanned = PathScan::all(&figure.path).run(
            &mut self.session,
            (&self.tables, &mut self.context.values),
            values.iter().copied().map(to_engine),
            |row| {
                // Without a column, every row counts.
                let value = figure.column.map(|column| row.value(column)).transpose()?;
                fold.add(value.map_or(Value::Int(1), from_engine));
                Ok(())
            },
        );
        scanned.map_err(|error| stop(&error))?;
        fold.answer(self.context.replies.push(1))
    }
}

/// An aggregate in progress. Nulls are ignored.
enum Fold {
    Count(i64),
    Distinct(HashSet<Vec<u8>>),
    Sum(Option<Sum>),
    /// The best value so far, in its own memory: no row or one.
    Extreme {
        sought: Ordering,
        best: Rows,
    },
}

enum Sum {
    Int(i128),
    Float(f64),
    Decimal { units: i128, scale: u8 },
    Timestamp(i128),
}

impl Fold {
    fn new(function: Aggregate) -> Fold {
        let extreme = |sought| Fold::Extreme { sought, best: Rows::new(1) };
        match function {
            Aggregate::Count => Fold::Count(0),
            Aggregate::CountDistinct(_) => Fold::Distinct(HashSet::new()),
            Aggregate::Sum(_) => Fold::Sum(None),
            Aggregate::Min(_) => extreme(Ordering::Less),
            Aggregate::Max(_) => extreme(Ordering::Greater),
        }
    }

    fn add(&mut self, value: Value<'_>) {
        if value == Value::Null {
            return;
        }
        match self {
            Fold::Count(rows) => *rows += 1,
            Fold::Distinct(seen) => insert(seen, value),
            Fold::Sum(sum) => *sum = Sum::plus(sum.take(), value),
            Fold::Extreme { sought, best } => {
                let is_better = best.is_empty() || value.order(&best.row(0).value(0)) == *sought;
                if is_better {
                    best.reset(1);
                    best.push(value);
                }
            }
        }
    }

    fn answer(self, rows: &mut Rows) -> Result<(), Stop> {
        let beyond = || statement("a sum is out of the range of its column");
        let whole = |sum: i128| i64::try_from(sum).map_err(|_wide| beyond());
        rows.push(match &self {
            Fold::Count(rows) => Value::Int(*rows),
            Fold::Distinct(seen) => Value::Int(seen.len() as i64),
            Fold::Extreme { best, .. } if best.is_empty() => Value::Null,
            Fold::Extreme { best, .. } => best.row(0).value(0),
            Fold::Sum(None) => Value::Null,
            Fold::Sum(Some(Sum::Int(sum))) => Value::Int(whole(*sum)?),
            Fold::Sum(Some(Sum::Timestamp(sum))) => Value::Timestamp(whole(*sum)?),
            Fold::Sum(Some(Sum::Float(sum))) => {
                Value::Float(Some(*sum).filter(|sum| sum.is_finite()).ok_or_else(beyond)?)
            }
            Fold::Sum(Some(Sum::Decimal { units, scale })) => {
                Value::Decimal(Decimal { units: whole(*units)?, scale: *scale })
            }
        });
        Ok(())
    }
}

impl Sum {
    /// Adds another value of the same column.
    fn plus(sum: Option<Sum>, value: Value<'_>) -> Option<Sum> {
        Some(match (sum, value) {
            (None, Value::Int(value)) => Sum::Int(value.into()),
            (None, Value::Float(value)) => Sum::Float(value),
            (None, Value::Timestamp(value)) => Sum::Timestamp(value.into()),
            (None, Value::Decimal(Decimal { units, scale })) => {
                Sum::Decimal { units: units.into(), scale }
            }
            (Some(Sum::Int(sum)), Value::Int(value)) => Sum::Int(sum + i128::from(value)),
            (Some(Sum::Float(sum)), Value::Float(value)) => Sum::Float(sum + value),
            (Some(Sum::Timestamp(sum)), Value::Timestamp(value)) => {
                Sum::Timestamp(sum + i128::from(value))
            }
            (Some(Sum::Decimal { units, scale }), Value::Decimal(value)) => {
                Sum::Decimal { units: units + i128::from(value.units), scale }
            }
            (sum, _) => return sum,
        })
    }
}

fn insert(seen: &mut HashSet<Vec<u8>>, value: Value<'_>) {
    let mut add = |bytes: &[u8]| {
        if !seen.contains(bytes) {
            seen.insert(bytes.to_vec());
        }
    };
    match value {
        Value::Null => {}
        Value::Int(int) | Value::Timestamp(int) => add(&int.to_le_bytes()),
        Value::Decimal(decimal) => add(&decimal.units.to_le_bytes()),
        // Both zeros are the same value.
        Value::Float(float) => add(&(float + 0.0).to_bits().to_le_bytes()),
        Value::Text(text) => add(text.as_bytes()),
        Value::Bytes(bytes) => add(bytes),
    }
}
