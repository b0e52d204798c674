//! After a panic anywhere in the engine the next call reports it, no thread waits forever, and closing
//! neither panics nor hangs.
//!
//! The panics come from a disk that panics once, at an I/O of a named thread under a given path.

use crate::database::maintenance_thread::MaintenanceThread;
use crate::database::open::transient;
use crate::options::Options;
use crate::{Database, Error, Kind, Result, Schema, Value};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;
use syncline_vfs::simulated::Metadata;
use syncline_vfs::{Disk, File, OpenOptions, SimulatedDisk, SimulatedFile};

/// Where the disk panics: the thread's name, and a part of the path.
type PanicSite = (&'static str, &'static str);

#[derive(Clone, Debug)]
struct PanickingDisk {
    disk: SimulatedDisk,
    armed: Arc<Mutex<Option<PanicSite>>>,
}

#[derive(Debug)]
struct PanickingFile {
    file: SimulatedFile,
    path: PathBuf,
    armed: Arc<Mutex<Option<PanicSite>>>,
}

impl PanickingDisk {
    fn new() -> PanickingDisk {
        PanickingDisk { disk: SimulatedDisk::new(1, Metadata::Strict), armed: Arc::default() }
    }

    fn arm(&self, thread: &'static str, under: &'static str) {
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = Some((thread, under));
    }
}

impl PanickingFile {
    fn may_panic(&self) {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_here = armed.is_some_and(|(thread, under)| {
            std::thread::current().name() == Some(thread)
                && self.path.to_string_lossy().contains(under)
        });
        if is_here {
            *armed = None;
            drop(armed);
            panic!("a bug in the disk");
        }
    }
}

impl Disk for PanickingDisk {
    type File = PanickingFile;

    fn open(&self, path: &Path, options: OpenOptions) -> syncline_vfs::Result<PanickingFile> {
        Ok(PanickingFile {
            file: self.disk.open(path, options)?,
            path: path.to_owned(),
            armed: Arc::clone(&self.armed),
        })
    }

    fn create_directory(&self, path: &Path) -> syncline_vfs::Result<()> {
        self.disk.create_directory(path)
    }

    fn remove(&self, path: &Path) -> syncline_vfs::Result<()> {
        self.disk.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> syncline_vfs::Result<()> {
        self.disk.rename(from, to)
    }

    fn list(&self, directory: &Path) -> syncline_vfs::Result<Vec<PathBuf>> {
        self.disk.list(directory)
    }

    fn sync_directory(&self, directory: &Path) -> syncline_vfs::Result<()> {
        self.disk.sync_directory(directory)
    }
}

impl File for PanickingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> syncline_vfs::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> syncline_vfs::Result<()> {
        self.may_panic();
        self.file.write_at(bytes, offset)
    }

    fn sync_data(&self) -> syncline_vfs::Result<()> {
        self.file.sync_data()
    }

    fn sync_all(&self) -> syncline_vfs::Result<()> {
        self.file.sync_all()
    }

    fn len(&self) -> syncline_vfs::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, bytes: u64) -> syncline_vfs::Result<()> {
        self.file.set_len(bytes)
    }

    fn preallocate(&self, bytes: u64) -> syncline_vfs::Result<()> {
        self.may_panic();
        self.file.preallocate(bytes)
    }

    fn try_lock(&self) -> syncline_vfs::Result<()> {
        self.file.try_lock()
    }

    fn try_lock_shared(&self) -> syncline_vfs::Result<()> {
        self.file.try_lock_shared()
    }
}

type TestDatabase = Database<PanickingDisk>;

/// Runs a test on a named thread, on which the disk may panic. A test that hangs fails.
fn on_thread(name: &str, body: impl FnOnce() + Send + 'static) {
    let (ended, end) = mpsc::channel();
    let thread = std::thread::Builder::new().name(name.to_owned());
    let thread = thread.spawn(move || {
        body();
        ended.send(()).expect("the test waits");
    });
    match end.recv_timeout(Duration::from_mins(1)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the test hangs"),
        _ => thread.expect("a thread").join().expect("the test panicked"),
    }
}

fn schema(name: &str) -> Schema {
    let table = Schema::table(name).column("id", Kind::Int).key(["id"]);
    table.build().expect("a schema that is right")
}

fn made(disk: &PanickingDisk, by_itself: bool) -> TestDatabase {
    let options = Options {
        checkpoint_by_itself: by_itself,
        checkpoint_log_bytes: 1 << 10,
        ..Options::tiny()
    };
    let database = Database::create_on(disk, Path::new("db"), options).expect("a new database");
    database.create_table(schema("one")).expect("a new table");
    database
}

fn put(database: &TestDatabase, id: i64) -> Result<()> {
    let table = database.table("one")?;
    database.run(|tx| tx.put(&table, &[Value::Int(id)]))
}

