//! SQLite as a target, with threads and with a queue, and the settings that it reports.

use super::connection::{self, journal_of, synchronous_of};
use super::database_files::DatabaseFiles;
use super::dry_run;
use super::execute::Connected;
use super::failure::outside;
use super::queue::{QueueSession, QueueWorker};
use super::session::SqliteSession;
use super::settings::{LISTING, Settings, Wait};
use super::sql;
use crate::error::Error;
use crate::path;
use crate::url::Url;
use rusqlite::Connection;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::path::Path;
use syncline_contract::{
    Capabilities, ClientModel, DryRunPlan, Durability, Failure, FailureKind, Isolation,
    LogLocation, Plan, ReportedSettings, Session, Setting, Target, TargetResult, Worker,
};

/// SQLite with a connection for each client.
pub type Sqlite = SqliteTarget<ConnectionPerClient>;

/// SQLite with one connection for all clients.
pub type SqliteQueue = SqliteTarget<SharedConnection>;

/// SQLite, with that assignment of connections to clients.
#[derive(Debug)]
pub struct SqliteTarget<A> {
    store: Store,
    assignment: PhantomData<A>,
}

/// Which connection a client uses: the difference between the two targets.
pub trait Assignment: Debug + Sync {
    /// A client's session.
    type Session: Session;
    /// The state that the clients of a worker share.
    type Worker: Worker;

    /// Creates the state of one worker.
    fn worker(path: &Path, settings: Settings) -> Self::Worker;

    /// Opens the session of one client of that worker.
    fn connect(
        path: &Path,
        settings: &Settings,
        plan: &Plan,
        worker: &Self::Worker,
    ) -> TargetResult<Self::Session>;
}

/// Each client has a connection of its own.
#[derive(Debug)]
pub struct ConnectionPerClient;

impl Assignment for ConnectionPerClient {
    type Session = SqliteSession;
    type Worker = ();

    fn worker(_path: &Path, _settings: Settings) {}

    fn connect(
        path: &Path,
        settings: &Settings,
        plan: &Plan,
        _worker: &(),
    ) -> TargetResult<SqliteSession> {
        Connected::open(path, settings, plan).map(SqliteSession::new)
    }
}

/// All clients of a worker share one connection.
#[derive(Debug)]
pub struct SharedConnection;

impl Assignment for SharedConnection {
    type Session = QueueSession;
    type Worker = QueueWorker;

    fn worker(path: &Path, settings: Settings) -> QueueWorker {
        QueueWorker::new(path.to_owned(), settings)
    }

    fn connect(
        _path: &Path,
        _settings: &Settings,
        plan: &Plan,
        worker: &QueueWorker,
    ) -> TargetResult<QueueSession> {
        worker.connect(plan)
    }
}

/// SQLite in the client model that a URL sets.
#[derive(Debug)]
pub(crate) enum OpenedSqlite {
    /// A connection for each client.
    Threads(Sqlite),
    /// One connection for all clients.
    Queue(SqliteQueue),
}

/// Opens the target that a `sqlite:` URL names, without touching its files.
pub(crate) fn open(url: &Url) -> Result<OpenedSqlite, Error> {
    let settings = Settings::parse(&url.option_args(LISTING)?)?;
    let place = place(url)?;
    let store = Store { settings, place };
    Ok(match settings.client {
        ClientModel::Queue => OpenedSqlite::Queue(SqliteTarget::new(store)),
        ClientModel::Threads | ClientModel::Futures => {
            OpenedSqlite::Threads(SqliteTarget::new(store))
        }
    })
}

fn place(url: &Url) -> Result<DatabaseFiles, Error> {
    let malformed = |why| Error::Malformed { url: url.text.clone(), why, form: LISTING.form };
    let Some(path) = &url.path else {
        return Ok(DatabaseFiles::private(path::private("sqlite")?));
    };
    if path.is_empty() {
        return Err(malformed("its path is empty"));
    }
    let path = path::plain(path);
    if path.starts_with("//") {
        return Err(malformed(
            "with two slashes it is unclear whether the path is absolute; use sqlite:///PATH for an absolute one",
        ));
    }
    if path.ends_with('/') || path.contains('\0') {
        return Err(malformed("its path does not name a file"));
    }
    let path = path::absolute(Path::new(path))?;
    let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
    if !directory.is_dir() {
        return Err(Error::DirectoryAbsent { directory });
    }
    Ok(DatabaseFiles::at(path))
}

