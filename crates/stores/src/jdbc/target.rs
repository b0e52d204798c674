//! A database with a JDBC driver as a target: checked, created, connected to, removed.

use super::connection::Connection;
use super::driver::Driver;
use super::dry_run;
use super::failure::outside;
use super::jvm::{Java, Thrown};
use super::load::Loads;
use super::location::DatabaseLocation;
use super::managed_schema;
use super::prepared::Operations;
use super::product::Product;
use super::reported_settings;
use super::session::JdbcSession;
use super::settings::{LISTING, Level, Settings};
use crate::error::Error;
use crate::server::{Host, listener, verified_process};
use crate::sql::Sql;
use crate::url::Url;
use crate::wire;
use parking_lot::{Mutex, MutexGuard};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use syncline_contract::{
    AccessPattern, Capabilities, DryRunPlan, Durability, Failure, FailureKind, LogLocation, Plan,
    Replies, ReportedSettings, StoreProcess, Target, TargetResult,
};
use syncline_instrument::{Nanos, clock};

/// A database with a JDBC driver; each client is a thread with a connection.
#[derive(Debug)]
pub struct Jdbc {
    pub(super) product: &'static Product,
    pub(super) settings: Settings,
    pub(super) place: DatabaseLocation,
    state: Mutex<State>,
}

/// The current state of the database.
#[derive(Debug, Default)]
pub(super) struct State {
    /// True from the start of a `create` to the `remove` or `keep` that ended it.
    pub(super) is_created: bool,
    /// True from a `reopen` to the `remove` or `keep` that ended it.
    pub(super) is_reopened: bool,
    /// The facts about a server, after the preflight check.
    server_info: Option<ServerInfo>,
}

/// The facts about a server.
#[derive(Clone, Debug)]
pub(super) struct ServerInfo {
    process: StoreProcess,
    log_location: LogLocation,
    /// How many connections it has left; `None` if not reported.
    free: Option<usize>,
}

/// The time limit for finding and dropping the schemas of killed runs.
const CLEANED_WITHIN: Duration = Duration::from_mins(10);

/// The number of empty requests that are timed.
const ROUND_TRIPS: usize = 200;

/// Opens the target that a `jdbc:` URL names, without connecting.
pub(crate) fn open(url: &Url) -> Result<Jdbc, Error> {
    let settings = Settings::parse(url)?;
    let word = url.path.as_deref().unwrap_or_default();
    let product = Product::of(word.split([':', ';']).next().unwrap_or_default());
    let place = DatabaseLocation::of(url, product, &settings)?;
    Ok(Jdbc { product, settings, place, state: Mutex::default() })
}

impl Jdbc {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The isolation level.
    pub(super) fn level(&self) -> Level {
        self.settings.isolation.unwrap_or(self.product.isolation)
    }

    /// The durability that an embedded database is created with.
    pub(super) fn requested_durability(&self) -> Option<Durability> {
        match &self.place {
            DatabaseLocation::Directory { durability, .. } => Some(*durability),
            _ => None,
        }
    }

    pub(super) fn driver(&self) -> TargetResult<Arc<Driver>> {
        let (jars, class) = (&self.settings.jars, self.settings.class.as_deref());
        Driver::of(jars, class, self.place.url())
    }

    fn properties(&self) -> Vec<(String, String)> {
        let mut properties = self.settings.properties.clone();
        let mut add = |name: &str, value: &str| {
            if properties.iter().all(|(given, _)| given != name) {
                properties.push((name.to_owned(), value.to_owned()));
            }
        };
        match &self.place {
            DatabaseLocation::Directory { embedded, .. } => {
                let login = embedded.login.iter();
                login.for_each(|(name, value)| add(name, value));
            }
            DatabaseLocation::Memory { .. } => {
                let login = self.product.embedded.iter().flat_map(|one| one.login);
                login.for_each(|(name, value)| add(name, value));
            }
            DatabaseLocation::Server { address, .. } => {
                if let Some(user) = &address.user {
                    add("user", user);
                }
                if let Some(password) = &address.password {
                    add("password", password.reveal());
                }
                let patience = self.product.patience.iter();
                patience.for_each(|(name, value)| add(name, value));
            }
        }
        properties
    }

    /// Opens a connection without further settings.
    pub(super) fn bare(&self) -> TargetResult<Connection> {
        let (driver, java) = (self.driver()?, Java::attach()?);
        let opened = Connection::open(java, &driver, self.place.url(), &self.properties());
        let mut connection = opened.map_err(|thrown| self.failure(&thrown, "be connected to"))?;
        if let (DatabaseLocation::Server { .. }, Some(first)) = (&self.place, self.product.first) {
            let set = connection.execute(first);
            set.map_err(|thrown| self.failure(&thrown, &format!("execute {first}")))?;
        }
        Ok(connection)
    }

