//! Definitions, loads, verifications and inspections concurrent with checkpoints, writers and readers, on
//! real threads and a real directory: nothing may deadlock.
//!
//! Each mode is one kind of call, repeated by one thread, while another thread requests checkpoints (or the
//! database's own thread begins them, after very little log), a third writes and a fourth reads. A mode ends
//! after a fixed number of calls and checkpoints. It fails if one of the threads makes no progress for
//! [`STANDSTILL_NS`]; the message has the progress of each.
//!
//! For long runs `SYNCLINE_BESIDE_SECONDS=120` sets the duration of each mode instead, and
//! `SYNCLINE_BESIDE=index,load` selects the modes, which run one after the other:
//!
//! ```text
//! SYNCLINE_BESIDE_SECONDS=120 cargo test -p syncline-engine --test concurrent_definitions -- \
//!   --nocapture --test-threads 1
//! ```
//!
//! The deterministic counterpart, in which every order of steps can be replayed by its seed, is
//! `src/database/schedules.rs`.

#![allow(clippy::print_stdout, reason = "a long run prints its counts")]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use syncline_engine::{
    Begin, Database, Direction, Error, KeyRange, Kind, Options, Result, Schema, Value, log,
};
use syncline_instrument::{Nanos, clock};

/// Calls of a mode's kind, if no duration is set.
const CALLS: u64 = 12;

/// Checkpoints that a mode needs in addition to those of its own calls.
const CHECKPOINTS: u64 = 3;

/// A thread without progress for this long has stopped. Only a guard: no healthy run waits for it.
const STANDSTILL_NS: Nanos = 60_000_000_000;

const ROWS: i64 = 100;

/// The calls of the defining thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Builds an index and drops it.
    Index,
    /// Makes a table from rows and drops it.
    Load,
    /// Makes an empty table and drops it.
    Create,
    /// Adds a column.
    Column,
    Verify,
    Inspect,
    /// Runs an exclusive transaction.
    Alone,
}

/// What begins checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checkpoints {
    /// A thread that calls `Database::checkpoint` again and again.
    Called,
    /// The database's own thread, after every few commits.
    Own,
}

/// Progress, by kind of thread.
#[derive(Debug, Default)]
struct Done {
    calls: AtomicU64,
    checkpoints: AtomicU64,
    writes: AtomicU64,
    reads: AtomicU64,
    is_over: AtomicBool,
}

fn options() -> Options {
    Options {
        checkpoint_log_bytes: 128 << 10,
        checkpoint_segment_bytes: 1 << 20,
        extent_bytes: 64 << 10,
        log: log::Options {
            segment_bytes: 128 << 10,
            frame_bytes_max: 32 << 10,
            ..log::Options::default()
        },
        ..Options::default()
    }
}

fn rows_table(name: &str) -> Schema {
    let table = Schema::table(name).column("k", Kind::Int).column("n", Kind::Int).key(["k"]);
    table.build().expect("a schema that is right")
}

fn schema_of(database: &Database, name: &str) -> Schema {
    let tables = database.tables();
    let schema = tables.into_iter().find(|schema| schema.name() == name);
    schema.expect("the table exists")
}

/// An earlier call may have been refused halfway.
fn drop_if_there(database: &Database, name: &str) -> Result<()> {
    if database.tables().iter().any(|schema| schema.name() == name) {
        database.drop_table(name)?;
    }
    Ok(())
}

