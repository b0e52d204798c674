//! kill -9 of a real process: nothing acknowledged is lost, and nothing is there by halves.
//!
//! The program starts itself as a child that commits from several threads and says over a pipe what was
//! acknowledged, while checkpoints run. It kills the child at a random moment, opens the database, and
//! compares. The next child goes on where the last one was killed. A process that is killed takes
//! nothing with it that the operating system holds: what a power cut does is simulated elsewhere.
//!
//! `cargo test -p syncline-engine --test kill`, with the number of rounds behind `--` if not 100.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test without a harness speaks for itself"
)]

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use syncline_engine::{
    Begin, Change, Database, Direction, KeyRange, Kind, Options, Result, Schema, Value, log,
};

const CLIENTS: u64 = 4;

/// Rows that a client keeps: older ones are deleted, so that leaves empty and pages are freed.
const ROWS_KEPT: i64 = 300;

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
        let told = run_and_kill(&directory, Duration::from_millis(random.u64(1..80)));
        let (heard, beyond) = compare(&directory, &told).unwrap_or_else(|error| {
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

/// What a row carries: as long as its number wants, so that rows grow, split pages and overflow.
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
            scope.spawn(move || commit_for_ever(database, client));
        }
    });
    ExitCode::FAILURE
}

fn commit_for_ever(database: &Database, client: u64) {
    let events = database.table("events").expect("it was made");
    let tallies = database.table("tallies").expect("it was made");
    let mut number = tally(database, client).expect("it can be read");
    let mut session = database.session().expect("there is room for it");
    let (id, own) = (Value::Int(client as i64), [Value::Int(client as i64)]);
    loop {
        let bytes = payload(client, number);
        let row = [id, Value::Int(number), Value::Bytes(&bytes)];
        let committed = session.run(Begin::Serializable, |transaction| {
            transaction.insert(&events, &row)?;
            if number >= ROWS_KEPT {
                transaction.delete(&events, &[id, Value::Int(number - ROWS_KEPT)])?;
            }
            transaction.update(&tallies, &own, &[Change::add(1, Value::Int(1))])
        });
        let ((), ticket) = committed.expect("nobody else writes these rows");
        session.wait(ticket).expect("the disk works");
        let mut told = [0; ACKNOWLEDGEMENT_BYTES];
        told[..8].copy_from_slice(&client.to_le_bytes());
        told[8..].copy_from_slice(&number.to_le_bytes());
        // One write of so few bytes into a pipe is whole or not at all.
        if std::io::stdout().write_all(&told).is_err() || std::io::stdout().flush().is_err() {
            return;
        }
        number += 1;
    }
}

/// Runs a child for so long and kills it; the commits that it acknowledged, client and number.
fn run_and_kill(directory: &Path, span: Duration) -> Vec<(u64, i64)> {
    let program = std::env::current_exe().expect("the program has a name");
    let mut child = Command::new(program)
        .arg("child")
        .arg(directory)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let mut pipe = child.stdout.take().expect("its output is a pipe");
    let mut told = vec![0; ACKNOWLEDGEMENT_BYTES];
    pipe.read_exact(&mut told).expect("a first commit is acknowledged");
    let reader = std::thread::spawn(move || {
        pipe.read_to_end(&mut told).expect("the pipe can be read to its end");
        told
    });
    std::thread::sleep(span);
    child.kill().expect("the child can be killed");
    let ended = child.wait().expect("the child has ended");
    assert!(ended.code().is_none(), "the child ended by itself: {ended}");
    let told = reader.join().expect("the reader has read");
    let told = told.chunks_exact(ACKNOWLEDGEMENT_BYTES).map(|told| {
        let eight = |at: usize| told[at..at + 8].try_into().expect("eight bytes");
        (u64::from_le_bytes(eight(0)), i64::from_le_bytes(eight(8)))
    });
    told.collect()
}

/// How many commits were acknowledged, and how many more are there.
fn compare(directory: &Path, told: &[(u64, i64)]) -> Result<(u64, u64)> {
    let database = Database::open(directory, options())?;
    assert_eq!(database.verify()?, Vec::<String>::new());
    let events = database.table("events")?;
    let mut beyond = 0;
    for client in 0..CLIENTS {
        let count = tally(&database, client)?;
        let last = told.iter().filter(|told| told.0 == client).map(|told| told.1).max();
        if let Some(last) = last {
            assert!(count > last, "client {client}: {last} was acknowledged, {count} are there");
            beyond += (count - 1 - last) as u64;
        }
        let mut expected = (count - ROWS_KEPT).max(0);
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
        assert_eq!(expected, count, "client {client}: rows and tally are of one commit");
        session.abort();
    }
    Ok((told.len() as u64, beyond))
}

fn tally(database: &Database, client: u64) -> Result<i64> {
    let tallies = database.table("tallies")?;
    database.run(|transaction| {
        let key = [Value::Int(client as i64)];
        let row = transaction.get(&tallies, &key)?.expect("it was inserted at the beginning");
        Ok(row.value(1)?.as_int().expect("a tally is a number"))
    })
}
