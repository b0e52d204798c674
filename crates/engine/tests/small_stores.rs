//! What a small database takes on disk: in allocated blocks and in file lengths.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::yield_now;
use syncline_engine::{Database, Kind, Options, Schema, Value};
use syncline_instrument::clock;

/// The most that an empty database may take.
const EMPTY_BYTES_MAX: u64 = 4 << 20;

/// Allocated bytes and lengths of everything in a directory.
fn usage(directory: &Path) -> (u64, u64) {
    let (mut allocated, mut length) = (0, 0);
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let metadata = fs::metadata(&path).expect("its metadata");
        let (below, below_length) =
            if metadata.is_dir() { usage(&path) } else { (0, metadata.len()) };
        allocated += metadata.blocks() * 512 + below;
        length += below_length;
    }
    (allocated, length)
}

fn assert_small(directory: &Path, when: &str) {
    let (allocated, length) = usage(directory);
    assert!(
        allocated.max(length) <= EMPTY_BYTES_MAX,
        "{when}: {allocated} bytes allocated, {length} bytes of files"
    );
}

/// Waits until the maintenance thread has prepared the log file behind the current one.
fn await_prepared_file(directory: &Path) {
    let since = clock::now();
    let is_marked = || {
        let names = fs::read_dir(directory.join("log")).expect("the log");
        let segments = names.filter(|name| {
            let path = name.as_ref().expect("a name").path();
            let is_segment = path.extension().is_some_and(|extension| extension == "log");
            is_segment && fs::read(&path).expect("a file").starts_with(b"SYNCLOG1")
        });
        segments.count() > 1
    };
    while !is_marked() {
        assert!(clock::now() - since < 60 * clock::SECOND, "no log file is prepared");
        yield_now();
    }
}

#[test]
fn an_empty_database_takes_at_most_four_mebibytes_however_often_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("tenant");
    let database = Database::create(&directory, Options::default()).unwrap();
    await_prepared_file(&directory);
    assert_small(&directory, "new");
    let schema = Schema::table("rows").column("id", Kind::Int).key(["id"]);
    let rows = database.create_table(schema.build().unwrap()).unwrap();
    database.run(|tx| tx.insert(&rows, &[Value::Int(0)])).unwrap();
    database.close().unwrap();
    assert_small(&directory, "closed");
    for round in 1..=8 {
        let database = Database::open(&directory, Options::default()).unwrap();
        await_prepared_file(&directory);
        let rows = database.table("rows").unwrap();
        database.run(|tx| tx.insert(&rows, &[Value::Int(round)])).unwrap();
        assert_small(&directory, &format!("opened for the {round}th time"));
        // Every other time it is not closed properly.
        if round % 2 == 0 {
            database.close().unwrap();
        } else {
            drop(database);
        }
    }
    println!("{:?} bytes allocated and of files after nine openings", usage(&directory));
}

#[test]
fn the_log_files_of_a_busy_database_reach_their_full_size() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("busy");
    let mut options = Options::default();
    options.log.segment_bytes = 8 << 20;
    let database = Database::create(&directory, options).unwrap();
    let schema = Schema::table("rows").column("id", Kind::Int).column("bytes", Kind::Bytes);
    let rows = database.create_table(schema.key(["id"]).build().unwrap()).unwrap();
    let bytes = vec![7; 1 << 20];
    for id in 0..40 {
        database.run(|tx| tx.put(&rows, &[Value::Int(id % 4), Value::Bytes(&bytes)])).unwrap();
    }
    let log = database.stats().log;
    // 256 KiB, 1 MiB, 4 MiB, and 8 MiB from then on: 40 MiB of records and the rest of each segment.
    assert!((7..=11).contains(&log.segments), "{log:?}");
    assert_eq!(database.settings().unwrap().segment_bytes, 8 << 20);
    database.close().unwrap();
}
