//! An index build with a concurrent writer: between any two steps of the builder another session may change
//! the table. The finished index is compared with the table's rows, and both with a plain copy of them. In
//! some seeds the power goes off during the build.

use super::episode::checkpoints;
use super::harness::{at_rest, directory};
use crate::access::key::KeyRange;
use crate::access::schema::{Kind, Schema, Value};
use crate::database::create::create;
use crate::database::engine::Engine;
use crate::database::open::open;
use crate::error::{Error, Result};
use crate::log::{self, Threads};
use crate::options::Options;
use crate::step::{self, Step};
use crate::table::{Change, Table, TypedSession};
use crate::txn::{Begin, Direction};
use fastrand::Rng;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::{Crash, Metadata};

type TestEngine = Engine<SimulatedDisk>;

/// The indexed number of each row, by its key.
type Rows = BTreeMap<i64, i64>;

const IDS: i64 = 260;

/// How numbers are assigned to rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    /// Few different ones; the index is not unique.
    Shared,
    /// No two rows have the same after any commit, though rows exchange them; the index is unique.
    Distinct,
    /// Many different ones, with occasional duplicates; the index is unique.
    MostlyDistinct,
}

/// Counts of a search.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Commits of the writer during an index build.
    pub(super) commits: u64,
    pub(super) aborts: u64,
    pub(super) built: u64,
    pub(super) duplicates: u64,
    /// Openings after a power loss, with the index and without it.
    pub(super) with: u64,
    pub(super) without: u64,
}

/// The session that writes during the build.
struct Writer {
    session: TypedSession<SimulatedDisk>,
    table: Table,
    random: Rng,
    numbers: Numbers,
    /// A number that no row ever had.
    fresh: i64,
    /// The rows after the open transaction.
    pending: Option<Rows>,
    rows: Rc<RefCell<Rows>>,
    tally: Rc<RefCell<Tally>>,
}

impl Writer {
    /// Begins a transaction, goes on with it, or ends it.
    fn act(&mut self) {
        let done = match (&self.pending, self.random.u8(0..6)) {
            (None, _) => self.begin(),
            (Some(_), 0) => {
                self.abort();
                Ok(())
            }
            (Some(_), 1..3) => self.commit(),
            (Some(_), _) => self.write(),
        };
        if done.is_err() {
            // A conflict, a stale handle, or the power is off.
            self.abort();
        }
    }

    fn begin(&mut self) -> Result<()> {
        let begin = [Begin::Serializable, Begin::Snapshot][self.random.usize(0..2)];
        self.session.begin(begin)?;
        self.pending = Some(self.rows.borrow().clone());
        Ok(())
    }

    fn abort(&mut self) {
        self.session.abort();
        if self.pending.take().is_some() {
            self.tally.borrow_mut().aborts += 1;
        }
    }

