//! An archive, and restores from it.

use crate::error::Error;
use crate::log::Until;
use crate::options::Options;
use crate::{BackupOptions, Csn, Database, Kind, RestoreSource, Restored, Schema, Value};
use std::path::{Path, PathBuf};
use syncline_vfs::simulated::{Fault, FaultRule, Metadata};
use syncline_vfs::{Disk, File, OpenOptions, SimulatedDisk};

fn disk() -> SimulatedDisk {
    SimulatedDisk::new(1, Metadata::Strict)
}

/// Checkpoints are made by the caller.
fn options(archive: Option<&str>) -> Options {
    let mut options = Options::tiny();
    options.log.archive = archive.map(PathBuf::from);
    options
}

fn schema() -> Schema {
    let schema = Schema::table("t").column("id", Kind::Int).column("bytes", Kind::Bytes);
    schema.key(["id"]).build().unwrap()
}

type Simulated = Database<SimulatedDisk>;

fn created(disk: &SimulatedDisk) -> Simulated {
    let database = Database::create_on(disk, Path::new("db"), options(Some("archive"))).unwrap();
    database.create_table(schema()).unwrap();
    database
}

fn opened(disk: &SimulatedDisk, name: &str, archive: Option<&str>) -> crate::Result<Simulated> {
    Database::open_on(disk, Path::new(name), options(archive))
}

fn backed_up(database: &Simulated, name: &str) -> Csn {
    database.backup(name, BackupOptions::default()).unwrap().csn
}

/// Inserts a row of 1 KB. Returns its commit.
fn insert(database: &Simulated, id: i64) -> crate::Result<Csn> {
    let table = database.table("t")?;
    database.run(|tx| tx.insert(&table, &[Value::Int(id), Value::Bytes(&[7; 1_000])]))?;
    Ok(database.durable_lsn())
}

/// Inserts rows until some segments have been released.
fn fill(database: &Simulated, ids: std::ops::Range<i64>) {
    for id in ids {
        insert(database, id).unwrap();
        if id % 20 == 0 {
            database.checkpoint().unwrap();
        }
    }
}

fn archived(disk: &SimulatedDisk) -> Vec<PathBuf> {
    let mut names = disk.list(Path::new("archive")).unwrap();
    names.sort();
    names
}

fn source(log: Option<&str>) -> RestoreSource {
    let (backup, archive) = (PathBuf::from("backup"), PathBuf::from("archive"));
    RestoreSource { backup, archive, log: log.map(PathBuf::from) }
}

fn restore(
    disk: &SimulatedDisk,
    log: Option<&str>,
    target: &str,
    until: Until,
) -> crate::Result<Restored> {
    Database::restore_on(disk, &source(log), Path::new(target), until, options(None))
}

fn ids(disk: &SimulatedDisk, name: &str) -> Vec<i64> {
    let database = opened(disk, name, None).unwrap();
    assert_eq!(database.verify().unwrap(), Vec::<String>::new());
    let table = database.table("t").unwrap();
    let ids = database.run(|tx| -> crate::Result<_> {
        let mut ids = Vec::new();
        for id in 0..1_000 {
            if tx.get(&table, &[Value::Int(id)])?.is_some() {
                ids.push(id);
            }
        }
        Ok(ids)
    });
    ids.unwrap()
}

#[test]
fn a_backup_is_restored_to_each_limit_and_to_the_end_of_archive_and_log() {
    let disk = disk();
    let database = created(&disk);
    fill(&database, 0..30);
    let held = backed_up(&database, "backup");
    fill(&database, 30..100);
    let middle = insert(&database, 100).unwrap();
    fill(&database, 101..200);
    let last = database.durable_lsn();
    database.close().unwrap();
    assert!(archived(&disk).len() > 5, "what is released is archived before the end");

    let restored = restore(&disk, None, "to-archive", Until::End).unwrap();
    assert!(restored.csn > middle && restored.csn < last, "{restored:?}");
    let restored = restore(&disk, Some("db/log"), "to-end", Until::End).unwrap();
    assert_eq!((restored.csn, restored.commits), (last, last.0 - held.0));
    assert_eq!(ids(&disk, "to-end"), (0..200).collect::<Vec<_>>());
    let restored = restore(&disk, None, "to-middle", Until::Commit(middle)).unwrap();
    assert_eq!(ids(&disk, "to-middle"), (0..=100).collect::<Vec<_>>());
    let until = Until::Time(restored.wall_ns.unwrap());
    let by_time = restore(&disk, Some("db/log"), "to-time", until).unwrap();
    assert_eq!(by_time, restored, "one client writes a commit at a time");
    let restored = restore(&disk, None, "to-backup", Until::Commit(held)).unwrap();
    assert_eq!((restored.csn, restored.wall_ns, restored.commits), (held, None, 0));
    assert_eq!(ids(&disk, "to-backup"), (0..30).collect::<Vec<_>>());
}

