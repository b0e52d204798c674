//! A log of events whose contents are large, one megabyte on average: contents are streamed into large
//! objects, rows name them, and the last events are read back and checked.
//!
//! `cargo run --release -p syncline-engine --example event_log`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::io::{self, Read, Write};
use std::time::{Duration, SystemTime};
use syncline_engine::{BufferMode, Database, Error, KeyRange, Kind, Options, Schema, asc, values};

const EVENTS: i64 = 64;

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Engine(#[from] Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What the n-th event contains.
fn content(number: i64) -> impl Read {
    io::repeat(number as u8).take((number as u64 * 64) << 10)
}

fn append(database: &Database, number: i64, source: &str) -> Result<(), Failure> {
    let (events, contents) = (database.table("event")?, database.large_objects("content")?);
    let mut writer = contents.write(database)?;
    io::copy(&mut content(number), &mut writer)?;
    writer.flush()?;
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + number as u64);
    writer.finish(|transaction, id| Ok(transaction.insert(&events, values![source, time, id])?))
}

fn main() -> Result<(), Failure> {
    let folder = tempfile::tempdir().expect("a folder for the example");
    // Contents need not fit into memory.
    let options = Options::with_cache(BufferMode::Disk, 32 << 20);
    let database = Database::create(folder.path().join("events"), options)?;
    let events = Schema::table("event")
        .column("source", Kind::Text)
        .column("time", Kind::Timestamp)
        .column("content", Kind::Int)
        .key(["source", "time"])
        .index("by_time", [asc("time"), asc("source")]);
    let events = database.create_table(events.build()?)?;
    let contents = database.large_objects("content")?;
    for number in 1..=EVENTS {
        append(&database, number, ["disk", "network"][number as usize % 2])?;
    }

    // The newest events of one source, newest first.
    let bytes = database.read(|transaction| -> Result<_, Failure> {
        let mut bytes = 0;
        for event in transaction.rows(&events, KeyRange::prefix(values!["disk"]))?.rev().take(5) {
            let event = event?;
            let time: SystemTime = event.get("time")?;
            let number = time.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs();
            let reader = contents.read(transaction, event.get("content")?)?;
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            reader.expect("the row names it").read_to_end(&mut found)?;
            content(number as i64 - 1_700_000_000).read_to_end(&mut expected)?;
            assert!(found == expected, "of {event:?}");
            bytes += found.len();
        }
        Ok(bytes)
    })?;
    println!(
        "{EVENTS} events; {bytes} bytes of the last five of one source are as they were written"
    );

    // What is older than the last ten goes, row and content together.
    let deleted = database.run(|transaction| -> Result<_, Failure> {
        let count = transaction.count(&events, KeyRange::ALL)? as usize;
        for event in transaction.rows(events.by("by_time")?, KeyRange::ALL)?.limit(count - 10) {
            let event = event?;
            contents.delete(transaction, event.get("content")?)?;
            transaction.delete(
                &events,
                values![event.get::<&str>("source")?, event.get::<SystemTime>("time")?],
            )?;
        }
        Ok(count - transaction.count(&events, KeyRange::ALL)? as usize)
    })?;
    assert_eq!(database.verify()?, Vec::<String>::new());
    println!("{deleted} old events deleted");
    Ok(())
}
