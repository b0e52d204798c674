//! One session against a plain model: rows of cells, searched one by one.

use super::fixture::Store;
use crate::access::key::{self, KeyRange};
use crate::access::schema::random::{self, Cell, from_key, lend, lend_all, same};
use crate::access::schema::{KeyColumn, OwnedValue, Schema, Value};
use crate::error::{Error, Result};
use crate::planted_bug::{PlantedBug, with};
use crate::table::{Change, Row, TypedSession};
use crate::txn::{Begin, Direction};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use syncline_vfs::SimulatedDisk;

/// Rows by the bytes of their primary key, whose order other tests check.
type Model = BTreeMap<Vec<u8>, Vec<Cell>>;

/// The refusals by the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refused {
    Duplicate,
    NoRow,
    Unfit,
}

fn refused(error: &Error) -> Option<Refused> {
    match error {
        Error::DuplicateKey { .. } => Some(Refused::Duplicate),
        Error::NoRow { .. } => Some(Refused::NoRow),
        Error::Unfit { .. } => Some(Refused::Unfit),
        _ => None,
    }
}

enum Write {
    Insert(Vec<Cell>),
    Put(Vec<Cell>),
    Update(Vec<Cell>, Vec<(usize, Step)>),
    Delete(Vec<Cell>),
}

#[derive(Clone)]
enum Step {
    Set(Cell),
    /// A small addition, with a lower bound of the sum.
    Add(i64, Option<i64>),
}

struct Test {
    rng: Rng,
    store: Store,
    session: TypedSession<SimulatedDisk>,
    committed: Model,
    model: Model,
    refusals: usize,
}

impl Test {
    fn new(seed: u64) -> Test {
        let mut rng = Rng::with_seed(seed);
        let misses = [None, Some(2), Some(7)][rng.usize(..3)];
        let store = Store::new(random::schema(&mut rng), misses);
        Test {
            session: store.session(),
            rng,
            store,
            committed: Model::new(),
            model: Model::new(),
            refusals: 0,
        }
    }

    fn schema(&self) -> &Schema {
        self.store.table.schema()
    }

    fn key_cells(&self, cells: &[Cell]) -> Vec<Cell> {
        self.schema().key().iter().map(|part| cells[part.column].clone()).collect()
    }

    fn key_bytes(&self, key_cells: &[Cell]) -> Vec<u8> {
        let (schema, mut bytes) = (self.schema(), Vec::new());
        let values = key_cells.iter().map(lend);
        key::encode(schema, schema.key_shape(), values, &mut bytes).expect("the key fits");
        bytes
    }

    fn some_row(&mut self) -> Option<Vec<Cell>> {
        let at = self.rng.usize(..self.model.len().max(1));
        self.model.values().nth(at).cloned()
    }

    /// The key of a row, usually of an existing one.
    fn some_key(&mut self) -> Vec<Cell> {
        let there = self.some_row().filter(|_| self.rng.u8(..5) > 0);
        let cells =
            there.unwrap_or_else(|| random::cells(&mut self.rng, self.store.table.schema()));
        self.key_cells(&cells)
    }

    /// New cells for a row, sometimes with the key or an indexed value of another one.
    fn some_cells(&mut self) -> Vec<Cell> {
        let mut cells = random::cells(&mut self.rng, self.store.table.schema());
        if let Some(other) = self.some_row()
            && self.rng.bool()
        {
            for (cell, like) in cells.iter_mut().zip(other) {
                if self.rng.bool() {
                    *cell = like;
                }
            }
        }
        cells
    }

    fn some_write(&mut self) -> Write {
        match self.rng.u8(..5) {
            0 | 1 => Write::Insert(self.some_cells()),
            2 => Write::Put(self.some_cells()),
            3 => Write::Delete(self.some_key()),
            _ => {
                let key = self.some_key();
                let steps = (0..self.rng.usize(..3)).filter_map(|_| self.some_step()).collect();
                Write::Update(key, steps)
            }
        }
    }

