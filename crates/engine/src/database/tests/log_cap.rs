//! A log with a cap: its files never pass it, and writers wait for checkpoints instead of failing.

use crate::database::create::create;
use crate::database::open::open;
use crate::error::Error;
use crate::log::Threads;
use crate::options::Options;
use crate::table::TypedSession;
use crate::txn::Begin;
use crate::{Database, Kind, Schema, Value};
use std::path::Path;
use syncline_vfs::simulated::{Crash, Metadata};
use syncline_vfs::{Disk, File, OpenOptions, SimulatedDisk};

const LOG: &str = "db/log";

/// The smallest cap.
fn options(by_itself: bool) -> Options {
    let mut options = Options { checkpoint_by_itself: by_itself, ..Options::tiny() };
    options.log.log_bytes_max = Some(8 * options.log.segment_bytes);
    options
}

fn rows() -> Schema {
    let schema = Schema::table("rows").column("id", Kind::Int).column("bytes", Kind::Bytes);
    schema.key(["id"]).build().unwrap()
}

/// Bytes of all files in the log's directory.
fn log_bytes(disk: &SimulatedDisk) -> u64 {
    let length = |name| disk.open(&Path::new(LOG).join(name), OpenOptions::READ)?.len();
    let names = disk.list(Path::new(LOG)).unwrap();
    names.iter().map(|name| length(name).unwrap()).sum()
}

#[test]
fn ten_times_the_cap_is_written_and_the_files_never_pass_it() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let options = options(true);
    let cap = options.log.log_bytes_max.unwrap();
    let database = Database::create_on(&disk, Path::new("db"), options.clone()).unwrap();
    let table = database.create_table(rows()).unwrap();
    let (mut written, mut id) = (0, 0);
    while written < 10 * cap {
        let bytes = vec![id as u8; 1_000];
        let put = |tx: &mut crate::Transaction<'_, SimulatedDisk>| {
            tx.put(&table, &[Value::Int(id % 50), Value::Bytes(&bytes)])
        };
        if id % 7 == 0 {
            // An exclusive transaction makes its own checkpoint at the cap.
            let mut session = database.session().unwrap();
            session.begin_exclusive().unwrap();
            session.put(&table, &[Value::Int(id % 50), Value::Bytes(&bytes)]).unwrap();
            let ticket = session.commit().unwrap();
            session.wait(ticket).unwrap();
        } else {
            database.run(put).unwrap();
        }
        written += 1_000;
        id += 1;
        let bytes = log_bytes(&disk);
        assert!(bytes <= cap, "after {id} commits: {bytes} bytes, the cap is {cap}");
    }
    assert!(database.stats().checkpoints.unwrap().finished > 3);
    drop(database);
    let left = disk.crash(Crash::DropAll);
    let database = Database::open_on(&left, Path::new("db"), options).unwrap();
    assert!(log_bytes(&left) <= cap);
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    database.close().unwrap();
}

#[test]
fn at_the_cap_a_database_without_own_checkpoints_refuses_until_the_caller_makes_one() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let options = Options { checkpoint_segment_bytes: 1 << 20, ..options(false) };
    let cap = options.log.log_bytes_max.unwrap();
    let engine = create(&disk, Path::new("db"), options.clone(), Threads::None).unwrap();
    engine.create_table(rows()).unwrap();
    let table = engine.table("rows").unwrap();
    let put = |id: i64| {
        let mut session = TypedSession::new(&engine.core).unwrap();
        let row = [Value::Int(id % 20), Value::Bytes(&[1; 300])];
        let ((), ticket) = session.run(Begin::Serializable, |tx| tx.put(&table, &row))?;
        session.wait(ticket)
    };
    let refused = (0..10_000).find_map(|id| put(id).err()).expect("the log has a cap");
    let is_long = matches!(refused, Error::LogLong { bytes_max, .. } if bytes_max == cap);
    assert!(is_long, "{refused}");
    assert!(log_bytes(&disk) <= cap);
    let checkpoints = engine.checkpoints.as_ref().unwrap();
    checkpoints.run(&engine.core, &engine.tree_directory).unwrap();
    put(1).unwrap();
    // Reopened at the cap, it still finds space for the segment that recovery begins.
    while put(2).is_ok() {}
    let left = disk.crash(Crash::DropAll);
    drop(open(&left, Path::new("db"), options.clone(), Threads::None).unwrap());
    assert!(log_bytes(&left) <= cap);
    let mut smaller = options;
    smaller.log.segment_bytes_min = 16 << 10;
    smaller.log.log_bytes_max = Some(cap - 1);
    let refused = open(&left, Path::new("db"), smaller, Threads::None).map(drop).unwrap_err();
    assert!(refused.to_string().contains("log_bytes_max"), "{refused}");
}
