//! Runs definitions, loads, verifications, checkpoints, exclusive transactions, writers and readers of one
//! database in schedules that a seed decides.
//!
//! Each role runs on its own thread under the scheduler ([`crate::scheduler`]), which lets one of them at a
//! time go from step to step, on a simulated disk. A thread that waits for a lock, the gate, a wake-up or a
//! write reports that as a step. So a schedule in which no thread can move ends with a sentence that says
//! which thread waits for what, and a lost wake-up shows as such a deadlock.
//!
//! Each schedule is judged:
//! 1. it ends, and no thread panics;
//! 2. transactions are serial in the order of their commit numbers: a replay in that order gives what each
//!    of them read, and readers of a snapshot read the state at their read point;
//! 3. at the end the rows, by the table and by its index, are those of the replay, and `verify` reports
//!    nothing.
//!
//! A seed is a database and [`SCENES`] schedules in it, one after another. The usual run plays a few hundred
//! seeds. Environment variables select others:
//!
//! | variable | effect |
//! |---|---|
//! | `SYNCLINE_SEED=7` | plays only that seed |
//! | `SYNCLINE_SEEDS=60000` | plays n seeds, from the wall clock on, or from `SYNCLINE_FROM` |
//! | `SYNCLINE_THREADS=2` | uses n threads |
//!
//! `SYNCLINE_SEEDS=62500 SYNCLINE_THREADS=2 cargo test --profile long-tests -p syncline-engine --lib -- \
//! database::schedules::no_schedule --nocapture` plays a million schedules.

use crate::access::schema::{Kind, Schema, Value};
use crate::database::checkpoints::Step;
use crate::database::create::create;
use crate::database::engine::Engine;
use crate::error::{Error, Result};
use crate::ids::Csn;
use crate::log::Threads;
use crate::options::Options;
use crate::planted_bug::{self, PlantedBug};
use crate::scheduler;
use crate::seeds::{asked_seeds, asked_threads, finds, search_seeds};
use crate::table::{Table, TypedSession};
use crate::txn::{Begin, Direction};
use crate::{KeyRange, Row};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use syncline_instrument::clock;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::Metadata;

/// Schedules of a seed.
const SCENES: u32 = 16;

/// Seeds of the usual run.
const USUAL: u64 = 150;

const KEYS: i64 = 6;

type TestEngine = Engine<SimulatedDisk>;
type State = BTreeMap<i64, i64>;

/// What a thread of a schedule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    CreateAndDrop,
    Load,
    Index,
    Column,
    Verify,
    /// A checkpoint by call.
    Checkpoint,
    /// The rounds of the checkpoint thread.
    CheckpointThread,
    Write(Begin),
    /// Writes in an exclusive transaction.
    WriteAlone,
    Read(Begin),
}

const ROLES: [Role; 13] = [
    Role::CreateAndDrop,
    Role::Load,
    Role::Index,
    Role::Index,
    Role::Column,
    Role::Verify,
    Role::Checkpoint,
    Role::CheckpointThread,
    Role::CheckpointThread,
    Role::Write(Begin::Serializable),
    Role::WriteAlone,
    Role::Read(Begin::ReadOnlyDurable),
    Role::Read(Begin::Serializable),
];

/// A transaction that ended without an error.
#[derive(Clone, Debug)]
struct FinishedTransaction {
    /// Its commit, or the read point if it only read.
    at: Csn,
    writes: Vec<(i64, i64)>,
    reads: Vec<(i64, Option<i64>)>,
    /// Full scans by the table and by its index.
    scans: Vec<State>,
}

/// Counts over schedules.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    schedules: u64,
    commits: u64,
    reads: u64,
    definitions: u64,
    checkpoints: u64,
}

struct ScheduleFixture {
    engine: Arc<TestEngine>,
    random: Rng,
    /// The commit before all scenes, and the rows at it.
    from: (Csn, State),
    tally: Tally,
}

/// Plays the schedules of a seed. Returns the first problem.
fn play(seed: u64, tally: &mut Tally) -> std::result::Result<(), String> {
    let plant = planted_bug::current();
    let mut stage = planted_bug::with(None, || ScheduleFixture::new(seed));
    for scene in 0..SCENES {
        let played = stage.scene(plant);
        played.map_err(|why| format!("scene {scene}: {why}"))?;
    }
    tally.add(&stage.tally);
    Ok(())
}

