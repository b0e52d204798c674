//! A database that is larger than its cache.

use crate::options::{BufferMode, Options};
use crate::{Begin, Database, Direction, KeyRange, Kind, Schema, Value};
use std::ops::ControlFlow;
use std::path::Path;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::Metadata;

const ROWS: i64 = 3_000;

fn options(buffer_mode: BufferMode) -> Options {
    let cached = Options {
        buffer_mode,
        // The tables of pages and the inner nodes take about half of it.
        resident_bytes_max: 256 << 10,
        ..Options::tiny()
    };
    match buffer_mode {
        BufferMode::Resident => Options::tiny(),
        BufferMode::Mapped | BufferMode::Disk => cached,
    }
}

fn sum(database: &Database<SimulatedDisk>) -> (i64, i64) {
    let table = database.table("rows").unwrap();
    let mut session = database.session().unwrap();
    session.begin(Begin::ReadOnlyDurable).unwrap();
    let (mut count, mut sum) = (0, 0);
    let all = KeyRange::ALL;
    let scanned = session.scan(&table, all, Direction::Ascending, usize::MAX, |row| {
        let Ok(Value::Int(number)) = row.value(1) else {
            panic!("the column holds integers");
        };
        count += 1;
        sum += number;
        Ok(ControlFlow::Continue(()))
    });
    scanned.unwrap();
    session.abort();
    (count, sum)
}

fn schema() -> Schema {
    Schema::table("rows")
        .column("id", Kind::Int)
        .column("number", Kind::Int)
        .column("text", Kind::Text)
        .key(["id"])
        .build()
        .unwrap()
}

/// A load of 300,000 rows was refused at the cap: a commit that had loaded pages raised the cap for eviction,
/// but not for new pages, so that nothing was evicted for these.
#[test]
fn commits_of_many_rows_in_random_order_outgrow_the_cache() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let database = Database::create_on(&disk, Path::new("db"), options(BufferMode::Disk)).unwrap();
    let table = database.create_table(schema()).unwrap();
    let text = "x".repeat(80);
    let mut ids: Vec<i64> = (0..ROWS).collect();
    fastrand::Rng::with_seed(1).shuffle(&mut ids);
    for batch in ids.chunks(60) {
        let inserted = database.run(|tx| {
            batch.iter().try_for_each(|&id| {
                let row = [Value::Int(id), Value::Int(7 * id), Value::from(text.as_str())];
                tx.insert(&table, &row)
            })
        });
        inserted.unwrap();
    }
    assert_eq!(sum(&database), (ROWS, 7 * ROWS * (ROWS - 1) / 2));
    assert!(database.stats().evicted_pages > 1_000);
    database.close().unwrap();
}

#[test]
fn a_new_database_outgrows_its_cache_and_opens_in_every_mode() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let directory = Path::new("database");
    let database = Database::create_on(&disk, directory, options(BufferMode::Disk)).unwrap();
    let table = database.create_table(schema()).unwrap();
    let text = "x".repeat(80);
    for id in 0..ROWS {
        let row = [Value::Int(id), Value::Int(7 * id), Value::from(text.as_str())];
        database.run(|tx| tx.insert(&table, &row)).unwrap();
        if id % 500 == 0 {
            // The log would be too long for a database that makes no checkpoints by itself.
            database.checkpoint().unwrap();
        }
    }
    let expected = (ROWS, 7 * ROWS * (ROWS - 1) / 2);
    assert_eq!(sum(&database), expected);
    let stats = database.stats();
    assert!(stats.evicted_pages > 500 && stats.loaded_pages > 300, "{stats:?}");
    assert!(stats.resident_bytes < 300 << 10, "{stats:?}");
    database.close().unwrap();
    for mode in [BufferMode::Mapped, BufferMode::Resident, BufferMode::Disk] {
        let database = Database::open_on(&disk, directory, options(mode)).unwrap();
        assert_eq!(sum(&database), expected, "{mode:?}");
        assert_eq!(database.verify().unwrap(), Vec::<String>::new(), "{mode:?}");
        database.close().unwrap();
    }
}
