//! kill -9 of a real process: no acknowledged commit is lost, and no commit is partial.
//!
//! The program starts itself as a child that commits from several threads and reports acknowledged commits
//! over a pipe, while checkpoints run. It kills the child at a random moment, opens the database, and
//! compares. The next child continues where the last one was killed. Killing a process loses nothing that the
//! operating system holds; power losses are simulated elsewhere.
//!
//! `cargo test -p syncline-engine --test kill`, followed by `--` and the number of rounds if not 100.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test without a harness prints its own results"
)]

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use syncline_engine::{
    Begin, Change, Database, Direction, KeyRange, Kind, Options, Result, Schema, Value, log,
};

const CLIENTS: u64 = 4;

/// Rows that a client keeps: older ones are deleted, so that leaves become empty and pages are freed.
const ROWS_RETAINED: i64 = 300;

const ACKNOWLEDGEMENT_BYTES: usize = 16;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, child, directory] = &arguments[..]
        && child == "child"
    {
        return work(Path::new(directory));
    }
    let rounds = arguments.iter().find_map(|argument| argument.parse().ok());
    let rounds: u32 = rounds.unwrap_or(100);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the test");
    let directory = folder.path().join("database");
    prepare(&directory).expect("a database can be made");
    let mut random = fastrand::Rng::new();
    let (mut acknowledged, mut unheard) = (0, 0);
    for round in 0..rounds {
        let reported = run_and_kill(&directory, Duration::from_millis(random.u64(1..80)));
        let (heard, beyond) = compare(&directory, &reported).unwrap_or_else(|error| {
            panic!("round {round}: the database cannot be opened: {error}");
        });
        acknowledged += heard;
        unheard += beyond;
    }
    println!(
        "{rounds} kills: {acknowledged} commits acknowledged, none lost; {unheard} more were there"
    );
    assert!(acknowledged > u64::from(rounds), "the children had time to commit");
    ExitCode::SUCCESS
}

fn options() -> Options {
    Options {
        page_bytes: 4096,
        checkpoint_log_bytes: 64 << 10,
        checkpoint_segment_bytes: 4 << 20,
        pre_image_bytes_max: 64 << 10,
        extent_bytes: 1 << 20,
        log: log::Options {
            segment_bytes: 1 << 20,
            frame_bytes_max: 64 << 10,
            ..log::Options::default()
        },
        ..Options::default()
    }
}

fn prepare(directory: &Path) -> Result<()> {
    let database = Database::create(directory, options())?;
    let events = Schema::table("events")
        .column("client", Kind::Int)
        .column("number", Kind::Int)
        .column("payload", Kind::Bytes)
        .key(["client", "number"])
        .index("by_number", ["number"]);
    database.create_table(events.build()?)?;
    let tallies = Schema::table("tallies")
        .column("client", Kind::Int)
        .column("commits", Kind::Int)
        .key(["client"]);
    let tallies = database.create_table(tallies.build()?)?;
    database.run(|transaction| {
        for client in 0..CLIENTS {
            let row = [Value::Int(client as i64), Value::Int(0)];
            transaction.insert(&tallies, &row)?;
        }
        Ok(())
    })
}

/// A row's payload: its length varies with its number, so that rows grow, split pages and overflow.
fn payload(client: u64, number: i64) -> Vec<u8> {
    let bytes = (number * 37 + client as i64) % 200;
    let bytes = if number % 97 == 0 { 5_000 } else { bytes };
    vec![number as u8 ^ client as u8; bytes as usize]
}

/// The child: commits until it is killed.
fn work(directory: &Path) -> ExitCode {
    let database = match Database::open(directory, options()) {
        Ok(database) => database,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let database = &database;
            scope.spawn(move || commit_forever(database, client));
        }
    });
    ExitCode::FAILURE
}