/// The error of the first call that fails.
fn first_failure(database: &TestDatabase) -> Error {
    let failed = (0..).find_map(|id| match put(database, id % 50) {
        // The thread that must panic may be late: the log may reach its limit before.
        Err(Error::LogLong { .. }) => database.checkpoint().err(),
        written => written.err(),
    });
    failed.expect("a call fails, or the hang guard ends this")
}

/// After a panic of a thread the next calls report the reason, and closing returns.
fn assert_reports(database: TestDatabase, why: &str) {
    let failure = database.flush().expect_err("the log has failed");
    assert!(failure.to_string().contains(why), "{failure}");
    let failure = put(&database, 1).expect_err("the log has failed");
    assert!(matches!(failure, Error::Poisoned { .. }), "{failure:?}");
    assert!(failure.to_string().contains(why), "{failure}");
    assert!(database.create_table(schema("two")).is_err());
    assert!(database.checkpoint().is_err() || database.stats().checkpoints.is_none());
    let table = database.table("one").expect("reads go on");
    let mut session = database.session().expect("a session");
    let begin = crate::Begin::ReadOnlyDurable;
    let read = session.run(begin, |tx| tx.get(&table, &[Value::Int(1)]).map(|row| row.is_some()));
    read.expect("reads go on");
    drop(session);
    drop(database);
}

#[test]
fn the_next_call_reports_a_panic_of_the_checkpoint_thread() {
    on_thread("caller", || {
        let disk = PanickingDisk::new();
        let database = made(&disk, true);
        disk.arm("maintenance", "data");
        let failure = first_failure(&database);
        assert!(!matches!(failure, Error::Conflict(_)), "{failure}");
        assert_reports(database, "panicked: a bug in the disk");
    });
}

#[test]
fn a_panic_of_the_log_writer_wakes_waiters_and_the_next_call_reports_it() {
    on_thread("caller", || {
        let disk = PanickingDisk::new();
        let database = made(&disk, false);
        disk.arm("log writer", "log");
        let table = database.table("one").expect("it is there");
        let mut session = database.session().expect("a session");
        for id in 0.. {
            let begun = session.begin(crate::Begin::Serializable);
            let wrote = begun.and_then(|()| session.put(&table, &[Value::Int(id % 50)]));
            // The thread writes commits for which no caller waits.
            if wrote.and_then(|()| session.commit_unsynced()).is_err() {
                break;
            }
        }
        session.abort();
        drop(session);
        assert_reports(database, "a write of the log panicked: a bug in the disk");
    });
}

#[test]
fn the_next_call_reports_a_panic_during_log_file_preparation() {
    on_thread("caller", || {
        let disk = PanickingDisk::new();
        let database = made(&disk, false);
        disk.arm("maintenance", "log");
        first_failure(&database);
        assert_reports(database, "the preparation of a log file panicked: a bug in the disk");
    });
}

#[test]
fn the_next_call_reports_a_panic_of_the_preallocation() {
    on_thread("caller", || {
        let engine = transient(Options::default()).expect("a database");
        let thread = MaintenanceThread::start_with(&engine, |_| panic!("no block today"));
        let thread = thread.expect("a thread");
        engine.core.buffer.low().raise();
        while engine.core.log.check().is_ok() {
            std::thread::yield_now();
        }
        let failure = engine.core.log.check().expect_err("it has failed");
        assert!(failure.to_string().contains("no block today"), "{failure}");
        drop(thread);
    });
}

#[test]
fn a_panic_in_a_checkpoint_that_a_call_drives_leaves_nothing_closed_or_locked() {
    on_thread("caller", || {
        let disk = PanickingDisk::new();
        let database = made(&disk, false);
        put(&database, 1).expect("a commit");
        disk.arm("caller", "data");
        let called = catch_unwind(AssertUnwindSafe(|| database.checkpoint()));
        assert!(called.is_err(), "the caller gets the panic");
        assert_reports(database, "checkpoint panicked: a bug in the disk");
    });
}

#[test]
fn a_panic_in_a_definition_leaves_nothing_closed_or_locked() {
    on_thread("caller", || {
        let disk = PanickingDisk::new();
        let database = made(&disk, false);
        disk.arm("caller", "log");
        let called = catch_unwind(AssertUnwindSafe(|| database.create_table(schema("two"))));
        assert!(called.is_err(), "the caller gets the panic");
        // Another thread does not hang either.
        std::thread::scope(|scope| {
            let other = scope.spawn(|| put(&database, 1).is_err());
            assert!(other.join().expect("it does not panic"));
        });
        assert_reports(database, "panicked: a bug in the disk");
    });
}

#[test]
fn a_panic_of_a_caller_that_writes_the_log_fails_it_for_all() {
    on_thread("caller", || {
        let disk = PanickingDisk::new();
        let database = made(&disk, false);
        disk.arm("caller", "log");
        let called = catch_unwind(AssertUnwindSafe(|| put(&database, 1)));
        assert!(called.is_err(), "the caller gets the panic");
        assert_reports(database, "a write of the log panicked: a bug in the disk");
    });
}
