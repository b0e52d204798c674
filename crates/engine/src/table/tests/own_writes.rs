//! A transaction reads over its own writes: every short sequence of calls, against a model.
//!
//! Unless the commit will be refused, every answer must be the model's. If it will be refused, an answer is
//! that refusal, or contains each row once; no answer reports damaged bytes.

use super::fixture::Store;
use crate::access::key::KeyRange;
use crate::access::schema::{Kind, Schema, Value};
use crate::error::{Error, Result};
use crate::planted_bug::{PlantedBug, with};
use crate::table::{Change, Path, Row, TypedSession};
use crate::txn::{Begin, Direction};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use syncline_vfs::SimulatedDisk;

/// The number of each row, by its key.
type Model = BTreeMap<i64, i64>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Insert(i64, i64),
    Put(i64, i64),
    Update(i64, i64),
    Delete(i64),
    /// Adds to a column that is in no index, without a read.
    Touch(i64),
    Mark,
    RollBack,
}

/// Rows 0 and 1 are stored, with the numbers 5 and 6; row 2 is not.
const CALLS: [Call; 12] = [
    Call::Insert(0, 7),
    Call::Insert(0, 5),
    Call::Insert(2, 5),
    Call::Insert(2, 7),
    Call::Put(0, 7),
    Call::Put(2, 6),
    Call::Update(0, 8),
    Call::Delete(0),
    Call::Delete(2),
    Call::Touch(0),
    Call::Mark,
    Call::RollBack,
];

const LIMITS: [usize; 3] = [1, 2, usize::MAX];

fn store(is_unique: bool) -> Store {
    let schema = Schema::table("rows")
        .column("id", Kind::Int)
        .column("number", Kind::Int)
        .column("touched", Kind::Int)
        .key(["id"]);
    let schema = if is_unique {
        schema.unique("by_number", ["number"])
    } else {
        schema.index("by_number", ["number"])
    };
    Store::new(schema.build().unwrap(), None)
}

struct Test<'s> {
    store: &'s Store,
    session: TypedSession<SimulatedDisk>,
    is_unique: bool,
    model: Model,
    /// The commit will be refused.
    is_doomed: bool,
}

fn row(id: i64, number: i64) -> [Value<'static>; 3] {
    [Value::Int(id), Value::Int(number), Value::Int(0)]
}

/// True for refusals by the rows; no other error may occur.
fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::DuplicateKey { .. } | Error::NoRow { .. })
}