/// One call of the mode's kind.
fn call(database: &Database, mode: Mode, at: u64) -> Result<()> {
    match mode {
        Mode::Index => {
            let schema = schema_of(database, "t");
            let next = if schema.indexes().is_empty() {
                schema.with_index("i", ["n"], false)?
            } else {
                schema.without_index("i")?
            };
            database.change_table(&next).map(drop)
        }
        Mode::Load => {
            let rows = (0..50).map(|k| [Value::Int(k), Value::Int(k)]);
            drop_if_there(database, "l")?;
            database.load_table(rows_table("l"), rows)?;
            drop_if_there(database, "l")
        }
        Mode::Create => {
            drop_if_there(database, "l")?;
            database.create_table(rows_table("l"))?;
            drop_if_there(database, "l")
        }
        Mode::Column => {
            if at % 16 == 15 {
                database.drop_table("c")?;
            }
            if !database.tables().iter().any(|schema| schema.name() == "c") {
                database.create_table(rows_table("c"))?;
            }
            let name = format!("c{at}");
            let next = schema_of(database, "c").with_nullable(&name, Kind::Int, Value::Null)?;
            database.change_table(&next).map(drop)
        }
        Mode::Verify => {
            assert_eq!(database.verify()?, Vec::<String>::new());
            Ok(())
        }
        Mode::Inspect => {
            assert!(database.stats().checkpoints.is_some());
            database.inspect().map(drop)
        }
        Mode::Alone => {
            let table = database.table("t")?;
            let mut session = database.session()?;
            session.begin_exclusive()?;
            for k in 0..ROWS {
                session.put(&table, &[Value::Int(k), Value::Int(at as i64)])?;
            }
            let ticket = session.commit()?;
            session.wait(ticket)
        }
    }
}

/// A write or a read by a handle that a definition may have made stale meanwhile.
fn unless_changed(result: Result<()>, who: Checkpoints) {
    match result {
        Ok(()) | Err(Error::Conflict(_) | Error::TableChanged { .. }) => {}
        result => unless_log_is_long(result, who),
    }
}

/// If checkpoints are made by calls, the log reaches its limit when they are late.
fn unless_log_is_long(result: Result<()>, who: Checkpoints) {
    match result {
        Ok(()) => {}
        Err(Error::LogLong { .. }) if who == Checkpoints::Called => std::thread::yield_now(),
        Err(error) => panic!("{error}"),
    }
}

fn write(database: &Database, at: u64) -> Result<()> {
    let table = database.table("t")?;
    let key = at as i64 % ROWS;
    database.run(|tx| tx.put(&table, &[Value::Int(key), Value::Int(at as i64)]))
}

fn read(database: &Database) -> Result<()> {
    let table = database.table("t")?;
    let mut session = database.session()?;
    let mut rows_read = 0;
    session.run(Begin::ReadOnlyDurable, |tx| {
        rows_read = 0;
        tx.scan(&table, KeyRange::ALL, Direction::Ascending, usize::MAX, |_| {
            rows_read += 1;
            Ok(ControlFlow::Continue(()))
        })
    })?;
    assert_eq!(rows_read, ROWS, "a snapshot must hold every row");
    Ok(())
}

/// A thread that repeats `work` until the mode is over, and counts.
fn repeat(
    (database, done): (&Arc<Database>, &Arc<Done>),
    count: fn(&Done) -> &AtomicU64,
    mut work: impl FnMut(&Database, u64) + Send + 'static,
) -> JoinHandle<()> {
    let (database, done) = (Arc::clone(database), Arc::clone(done));
    std::thread::spawn(move || {
        while !done.is_over.load(Ordering::Relaxed) {
            work(&database, count(&done).load(Ordering::Relaxed));
            count(&done).fetch_add(1, Ordering::Relaxed);
        }
    })
}