#[test]
fn limits_that_cannot_be_met_are_refused_and_the_target_stays_free() {
    let disk = disk();
    let database = created(&disk);
    fill(&database, 0..100);
    let held = backed_up(&database, "backup");
    fill(&database, 100..200);
    let last = database.durable_lsn();
    database.close().unwrap();
    let refused = |log, until, target| {
        let refused = restore(&disk, log, target, until).unwrap_err();
        assert!(matches!(refused, Error::Restore { .. }), "{refused}");
        refused.to_string()
    };
    let early = refused(None, Until::Commit(Csn(held.0 - 1)), "too-early");
    assert!(early.contains("use an older backup"), "{early}");
    let early = refused(None, Until::Time(1), "target");
    assert!(early.contains("use an older backup"), "{early}");
    let late = refused(None, Until::Commit(last), "target");
    assert!(late.contains("no log was given"), "{late}");
    let late = refused(Some("db/log"), Until::Commit(last.next()), "target");
    assert!(late.contains(&last.to_string()), "{late}");
    let missing = opened(&disk, "target", None).err();
    assert!(matches!(missing, Some(Error::Missing { .. })), "{missing:?}");
    restore(&disk, Some("db/log"), "target", Until::Commit(last)).unwrap();
    let exists = restore(&disk, None, "target", Until::End);
    assert!(matches!(exists, Err(Error::Exists { .. })), "{exists:?}");
}

/// Its later commits are not those of the archive.
#[test]
fn a_backup_that_was_opened_for_writing_is_no_source_and_no_second_writer_of_the_archive() {
    let disk = disk();
    let database = created(&disk);
    fill(&database, 0..100);
    backed_up(&database, "backup");
    fill(&database, 100..140);
    database.close().unwrap();
    restore(&disk, None, "target", Until::End).unwrap();
    let second = opened(&disk, "backup", Some("archive")).err();
    assert!(matches!(second, Some(Error::Archive { .. })), "{second:?}");
    opened(&disk, "backup", None).unwrap().close().unwrap();
    let refused = restore(&disk, None, "other", Until::End);
    assert!(matches!(refused, Err(Error::Restore { .. })), "{refused:?}");
}

#[test]
fn a_restored_database_has_an_id_of_its_own_and_cannot_use_the_archive_of_the_original() {
    let disk = disk();
    let database = created(&disk);
    fill(&database, 0..100);
    backed_up(&database, "backup");
    database.close().unwrap();
    restore(&disk, None, "target", Until::End).unwrap();
    let refused = opened(&disk, "target", Some("archive")).err();
    assert!(matches!(refused, Some(Error::WrongDatabase { .. })), "{refused:?}");
    let database = opened(&disk, "target", Some("archive-2")).unwrap();
    fill(&database, 500..540);
    database.close().unwrap();
    assert!(!disk.list(Path::new("archive-2")).unwrap().is_empty());
    let database = created_with(&disk, "other", "archive");
    assert!(matches!(database, Err(Error::WrongDatabase { .. })));
}

fn created_with(disk: &SimulatedDisk, name: &str, archive: &str) -> crate::Result<Simulated> {
    Database::create_on(disk, Path::new(name), options(Some(archive)))
}

#[test]
fn a_directory_of_a_log_or_a_database_is_no_archive() {
    let disk = disk();
    drop(created(&disk));
    for archive in ["db", "db/log"] {
        let refused = opened(&disk, "db", Some(archive)).err();
        assert!(matches!(refused, Some(Error::Archive { .. })), "{archive}: {refused:?}");
    }
    let refused = created_with(&disk, "new", "new/log").err();
    assert!(matches!(refused, Some(Error::Archive { .. })), "{refused:?}");
}

#[test]
fn an_opening_without_the_archive_leaves_a_gap_that_is_found_behind_the_limit_only() {
    let disk = disk();
    let database = created(&disk);
    fill(&database, 0..40);
    backed_up(&database, "backup");
    fill(&database, 40..100);
    database.close().unwrap();
    let before_gap = restore(&disk, None, "before-gap", Until::End).unwrap().csn;
    let without = opened(&disk, "db", None).unwrap();
    fill(&without, 100..160);
    without.close().unwrap();
    let again = opened(&disk, "db", Some("archive")).unwrap();
    fill(&again, 160..220);
    again.close().unwrap();
    let gap = restore(&disk, None, "target", Until::End).unwrap_err();
    assert!(gap.to_string().contains(&before_gap.to_string()), "{gap}");
    restore(&disk, None, "target", Until::Commit(before_gap)).unwrap();
}