    fn some_step(&mut self) -> Option<(usize, Step)> {
        let schema = self.store.table.schema();
        let column = self.rng.usize(..schema.columns().len());
        if schema.key().iter().any(|part| part.column == column) {
            return None;
        }
        let about = &schema.columns()[column];
        let is_number = about.kind() == crate::Kind::Int;
        let step = if is_number && self.rng.bool() {
            let lower = self.rng.bool().then(|| self.rng.i64(-3..3));
            Step::Add(self.rng.i64(-4..5), lower)
        } else {
            Step::Set(random::cell(&mut self.rng, about.kind(), about.is_nullable()))
        };
        Some((column, step))
    }

    /// Applies a write to the model; if it is refused, the model stays as it was.
    fn write_model(&mut self, write: &Write) -> std::result::Result<(), Refused> {
        let (old_key, new) = match write {
            Write::Insert(cells) => {
                let key = self.key_bytes(&self.key_cells(cells));
                if self.model.contains_key(&key) {
                    return Err(Refused::Duplicate);
                }
                (key, Some(cells.clone()))
            }
            Write::Put(cells) => (self.key_bytes(&self.key_cells(cells)), Some(cells.clone())),
            Write::Delete(key) => (self.key_bytes(key), None),
            Write::Update(key, steps) => {
                let key = self.key_bytes(key);
                let mut cells = self.model.get(&key).cloned().ok_or(Refused::NoRow)?;
                for (column, step) in steps {
                    act(step, &mut cells[*column])?;
                }
                (key, Some(cells))
            }
        };
        if matches!(write, Write::Delete(_)) && !self.model.contains_key(&old_key) {
            return Err(Refused::NoRow);
        }
        if let Some(cells) = &new
            && self.collides(&old_key, cells)
        {
            return Err(Refused::Duplicate);
        }
        match new {
            Some(cells) => drop(self.model.insert(old_key, cells)),
            None => drop(self.model.remove(&old_key)),
        }
        Ok(())
    }

    /// True if another row has the same values in a unique index.
    fn collides(&self, key: &[u8], cells: &[Cell]) -> bool {
        let mut unique = self.schema().indexes().iter().filter(|index| index.is_unique());
        unique.any(|index| {
            let mut others = self.model.iter().filter(|(other, _)| *other != key);
            others.any(|(_, other)| {
                index.columns().iter().all(|part| {
                    let (one, other) = (lend(&cells[part.column]), lend(&other[part.column]));
                    !one.is_null() && same(from_key(one), from_key(other))
                })
            })
        })
    }