    fn commit(&mut self) -> Result<()> {
        self.session.commit()?;
        if let Some(rows) = self.pending.take() {
            *self.rows.borrow_mut() = rows;
            self.tally.borrow_mut().commits += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> i64 {
        self.fresh += 1;
        match self.numbers {
            Numbers::Shared => self.random.i64(0..12),
            Numbers::MostlyDistinct if self.random.u8(0..60) == 0 => self.random.i64(0..self.fresh),
            Numbers::Distinct | Numbers::MostlyDistinct => self.fresh,
        }
    }

    fn write(&mut self) -> Result<()> {
        let (id, other) = (self.random.i64(0..IDS), self.random.i64(0..IDS));
        let mut rows = self.pending.take().expect("a transaction is open");
        let number = self.number();
        let wrote = self.write_rows(&mut rows, (id, other), number);
        // There is only one writer, so the rows that it read are current.
        self.pending = Some(rows);
        wrote
    }

    fn write_rows(&mut self, rows: &mut Rows, (id, other): (i64, i64), number: i64) -> Result<()> {
        let text = "x".repeat(self.random.usize(0..40));
        let row = |id, number| [Value::Int(id), Value::Int(number), Value::Text(&text)];
        let (session, table) = (&mut self.session, &self.table);
        match (rows.get(&id).copied(), self.random.u8(0..10)) {
            (None, _) => {
                session.insert(table, &row(id, number))?;
                rows.insert(id, number);
            }
            (Some(_), 0..2) => {
                session.delete(table, &[Value::Int(id)])?;
                rows.remove(&id);
            }
            (Some(_), 2..4) => {
                session.put(table, &row(id, number))?;
                rows.insert(id, number);
            }
            // Another row takes the number over, in the same transaction.
            (Some(mine), 4..8) if id != other => {
                if let Some(theirs) = rows.get(&other).copied() {
                    session.update(table, &[Value::Int(id)], &[set_number(theirs)])?;
                    rows.insert(id, theirs);
                } else {
                    session.delete(table, &[Value::Int(id)])?;
                    rows.remove(&id);
                }
                session.put(table, &row(other, mine))?;
                rows.insert(other, mine);
            }
            (Some(_), 8) => {
                // This column is not in the index.
                let change = Change::set(2, Value::Text(&text));
                session.update(table, &[Value::Int(id)], &[change])?;
            }
            (Some(_), _) => {
                session.update(table, &[Value::Int(id)], &[set_number(number)])?;
                rows.insert(id, number);
            }
        }
        Ok(())
    }
}

fn set_number(number: i64) -> Change<'static> {
    Change::set(1, Value::Int(number))
}

fn options(random: &mut Rng) -> Options {
    let tiny = Options::tiny();
    Options {
        version_bytes_max: [2 << 10, 16 << 10, 1 << 20][random.usize(0..3)],
        miss_every: [None, None, Some(3), Some(20)][random.usize(0..4)],
        // No checkpoint begins because of the log's length.
        checkpoint_segment_bytes: 16 << 20,
        log: log::Options {
            record_bytes_max: [2 << 10, 4 << 10, 8 << 10][random.usize(0..3)],
            ..tiny.log
        },
        ..tiny
    }
}

/// Builds an index with a concurrent writer. Returns the first violation, in words.
pub(super) fn search(seed: u64, tally: &mut Tally) -> std::result::Result<(), String> {
    let chosen = |random: &mut Rng| (random.u8(0..3) == 0).then(|| random.u64(0..60));
    search_with_power_loss(seed, chosen, tally).map(drop)
}

/// The same with a power loss at a chosen disk operation of the build, if any. Returns the number of
/// operations of the build.
fn search_with_power_loss(
    seed: u64,
    crash_at: impl FnOnce(&mut Rng) -> Option<u64>,
    tally: &mut Tally,
) -> std::result::Result<u64, String> {
    let mut random = Rng::with_seed(seed);
    let modes = [Numbers::Shared, Numbers::Distinct, Numbers::MostlyDistinct];
    let numbers = modes[random.usize(0..modes.len())];
    let options = options(&mut random);
    let disk = SimulatedDisk::new(seed, Metadata::Strict);
    let text = |error: Error| error.to_string();
    let engine = create(&disk, directory(), options.clone(), Threads::None).map_err(text)?;
    let schema = Schema::table("t")
        .column("id", Kind::Int)
        .column("number", Kind::Int)
        .column("text", Kind::Text)
        .key(["id"]);
    let schema = schema.build().map_err(text)?;
    engine.create_table(schema.clone()).map_err(text)?;
    let (rows, counts) = (Rc::new(RefCell::new(Rows::new())), Rc::default());
    let writer = || -> Result<Writer> {
        Ok(Writer {
            session: TypedSession::new(&engine.core)?,
            table: engine.table("t")?,
            random: Rng::with_seed(!seed),
            numbers,
            fresh: 1_000,
            pending: None,
            rows: Rc::clone(&rows),
            tally: Rc::clone(&counts),
        })
    };
    let mut writer = writer().map_err(text)?;
    for _ in 0..random.u32(0..1_200) {
        writer.act();
    }
    writer.abort();
    *counts.borrow_mut() = Tally::default();
    let before = disk.operations();
    let crash_at = crash_at(&mut random);
    if let Some(crash_at) = crash_at {
        disk.crash_after(crash_at);
    }
    let is_unique = numbers != Numbers::Shared;
    let next = schema.with_index("by_number", ["number"], is_unique);
    let next = next.map_err(text)?;
    let concurrent_writer = concurrent_writer(&engine, writer, random.u64(..));
    let built = step::with(concurrent_writer, || engine.change_table(&next));
    let mut done = *counts.borrow();
    let result = match built {
        // The power may go off in the checks that follow; the images below must pass the same checks.
        Ok(_) if crash_at.is_some() => {
            done.built += 1;
            Ok(())
        }
        Err(Error::DuplicateBuilt { .. })
            if numbers == Numbers::MostlyDistinct && crash_at.is_some() =>
        {
            done.duplicates += 1;
            Ok(())
        }
        Ok(_) => {
            done.built += 1;
            check(&engine, &rows.borrow(), true)
        }
        Err(Error::DuplicateBuilt { .. }) if numbers == Numbers::MostlyDistinct => {
            done.duplicates += 1;
            check(&engine, &rows.borrow(), false)
        }
        Err(Error::Disk(_) | Error::Poisoned { .. } | Error::Indeterminate { .. })
            if disk.operations() > 0 =>
        {
            Ok(())
        }
        Err(error) => Err(format!("{numbers:?}: {error}")),
    };
    result.map_err(|what| format!("{numbers:?}: {what}"))?;
    let operations = disk.operations() - before;
    drop(engine);
    for how in [Crash::DropAll, Crash::KeepAll, Crash::Subset { seed }, Crash::Torn { seed }] {
        let image = disk.crash(how);
        let engine = open(&image, directory(), options.clone(), Threads::None);
        let engine = engine.map_err(|error| format!("{how:?}: {error}"))?;
        at_rest(&engine).map_err(|what| format!("{how:?}: {what}"))?;
        let problems = engine.verify().map_err(|error| error.to_string())?;
        if !problems.is_empty() {
            return Err(format!("{how:?}: verify reported {problems:?}"));
        }
        let catalog = engine.catalog();
        match catalog.table("t").map(|table| table.indexes.len()) {
            Some(1) => done.with += 1,
            Some(0) => done.without += 1,
            other => return Err(format!("{how:?}: the table has {other:?} indexes")),
        }
    }
    tally.commits += done.commits;
    tally.aborts += done.aborts;
    tally.built += done.built;
    tally.duplicates += done.duplicates;
    tally.with += done.with;
    tally.without += done.without;
    Ok(operations)
}

/// The hook for `step::with`: the writer acts whenever it need not wait for the builder.
fn concurrent_writer(
    engine: &Arc<TestEngine>,
    mut writer: Writer,
    seed: u64,
) -> Box<dyn FnMut(Step)> {
    let (engine, mut random) = (Arc::clone(engine), Rng::with_seed(seed));
    let one_in = [1, 2, 6][random.usize(0..3)];
    Box::new(move |step| {
        let may_act = matches!(step, Step::Begin | Step::Read | Step::Prepare | Step::Build);
        if !may_act || !engine.core.could_close_gate() {
            return;
        }
        if random.u32(0..30) == 0 {
            // The builder's commits show whether the checkpoint goes on.
            drop(move_checkpoint(&engine, random.u8(0..3) == 0));
        }
        if random.u32(0..one_in) == 0 {
            for _ in 0..random.u32(1..5) {
                // It would wait for the builder, which is on this thread.
                if !engine.core.row_log_is_full() {
                    writer.act();
                }
            }
        }
    })
}

fn move_checkpoint(engine: &TestEngine, begin: bool) -> Result<()> {
    let checkpoints = checkpoints(engine);
    if begin {
        checkpoints.begin(&engine.core, &engine.tree_directory)?;
    }
    checkpoints.drive(&engine.core).map(drop)
}

/// Checks the table against its index.
fn check(
    engine: &Arc<TestEngine>,
    rows: &Rows,
    is_indexed: bool,
) -> std::result::Result<(), String> {
    let text = |error: Error| error.to_string();
    let problems = engine.verify().map_err(text)?;
    if !problems.is_empty() {
        return Err(format!("verify reported {problems:?}"));
    }
    let table = engine.table("t").map_err(text)?;
    let mut session = TypedSession::new(&engine.core).map_err(text)?;
    session.begin(Begin::Snapshot).map_err(text)?;
    let mut by_key = Vec::new();
    let mut read = |path: crate::table::Path<'_>, out: &mut Vec<(i64, i64)>| {
        session.scan(path, KeyRange::ALL, Direction::Ascending, usize::MAX, |row| {
            if let (Value::Int(id), Value::Int(number)) = (row.value(0)?, row.value(1)?) {
                out.push((id, number));
            }
            Ok(ControlFlow::Continue(()))
        })
    };
    read((&table).into(), &mut by_key).map_err(text)?;
    let expected: Vec<(i64, i64)> = rows.iter().map(|(id, number)| (*id, *number)).collect();
    if by_key != expected {
        return Err("the table's rows differ from the writer's copy".to_owned());
    }
    if !is_indexed {
        return match table.schema().indexes().len() {
            0 => Ok(()),
            count => Err(format!("the table has {count} indexes after a refused build")),
        };
    }
    let mut by_index = Vec::new();
    let path = table.by("by_number").map_err(text)?;
    read(path, &mut by_index).map_err(text)?;
    by_key.sort_unstable_by_key(|(id, number)| (*number, *id));
    if by_index != by_key {
        return Err("the index differs from the table's rows".to_owned());
    }
    Ok(())
}

