//! Values of full-sized extents: read back through checkpoints and openings, in bounded space and memory.

use crate::{Begin, Database, Kind, Options, Schema, Table, Value, log};
use std::path::Path;
use syncline_vfs::{CountingDisk, Disk, RealDisk};

const MIB: usize = 1 << 20;

fn options() -> Options {
    Options {
        value_bytes_max: 20 << 20,
        resident_bytes_max: 256 << 20,
        extent_bytes: 1 << 20,
        checkpoint_by_itself: false,
        log: log::Options {
            segment_bytes: 32 << 20,
            durability: log::Durability::None,
            ..log::Options::default()
        },
        ..Options::default()
    }
}

fn made<D: Disk>(disk: &D, directory: &Path) -> (Database<D>, Table) {
    let database = Database::create_on(disk, directory, options()).unwrap();
    let schema = Schema::table("values").column("id", Kind::Int).column("body", Kind::Bytes);
    let table = database.create_table(schema.key(["id"]).build().unwrap()).unwrap();
    (database, table)
}

/// A value whose parts differ, and which ends with zeros.
fn value(id: i64, bytes: usize) -> Vec<u8> {
    let mut value = vec![0; bytes];
    fastrand::Rng::with_seed(id as u64).fill(&mut value[..bytes - bytes / 9]);
    value
}

fn put<D: Disk>(database: &Database<D>, table: &Table, id: i64, body: &[u8]) {
    let row = [Value::Int(id), Value::Bytes(body)];
    database.run(|transaction| transaction.put(table, &row)).unwrap();
}

fn assert_holds<D: Disk>(database: &Database<D>, id: i64, body: &[u8]) {
    let table = database.table("values").unwrap();
    let mut session = database.session().unwrap();
    session.begin(Begin::ReadOnly).unwrap();
    let row = session.get(&table, &[Value::Int(id)]).unwrap().unwrap();
    assert!(row.value(1).unwrap() == Value::Bytes(body), "row {id} of {} bytes", body.len());
    session.abort();
}

#[test]
fn values_at_the_borders_of_extents_come_back_from_log_and_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("database");
    // A row has a few bytes beside its body.
    let lengths = [2_000, 9_000, MIB - 100, MIB - 3, MIB, MIB + 1, 2 * MIB, 5 * MIB + 4_000];
    let (database, table) = made(&RealDisk, &directory);
    for (id, bytes) in lengths.into_iter().enumerate() {
        put(&database, &table, id as i64, &value(id as i64, bytes));
    }
    let check = |database: &Database| {
        for (id, bytes) in lengths.into_iter().enumerate() {
            assert_holds(database, id as i64, &value(id as i64, bytes));
        }
        assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    };
    check(&database);
    // From the log, then from a checkpoint.
    database.flush().unwrap();
    drop((database, table));
    for _ in 0..2 {
        let database = Database::open(&directory, options()).unwrap();
        check(&database);
        database.close().unwrap();
    }
}

#[test]
fn a_long_value_takes_its_own_bytes_of_memory_and_writes() {
    let folder = tempfile::tempdir().unwrap();
    let disk = CountingDisk::new(RealDisk);
    let (database, table) = made(&disk, &folder.path().join("database"));
    let before = database.stats().resident_bytes;
    let bytes = 16 * MIB;
    put(&database, &table, 1, &value(1, bytes));
    let resident = database.stats().resident_bytes - before;
    let headers = 17 * (40 + 128);
    // The maintenance thread may have prepared a block of 2 MiB for leaves by now.
    let most = bytes as u64 + headers + 64 * 1024 + (2 << 20);
    assert!((bytes as u64..most).contains(&resident), "{resident}");
    database.checkpoint().unwrap();
    put(&database, &table, 1, &value(2, bytes));
    let before = disk.counts();
    database.checkpoint().unwrap();
    let did = disk.counts().since(&before);
    // Writes of 256 KiB; directory, map, and root; and growth of the file, by zeros.
    println!("{} writes, {} bytes", did.writes, did.written_bytes);
    assert!(did.writes < 16 * 4 + 20, "{} writes", did.writes);
    assert_holds(&database, 1, &value(2, bytes));
}

#[test]
fn a_file_whose_long_values_all_change_again_and_again_does_not_grow_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("database");
    let (database, table) = made(&RealDisk, &directory);
    let mut random = fastrand::Rng::with_seed(7);
    let (mut needed, mut most, mut lengths) = (0, Vec::new(), [0; 20]);
    for round in 0..12 {
        let before: usize = lengths.iter().sum();
        let mut written = 0;
        for (id, length) in lengths.iter_mut().enumerate() {
            if random.bool() {
                *length = [3_000, 20_000, 400_000, 1_500_000][random.usize(0..4)];
                written += *length;
                put(&database, &table, id as i64, &value(round * 100 + id as i64, *length));
            }
        }
        // Otherwise the old versions of replaced rows are part of the checkpoint.
        database.flush().unwrap();
        database.engine().core.sweep();
        database.checkpoint().unwrap();
        // The last checkpoint's images and the new ones at the same time.
        needed = needed.max((before + written) as u64);
        most.push(std::fs::metadata(directory.join("data")).unwrap().len());
    }
    println!("{needed}, {most:?}");
    assert!(most[11] < needed * 5 / 4 + (4 << 20), "{needed}, {most:?}");
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
}