/// The parts that both client models share.
#[derive(Debug)]
struct Store {
    settings: Settings,
    place: DatabaseFiles,
}

impl Store {
    fn capabilities(&self) -> Capabilities {
        let queue = self.settings.client == ClientModel::Queue;
        Capabilities {
            client_model: self.settings.client,
            workers_max: queue.then_some(1),
            clients_max: None,
            keeps_rows: true,
            aborts: true,
            scans: true,
            indexes: true,
            joins: true,
            aggregates: true,
            keys_by_server: true,
            loads: true,
            reopens: !self.place.is_private(),
            pipelines: false,
            // In a queue a user's statement could end the transaction of the others.
            statements: (!queue).then_some("sqlite"),
            protocols: false,
        }
    }

    fn dry_run(&self, plan: &Plan) -> DryRunPlan {
        dry_run::of(plan, &self.settings, self.place.is_private())
    }

    fn connection(&self) -> TargetResult<Connection> {
        connection::open(self.place.database(), &self.settings)
    }

    fn create(&self, plan: &Plan) -> TargetResult<()> {
        self.place.claim()?;
        let path = self.place.database();
        // With a rollback journal, so that the mark is in the file itself and not in a log.
        let marked = Connection::open(path).and_then(|connection| {
            connection.pragma_update(None, "page_size", self.settings.page_bytes)?;
            connection.execute_batch(&dry_run::mark())
        });
        marked.map_err(|error| outside(&error, "create", path))?;
        let connection = self.connection()?;
        for statement in sql::schema(plan, &self.settings) {
            let made = connection.execute_batch(&statement);
            made.map_err(|error| outside(&error, &format!("execute {statement} on"), path))?;
        }
        Ok(())
    }

    /// Adopts the tables of an earlier run, if they are those that the plan would create.
    fn reopen(&self, plan: &Plan) -> TargetResult<bool> {
        if !self.place.adopt()? {
            return Ok(false);
        }
        if plan.tables().is_empty() {
            return Ok(true);
        }
        let path = self.place.database();
        let connection = self.connection()?;
        let made = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid";
        let there = connection.prepare(made).and_then(|mut statement| {
            let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        });
        let there = there.map_err(|error| outside(&error, "read the tables of", path))?;
        if there == sql::schema(plan, &self.settings) {
            return Ok(true);
        }
        self.place.release()?;
        let what = format!(
            "{} holds other tables than this workload's; name another store",
            path.display()
        );
        Err(Failure::new(FailureKind::Storage, what))
    }

    fn self_check(&self) -> TargetResult<Vec<String>> {
        let path = self.place.database();
        let lines = self.connection().and_then(|connection| {
            let found = connection.prepare("PRAGMA integrity_check").and_then(|mut statement| {
                let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
                rows.collect::<rusqlite::Result<Vec<_>>>()
            });
            found.map_err(|error| outside(&error, "check", path))
        })?;
        Ok(lines.into_iter().filter(|line| line != "ok").collect())
    }

    fn reported_settings(&self) -> TargetResult<ReportedSettings> {
        let path = self.place.database();
        let connection = self.connection()?;
        let read = |error: rusqlite::Error| outside(&error, "read the settings of", path);
        let synchronous = synchronous_of(&connection).map_err(read)?;
        let synchronous = synchronous.ok_or_else(|| {
            let what =
                format!("SQLite reports an unknown synchronous level for {}", path.display());
            Failure::new(FailureKind::Storage, what)
        })?;
        let journal = journal_of(&connection).map_err(read)?;
        let durability = synchronous.durability(&journal);
        let caveat = match (durability, journal.as_str()) {
            (Durability::Data, "delete") => {
                "; the unlink that ends a commit is not synced: use durability=full (EXTRA), which \
                 syncs it, or journal=wal"
            }
            (Durability::None, _) => {
                "; the rollback journal is in memory only: a process that is killed in a transaction leaves a \
                 damaged database"
            }
            _ => "",
        };
        Ok(ReportedSettings {
            product: "SQLite".to_owned(),
            version: text(&connection, "SELECT sqlite_version()").map_err(read)?,
            durability,
            durability_evidence: format!(
                "synchronous={} ({}) and journal_mode={journal} read back from each connection{caveat}",
                synchronous.number(),
                synchronous.name(),
            ),
            isolation: Isolation::Serializable,
            settings: self.settings(&connection).map_err(read)?,
        })
    }