    fn write(&mut self, write: &Write) -> Result<()> {
        let (session, table) = (&mut self.session, &self.store.table);
        match write {
            Write::Insert(cells) => session.insert(table, &lend_all(cells)),
            Write::Put(cells) => session.put(table, &lend_all(cells)),
            Write::Delete(key) => session.delete(table, &lend_all(key)),
            Write::Update(key, steps) => {
                let change = |(column, step): &'_ (usize, Step)| match step {
                    Step::Set(_) => None,
                    Step::Add(delta, lower) => {
                        let change = Change::add(*column, Value::Int(*delta));
                        Some(lower.map_or(change, |lower| change.at_least(Value::Int(lower))))
                    }
                };
                let changes: Vec<_> = steps
                    .iter()
                    .map(|step| match &step.1 {
                        Step::Set(cell) => Change::set(step.0, lend(cell)),
                        Step::Add(..) => change(step).expect("it is an addition"),
                    })
                    .collect();
                session.update(table, &lend_all(key), &changes)
            }
        }
    }

    /// One transaction of a few calls. Returns false at a difference from the model.
    fn transaction(&mut self) -> bool {
        let begin = [Begin::Serializable, Begin::Snapshot][self.rng.usize(..2)];
        self.session.begin(begin).expect("the log is sound");
        self.model = self.committed.clone();
        let mut mark = None;
        for _ in 0..self.rng.usize(..8) {
            match self.rng.u8(..12) {
                0 => {
                    let at = self.session.mark().expect("a transaction is open");
                    mark = Some((at, self.model.clone()));
                }
                1 => {
                    if let Some((at, model)) = mark.take() {
                        let back = self.session.rollback_to(at);
                        back.expect("a mark of this transaction");
                        self.model = model;
                    }
                }
                2..=4 => {
                    if !self.read() {
                        return false;
                    }
                }
                _ => {
                    let write = self.some_write();
                    let expected = self.write_model(&write);
                    match (expected, self.write(&write)) {
                        (Ok(()), Ok(())) => {}
                        (Err(expected), Err(error)) if refused(&error) == Some(expected) => {
                            self.refusals += 1;
                        }
                        // Blind: the commit will refuse it.
                        (Err(expected), Ok(())) => return self.refused_commit(expected),
                        (_, result) => panic!("expected {expected:?}, got {result:?}"),
                    }
                }
            }
        }
        if self.rng.u8(..4) == 0 {
            self.session.abort();
            return true;
        }
        let ticket = self.session.commit().expect("no write was refused");
        if self.rng.bool() {
            self.session.wait(ticket).expect("the disk is sound");
        }
        self.committed = std::mem::take(&mut self.model);
        true
    }

    fn refused_commit(&mut self, expected: Refused) -> bool {
        let error = self.session.commit().expect_err("a write was not allowed");
        self.refusals += 1;
        assert_eq!(refused(&error), Some(expected), "{error}");
        true
    }

    fn read(&mut self) -> bool {
        match self.rng.u8(..3) {
            0 => self.read_one(),
            1 => self.read_by(),
            _ => self.read_range(),
        }
    }

    fn read_one(&mut self) -> bool {
        let key = self.some_key();
        let expected = self.model.get(&self.key_bytes(&key));
        let row = self.session.get(&self.store.table, &lend_all(&key)).expect("no conflict");
        match (expected, row) {
            (Some(cells), Some(row)) => is_row(&row, cells),
            (None, None) => true,
            _ => false,
        }
    }

    fn read_by(&mut self) -> bool {
        let cells = self.some_cells();
        let table = &self.store.table;
        for index in table.schema().indexes() {
            if !index.is_unique() {
                continue;
            }
            let values: Vec<_> =
                index.columns().iter().map(|part| lend(&cells[part.column])).collect();
            let is_it = |row: &&Vec<Cell>| {
                let mut parts = index.columns().iter().zip(&values);
                parts.all(|(part, value)| {
                    let has = lend(&row[part.column]);
                    !value.is_null() && same(from_key(has), from_key(*value))
                })
            };
            let expected = self.model.values().find(is_it);
            let path = table.by(index.name()).expect("the index is there");
            let row = self.session.get_by(path, &values).expect("no conflict");
            let agrees = match (expected, row) {
                (Some(cells), Some(row)) => is_row(&row, cells),
                (None, None) => true,
                _ => false,
            };
            if !agrees {
                return false;
            }
        }
        true
    }

    fn read_range(&mut self) -> bool {
        let bounds = [self.some_cells(), self.some_cells()];
        let table = &self.store.table;
        let schema = table.schema();
        let index = self.rng.usize(..=schema.indexes().len());
        let (path, columns) = match schema.indexes().get(index) {
            Some(index) => (table.by(index.name()).expect("it is there"), index.columns()),
            None => (table.into(), schema.key()),
        };
        let values = bounds.each_ref().map(|cells| {
            let count = self.rng.usize(..=columns.len());
            let values = columns[..count].iter().map(|part| lend(&cells[part.column]));
            values.collect::<Vec<_>>()
        });
        let mut bound = |values| match self.rng.u8(..3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(values),
            _ => Bound::Excluded(values),
        };
        let range = KeyRange { lower: bound(&values[0][..]), upper: bound(&values[1][..]) };
        let direction = [Direction::Ascending, Direction::Descending][self.rng.usize(..2)];
        let limit = [0, 1, 3, 20, usize::MAX][self.rng.usize(..5)];
        let expected = expected_rows(schema, &self.model, columns, (range, direction, limit));
        let mut count = 0;
        let mut agrees = true;
        let scanned = self.session.scan(path, range, direction, limit, |row| {
            agrees &= expected.get(count).is_some_and(|cells| is_row(&row, cells));
            count += 1;
            Ok(ControlFlow::Continue(()))
        });
        scanned.expect("no conflict");
        agrees && count == expected.len()
    }
}