impl ScheduleFixture {
    fn new(seed: u64) -> ScheduleFixture {
        let mut random = Rng::with_seed(seed);
        let options =
            Options { pre_image_bytes_max: [4, 16][random.usize(0..2)] * 512, ..Options::tiny() };
        let disk = SimulatedDisk::new(seed, Metadata::Strict);
        let engine = create(&disk, Path::new("db"), options, Threads::None).expect("a database");
        if random.bool() {
            // Two segments, and even an exclusive commit waits for a checkpoint.
            engine.core.cap_log(engine.options.log.segment_bytes);
        }
        let schema = rows_table("t");
        engine.create_table(schema).expect("a table");
        let table = engine.table("t").expect("it is there");
        let mut session = TypedSession::new(&engine.core).expect("a session");
        session.begin(Begin::Serializable).expect("it begins");
        let mut rows = State::new();
        for key in 0..KEYS {
            let row = [Value::Int(key), Value::Int(key)];
            session.put(&table, &row).expect("a row");
            rows.insert(key, key);
        }
        let ticket = session.commit().expect("it commits");
        session.wait(ticket).expect("it is stable");
        drop(session);
        ScheduleFixture { engine, random, from: (ticket.csn, rows), tally: Tally::default() }
    }

    /// One schedule.
    fn scene(&mut self, plant: Option<PlantedBug>) -> std::result::Result<(), String> {
        let threads = self.random.usize(2..=4);
        let roles: Vec<(Role, u64)> = (0..threads)
            .map(|_| {
                let role = ROLES[self.random.usize(..ROLES.len())];
                (role, self.random.u64(..))
            })
            .collect();
        let engine = &self.engine;
        let bodies = roles.iter().map(|&(role, seed)| {
            let body: Box<dyn FnOnce() -> Result<Vec<FinishedTransaction>> + Send> =
                Box::new(move || {
                    planted_bug::with(plant, || act(engine, role, Rng::with_seed(seed)))
                });
            body
        });
        let outcome = scheduler::run_to_end(self.random.u64(..), bodies.collect());
        let wrong = |what: String| format!("{roles:?}: {what}");
        if let Some(stuck) = outcome.stuck {
            return Err(wrong(stuck));
        }
        let mut pasts = Vec::new();
        for (result, (role, _)) in outcome.results.into_iter().zip(&roles) {
            match result {
                None => return Err(wrong(format!("{role:?} panicked"))),
                Some(Err(error)) => return Err(wrong(format!("{role:?}: {error}"))),
                Some(Ok(past)) => pasts.extend(past),
            }
        }
        self.count(&roles, &pasts);
        self.judge(pasts).map_err(wrong)
    }

    fn count(&mut self, roles: &[(Role, u64)], pasts: &[FinishedTransaction]) {
        self.tally.schedules += 1;
        let writes = pasts.iter().filter(|past| !past.writes.is_empty()).count() as u64;
        self.tally.commits += writes;
        self.tally.reads += pasts.len() as u64 - writes;
        let defines = |role: Role| {
            use Role::{Column, CreateAndDrop, Index, Load};
            matches!(role, CreateAndDrop | Load | Index | Column)
        };
        self.tally.definitions += roles.iter().filter(|role| defines(role.0)).count() as u64;
        let checkpoints = self.engine.checkpoints.as_ref().expect("it has a disk");
        self.tally.checkpoints = checkpoints.stats().finished;
    }

    /// Replays the committed transactions, and checks the database by table, index and `verify`.
    fn judge(&mut self, mut pasts: Vec<FinishedTransaction>) -> std::result::Result<(), String> {
        // A reader at a commit reads the state after it.
        pasts.sort_by_key(|past| (past.at, past.writes.is_empty()));
        let (_, mut rows) = self.from.clone();
        for past in &pasts {
            let reads = past.reads.iter();
            let mut wrong = reads.filter(|(key, value)| rows.get(key) != value.as_ref());
            if let Some(read) = wrong.next() {
                return Err(format!(
                    "a read at {} returned {read:?}, but the rows were {rows:?}: {past:?}",
                    past.at
                ));
            }
            if let Some(scan) = past.scans.iter().find(|scan| **scan != rows) {
                return Err(format!(
                    "a scan at {} returned {scan:?}, but the rows were {rows:?}",
                    past.at
                ));
            }
            rows.extend(past.writes.iter().copied());
        }
        let engine = &self.engine;
        let failed = |error: Error| error.to_string();
        engine.core.log.flush().map_err(failed)?;
        let problems = engine.verify().map_err(failed)?;
        if !problems.is_empty() {
            return Err(format!("verify reported {problems:?}"));
        }
        let table = engine.table("t").map_err(failed)?;
        let mut session = TypedSession::new(&engine.core).map_err(failed)?;
        session.begin(Begin::ReadOnly).map_err(failed)?;
        for scan in scans(&mut session, &table).map_err(failed)? {
            if scan != rows {
                return Err(format!(
                    "a final scan returned {scan:?}, but the rows should be {rows:?}"
                ));
            }
        }
        session.abort();
        self.from = (engine.core.log.published(), rows);
        Ok(())
    }
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.schedules += other.schedules;
        self.commits += other.commits;
        self.reads += other.reads;
        self.definitions += other.definitions;
        self.checkpoints += other.checkpoints;
    }
}