    /// The settings that the connection reports, statement by statement, and those that this target
    /// chose.
    fn settings(&self, connection: &Connection) -> rusqlite::Result<Vec<Setting>> {
        let mut settings = Vec::new();
        for name in [
            "synchronous",
            "journal_mode",
            "page_size",
            "cache_size",
            "wal_autocheckpoint",
            "locking_mode",
            "mmap_size",
            "temp_store",
        ] {
            let source = format!("PRAGMA {name}");
            settings.push(Setting {
                name: name.to_owned(),
                value: text(connection, &source)?,
                source,
            });
        }
        settings.push(Setting {
            name: "source_id".to_owned(),
            value: text(connection, "SELECT sqlite_source_id()")?,
            source: "SELECT sqlite_source_id()".to_owned(),
        });
        settings.push(Setting {
            name: "compile_options".to_owned(),
            value: compile_options(connection)?,
            source: "PRAGMA compile_options".to_owned(),
        });
        settings.extend(self.chosen(connection)?);
        Ok(settings)
    }

    fn chosen(&self, connection: &Connection) -> rusqlite::Result<Vec<Setting>> {
        let waits = match self.settings.wait {
            Wait::Sqlite => (
                format!(
                    "SQLite's own handler: sleeps of 1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, then \
                     100 ms, {} ms in all",
                    text(connection, "PRAGMA busy_timeout")?
                ),
                "PRAGMA busy_timeout",
            ),
            Wait::Even => (
                format!("an attempt each millisecond, {} in all", self.settings.busy_timeout_ms),
                "this target's busy handler",
            ),
        };
        let begins = match self.settings.client {
            ClientModel::Queue => {
                "one connection: BEGIN IMMEDIATE for a group, SAVEPOINT for a client, one COMMIT"
            }
            ClientModel::Threads | ClientModel::Futures => {
                "a connection a client: autocommit for one operation, BEGIN to read, BEGIN \
                 IMMEDIATE to write"
            }
        };
        Ok(vec![
            Setting {
                name: "waiting for locks".to_owned(),
                value: waits.0,
                source: waits.1.to_owned(),
            },
            Setting {
                name: "transactions".to_owned(),
                value: begins.to_owned(),
                source: "this target".to_owned(),
            },
        ])
    }
}

fn compile_options(connection: &Connection) -> rusqlite::Result<String> {
    let mut statement = connection.prepare("PRAGMA compile_options")?;
    let options = statement.query_map([], |row| row.get(0))?;
    let options: Vec<String> = options.collect::<Result<_, _>>()?;
    Ok(options.join(" "))
}

/// The first cell of a statement's answer, as text.
fn text(connection: &Connection, sql: &str) -> rusqlite::Result<String> {
    connection.query_row(sql, [], |row| {
        Ok(match row.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            other => other.as_str()?.to_owned(),
        })
    })
}

impl<A> SqliteTarget<A> {
    fn new(store: Store) -> SqliteTarget<A> {
        SqliteTarget { store, assignment: PhantomData }
    }
}

impl<A: Assignment> Target for SqliteTarget<A> {
    type Session = A::Session;
    type Worker = A::Worker;

    fn name(&self) -> String {
        LISTING.name.to_owned()
    }

    async fn preflight(&self) -> TargetResult<()> {
        self.store.place.check()
    }

    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn log_location(&self) -> LogLocation {
        LogLocation::Directory(self.store.place.directory())
    }

    fn dry_run(&self, plan: &Plan, _clients: usize) -> TargetResult<DryRunPlan> {
        Ok(self.store.dry_run(plan))
    }

    async fn create(&self, plan: &Plan) -> TargetResult<()> {
        self.store.create(plan)
    }

    async fn reopen(&self, plan: &Plan) -> TargetResult<bool> {
        self.store.reopen(plan)
    }

    async fn keep(&self) -> TargetResult<()> {
        self.store.place.release()
    }

    async fn self_check(&self) -> TargetResult<Option<Vec<String>>> {
        self.store.self_check().map(Some)
    }

    async fn reported_settings(&self) -> TargetResult<ReportedSettings> {
        self.store.reported_settings()
    }

    fn worker(&self) -> TargetResult<A::Worker> {
        let Store { settings, place } = &self.store;
        Ok(A::worker(place.database(), *settings))
    }

    async fn connect(&self, plan: &Plan, worker: &A::Worker) -> TargetResult<A::Session> {
        let Store { settings, place } = &self.store;
        A::connect(place.database(), settings, plan, worker)
    }

    async fn remove(&self) -> TargetResult<()> {
        self.store.place.remove()
    }
}