fn run_mode(mode: Mode, who: Checkpoints) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the test");
    let mut options = options();
    if who == Checkpoints::Own {
        options.checkpoint_log_bytes = 4 << 10;
    } else {
        options.checkpoint_by_itself = false;
    }
    let database = Database::create(folder.path().join("database"), options);
    let database = Arc::new(database.expect("a database can be made"));
    let table = database.create_table(rows_table("t")).expect("a new table");
    let filled = database
        .run(|tx| (0..ROWS).try_for_each(|k| tx.insert(&table, &[Value::Int(k), Value::Int(k)])));
    filled.expect("rows are written");

    let done = Arc::new(Done::default());
    let shared = (&database, &done);
    let seconds = requested_seconds();
    let began = clock::now();
    let goes_on = move |calls: u64, database: &Database| {
        if let Some(seconds) = seconds {
            return clock::now() - began < seconds * 1_000_000_000;
        }
        let made_by_calls = match mode {
            // An index is built by logged transactions, without a separate checkpoint.
            Mode::Load => calls,
            _ => 0,
        };
        calls < CALLS || finished_checkpoints(database) < CHECKPOINTS + made_by_calls
    };
    let mut threads = vec![
        repeat(
            shared,
            |done| &done.writes,
            move |database, at| unless_changed(write(database, at), who),
        ),
        repeat(shared, |done| &done.reads, move |database, _| unless_changed(read(database), who)),
    ];
    if who == Checkpoints::Called {
        threads.push(repeat(
            shared,
            |done| &done.checkpoints,
            |database, _| {
                database.checkpoint().expect("a checkpoint");
            },
        ));
    }
    let definer = {
        let (database, done) = (Arc::clone(&database), Arc::clone(&done));
        std::thread::spawn(move || {
            let mut at = 0;
            while goes_on(at, &database) {
                unless_log_is_long(call(&database, mode, at), who);
                at = done.calls.fetch_add(1, Ordering::Relaxed) + 1;
            }
            done.is_over.store(true, Ordering::Relaxed);
        })
    };
    threads.push(definer);

    guard(&database, &done, &threads, (mode, who));
    for thread in threads {
        thread.join().expect("a thread of the test panicked");
    }
    assert_eq!(database.verify().expect("a walk"), Vec::<String>::new());
    let finished = finished_checkpoints(&database);
    println!("{mode:?}, checkpoints {who:?}: {done:?}, {finished} checkpoints finished");
}

/// Waits until all threads have ended. Panics if they stop, and leaves them behind.
fn guard(
    database: &Database,
    done: &Done,
    threads: &[JoinHandle<()>],
    (mode, who): (Mode, Checkpoints),
) {
    let counts = || {
        [
            done.calls.load(Ordering::Relaxed),
            done.writes.load(Ordering::Relaxed),
            done.reads.load(Ordering::Relaxed),
            finished_checkpoints(database),
        ]
    };
    let mut last = counts().map(|count| (count, clock::now()));
    while !threads.iter().all(JoinHandle::is_finished) {
        std::thread::park_timeout(Duration::from_millis(5));
        for (last, count) in last.iter_mut().zip(counts()) {
            if last.0 != count {
                *last = (count, clock::now());
            }
            assert!(
                clock::now() - last.1 < STANDSTILL_NS,
                "{mode:?} with checkpoints {who:?} has stopped: {done:?}, {:?}",
                database.stats().checkpoints
            );
        }
        if threads
            .iter()
            .any(|thread| thread.is_finished() && !done.is_over.load(Ordering::Relaxed))
        {
            // It panicked: the others must end, so that it can be joined.
            done.is_over.store(true, Ordering::Relaxed);
        }
    }
}

/// Checkpoints since the database was made, however begun.
fn finished_checkpoints(database: &Database) -> u64 {
    let checkpoints = database.stats().checkpoints;
    checkpoints.expect("the database is on a disk").finished
}

fn requested_seconds() -> Option<u64> {
    std::env::var("SYNCLINE_BESIDE_SECONDS").ok()?.parse().ok()
}

/// False if an environment variable selects other modes.
fn is_requested(mode: Mode) -> bool {
    let Ok(requested) = std::env::var("SYNCLINE_BESIDE") else {
        return true;
    };
    let name = format!("{mode:?}").to_lowercase();
    requested.split(',').any(|requested| requested == name)
}

fn run(mode: Mode) {
    if is_requested(mode) {
        run_mode(mode, Checkpoints::Called);
        run_mode(mode, Checkpoints::Own);
    }
}

// H1, A.B1
#[test]
fn an_index_is_built_while_checkpoints_begin() {
    run(Mode::Index);
}

// H1, A.B1
#[test]
fn a_table_is_loaded_while_checkpoints_begin() {
    run(Mode::Load);
}

#[test]
fn tables_are_made_and_dropped_while_checkpoints_begin() {
    run(Mode::Create);
}

#[test]
fn columns_are_added_while_checkpoints_begin() {
    run(Mode::Column);
}

#[test]
fn a_database_is_verified_while_checkpoints_begin() {
    run(Mode::Verify);
}

#[test]
fn a_database_is_inspected_while_checkpoints_begin() {
    run(Mode::Inspect);
}

#[test]
fn a_transaction_runs_alone_while_checkpoints_begin() {
    run(Mode::Alone);
}
