//! The memory that the system counts for a process stays within a database's cache, however many threads use
//! it one after the other. The test has a process of its own, so that no other test's memory counts.

#[path = "shared/anonymous_memory.rs"]
mod anonymous_memory;

use anonymous_memory::anonymous_bytes;
use std::ops::ControlFlow;
use std::thread;
use syncline_engine::{
    Begin, BufferMode, Database, Direction, KeyRange, Kind, Options, Schema, Value,
};

const CACHE_BYTES: u64 = 16 << 20;

/// Rows of 1 KB: four times the cache.
const ROWS: i64 = 64_000;

/// What the log, the threads and the allocator may take besides.
const OTHER_BYTES: u64 = 10 << 20;

#[test]
fn threads_that_use_a_database_in_turn_share_the_memory_of_its_cache() {
    let directory = tempfile::tempdir().unwrap();
    let options = || Options::with_cache(BufferMode::Disk, CACHE_BYTES);
    let before = anonymous_bytes();
    let database = Database::create(directory.path().join("db"), options()).unwrap();
    let schema = Schema::table("rows").column("id", Kind::Int).column("text", Kind::Text);
    let table = database.create_table(schema.key(["id"]).build().unwrap()).unwrap();
    let text = "x".repeat(1_000);
    for first in (0..ROWS).step_by(500) {
        let inserted = database.run(|tx| {
            (first..first + 500)
                .try_for_each(|id| tx.insert(&table, &[Value::Int(id), text.as_str().into()]))
        });
        inserted.unwrap();
    }
    let most = CACHE_BYTES / 100 * 115 + OTHER_BYTES;
    for turn in 0..8 {
        // Each thread is a new one, and takes memory from a part of the heap of its own while others live.
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut session = database.session().unwrap();
                    session.begin(Begin::ReadOnly).unwrap();
                    let mut rows = 0;
                    let count = |_: syncline_engine::Row<'_>| {
                        rows += 1;
                        Ok(ControlFlow::Continue(()))
                    };
                    let all = KeyRange::ALL;
                    session.scan(&table, all, Direction::Ascending, usize::MAX, count).unwrap();
                    assert_eq!(rows, ROWS);
                });
            }
        });
        let taken = anonymous_bytes() - before;
        assert!(taken <= most, "turn {turn}: {} KiB of {} KiB", taken >> 10, most >> 10);
    }
    let resident = database.stats().resident_bytes;
    assert!(resident > CACHE_BYTES / 2, "the cache is in use: {resident} bytes");
}
