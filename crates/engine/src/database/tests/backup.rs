//! Backups of an open database.

use crate::database::backup::{BackupStep, RunningBackup};
use crate::error::{Error, Result};
use crate::options::{BufferMode, Options};
use crate::{BackupOptions, Database, Kind, Schema, Table, Value};
use std::path::Path;
use syncline_vfs::simulated::{Fault, FaultRule, Metadata};
use syncline_vfs::{Disk, SimulatedDisk};

const ROWS: i64 = 2_000;

fn directory() -> &'static Path {
    Path::new("database")
}

fn schema() -> Schema {
    let schema = Schema::table("t").column("id", Kind::Int).column("text", Kind::Text);
    schema.key(["id"]).build().unwrap()
}

fn filled(disk: &SimulatedDisk, options: &Options) -> (Database<SimulatedDisk>, Table) {
    let database = Database::create_on(disk, directory(), options.clone()).unwrap();
    let rows = (0..ROWS).map(|id| [Value::Int(id), Value::Text("before")]);
    let table = database.load_table(schema(), rows).unwrap();
    (database, table)
}

/// The number of rows with each text, of `before` and `after`.
fn texts(database: &Database<SimulatedDisk>) -> Result<(usize, usize)> {
    let table = database.table("t")?;
    let (mut before, mut after) = (0, 0);
    database.run(|transaction| -> Result<_> {
        (before, after) = (0, 0);
        for id in 0..ROWS {
            let row = transaction.get(&table, &[Value::Int(id)])?.expect("no row was deleted");
            match row.value(1)? {
                Value::Text("before") => before += 1,
                _ => after += 1,
            }
        }
        Ok(())
    })?;
    Ok((before, after))
}

/// Every row changes, and two checkpoints pass, between the beginning of a backup and its pages.
#[test]
fn a_backup_holds_one_commit_while_everything_changes_and_can_be_written_to() {
    for buffer_mode in [BufferMode::Resident, BufferMode::Disk] {
        let options = Options { buffer_mode, ..Options::tiny() };
        let disk = SimulatedDisk::new(1, Metadata::Strict);
        let (database, table) = filled(&disk, &options);
        database.checkpoint().unwrap();
        let copy = Path::new("copy");
        let mut backup = RunningBackup::begin(database.engine(), copy, 7).unwrap();
        for _ in 0..2 {
            for first in (0..ROWS).step_by(100) {
                let changed = database.run(|transaction| {
                    (first..first + 100).try_for_each(|id| {
                        let row = [Value::Int(id), Value::Text("after, and longer")];
                        transaction.put(&table, &row)
                    })
                });
                changed.unwrap();
            }
            database.checkpoint().unwrap();
            assert_eq!(backup.step().unwrap(), BackupStep::Worked);
        }
        assert!(matches!(
            Database::open_on(&disk, copy, options.clone()),
            Err(Error::Missing { .. })
        ));
        assert_eq!(database.verify().unwrap(), Vec::<String>::new(), "held images are not lost");
        while backup.step().unwrap() == BackupStep::Worked {}
        drop(backup);
        assert_eq!(database.verify().unwrap(), Vec::<String>::new(), "the hold has ended");
        assert_eq!(texts(&database).unwrap(), (0, ROWS as usize));
        drop(database);

        let copied = Database::open_on(&disk, copy, options.clone()).unwrap();
        assert_eq!(texts(&copied).unwrap(), (ROWS as usize, 0));
        assert_eq!(copied.verify().unwrap(), Vec::<String>::new());
        let table = copied.table("t").unwrap();
        let row = [Value::Int(ROWS), Value::Text("new")];
        copied.run(|transaction| transaction.insert(&table, &row)).unwrap();
        copied.close().unwrap();
        Database::open_on(&disk, copy, options).unwrap();
    }
}

#[test]
fn a_backup_holds_what_was_committed_before_the_call() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let options = Options::tiny();
    let (database, table) = filled(&disk, &options);
    let row = [Value::Int(5), Value::Text("after")];
    database.run(|transaction| transaction.put(&table, &row)).unwrap();
    let copy = Path::new("copy");
    let slow = BackupOptions { bytes_per_second: Some(64 << 20) };
    let made = database.backup(copy, slow).unwrap();
    assert!(made.csn <= database.durable_lsn() && made.pages > 10 && made.bytes > 10_000);
    let copied = Database::open_read_only_on(&disk, copy, options).unwrap();
    assert_eq!(texts(&copied).unwrap(), (ROWS as usize - 1, 1));
    assert_eq!(copied.durable_lsn(), made.csn);
}

#[test]
fn what_cannot_be_backed_up_is_refused_and_leaves_nothing() {
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let options = Options::tiny();
    let (database, _table) = filled(&disk, &options);
    let whole = BackupOptions::default();
    let own = database.backup(directory(), whole);
    assert!(matches!(own, Err(Error::Exists { .. })), "{own:?}");
    let running = RunningBackup::begin(database.engine(), Path::new("one"), 7).unwrap();
    let other = database.backup("other", whole);
    assert!(matches!(other, Err(Error::Backup { .. })), "{other:?}");
    assert!(disk.list(Path::new("other")).is_err());
    drop(running);
    database.backup("one", whole).unwrap();
    let transient = Database::transient(options.clone()).unwrap();
    assert!(matches!(transient.backup("new", whole), Err(Error::Backup { .. })));
    drop(database);
    let reader = Database::open_read_only_on(&disk, directory(), options).unwrap();
    assert!(matches!(reader.backup("new", whole), Err(Error::ReadOnlyDatabase)));
}

/// Also with a page that cannot be read, and on a disk without space for the copy.
#[test]
fn after_a_fault_the_database_goes_on_and_the_directory_can_be_used_again() {
    let options = Options::tiny();
    for fault in [Fault::ReadError, Fault::PreallocateFull, Fault::WriteError, Fault::SyncFull] {
        let disk = SimulatedDisk::new(1, Metadata::Strict);
        let (database, _table) = filled(&disk, &options);
        database.checkpoint().unwrap();
        let copy = Path::new("copy");
        let mut backup = RunningBackup::begin(database.engine(), copy, 50).unwrap();
        backup.step().unwrap();
        let rule = if fault == Fault::ReadError { "database" } else { "copy" };
        disk.arm(FaultRule { repeat: true, ..FaultRule::next(fault, rule) });
        let failed = loop {
            match backup.step() {
                Ok(BackupStep::Worked) => {}
                Ok(BackupStep::Done(_)) => panic!("{fault:?} is not noticed"),
                Err(error) => break error,
            }
        };
        assert!(matches!(failed, Error::Disk(_) | Error::Full { .. }), "{failed:?}");
        drop(backup);
        disk.disarm();
        assert!(Database::open_on(&disk, copy, options.clone()).is_err());
        assert_eq!(texts(&database).unwrap(), (ROWS as usize, 0));
        database.backup(copy, BackupOptions::default()).unwrap();
        Database::open_on(&disk, copy, options.clone()).unwrap();
        assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    }
}