fn rows_table(name: &str) -> Schema {
    let table = Schema::table(name).column("k", Kind::Int).column("n", Kind::Int).key(["k"]);
    table.build().expect("a schema that is right")
}

/// Plays a role. Returns its transactions that ended without an error.
fn act(engine: &Arc<TestEngine>, role: Role, mut random: Rng) -> Result<Vec<FinishedTransaction>> {
    match role {
        Role::CreateAndDrop => {
            unless_beaten(engine.create_table(rows_table("c")).map(drop))?;
            unless_beaten(engine.drop_table("c"))?;
        }
        Role::Load => {
            let schema = rows_table("l");
            // A table that takes the name meanwhile fails the load after its pages are built.
            let taker = random.bool().then(|| engine.clone());
            let rows = (0..20).map(|k| {
                if let (Some(engine), 19) = (&taker, k) {
                    unless_beaten(engine.create_table(rows_table("l")).map(drop)).unwrap();
                }
                [Value::Int(k), Value::Int(k)]
            });
            let rows = super::definitions::encoded(&schema, rows, 64);
            unless_beaten(engine.load_table(schema.clone(), rows).map(drop))?;
            unless_beaten(engine.drop_table("l"))?;
        }
        Role::Index => change(engine, |schema| {
            if schema.indexes().is_empty() {
                schema.with_index("i", ["n"], false)
            } else {
                schema.without_index("i")
            }
        })?,
        Role::Column => change(engine, |schema| {
            let more = schema.columns().iter().find(|column| column.since() > 1);
            if let Some(more) = more.filter(|_| schema.columns().len() > 3) {
                return schema.without_column(more.name());
            }
            let name = format!("c{}", schema.version());
            schema.with_nullable(&name, Kind::Int, Value::Null)
        })?,
        Role::Verify => {
            let problems = engine.verify()?;
            assert!(problems.is_empty(), "verify reported {problems:?}");
        }
        Role::Checkpoint => {
            let checkpoints = engine.checkpoints.as_ref().expect("it has a disk");
            checkpoints.run(&engine.core, &engine.tree_directory)?;
        }
        Role::CheckpointThread => run_checkpoint_thread(engine, &mut random)?,
        Role::Write(begin) => {
            let count = random.u32(1..=2);
            let pasts = (0..count).map(|_| transact(engine, Some(begin), true, &mut random));
            return Ok(pasts.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect());
        }
        Role::WriteAlone => {
            return Ok(transact(engine, None, true, &mut random)?.into_iter().collect());
        }
        Role::Read(begin) => {
            return Ok(transact(engine, Some(begin), false, &mut random)?.into_iter().collect());
        }
    }
    Ok(Vec::new())
}

fn change(engine: &TestEngine, next: impl FnOnce(&Schema) -> Result<Schema>) -> Result<()> {
    let catalog = engine.catalog();
    let table = catalog.table("t").expect("it is never dropped");
    let next = next(&table.schema)?;
    unless_beaten(engine.change_table(&next).map(drop))
}

/// Other threads may have made, dropped or changed the same before, or the log may be too long for a commit.
fn unless_beaten(result: Result<()>) -> Result<()> {
    match result {
        Err(
            Error::Taken { .. }
            | Error::NoSuch { .. }
            | Error::Schema { .. }
            | Error::LogLong { .. },
        ) => Ok(()),
        other => other,
    }
}

/// Some rounds of the checkpoint thread.
fn run_checkpoint_thread(engine: &TestEngine, random: &mut Rng) -> Result<()> {
    let checkpoints = engine.checkpoints.as_ref().expect("it has a disk");
    let core = &engine.core;
    for _ in 0..random.u32(1..8) {
        match random.u8(0..6) {
            0 => checkpoints.make_room(core).map(drop)?,
            1 => core.sweep(),
            2 | 3 => {
                if checkpoints.begin(core, &engine.tree_directory)? {
                    core.set_pressed(random.bool());
                }
            }
            _ => {
                if !matches!(checkpoints.drive(core)?, Step::Worked { .. }) {
                    core.set_pressed(false);
                }
            }
        }
    }
    core.set_pressed(false);
    Ok(())
}

