//! One session against a plain model: rows of cells, searched one by one.

use super::fixture::Store;
use crate::access::key::{self, KeyRange};
use crate::access::schema::random::{self, Cell, from_key, lend, lend_all, same};
use crate::access::schema::{DefaultValue, KeyColumn, Schema, Value};
use crate::error::{Error, Result};
use crate::planted_bug::{PlantedBug, with};
use crate::table::{Change, Row, Rows, TypedSession, Upserted};
use crate::txn::{Begin, Direction};
use fastrand::Rng;
use std::collections::{BTreeMap, VecDeque};
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
    /// The call must say whether it added the row.
    InsertOrIgnore(Vec<Cell>),
    Upsert(Vec<Cell>, Vec<(usize, Step)>),
    /// All rows whose key begins with these cells; the call must return their number.
    DeleteRange(Vec<Cell>),
}

/// What a write returned, or must return.
type Written = std::result::Result<u64, Refused>;

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
        match self.rng.u8(..16) {
            0..=4 => Write::Insert(self.some_cells()),
            5 | 6 => Write::Put(self.some_cells()),
            7..=9 => Write::Delete(self.some_key()),
            10 | 11 => Write::InsertOrIgnore(self.some_cells()),
            12 => Write::Upsert(self.some_cells(), self.some_steps()),
            13 => {
                let mut prefix = self.some_key();
                prefix.truncate(self.rng.usize(1..=prefix.len()));
                Write::DeleteRange(prefix)
            }
            _ => Write::Update(self.some_key(), self.some_steps()),
        }
    }

    fn some_steps(&mut self) -> Vec<(usize, Step)> {
        (0..self.rng.usize(..3)).filter_map(|_| self.some_step()).collect()
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
    fn write_model(&mut self, write: &Write) -> Written {
        let (old_key, new) = match write {
            Write::InsertOrIgnore(cells) => {
                let key = self.key_bytes(&self.key_cells(cells));
                let is_new = !self.model.contains_key(&key) && !self.collides(&key, cells);
                if is_new {
                    self.model.insert(key, cells.clone());
                }
                return Ok(u64::from(is_new));
            }
            Write::Upsert(cells, steps) => {
                let key = self.key_cells(cells);
                if self.model.contains_key(&self.key_bytes(&key)) {
                    return self.write_model(&Write::Update(key, steps.clone()));
                }
                return self.write_model(&Write::Insert(cells.clone()));
            }
            Write::DeleteRange(prefix) => {
                let (before, prefix) = (self.model.len(), self.key_bytes(prefix));
                self.model.retain(|key, _| !key.starts_with(&prefix));
                return Ok((before - self.model.len()) as u64);
            }
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
        Ok(u64::from(matches!(write, Write::Insert(_))))
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

    fn write(&mut self, write: &Write) -> Result<u64> {
        let (session, table) = (&mut self.session, &self.store.table);
        match write {
            Write::Insert(cells) => session.insert(table, &lend_all(cells)).map(|()| 1),
            Write::Put(cells) => session.put(table, &lend_all(cells)).map(|()| 0),
            Write::Delete(key) => session.delete(table, &lend_all(key)).map(|()| 0),
            Write::Update(key, steps) => {
                session.update(table, &lend_all(key), &changes(steps)).map(|()| 0)
            }
            Write::InsertOrIgnore(cells) => {
                session.insert_or_ignore(table, &lend_all(cells)).map(u64::from)
            }
            Write::Upsert(cells, steps) => {
                let upserted = session.upsert(table, &lend_all(cells), &changes(steps));
                upserted.map(|upserted| u64::from(upserted == Upserted::Inserted))
            }
            Write::DeleteRange(prefix) => {
                session.delete_range(table, KeyRange::prefix(&lend_all(prefix)))
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
                        (Ok(expected), Ok(found)) if expected == found => {}
                        (Err(expected), Err(error)) if refused(&error) == Some(expected) => {
                            self.refusals += 1;
                        }
                        // Blind: the commit will refuse it.
                        (Err(expected), Ok(_)) => return self.refused_commit(expected),
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
        match self.rng.u8(..4) {
            0 => self.read_one(),
            1 => self.read_by(),
            2 => self.read_many(),
            _ => self.read_range(),
        }
    }

    fn read_many(&mut self) -> bool {
        let keys: Vec<_> = (0..self.rng.usize(..6)).map(|_| self.some_key()).collect();
        let values: Vec<_> = keys.iter().map(|key| lend_all(key)).collect();
        let table = &self.store.table;
        let rows = self.session.get_many(table, values.iter().map(|values| &values[..]));
        let rows = rows.expect("no conflict");
        keys.iter().zip(rows).all(|(key, row)| {
            let exists = self.session.exists(table, &lend_all(key)).expect("no conflict");
            let key_bytes = {
                let mut bytes = Vec::new();
                let (schema, values) = (table.schema(), key.iter().map(lend));
                key::encode(schema, schema.key_shape(), values, &mut bytes).expect("the key fits");
                bytes
            };
            match (self.model.get(&key_bytes), row) {
                (Some(cells), Some(row)) => exists && is_row(&row.as_row(), cells),
                (None, None) => !exists,
                _ => false,
            }
        })
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
        if limit == usize::MAX {
            let count = self.session.count(path, range).expect("no conflict");
            if count != expected.len() as u64 {
                return false;
            }
        }
        if self.rng.bool() {
            let transaction = self.session.as_transaction();
            let rows = transaction.rows(path, range).expect("the range fits").limit(limit);
            return is_iterated(&mut self.rng, rows, direction, &expected);
        }
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

/// True if an iterator returns these rows, taken now from one end and now from the other if it has no limit.
fn is_iterated(
    rng: &mut Rng,
    mut rows: Rows<'_, '_, SimulatedDisk>,
    direction: Direction,
    expected: &[&Vec<Cell>],
) -> bool {
    let both_ends = rows.size_hint().1.is_none() && rng.bool();
    let mut expected: VecDeque<_> = expected.iter().collect();
    loop {
        let from_back = both_ends && rng.bool();
        let (cells, direction) = match (from_back, direction) {
            (false, direction) => (expected.pop_front(), direction),
            (true, Direction::Ascending) => (expected.pop_back(), Direction::Descending),
            (true, Direction::Descending) => (expected.pop_back(), Direction::Ascending),
        };
        let row = match (rng.bool(), direction) {
            (true, Direction::Ascending) => rows.next().transpose(),
            (true, Direction::Descending) => rows.next_back().transpose(),
            (false, direction) => rows.step(direction).map(|row| row.map(Row::into_owned)),
        };
        match (cells, row.expect("no conflict")) {
            (Some(cells), Some(row)) if is_row(&row.as_row(), cells) => {}
            (None, None) => return true,
            _ => return false,
        }
    }
}

fn changes(steps: &[(usize, Step)]) -> Vec<Change<'_>> {
    let changes = steps.iter().map(|(column, step)| match step {
        Step::Set(cell) => Change::set(*column, lend(cell)),
        Step::Add(delta, lower) => {
            let change = Change::add(*column, *delta);
            lower.map_or(change, |lower| change.at_least(lower))
        }
    });
    changes.collect()
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
                *cell = DefaultValue::of(Value::Int(sum));
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