impl Test<'_> {
    /// Applies a call to the model. Returns false if the rows refuse it.
    fn allows(&mut self, call: Call) -> bool {
        let (id, number) = match call {
            Call::Insert(id, _) if self.model.contains_key(&id) => return false,
            Call::Update(id, _) | Call::Delete(id) | Call::Touch(id)
                if !self.model.contains_key(&id) =>
            {
                return false;
            }
            Call::Insert(id, number) | Call::Put(id, number) | Call::Update(id, number) => {
                (id, Some(number))
            }
            Call::Delete(id) => (id, None),
            Call::Touch(_) | Call::Mark | Call::RollBack => return true,
        };
        let meets_another = |(other, has): (&i64, &i64)| *other != id && Some(*has) == number;
        if self.is_unique && self.model.iter().any(meets_another) {
            return false;
        }
        match number {
            Some(number) => drop(self.model.insert(id, number)),
            None => drop(self.model.remove(&id)),
        }
        true
    }

    fn call(&mut self, call: Call) -> Result<()> {
        let (session, table) = (&mut self.session, &self.store.table);
        match call {
            Call::Insert(id, number) => session.insert(table, &row(id, number)),
            Call::Put(id, number) => session.put(table, &row(id, number)),
            Call::Touch(id) => {
                let change = Change::add(2, Value::Int(1));
                session.update(table, &[Value::Int(id)], &[change])
            }
            Call::Update(id, number) => {
                let change = Change::set(1, Value::Int(number));
                session.update(table, &[Value::Int(id)], &[change])
            }
            Call::Delete(id) => session.delete(table, &[Value::Int(id)]),
            Call::Mark | Call::RollBack => Ok(()),
        }
    }

    /// One transaction. Returns the calls in words if something is wrong.
    fn run(
        &mut self,
        begin: Begin,
        stored: &Model,
        calls: &[Call],
    ) -> std::result::Result<(), String> {
        self.session.begin(begin).unwrap();
        (self.model, self.is_doomed) = (stored.clone(), false);
        let mut mark = (self.session.mark().unwrap(), stored.clone(), false);
        for call in calls {
            match call {
                Call::Mark => {
                    mark = (self.session.mark().unwrap(), self.model.clone(), self.is_doomed);
                }
                Call::RollBack => {
                    self.session.rollback_to(mark.0).unwrap();
                    (self.model, self.is_doomed) = (mark.1.clone(), mark.2);
                }
                _ => {
                    let is_allowed = self.allows(*call);
                    match self.call(*call) {
                        Ok(()) => self.is_doomed |= !is_allowed,
                        Err(error) if is_refusal(&error) && (!is_allowed || self.is_doomed) => {}
                        Err(error) => return Err(format!("{call:?}: {error}")),
                    }
                }
            }
            self.read_all()?;
        }
        let must_refuse = self.is_doomed;
        self.session.abort();
        // The same without the reads, up to the commit.
        let refused = self.commit_of(begin, calls);
        match refused {
            Some(error) if !must_refuse || !is_refusal(&error) => {
                Err(format!("the commit: {error}"))
            }
            None if must_refuse => Err("the commit should have been refused".to_owned()),
            _ => Ok(()),
        }
    }

    /// The error of a commit of these calls. The rows are restored afterwards.
    fn commit_of(&mut self, begin: Begin, calls: &[Call]) -> Option<Error> {
        self.session.begin(begin).unwrap();
        let mut mark = self.session.mark().unwrap();
        for call in calls {
            match call {
                Call::Mark => mark = self.session.mark().unwrap(),
                Call::RollBack => self.session.rollback_to(mark).unwrap(),
                _ => drop(self.call(*call)),
            }
        }
        let error = self.session.commit().err();
        if error.is_none() {
            assert!(self.store.indexes_follow(), "{calls:?}");
            fill(self.store, &mut self.session);
        }
        error
    }

    fn read_all(&mut self) -> std::result::Result<(), String> {
        let table = &self.store.table;
        let by_number = table.by("by_number").unwrap();
        for (path, is_index) in [(table.into(), false), (by_number, true)] {
            for direction in [Direction::Ascending, Direction::Descending] {
                for limit in LIMITS {
                    for keys_only in [false, true] {
                        let answer = scan(&mut self.session, path, direction, limit, keys_only);
                        let what = format!(
                            "a scan, by index {is_index}, {direction:?}, limit {limit}, keys {keys_only}"
                        );
                        self.judge(answer, (is_index, direction, limit, keys_only))
                            .map_err(|why| format!("{what}: {why}"))?;
                    }
                }
            }
        }
        for id in 0..3 {
            let row = self.session.get(table, &[Value::Int(id)]);
            let answer = row.map(|row| row.map(|row| pair(&row, false).1));
            self.judge_one(answer, self.model.get(&id).copied())
                .map_err(|why| format!("get of {id}: {why}"))?;
        }
        for number in 5..9 {
            if !self.is_unique {
                break;
            }
            let row = self.session.get_by(by_number, &[Value::Int(number)]);
            let answer = row.map(|row| row.map(|row| pair(&row, false).0));
            let expected = self.model.iter().find(|(_, has)| **has == number);
            self.judge_one(answer, expected.map(|(id, _)| *id))
                .map_err(|why| format!("get by {number}: {why}"))?;
        }
        Ok(())
    }

    fn judge_one(
        &self,
        answer: Result<Option<i64>>,
        expected: Option<i64>,
    ) -> std::result::Result<(), String> {
        match answer {
            Ok(answer) if answer == expected || self.is_doomed => Ok(()),
            Err(error) if self.is_doomed && is_refusal(&error) => Ok(()),
            answer => Err(format!("{answer:?} instead of {expected:?}")),
        }
    }

    fn judge(
        &self,
        answer: Result<Vec<(i64, i64)>>,
        (is_index, direction, limit, keys_only): (bool, Direction, usize, bool),
    ) -> std::result::Result<(), String> {
        let mut rows: Vec<(i64, i64)> = self.model.iter().map(|(id, has)| (*id, *has)).collect();
        if is_index {
            rows.sort_by_key(|(id, number)| (*number, *id));
        }
        if direction == Direction::Descending {
            rows.reverse();
        }
        rows.truncate(limit);
        if keys_only {
            for row in &mut rows {
                row.1 = 0;
            }
        }
        match answer {
            Ok(answer) if answer == rows => Ok(()),
            Ok(answer) if self.is_doomed => {
                let mut ids: Vec<i64> = answer.iter().map(|(id, _)| *id).collect();
                ids.sort_unstable();
                if ids.windows(2).any(|pair| pair[0] == pair[1]) {
                    return Err(format!("a row is returned twice: {answer:?}"));
                }
                Ok(())
            }
            Err(error) if self.is_doomed && is_refusal(&error) => Ok(()),
            answer => Err(format!("{answer:?} instead of {rows:?}")),
        }
    }
}