/// A transaction by the table's current handle; none if it lost, or if the handle became stale.
fn transact(
    engine: &TestEngine,
    begin: Option<Begin>,
    writes: bool,
    random: &mut Rng,
) -> Result<Option<FinishedTransaction>> {
    let table = engine.table("t")?;
    let mut session = TypedSession::new(&engine.core)?;
    match begin {
        Some(begin) => session.begin(begin)?,
        None => session.begin_exclusive()?,
    }
    let past = attempt(&mut session, &table, writes, random);
    session.abort();
    match past {
        Ok(past) => Ok(Some(past)),
        Err(Error::Conflict(_) | Error::TableChanged { .. } | Error::LogLong { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn attempt(
    session: &mut TypedSession<SimulatedDisk>,
    table: &Table,
    writes: bool,
    random: &mut Rng,
) -> Result<FinishedTransaction> {
    let mut past = FinishedTransaction {
        at: Csn::ZERO,
        writes: Vec::new(),
        reads: Vec::new(),
        scans: Vec::new(),
    };
    if !writes {
        past.scans = scans(session, table)?;
        past.at = session.read_point()?;
        session.commit()?;
        return Ok(past);
    }
    for _ in 0..random.u32(1..=3) {
        let key = random.i64(0..KEYS);
        if past.writes.iter().any(|write| write.0 == key) {
            continue;
        }
        let row = session.get(table, &[Value::Int(key)])?;
        let number = row.map(|row| number(&row, 1)).transpose()?;
        past.reads.push((key, number));
        let next = number.unwrap_or(0) + random.i64(1..100);
        let mut row = vec![Value::Int(key), Value::Int(next)];
        row.resize(table.schema().columns().len(), Value::Null);
        session.put(table, &row)?;
        past.writes.push((key, next));
    }
    let ticket = session.commit()?;
    past.at = ticket.csn;
    if random.bool() {
        session.wait(ticket)?;
    }
    Ok(past)
}

fn number(row: &Row<'_>, column: usize) -> Result<i64> {
    Ok(row.value(column)?.as_int().expect("a number"))
}

/// All rows by the table, and by its index if it has one.
fn scans(session: &mut TypedSession<SimulatedDisk>, table: &Table) -> Result<Vec<State>> {
    let mut scans = vec![State::new()];
    let add = |rows: &mut State, row: &Row<'_>| {
        rows.insert(number(row, 0)?, number(row, 1)?);
        Ok(ControlFlow::Continue(()))
    };
    let (all, up) = (KeyRange::ALL, Direction::Ascending);
    session.scan(table, all, up, usize::MAX, |row| add(&mut scans[0], &row))?;
    if !table.schema().indexes().is_empty() {
        let mut rows = State::new();
        session.scan(table.by("i")?, all, up, usize::MAX, |row| add(&mut rows, &row))?;
        scans.push(rows);
    }
    Ok(scans)
}

#[test]
fn no_schedule_of_definitions_and_checkpoints_comes_to_a_standstill() {
    let seeds = asked_seeds(|| (0..USUAL).collect());
    let threads = asked_threads();
    let began = clock::now();
    let (tally, wrong) = search_seeds((&seeds, threads), play, Tally::add);
    let seconds = (clock::now() - began) as f64 / 1e9;
    let rate = tally.schedules as f64 / seconds;
    println!("seeds from {}: {tally:?}, {rate:.0} schedules/s on {threads} threads", seeds[0]);
    if let Some(why) = wrong {
        panic!("{why}");
    }
    if seeds.len() as u64 >= USUAL {
        let schedules = tally.schedules;
        assert!(tally.commits > schedules / 10, "{tally:?}");
        assert!(tally.reads > schedules / 20, "{tally:?}");
        assert!(tally.definitions > schedules / 2, "{tally:?}");
        assert!(tally.checkpoints > schedules / 10, "{tally:?}");
    }
}

/// Returns the effect of a planted bug, in words; `finds` plants it on this thread.
fn search(seed: u64) -> std::result::Result<(), String> {
    play(seed, &mut Tally::default())
}

finds! {
    search;
    // H1, A.B1
    a_checkpoint_that_takes_its_mutex_before_the_gate_is_found: CheckpointBeforeGate within 200,
    a_gate_that_opens_without_waking_those_who_wait_is_found: OpenWithoutWake within 200,
    a_section_that_ends_without_waking_the_closer_is_found: LeaveWithoutWake within 400,
}