mod planted_bugs {
    use super::{Tally, search};
    use crate::seeds::finds;

    finds! {
        |seed| search(seed, &mut Tally::default());
        an_index_that_misses_what_writers_change_is_found: IndexMissesCatchUp within 30,
    }
}

#[test]
fn an_index_built_with_concurrent_writers_equals_the_table_in_every_history() {
    let mut tally = Tally::default();
    for seed in 0..200 {
        if let Err(why) = search(seed, &mut tally) {
            panic!("seed {seed}: {why}");
        }
    }
    println!("{tally:?}");
    assert!(tally.built > 100 && tally.duplicates > 5, "{tally:?}");
    assert!(tally.commits > 1_000 && tally.aborts > 300, "{tally:?}");
    assert!(tally.with > 300 && tally.without > 50, "{tally:?}");
}

#[test]
fn a_power_loss_during_a_build_leaves_the_whole_index_or_none() {
    let mut tally = Tally::default();
    let mut cuts = 0;
    for seed in 0..8 {
        let mut search_at = |crash_at: Option<u64>| {
            let result = search_with_power_loss(seed, |_random| crash_at, &mut tally);
            result.unwrap_or_else(|why| panic!("seed {seed}, power loss at {crash_at:?}: {why}"))
        };
        let operations = search_at(None);
        for crash_at in (0..operations).step_by((operations / 12).max(1) as usize) {
            search_at(Some(crash_at));
            cuts += 1;
        }
    }
    println!("{cuts} cuts, {tally:?}");
    assert!(cuts > 40 && tally.with > 20 && tally.without > 60, "{cuts} cuts, {tally:?}");
}