    /// Opens a connection with the required isolation level and the managed schema.
    pub(super) fn connection(&self) -> TargetResult<Connection> {
        let mut connection = self.bare()?;
        let level = self.level();
        let set = connection.isolate(level);
        let set = set.map_err(|thrown| self.failure(&thrown, "set its isolation"))?;
        if set != level.number() {
            let what = format!(
                "{}: isolation {} was set, but JDBC's level {set} is in force",
                self.product.name,
                level.word()
            );
            return Err(Failure::new(FailureKind::Statement, what));
        }
        if let DatabaseLocation::Server { schema, .. } = &self.place {
            let entered = connection.enter(schema.as_str(), self.product.schema.is_catalog);
            entered.map_err(|thrown| self.failure(&thrown, &format!("enter schema {schema}")))?;
            let named = managed_schema::name_session(&mut connection, self.product, schema);
            named.map_err(|thrown| self.failure(&thrown, "name its session"))?;
        }
        Ok(connection)
    }

    /// A failure outside of transactions.
    pub(super) fn failure(&self, thrown: &Thrown, doing: &str) -> Failure {
        let failure = outside(thrown, doing, self.product);
        let what = match &self.place {
            DatabaseLocation::Directory { directory, .. } => {
                format!("{} in {}", failure.what, directory.path().display())
            }
            DatabaseLocation::Memory { .. } => failure.what.clone(),
            DatabaseLocation::Server { address, .. } => format!("{} at {address}", failure.what),
        };
        Failure { what, ..failure }
    }

    /// The generator of statements; names refer to the connection's default schema.
    pub(super) fn sql(&self) -> Sql<'static> {
        Sql { dialect: &self.product.dialect, schema: None }
    }

    fn checked(&self, query: &str) -> TargetResult<Vec<String>> {
        Ok(match self.connection()?.rows(query, 3) {
            Err(thrown) => vec![self.failure(&thrown, "check its tables").what],
            Ok(rows) => {
                let wrong = rows.iter().filter(|row| row.last().map(String::as_str) != Some("1"));
                wrong.map(|row| row.join(" ")).collect()
            }
        })
    }

    fn meet_server(&self) -> TargetResult<ServerInfo> {
        let DatabaseLocation::Server { address, .. } = &self.place else {
            unreachable!("only a server has a preflight check")
        };
        let process = match &address.host {
            Host::Tcp(_, port) if address.names_this_machine() => {
                listener(*port).map_or(StoreProcess::REMOTE, |id| verified_process(id, &PROGRAMS))
            }
            _ => StoreProcess::REMOTE,
        };
        let mut connection = self.bare()?;
        managed_schema::refuse_others(self, &mut connection)?;
        let free = managed_schema::free(self, &mut connection)?;
        let server_info = ServerInfo {
            process,
            log_location: reported_settings::log_location(self, &mut connection, process),
            free,
        };
        if let Some(asked) = self.settings.durability {
            // The facts about the server are part of the reported settings.
            self.state().server_info = Some(server_info.clone());
            let reported_durability =
                reported_settings::reported_durability(self, &mut connection)?;
            if reported_durability.durability != asked {
                let what = format!(
                    "the URL sets durability={}, but {}; this target does not change a server's settings",
                    asked.word(),
                    reported_durability.evidence
                );
                return Err(Failure::new(FailureKind::Limit, what));
            }
        }
        Ok(server_info)
    }

    /// Runs a function with a server in a thread of its own, for at most that time and until the
    /// program is asked to stop. A driver that is still waiting then is abandoned: drivers differ in
    /// which waits have deadlines.
    fn within<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(&Jdbc) -> TargetResult<T> + Send + 'static,
    ) -> TargetResult<T> {
        let DatabaseLocation::Server { address, schema, url } = &self.place else {
            unreachable!("only a server needs a time limit")
        };
        let target = Jdbc {
            product: self.product,
            settings: self.settings.clone(),
            place: DatabaseLocation::Server {
                address: address.clone(),
                schema: schema.clone(),
                url: url.clone(),
            },
            state: Mutex::default(),
        };
        let done = wire::in_thread(limit, move || Ok(work(&target)));
        done.unwrap_or_else(|error| {
            let why = match error.kind() {
                ErrorKind::TimedOut => format!("did not answer within {} ms", limit.as_millis()),
                ErrorKind::Interrupted => {
                    "had not answered when this program was asked to stop".to_owned()
                }
                _ => format!("cannot be reached: {error}"),
            };
            let what = format!(
                "{} at {address} {why}; check that a working server of that protocol listens there",
                self.product.name
            );
            Err(Failure::new(FailureKind::Connection, what))
        })
    }
}

/// The executables of servers that are used through JDBC: servers written in Java, and those with their
/// own protocol.
const PROGRAMS: [&str; 4] = ["java", "postgres", "mariadbd", "mysqld"];

impl Target for Jdbc {
    type Session = JdbcSession;
    type Worker = ();

    fn name(&self) -> String {
        let word = if self.product.word.is_empty() { "other" } else { self.product.word };
        format!("{}:{word}", LISTING.name)
    }

    async fn preflight(&self) -> TargetResult<()> {
        // A missing driver is reported before anything is measured.
        self.driver()?;
        match &self.place {
            DatabaseLocation::Directory { directory, .. } => {
                return self.of_directory(directory.check());
            }
            DatabaseLocation::Memory { .. } => return Ok(()),
            DatabaseLocation::Server { .. } => {}
        }
        let server_info = self.within(self.settings.connect_timeout, Jdbc::meet_server)?;
        self.state().server_info = Some(server_info);
        Ok(())
    }

