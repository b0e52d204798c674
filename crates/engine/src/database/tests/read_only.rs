//! A database that is open for reading only.

use crate::error::{Error, Result};
use crate::options::{BufferMode, Options};
use crate::{Begin, Database, Kind, Schema, Value};
use std::path::Path;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::{Crash, Metadata};

fn directory() -> &'static Path {
    Path::new("database")
}

fn schema(name: &str) -> Schema {
    Schema::table(name).column("id", Kind::Int).key(["id"]).build().unwrap()
}

/// The crash image of a database with the rows 1 to 40, of which a checkpoint holds the first half.
fn crashed(options: &Options) -> SimulatedDisk {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let database = Database::create_on(&disk, directory(), options.clone()).unwrap();
    let table = database.create_table(schema("t")).unwrap();
    for id in 1..=40 {
        database.run(|transaction| transaction.insert(&table, &[Value::Int(id)])).unwrap();
        if id == 20 {
            database.checkpoint().unwrap();
        }
    }
    disk.crash(Crash::DropAll)
}

fn rows(database: &Database<SimulatedDisk>) -> Result<usize> {
    let table = database.table("t")?;
    let mut session = database.session()?;
    session.begin(Begin::Serializable)?;
    let found =
        (1..=40).filter(|id| matches!(session.get(&table, &[Value::Int(*id)]), Ok(Some(_))));
    let found = found.count();
    session.commit()?;
    Ok(found)
}

#[test]
fn readers_share_a_database_and_see_what_only_the_log_holds() {
    for buffer_mode in [BufferMode::Resident, BufferMode::Mapped, BufferMode::Disk] {
        let options = Options { buffer_mode, ..Options::tiny() };
        let disk = crashed(&options);
        let before = disk.operations();
        let readers = [0, 1]
            .map(|_| Database::open_read_only_on(&disk, directory(), options.clone()).unwrap());
        for reader in &readers {
            assert!(reader.is_read_only());
            assert_eq!(rows(reader).unwrap(), 40);
            assert_eq!(reader.verify().unwrap(), Vec::<String>::new());
            assert!(reader.inspect().unwrap().to_string().contains("table t"));
        }
        let refused = Database::open_on(&disk, directory(), options.clone());
        assert!(matches!(refused, Err(Error::Disk(syncline_vfs::Error::Locked { .. }))));
        for reader in readers {
            reader.close().unwrap();
        }
        assert_eq!(disk.operations(), before, "nothing was written or synced");
        let writer = Database::open_on(&disk, directory(), options.clone()).unwrap();
        assert_eq!(rows(&writer).unwrap(), 40);
        let refused = Database::open_read_only_on(&disk, directory(), options);
        assert!(matches!(refused, Err(Error::Disk(syncline_vfs::Error::Locked { .. }))));
    }
}

#[test]
fn every_change_is_refused_and_leaves_the_transaction_open() {
    let options = Options::tiny();
    let disk = crashed(&options);
    let reader = Database::open_read_only_on(&disk, directory(), options).unwrap();
    let is_refused = |refused: Result<()>| matches!(refused, Err(Error::ReadOnlyDatabase));
    let table = reader.table("t").unwrap();
    let mut session = reader.session().unwrap();
    session.begin(Begin::Serializable).unwrap();
    assert!(is_refused(session.insert(&table, &[Value::Int(50)])));
    assert!(is_refused(session.delete(&table, &[Value::Int(1)])));
    assert!(session.get(&table, &[Value::Int(1)]).unwrap().is_some());
    session.commit().unwrap();
    assert!(is_refused(session.begin_exclusive()));
    drop(session);
    assert!(is_refused(reader.run(|transaction| transaction.insert(&table, &[Value::Int(50)]))));
    assert!(is_refused(reader.create_table(schema("new")).map(drop)));
    let no_rows: [[Value<'_>; 1]; 0] = [];
    assert!(is_refused(reader.load_table(schema("new"), no_rows).map(drop)));
    assert!(is_refused(reader.change_table(&schema("t")).map(drop)));
    assert!(is_refused(reader.drop_table("t")));
    assert!(is_refused(reader.checkpoint().map(drop)));
    reader.flush().unwrap();
}

/// The lock of the log lasts as long as a session can read.
#[test]
fn a_session_that_outlives_its_database_keeps_writers_out() {
    let options = Options::tiny();
    let disk = crashed(&options);
    let reader = Database::open_read_only_on(&disk, directory(), options.clone()).unwrap();
    let table = reader.table("t").unwrap();
    let mut session = reader.session().unwrap();
    drop(reader);
    assert!(Database::open_on(&disk, directory(), options.clone()).is_err());
    session.begin(Begin::ReadOnly).unwrap();
    assert!(session.get(&table, &[Value::Int(40)]).unwrap().is_some());
    drop(session);
    Database::open_on(&disk, directory(), options).unwrap();
}