/// The rows of a range, computed by encoding every row's columns.
fn expected_rows<'m>(
    schema: &Schema,
    model: &'m Model,
    columns: &[KeyColumn],
    (range, direction, limit): (KeyRange<'_>, Direction, usize),
) -> Vec<&'m Vec<Cell>> {
    let index = schema.indexes().iter().position(|index| index.columns() == columns);
    let shape = match index {
        Some(index) if columns != schema.key() => schema.index_shape(index),
        _ => schema.key_shape(),
    };
    let bytes = |values: &[Value<'_>]| {
        let mut bytes = Vec::new();
        key::encode(schema, shape, values.iter().copied(), &mut bytes).expect("the values fit");
        bytes
    };
    let mut rows = Vec::new();
    for (key, cells) in model {
        let values: Vec<_> = columns.iter().map(|part| lend(&cells[part.column])).collect();
        let of = |count: usize| bytes(&values[..count]);
        let above = match range.lower {
            Bound::Unbounded => true,
            Bound::Included(lower) => of(lower.len()) >= bytes(lower),
            Bound::Excluded(lower) => of(lower.len()) > bytes(lower),
        };
        let below = match range.upper {
            Bound::Unbounded => true,
            Bound::Included(upper) => of(upper.len()) <= bytes(upper),
            Bound::Excluded(upper) => of(upper.len()) < bytes(upper),
        };
        if above && below {
            rows.push((bytes(&values), key, cells));
        }
    }
    rows.sort_by_key(|(bytes, key, _)| (bytes.clone(), (*key).clone()));
    if direction == Direction::Descending {
        rows.reverse();
    }
    rows.into_iter().take(limit).map(|(_, _, cells)| cells).collect()
}

fn act(step: &Step, cell: &mut Cell) -> std::result::Result<(), Refused> {
    match step {
        Step::Set(to) => *cell = to.clone(),
        Step::Add(delta, lower) => {
            if let Value::Int(old) = lend(cell) {
                let sum = old.checked_add(*delta).ok_or(Refused::Unfit)?;
                if lower.is_some_and(|lower| sum < lower) {
                    return Err(Refused::Unfit);
                }
                *cell = OwnedValue::of(Value::Int(sum));
            }
        }
    }
    Ok(())
}

/// True if a row has these cells; key columns in their normalized form.
fn is_row(row: &Row<'_>, cells: &[Cell]) -> bool {
    let schema = row.schema();
    row.values().zip(cells).enumerate().all(|(column, (found, cell))| {
        let in_key = schema.key().iter().any(|part| part.column == column);
        let expected = if in_key { from_key(lend(cell)) } else { lend(cell) };
        same(found.expect("the row is whole"), expected)
    })
}

/// Random transactions on a random store. Returns false at a difference from the model.
fn holds(seed: u64) -> (bool, usize) {
    let mut test = Test::new(seed);
    for _ in 0..40 {
        if !test.transaction() {
            return (false, test.refusals);
        }
        if !test.store.indexes_follow() {
            return (false, test.refusals);
        }
        let rows = test.store.table_rows();
        if !rows.keys().eq(test.committed.keys()) {
            return (false, test.refusals);
        }
    }
    test.store.assert_sound();
    (true, test.refusals)
}

#[test]
fn rows_and_indexes_are_what_the_model_has() {
    let mut refusals = 0;
    for seed in 0..400 {
        let (holds, refused) = holds(seed);
        assert!(holds, "seed {seed}");
        refusals += refused;
    }
    assert!(refusals > 1_000, "too few refusals: {refusals}");
}

#[test]
fn an_entry_of_an_old_value_left_behind_is_found() {
    let missed = (0..40).all(|seed| with(Some(PlantedBug::KeepOldEntry), || holds(seed).0));
    assert!(!missed, "the planted bug was not found");
}

#[test]
fn a_call_that_fails_halfway_and_stays_is_found() {
    let missed = (0..40).all(|seed| with(Some(PlantedBug::KeepHalfCall), || holds(seed).0));
    assert!(!missed, "the planted bug was not found");
}
