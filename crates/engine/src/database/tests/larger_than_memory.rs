//! A database that is larger than its cache.

use crate::options::{BufferMode, Options};
use crate::planted_bug::{self, PlantedBug};
use crate::{
    Begin, Change, Database, Direction, KeyRange, Kind, PrefetchKey, Prefetcher, Schema, Value,
};
use std::ops::ControlFlow;
use std::path::Path;
use syncline_vfs::simulated::{Crash, Fault, FaultRule, Metadata};
use syncline_vfs::{CountingDisk, SimulatedDisk};

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
    // Evicted frames wait for their last reader, which may be a thread of another test.
    let is_small = || {
        crate::buffer::pin().flush();
        std::thread::sleep(std::time::Duration::from_millis(1));
        database.stats().resident_bytes < 300 << 10
    };
    assert!((0..20_000).any(|_| is_small()), "{:?}", database.stats());
    database.close().unwrap();
    for mode in [BufferMode::Mapped, BufferMode::Resident, BufferMode::Disk] {
        let database = Database::open_on(&disk, directory, options(mode)).unwrap();
        assert_eq!(sum(&database), expected, "{mode:?}");
        assert_eq!(database.verify().unwrap(), Vec::<String>::new(), "{mode:?}");
        database.close().unwrap();
    }
}

/// A database of many pages, none of them in memory.
fn reopened(disk: &SimulatedDisk, directory: &Path) -> Database<SimulatedDisk> {
    let options = || Options { resident_bytes_max: 4 << 20, ..options(BufferMode::Disk) };
    let database = Database::create_on(disk, directory, options()).unwrap();
    let table = database.create_table(schema()).unwrap();
    let text = "x".repeat(80);
    for first in (0..ROWS).step_by(60) {
        let inserted = database.run(|tx| {
            (first..first + 60).try_for_each(|id| {
                let row = [Value::Int(id), Value::Int(7 * id), Value::from(text.as_str())];
                tx.insert(&table, &row)
            })
        });
        inserted.unwrap();
    }
    database.close().unwrap();
    Database::open_on(disk, directory, options()).unwrap()
}

#[test]
fn a_prefetcher_loads_rows_to_read_and_to_write_together_and_adds_only_what_is_missing() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let database = reopened(&disk, Path::new("db"));
    let table = database.table("rows").unwrap();
    let mut session = database.session().unwrap();
    let mut prefetcher = database.prefetcher();
    let mut keys = vec![PrefetchKey::default(); 20];
    for (id, key) in (0..ROWS).step_by(150).zip(&mut keys) {
        session.prepare_key(&table, &[Value::Int(id)], key).unwrap();
        assert!(prefetcher.add_missing(&table, key).unwrap().is_some(), "{id}");
    }
    prefetcher.prefetch();
    let loaded = database.stats().loaded_pages;
    session.begin(Begin::ReadOnlyDurable).unwrap();
    for (position, (id, key)) in (0..ROWS).step_by(150).zip(&mut keys).enumerate() {
        prefetcher.set_hint(position, key);
        let row = session.get_prefetched(&table, key).unwrap().expect("a row");
        assert_eq!(row.value(1).unwrap(), Value::Int(7 * id));
        assert_eq!(prefetcher.add_missing(&table, key).unwrap(), None);
    }
    session.abort();
    assert_eq!(database.stats().loaded_pages, loaded, "every read found its page in memory");

    session.begin(Begin::Serializable).unwrap();
    for id in [75, 76, 225, 1_425] {
        session.delete(&table, &[Value::Int(id)]).unwrap();
    }
    assert!(prefetcher.add_writes(&session).len() >= 3);
    prefetcher.prefetch();
    let loaded = database.stats().loaded_pages;
    assert!(prefetcher.add_writes(&session).is_empty());
    let ticket = session.commit().unwrap();
    session.wait(ticket).unwrap();
    assert_eq!(database.stats().loaded_pages, loaded, "the commit found its pages in memory");
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn a_failed_read_of_a_prefetch_is_the_error_of_the_call_that_needs_the_row() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let database = reopened(&disk, Path::new("db"));
    let table = database.table("rows").unwrap();
    let mut session = database.session().unwrap();
    session.begin(Begin::ReadOnlyDurable).unwrap();
    // The inner nodes are in memory then.
    assert!(session.get(&table, &[Value::Int(0)]).unwrap().is_some());
    let mut prefetcher = database.prefetcher();
    let mut keys = vec![PrefetchKey::default(); 3];
    for (id, key) in [700, 1_400, 2_100].into_iter().zip(&mut keys) {
        session.prepare_key(&table, &[Value::Int(id)], key).unwrap();
        prefetcher.add(&table, key).unwrap();
    }
    disk.arm(FaultRule { repeat: true, ..FaultRule::next(Fault::ReadError, "db") });
    prefetcher.prefetch();
    for key in &keys {
        let read = session.get_prefetched(&table, key).map(|row| row.is_some());
        assert!(read.is_err(), "{read:?}");
    }
    disk.disarm();
    for key in &keys {
        assert!(session.get_prefetched(&table, key).unwrap().is_some());
    }
}