fn pair(row: &Row<'_>, keys_only: bool) -> (i64, i64) {
    let number = |column| row.value(column).unwrap().as_int().unwrap();
    (number(0), if keys_only { 0 } else { number(1) })
}

fn scan(
    session: &mut TypedSession<SimulatedDisk>,
    path: Path<'_>,
    direction: Direction,
    limit: usize,
    keys_only: bool,
) -> Result<Vec<(i64, i64)>> {
    let mut answer = Vec::new();
    let all = KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded };
    let show = |row: Row<'_>| {
        answer.push(pair(&row, keys_only));
        Ok(ControlFlow::Continue(()))
    };
    if keys_only {
        session.scan_keys(path, all, direction, limit, show)?;
    } else {
        session.scan(path, all, direction, limit, show)?;
    }
    Ok(answer)
}

/// Restores the stored rows.
fn fill(store: &Store, session: &mut TypedSession<SimulatedDisk>) {
    let table = &store.table;
    let run = session.run(Begin::Serializable, |tx| {
        // Deletes existing rows first: two rows may have exchanged their index entries.
        for id in 0..3 {
            if tx.get(table, &[Value::Int(id)])?.is_some() {
                tx.delete(table, &[Value::Int(id)])?;
            }
        }
        tx.insert(table, &row(0, 5))?;
        tx.insert(table, &row(1, 6))
    });
    session.wait(run.unwrap().1).unwrap();
}

/// Runs every sequence of `length` calls. Returns the first one with a wrong answer.
fn first_wrong(length: u32, is_unique: bool) -> Option<String> {
    let store = store(is_unique);
    let mut session = store.session();
    fill(&store, &mut session);
    let mut test =
        Test { store: &store, session, is_unique, model: Model::new(), is_doomed: false };
    let stored = Model::from([(0, 5), (1, 6)]);
    let count = CALLS.len();
    (0..count.pow(length)).find_map(|number| {
        let calls: Vec<Call> =
            (0..length).map(|at| CALLS[number / count.pow(at) % count]).collect();
        let begin = [Begin::Serializable, Begin::Snapshot][number % 2];
        let wrong = test.run(begin, &stored, &calls);
        wrong.err().map(|why| format!("{begin:?}, {calls:?}: {why}"))
    })
}

// H2, A.B2
#[test]
fn every_short_sequence_of_calls_is_read_as_it_will_be_committed_or_refused() {
    for is_unique in [false, true] {
        for length in 1..=3 {
            if let Some(wrong) = first_wrong(length, is_unique) {
                panic!("unique {is_unique}: {wrong}");
            }
        }
    }
}

#[test]
fn an_overlay_of_inserts_that_ignores_the_store_is_found() {
    for is_unique in [false, true] {
        let wrong = with(Some(PlantedBug::OverlayBlindly), || first_wrong(2, is_unique));
        println!("{}", wrong.expect("two calls reveal the bug"));
    }
}