    fn capabilities(&self) -> Capabilities {
        let free = self.state().server_info.as_ref().and_then(|server_info| server_info.free);
        Capabilities {
            // The target itself uses one connection, in addition to the clients'.
            clients_max: free.map(|free| free.saturating_sub(1)),
            scans: true,
            indexes: true,
            joins: true,
            aggregates: true,
            keys_by_server: true,
            loads: true,
            reopens: matches!(self.place, DatabaseLocation::Directory { .. }),
            ..Capabilities::least()
        }
    }

    fn log_location(&self) -> LogLocation {
        let server_info = || {
            self.state().server_info.as_ref().map(|server_info| server_info.log_location.clone())
        };
        let place = self.place.log_location().or_else(server_info);
        place.unwrap_or_else(|| {
            LogLocation::Nowhere("the server has not been contacted yet".to_owned())
        })
    }

    fn process(&self) -> StoreProcess {
        match self.place {
            DatabaseLocation::Server { .. } => {
                let state = self.state();
                let server_info = state.server_info.as_ref();
                server_info.map_or(StoreProcess::REMOTE, |server_info| server_info.process)
            }
            _ => StoreProcess::InProcess,
        }
    }

    async fn round_trip_ns(&self) -> TargetResult<Option<Nanos>> {
        if !matches!(self.place, DatabaseLocation::Server { .. }) {
            return Ok(None);
        }
        let mut connection = self.bare()?;
        let mut least = Nanos::MAX;
        for _ in 0..ROUND_TRIPS {
            let started = clock::now();
            let valid = connection.is_valid();
            valid.map_err(|thrown| self.failure(&thrown, "answer an empty request"))?;
            least = least.min(clock::now() - started);
        }
        Ok(Some(least))
    }

    fn dry_run(&self, plan: &Plan, clients: usize) -> TargetResult<DryRunPlan> {
        Ok(dry_run::of(self, plan, clients))
    }

    async fn clean(&self) -> TargetResult<Vec<String>> {
        if !matches!(self.place, DatabaseLocation::Server { .. }) {
            let what = "an embedded database is removed with its run; remove its directory if a run was \
                        killed";
            return Err(Failure::new(FailureKind::Limit, what));
        }
        self.within(CLEANED_WITHIN, |target| {
            let cleaned = managed_schema::clean(&mut target.bare()?, target.product);
            cleaned.map_err(|thrown| target.failure(&thrown, "be cleaned"))
        })
    }

    async fn create(&self, plan: &Plan) -> TargetResult<()> {
        let again = self.state().is_created;
        if again {
            self.remove_database()?;
        }
        // A refused directory is unmanaged: its database is not opened, not even to be closed.
        self.claim()?;
        self.state().is_created = true;
        let made = self.make(plan);
        if made.is_err() {
            // The first error is the one to report; what was created is removed if possible.
            drop(self.remove_database());
            self.state().is_created = false;
        }
        made
    }

    async fn reopen(&self, plan: &Plan) -> TargetResult<bool> {
        self.open_again(plan)
    }

    async fn keep(&self) -> TargetResult<()> {
        self.leave()
    }

    async fn self_check(&self) -> TargetResult<Option<Vec<String>>> {
        let check = match &self.place {
            DatabaseLocation::Directory { embedded, .. } => embedded.check,
            _ => None,
        };
        check.map(|query| self.checked(query)).transpose()
    }

    async fn reported_settings(&self) -> TargetResult<ReportedSettings> {
        reported_settings::of(self)
    }

    fn worker(&self) -> TargetResult<()> {
        Ok(())
    }

    async fn connect(&self, plan: &Plan, _worker: &()) -> TargetResult<JdbcSession> {
        let mut connection = self.connection()?;
        let operations = Operations::prepare(&mut connection, self.product, plan)?;
        let loads = Loads::prepare(&mut connection, self.product, plan)?;
        let after_commit = match &self.place {
            DatabaseLocation::Directory { embedded, durability, .. } => {
                (embedded.after_commit)(*durability)
            }
            _ => None,
        };
        Ok(JdbcSession {
            connection,
            product: self.product,
            operations,
            loads,
            after_commit,
            replies: Replies::default(),
            pattern: AccessPattern::Single,
            started: false,
            wrote: false,
        })
    }

    async fn remove(&self) -> TargetResult<()> {
        if self.is_managed() {
            self.remove_database()?;
        }
        Ok(())
    }
}

impl Drop for Jdbc {
    /// Removes a database that was created with its target, also after a panic; one that existed before
    /// is closed and kept.
    fn drop(&mut self) {
        let (made, opened) = {
            let state = self.state();
            (state.is_created, state.is_reopened)
        };
        // The error has no receiver here; a caller that needs it removes or keeps the database before.
        if made {
            drop(self.remove_database());
        } else if opened {
            drop(self.leave());
        }
    }
}