fn commit_forever(database: &Database, client: u64) {
    let events = database.table("events").expect("it was made");
    let tallies = database.table("tallies").expect("it was made");
    let mut number = tally(database, client).expect("it can be read");
    let mut session = database.session().expect("there is room for a session");
    let (id, own) = (Value::Int(client as i64), [Value::Int(client as i64)]);
    loop {
        let bytes = payload(client, number);
        let row = [id, Value::Int(number), Value::Bytes(&bytes)];
        let committed = session.run(Begin::Serializable, |transaction| {
            transaction.insert(&events, &row)?;
            if number >= ROWS_RETAINED {
                transaction.delete(&events, &[id, Value::Int(number - ROWS_RETAINED)])?;
            }
            transaction.update(&tallies, &own, &[Change::add(1, Value::Int(1))])
        });
        let ((), ticket) = committed.expect("no other client writes these rows");
        session.wait(ticket).expect("the disk works");
        let mut acknowledged = [0; ACKNOWLEDGEMENT_BYTES];
        acknowledged[..8].copy_from_slice(&client.to_le_bytes());
        acknowledged[8..].copy_from_slice(&number.to_le_bytes());
        // A pipe write of so few bytes is atomic.
        if std::io::stdout().write_all(&acknowledged).is_err() || std::io::stdout().flush().is_err()
        {
            return;
        }
        number += 1;
    }
}

/// Runs a child for a while and kills it. Returns the commits that it acknowledged, client and number.
fn run_and_kill(directory: &Path, span: Duration) -> Vec<(u64, i64)> {
    let program = std::env::current_exe().expect("the program has a name");
    let mut child = Command::new(program)
        .arg("child")
        .arg(directory)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let mut pipe = child.stdout.take().expect("its output is a pipe");
    let mut acknowledged = vec![0; ACKNOWLEDGEMENT_BYTES];
    pipe.read_exact(&mut acknowledged).expect("a first commit is acknowledged");
    let reader = std::thread::spawn(move || {
        pipe.read_to_end(&mut acknowledged).expect("the pipe can be read to its end");
        acknowledged
    });
    std::thread::sleep(span);
    child.kill().expect("the child can be killed");
    let ended = child.wait().expect("the child has ended");
    assert!(ended.code().is_none(), "the child ended by itself: {ended}");
    let acknowledged = reader.join().expect("the reader has read");
    let acknowledged = acknowledged.chunks_exact(ACKNOWLEDGEMENT_BYTES).map(|acknowledged| {
        let eight = |at: usize| acknowledged[at..at + 8].try_into().expect("eight bytes");
        (u64::from_le_bytes(eight(0)), i64::from_le_bytes(eight(8)))
    });
    acknowledged.collect()
}

/// The number of acknowledged commits, and of additional ones in the database.
fn compare(directory: &Path, acknowledged: &[(u64, i64)]) -> Result<(u64, u64)> {
    let database = Database::open(directory, options())?;
    assert_eq!(database.verify()?, Vec::<String>::new());
    let events = database.table("events")?;
    let mut beyond = 0;
    for client in 0..CLIENTS {
        let count = tally(&database, client)?;
        let last = acknowledged
            .iter()
            .filter(|acknowledged| acknowledged.0 == client)
            .map(|acknowledged| acknowledged.1)
            .max();
        if let Some(last) = last {
            assert!(
                count > last,
                "client {client}: {last} was acknowledged, but the database holds {count}"
            );
            beyond += (count - 1 - last) as u64;
        }
        let mut expected = (count - ROWS_RETAINED).max(0);
        let mut session = database.session()?;
        session.begin(Begin::ReadOnly)?;
        let own = [Value::Int(client as i64)];
        let range = KeyRange::prefix(&own);
        session.scan(&events, range, Direction::Ascending, usize::MAX, |row| {
            assert_eq!(row.value(1)?, Value::Int(expected), "client {client}");
            let bytes = payload(client, expected);
            assert_eq!(row.value(2)?, Value::Bytes(&bytes), "client {client}, {expected}");
            expected += 1;
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        assert_eq!(expected, count, "client {client}: rows and tally belong to different commits");
        session.abort();
    }
    Ok((acknowledged.len() as u64, beyond))
}

fn tally(database: &Database, client: u64) -> Result<i64> {
    let tallies = database.table("tallies")?;
    database.run(|transaction| {
        let key = [Value::Int(client as i64)];
        let row = transaction.get(&tallies, &key)?.expect("it was inserted at the beginning");
        Ok(row.value(1)?.as_int().expect("a tally is a number"))
    })
}