#[test]
fn rows_load_in_the_background_while_others_are_read() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let database = reopened(&disk, Path::new("db"));
    let table = database.table("rows").unwrap();
    let mut session = database.session().unwrap();
    let mut prefetcher = database.prefetcher();
    let ids: Vec<i64> = (0..ROWS).step_by(150).chain([1, 151]).collect();
    let mut keys = vec![PrefetchKey::default(); ids.len()];
    for (id, key) in ids.iter().zip(&mut keys) {
        session.prepare_key(&table, &[Value::Int(*id)], key).unwrap();
        prefetcher.add(&table, key).unwrap();
    }
    prefetcher.begin();
    let loads: Vec<_> = (0..ids.len()).map(|position| prefetcher.load(position)).collect();
    assert!(prefetcher.is_loading() && loads.iter().all(Option::is_some), "{loads:?}");
    assert_eq!(prefetcher.load(ids.len()), None);
    // A read does not wait for a load that another thread, or a later step of this one, would have to end.
    session.begin(Begin::ReadOnlyDurable).unwrap();
    let read = session.get_prefetched(&table, &keys[3]).unwrap().expect("a row");
    assert_eq!(read.value(0).unwrap(), Value::Int(ids[3]));
    while prefetcher.is_loading() {
        prefetcher.wait().unwrap();
    }
    assert!(loads.iter().flatten().all(|load| prefetcher.is_loaded(*load)));
    let loaded = database.stats().loaded_pages;
    for (id, key) in ids.iter().zip(&keys) {
        let row = session.get_prefetched(&table, key).unwrap().expect("a row");
        assert_eq!(row.value(1).unwrap(), Value::Int(7 * id));
    }
    assert_eq!(database.stats().loaded_pages, loaded, "every read found its page in memory");
    // Rows in memory have no load, and a prefetcher may be dropped while it loads.
    prefetcher.add(&table, &keys[0]).unwrap();
    session.prepare_key(&table, &[Value::Int(1_000)], &mut keys[1]).unwrap();
    prefetcher.add(&table, &keys[1]).unwrap();
    prefetcher.begin();
    assert!(prefetcher.load(0).is_none() && prefetcher.load(1).is_some());
    drop(prefetcher);
    assert!(session.get_prefetched(&table, &keys[1]).unwrap().is_some());
}

#[test]
fn rows_that_find_no_room_for_their_reads_are_read_after_the_others() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    reopened(&disk, Path::new("db")).close().unwrap();
    let database = Database::open_on(&disk, Path::new("db"), options(BufferMode::Disk)).unwrap();
    let table = database.table("rows").unwrap();
    let session = database.session().unwrap();
    sum(&database);
    let mut prefetcher = database.prefetcher();
    let mut key = PrefetchKey::default();
    for id in (0..ROWS).step_by(5) {
        session.prepare_key(&table, &[Value::Int(id)], &mut key).unwrap();
        prefetcher.add(&table, &key).unwrap();
    }
    let before = database.stats().loaded_pages;
    prefetcher.begin();
    let loads: Vec<_> = (0..600).filter_map(|position| prefetcher.load(position)).collect();
    assert!(loads.len() > 300, "{} of 600", loads.len());
    while prefetcher.is_loading() {
        prefetcher.wait().unwrap();
    }
    assert!(loads.iter().all(|load| prefetcher.is_loaded(*load)));
    let loaded = database.stats().loaded_pages - before;
    assert!(loaded > 300, "{loaded} pages");
}

/// The number in a row whose page was being read while it changed, went to the disk with a checkpoint, and
/// left memory.
fn changed_while_it_was_read(planted: Option<PlantedBug>) -> Value<'static> {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    reopened(&disk, Path::new("db")).close().unwrap();
    let database = Database::open_on(&disk, Path::new("db"), options(BufferMode::Disk)).unwrap();
    let table = database.table("rows").unwrap();
    let (mut session, mut prefetcher) = (database.session().unwrap(), database.prefetcher());
    let mut key = PrefetchKey::default();
    session.prepare_key(&table, &[Value::Int(700)], &mut key).unwrap();
    // Reads of all rows load the inner nodes, and evict this row's leaf in the end.
    sum(&database);
    let is_missing =
        |prefetcher: &mut Prefetcher<_>| prefetcher.add_missing(&table, &key).unwrap().is_some();
    assert!(is_missing(&mut prefetcher));
    prefetcher.begin();
    assert!(prefetcher.is_loading());
    let change = [Change::set(1, Value::Int(-1))];
    database.run(|tx| tx.update(&table, &[Value::Int(700)], &change)).unwrap();
    database.checkpoint().unwrap();
    sum(&database);
    let mut other = database.prefetcher();
    assert!(is_missing(&mut other), "the page has left memory");
    planted_bug::with(planted, || {
        while prefetcher.is_loading() {
            prefetcher.wait().unwrap();
        }
    });
    session.begin(Begin::ReadOnlyDurable).unwrap();
    let row = session.get_prefetched(&table, &key).unwrap().expect("a row");
    let Value::Int(number) = row.value(1).unwrap() else {
        panic!("the column holds integers");
    };
    Value::Int(number)
}

#[test]
fn an_image_that_arrives_after_its_page_has_changed_is_not_used() {
    assert_eq!(changed_while_it_was_read(None), Value::Int(-1));
    let old = changed_while_it_was_read(Some(PlantedBug::PlaceOldImage));
    assert_eq!(old, Value::Int(4_900), "the test would see it");
}

#[test]
fn recovery_reads_the_leaves_of_scattered_changes_together() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let database = reopened(&disk, Path::new("db"));
    let table = database.table("rows").unwrap();
    for id in (0..ROWS).step_by(20) {
        database.run(|tx| tx.delete(&table, &[Value::Int(id)])).unwrap();
    }
    let crashed = disk.crash(Crash::DropAll);
    drop(database);
    let counting = CountingDisk::new(crashed);
    let options = Options { resident_bytes_max: 4 << 20, ..options(BufferMode::Disk) };
    let opened = Database::open_on(&counting, Path::new("db"), options).unwrap();
    let (counts, loaded) = (counting.counts(), opened.stats().loaded_pages);
    assert!(loaded > 100, "{loaded} pages");
    assert!((1..=8).contains(&counts.read_batches), "{counts:?}");
    assert_eq!(opened.verify().unwrap(), Vec::<String>::new());
}
