//! Patches against a plain model: cells that are set and added to.

use super::{Bounds, PatchError, add, apply, begin, set};
use crate::access::row::{RowView, encode};
use crate::access::schema::random::{self, Cell, lend, lend_all, same};
use crate::access::schema::{Decimal, DefaultValue, Kind, Schema, Value};
use crate::planted_bug::{PlantedBug, with};
use fastrand::Rng;

/// A step of the model.
#[derive(Clone, Debug)]
enum Step {
    Set(usize, Cell),
    Add(usize, Cell, Cell, Cell),
}

/// Applies a step to its cell.
fn act(step: &Step, cells: &mut [Cell]) -> Result<(), PatchError> {
    let (column, delta, lower, upper) = match step {
        Step::Set(column, cell) => {
            cells[*column] = cell.clone();
            return Ok(());
        }
        Step::Add(column, delta, lower, upper) => (*column, lend(delta), lower, upper),
    };
    let failed = column as u16;
    let sum = match (lend(&cells[column]), delta) {
        (Value::Null, _) => return Ok(()),
        (Value::Float(old), Value::Float(delta)) => {
            let sum = old + delta;
            if old.is_finite() && delta.is_finite() && sum.is_infinite() {
                return Err(PatchError::Overflow { column: failed });
            }
            Value::Float(sum)
        }
        (old, delta) => {
            let units = |value: Value<'_>| i128::from(value.fixed_bits().unwrap() as i64);
            let sum = i64::try_from(units(old) + units(delta));
            let sum = sum.map_err(|_wide| PatchError::Overflow { column: failed })?;
            Value::of_bits(old.kind().unwrap(), sum as u64)
        }
    };
    let holds = |bound: &Cell, lower: bool| match (lend(bound), sum) {
        (Value::Null, _) => true,
        (Value::Float(bound), Value::Float(sum)) if lower => sum >= bound,
        (Value::Float(bound), Value::Float(sum)) => sum <= bound,
        (bound, sum) => {
            let (bound, sum) = (bound.fixed_bits().unwrap(), sum.fixed_bits().unwrap());
            if lower { sum as i64 >= bound as i64 } else { sum as i64 <= bound as i64 }
        }
    };
    if !holds(lower, true) || !holds(upper, false) {
        return Err(PatchError::OutOfBounds { column: failed });
    }
    cells[column] = DefaultValue::of(sum);
    Ok(())
}

fn bound(rng: &mut Rng, kind: Kind) -> Cell {
    let bound = random::cell(rng, kind, true);
    let is_nan = lend(&bound).as_float().is_some_and(f64::is_nan);
    bound.filter(|_| !is_nan)
}

fn step(rng: &mut Rng, schema: &Schema) -> Option<Step> {
    let column = rng.usize(..schema.columns().len());
    if schema.key().iter().any(|part| part.column == column) {
        return None;
    }
    let about = &schema.columns()[column];
    if about.kind().is_number() && rng.bool() {
        let delta = Some(random::value(rng, about.kind()));
        let (lower, upper) = (bound(rng, about.kind()), bound(rng, about.kind()));
        return Some(Step::Add(column, delta, lower, upper));
    }
    let cell = random::cell(rng, about.kind(), about.is_nullable());
    Some(Step::Set(column, cell))
}

fn steps(rng: &mut Rng, schema: &Schema) -> Vec<Step> {
    (0..rng.usize(..5)).filter_map(|_| step(rng, schema)).collect()
}

fn patch(schema: &Schema, steps: &[Step]) -> Vec<u8> {
    let mut patch = Vec::new();
    begin(schema, &mut patch);
    for step in steps {
        let added = match step {
            Step::Set(column, cell) => set(schema, *column, lend(cell), &mut patch),
            Step::Add(column, delta, lower, upper) => {
                let bounds = Bounds {
                    lower: lower.as_ref().map(DefaultValue::borrow),
                    upper: upper.as_ref().map(DefaultValue::borrow),
                };
                add(schema, *column, lend(delta), bounds, &mut patch)
            }
        };
        added.expect("the step fits");
    }
    patch
}

/// A row of some version and the newest schema.
fn row(rng: &mut Rng) -> (Schema, Vec<Cell>, Vec<u8>, Vec<u8>) {
    let mut schema = random::schema(rng);
    let mut cells = random::cells(rng, &schema);
    let (mut key, mut row) = (Vec::new(), Vec::new());
    encode(&schema, &lend_all(&cells), &mut key, &mut row).expect("the values fit");
    for _ in 0..rng.usize(..4) {
        schema = random::grown(rng, &schema);
        let added = schema.columns().last().expect("a column was added");
        cells.push(DefaultValue::of(added.default()));
    }
    (schema, cells, key, row)
}