#[test]
fn a_table_loaded_without_the_archive_is_named_when_it_cannot_be_restored() {
    let disk = disk();
    let database = created(&disk);
    backed_up(&database, "backup");
    database.close().unwrap();
    let without = opened(&disk, "db", None).unwrap();
    let other = Schema::table("other").column("id", Kind::Int).key(["id"]).build().unwrap();
    without.load_table(other, (0..10).map(|id| [Value::Int(id)])).unwrap();
    without.close().unwrap();
    let refused = restore(&disk, Some("db/log"), "target", Until::End).unwrap_err();
    assert!(refused.to_string().contains("table other was loaded"), "{refused}");
}

#[test]
fn a_loaded_table_with_indexes_is_restored_with_an_archive() {
    let disk = disk();
    let database = Database::create_on(&disk, Path::new("db"), options(Some("archive"))).unwrap();
    let first = backed_up(&database, "backup");
    let schema = schema().with_index("by_bytes", ["bytes"], false).unwrap();
    let rows = (0..300).rev().map(|id| [Value::Int(id), Value::Bytes(b"short")]);
    database.load_table(schema.clone(), rows).unwrap();
    assert!(database.durable_lsn().0 > first.0 + 2, "the rows are in the log");
    let twice = [1, 2, 1].map(|id| [Value::Int(id), Value::Bytes(b"short")]);
    let other = Schema::table("other").column("id", Kind::Int).column("bytes", Kind::Bytes);
    let refused = database.load_table(other.key(["id"]).build().unwrap(), twice);
    assert!(matches!(refused, Err(Error::DuplicateBuilt { index: None, .. })), "{refused:?}");
    database.close().unwrap();
    restore(&disk, Some("db/log"), "target", Until::End).unwrap();
    assert_eq!(ids(&disk, "target"), (0..300).collect::<Vec<_>>());
    assert_eq!(opened(&disk, "target", None).unwrap().tables(), [schema]);
}

/// Releases segments until one waits for the archive, which fails.
fn with_failing_archive(disk: &SimulatedDisk, mut options: Options) -> Simulated {
    options.log.archive = Some(PathBuf::from("archive"));
    let database = Database::create_on(disk, Path::new("db"), options).unwrap();
    database.create_table(schema()).unwrap();
    let full = FaultRule { repeat: true, ..FaultRule::next(Fault::WriteFull, "archive") };
    disk.arm(full);
    database
}

/// Waits for the thread that archives to fail.
fn archive_failure(database: &Simulated) -> std::sync::Arc<str> {
    loop {
        if let Some(failure) = database.archive_failure() {
            return failure;
        }
        std::thread::yield_now();
    }
}

#[test]
fn without_a_cap_the_log_grows_while_the_archive_is_full_and_shrinks_to_nothing_lost() {
    let disk = disk();
    let database = with_failing_archive(&disk, options(None));
    fill(&database, 0..100);
    let stats = database.stats().log;
    assert!(stats.segments_unarchived > 3 && stats.segments_archived == 0, "{stats:?}");
    assert!(stats.file_bytes > 100_000, "{stats:?}");
    let failure = archive_failure(&database);
    assert!(failure.contains("no space for"), "{failure}");
    disk.disarm();
    database.close().unwrap();
    assert!(archived(&disk).len() > 3, "closing tries once more");
    assert!(archived(&disk).iter().all(|name| name.extension().unwrap() == "log"));
}

#[test]
fn at_the_cap_commits_get_the_error_of_the_archive_and_go_on_once_it_has_space() {
    let disk = disk();
    let mut options = options(None);
    options.log.log_bytes_max = Some(8 * options.log.segment_bytes);
    let cap = options.log.log_bytes_max.unwrap();
    let database = with_failing_archive(&disk, options);
    let refused = (0..1_000).find_map(|id| {
        let refused = insert(&database, id).err();
        database.checkpoint().unwrap();
        refused
    });
    let refused = refused.expect("the log has a cap");
    assert!(matches!(&refused, Error::Full { directory, .. } if directory == Path::new("archive")));
    assert!(database.stats().log.file_bytes <= cap);
    disk.disarm();
    for id in 2_000..2_100 {
        insert(&database, id).unwrap();
        database.checkpoint().unwrap();
    }
    database.close().unwrap();
    assert!(archived(&disk).len() > 5);
}

#[test]
fn a_damaged_segment_is_not_archived() {
    let disk = disk();
    let database = with_failing_archive(&disk, options(None));
    fill(&database, 0..60);
    drop(database);
    // The oldest segment lies in the first file.
    let file = disk.open(Path::new("db/log/segment-0.log"), OpenOptions::READ_WRITE).unwrap();
    file.write_at(&[0xa5; 64], 1_600).unwrap();
    file.sync_all().unwrap();
    disk.disarm();
    let database = opened(&disk, "db", Some("archive")).unwrap();
    let refused = archive_failure(&database);
    assert!(refused.contains("segment-0.log is damaged"), "{refused}");
    drop(database);
    assert_eq!(archived(&disk), Vec::<PathBuf>::new());
}