fn holds(schema: &Schema, key: &[u8], row: &[u8], cells: &[Cell]) -> bool {
    let mut plain = Vec::new();
    let view = RowView::open(schema, key, row, &mut plain).expect("the row is whole");
    view.check().expect("the row is whole");
    (0..cells.len()).all(|column| {
        let in_key = schema.key().iter().any(|part| part.column == column);
        let value = view.value(column).expect("the column is whole");
        in_key || same(value, lend(&cells[column]))
    })
}

/// Applies one random patch to one random row. True if the result equals the model's.
fn patch_equals_model(seed: u64) -> bool {
    let mut rng = Rng::with_seed(seed);
    let (schema, mut cells, key, old) = row(&mut rng);
    let steps = steps(&mut rng, &schema);
    let patch = patch(&schema, &steps);
    let mut new = b"left over".to_vec();
    let outcome = apply(&patch, &old, &mut new);
    let expected = steps.iter().try_for_each(|step| act(step, &mut cells));
    if outcome != expected {
        return false;
    }
    outcome.is_err() || holds(&schema, &key, &new, &cells)
}

#[test]
fn patches_equal_the_model() {
    for seed in 0..60_000 {
        assert!(patch_equals_model(seed), "seed {seed}");
    }
}

#[test]
fn a_bound_on_the_old_value_is_found() {
    let missed =
        (0..2_000).all(|seed| with(Some(PlantedBug::BoundOfOldValue), || patch_equals_model(seed)));
    assert!(!missed, "the planted bug was not found");
}

#[test]
fn a_column_that_outgrows_short_ends_gets_wide_ones() {
    let schema = Schema::table("t").column("id", Kind::Int).key(["id"]);
    let schema = schema.column("a", Kind::Text).column("b", Kind::Text).column("c", Kind::Text);
    let schema = schema.build().unwrap();
    let values = ["1", "22", "333"].map(Value::Text);
    let (mut key, mut row) = (Vec::new(), Vec::new());
    let values = [&[Value::Int(1)], &values[..]].concat();
    encode(&schema, &values, &mut key, &mut row).unwrap();
    for length in [70_000, 5, 65_535] {
        let text = "y".repeat(length);
        let step = Step::Set(2, DefaultValue::of(Value::Text(&text)));
        let mut new = Vec::new();
        apply(&patch(&schema, std::slice::from_ref(&step)), &row, &mut new).unwrap();
        let mut cells: Vec<Cell> = values.iter().map(|value| DefaultValue::of(*value)).collect();
        act(&step, &mut cells).unwrap();
        assert!(holds(&schema, &key, &new, &cells), "{length}");
        row = new;
    }
}

#[test]
fn impossible_changes_are_refused() {
    let schema = Schema::table("t").column("id", Kind::Int).column("name", Kind::Text);
    let schema = schema.column("ratio", Kind::Float).key(["id"]).build().unwrap();
    let none = Bounds::default();
    let out = &mut Vec::new();
    let text = |result: crate::Result<()>| result.unwrap_err().to_string();
    assert_eq!(
        text(set(&schema, 0, Value::Int(1), out)),
        "column id of table t is in the primary key; delete the row and insert another"
    );
    assert_eq!(
        text(add(&schema, 1, Value::Int(1), none, out)),
        "column name of table t is not a number, so nothing can be added to it; set it"
    );
    assert_eq!(text(set(&schema, 1, Value::Null, out)), "column name of table t may not be null");
    let bounds = Bounds { lower: Some(Value::Float(f64::NAN)), upper: None };
    assert_eq!(
        text(add(&schema, 2, Value::Float(1.0), bounds, out)),
        "column ratio of table t cannot have not-a-number as a bound"
    );
    let decimal = Value::Decimal(Decimal { units: 1, scale: 0 });
    assert_eq!(
        text(add(&schema, 2, decimal, none, out)),
        "column ratio of table t holds a floating point number, not a decimal of scale 0"
    );
    assert!(out.is_empty());
}

#[test]
fn applying_arbitrary_bytes_never_panics() {
    let mut rng = Rng::with_seed(2);
    let mut new = Vec::new();
    let mut count = [0; 3];
    for _ in 0..100_000 {
        let (schema, _, _, old) = row(&mut rng);
        let mut patch = patch(&schema, &steps(&mut rng, &schema));
        let mut old = old;
        if rng.bool() {
            patch = random::mutated(&mut rng, &patch);
        } else {
            old = random::mutated(&mut rng, &old);
        }
        let outcome = match apply(&patch, &old, &mut new) {
            Ok(()) => 0,
            Err(PatchError::Malformed(_)) => 1,
            Err(_) => 2,
        };
        count[outcome] += 1;
    }
    assert!(count.iter().all(|count| *count > 500), "{count:?}");
}
