//! A database with a JDBC driver as a target: met, made, connected to, removed.

use super::connection::Connection;
use super::driver::Driver;
use super::evidence;
use super::failure::outside;
use super::intent;
use super::jvm::{Java, Thrown, given, methods};
use super::load::Loads;
use super::ours;
use super::place::Place;
use super::prepared::Operations;
use super::product::{Close, Embedded, Product};
use super::session::JdbcSession;
use super::settings::{LISTING, Level, Settings};
use crate::any::AnyTarget;
use crate::error::Error;
use crate::server::{Host, listener, verified};
use crate::sql::Sql;
use crate::url::Url;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use syncline_contract::{
    Capabilities, Durability, Evidence, Failure, FailureKind, Intent, LogPlace, Plan, Replies,
    Shape, StoreProcess, Target, TargetResult,
};
use syncline_metering::{Nanos, clock};

/// A database with a JDBC driver; each client is a thread with a connection.
#[derive(Debug)]
pub struct Jdbc {
    pub(super) product: &'static Product,
    pub(super) settings: Settings,
    pub(super) place: Place,
    state: Mutex<State>,
}

/// What is known of the database by now.
#[derive(Debug, Default)]
struct State {
    /// True from a `create` that began to the `remove` or `keep` that ended it.
    made: bool,
    /// True from a `reopen` to the `remove` or `keep` that ended it.
    opened: bool,
    /// Of a server, since it was met.
    met: Option<Met>,
}

/// What a server was found to be.
#[derive(Clone, Debug)]
struct Met {
    process: StoreProcess,
    log_place: LogPlace,
    /// How many connections it has left for us; none if it does not say.
    free: Option<usize>,
}

/// Properties of the JVM belong to the whole process, so that one database starts at a time.
static STARTING: Mutex<()> = Mutex::new(());

/// How often an empty request is timed.
const ROUND_TRIPS: usize = 200;

/// Opens what a `jdbc:` URL names; touches nothing yet.
pub(crate) fn open(url: &Url) -> Result<AnyTarget, Error> {
    let settings = Settings::parse(url)?;
    let word = url.path.as_deref().unwrap_or_default();
    let product = Product::of(word.split([':', ';']).next().unwrap_or_default());
    let place = Place::of(url, product, &settings)?;
    Ok(AnyTarget::Jdbc(Jdbc {
        product,
        settings,
        place,
        state: Mutex::default(),
    }))
}

impl Jdbc {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far transactions are kept apart.
    pub(super) fn level(&self) -> Level {
        self.settings.isolation.unwrap_or(self.product.isolation)
    }

    /// The word that an embedded database is made with.
    pub(super) fn asked(&self) -> Option<Durability> {
        match &self.place {
            Place::Directory { durability, .. } => Some(*durability),
            _ => None,
        }
    }

    fn driver(&self) -> TargetResult<Arc<Driver>> {
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
            Place::Directory { embedded, .. } => {
                let login = embedded.login.iter();
                login.for_each(|(name, value)| add(name, value));
            }
            Place::Memory { .. } => {
                let login = self.product.embedded.iter().flat_map(|one| one.login);
                login.for_each(|(name, value)| add(name, value));
            }
            Place::Server { address, .. } => {
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

    /// A connection as the driver makes it.
    pub(super) fn bare(&self) -> TargetResult<Connection> {
        let (driver, java) = (self.driver()?, Java::attach()?);
        let opened = Connection::open(java, &driver, self.place.url(), &self.properties());
        let mut connection = opened.map_err(|thrown| self.failure(&thrown, "be connected to"))?;
        if let (Place::Server { .. }, Some(first)) = (&self.place, self.product.first) {
            let set = connection.execute(first);
            set.map_err(|thrown| self.failure(&thrown, &format!("execute {first}")))?;
        }
        Ok(connection)
    }

    /// A connection that keeps transactions apart as asked, and stands in our schema.
    pub(super) fn connection(&self) -> TargetResult<Connection> {
        let mut connection = self.bare()?;
        let level = self.level();
        let set = connection.isolate(level);
        let set = set.map_err(|thrown| self.failure(&thrown, "set its isolation"))?;
        if set != level.number() {
            let what = format!(
                "{} was asked for isolation {}, but says JDBC's level {set} is in force",
                self.product.name,
                level.word()
            );
            return Err(Failure::new(FailureKind::Statement, what));
        }
        if let Place::Server { schema, .. } = &self.place {
            let entered = connection.enter(schema.as_str(), self.product.schema.is_catalog);
            entered.map_err(|thrown| self.failure(&thrown, &format!("enter schema {schema}")))?;
            let named = ours::name_session(&mut connection, self.product, schema);
            named.map_err(|thrown| self.failure(&thrown, "name its session"))?;
        }
        Ok(connection)
    }

    /// A failure outside transactions.
    pub(super) fn failure(&self, thrown: &Thrown, doing: &str) -> Failure {
        let failure = outside(thrown, doing, self.product);
        let what = match &self.place {
            Place::Directory { directory, .. } => {
                format!("{} in {}", failure.what, directory.path().display())
            }
            Place::Memory { .. } => failure.what.clone(),
            Place::Server { address, .. } => format!("{} at {address}", failure.what),
        };
        Failure { what, ..failure }
    }

    fn of_directory(&self, result: io::Result<()>) -> TargetResult<()> {
        result.map_err(|error| {
            let what = format!("{} could not be made: {error}", self.product.name);
            Failure::new(FailureKind::Storage, what)
        })
    }

    /// Takes the directory of an embedded database, or says whose it is.
    fn claim(&self) -> TargetResult<()> {
        match &self.place {
            Place::Directory { directory, .. } => self.of_directory(directory.claim()),
            Place::Memory { .. } | Place::Server { .. } => Ok(()),
        }
    }

    fn make(&self, plan: &Plan) -> TargetResult<()> {
        match &self.place {
            Place::Directory {
                embedded,
                durability,
                ..
            } => {
                let made = (embedded.made)(*durability);
                self.start(embedded, *durability, &made)?;
            }
            Place::Memory { .. } => drop(self.bare()?),
            Place::Server { schema, .. } => {
                let mut connection = self.bare()?;
                let made = ours::make_schema(&mut connection, self.product, schema);
                made.map_err(|thrown| self.failure(&thrown, &format!("make schema {schema}")))?;
            }
        }
        let mut connection = self.connection()?;
        for statement in self.sql().schema(plan, |_| "") {
            let made = connection.execute(&statement);
            made.map_err(|thrown| self.failure(&thrown, &format!("execute {statement}")))?;
        }
        let said = evidence::said(self, &mut connection)?;
        match self.asked() {
            Some(asked) if asked != said.durability => {
                let what = format!(
                    "{} was asked for durability {}, but {}",
                    self.product.name,
                    asked.word(),
                    said.evidence
                );
                Err(Failure::new(FailureKind::Storage, what))
            }
            _ => Ok(()),
        }
    }

    /// The generator of statements; what they name stands in the connection's own schema.
    pub(super) fn sql(&self) -> Sql<'static> {
        Sql {
            dialect: &self.product.dialect,
            schema: None,
        }
    }

    /// Starts an embedded database, which connecting makes where there is none, and executes statements.
    fn start(
        &self,
        embedded: &Embedded,
        durability: Durability,
        statements: &[String],
    ) -> TargetResult<()> {
        let _alone = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let properties = (embedded.properties)(durability);
        let mut java = Java::attach()?;
        let set = |thrown: Thrown| self.failure(&thrown, "set properties of the JVM");
        for (name, value) in &properties {
            system_property(&mut java, name, *value).map_err(set)?;
        }
        let started = self.bare().and_then(|mut connection| {
            statements.iter().try_for_each(|statement| {
                let executed = connection.execute(statement);
                executed.map_err(|thrown| self.failure(&thrown, &format!("execute {statement}")))
            })
        });
        for (name, _) in &properties {
            system_property(&mut java, name, None).map_err(set)?;
        }
        started
    }

    /// Closes an embedded database.
    fn stop(&self, embedded: &Embedded, directory: &Path) -> TargetResult<()> {
        match embedded.close {
            Close::Statement(text) => {
                let closed = self.bare()?.execute(text);
                closed.map_err(|thrown| self.failure(&thrown, "be closed"))
            }
            Close::Connecting(url) => {
                // That it is closed is said by throwing.
                let driver = self.driver()?;
                drop(driver.connect(&mut Java::attach()?, &url(directory), &[]));
                Ok(())
            }
        }
    }

    /// Removes what this target has made or opened. Where that fails, it may be tried again.
    fn removed(&self) -> TargetResult<()> {
        let mut closed = Ok(());
        match &self.place {
            Place::Directory {
                directory,
                embedded,
                ..
            } => {
                // What cannot be closed goes all the same: closed again later, it would be made again.
                closed = self.stop(embedded, directory.path());
                directory.remove().map_err(|error| {
                    let what = format!("{} could not be removed: {error}", self.product.name);
                    Failure::new(FailureKind::Storage, what)
                })?;
            }
            Place::Memory { .. } => {
                if let Some(embedded) = &self.product.embedded {
                    self.stop(embedded, Path::new(""))?;
                }
            }
            Place::Server { schema, .. } => {
                let mut connection = self.bare()?;
                let removed = ours::remove_schema(&mut connection, self.product, schema);
                removed
                    .map_err(|thrown| self.failure(&thrown, &format!("remove schema {schema}")))?;
            }
        }
        let mut state = self.state();
        (state.made, state.opened) = (false, false);
        closed
    }

    /// Starts the database that stands in our directory, if it does, and looks for a plan's tables.
    fn open_again(&self, plan: &Plan) -> TargetResult<bool> {
        let Place::Directory {
            directory,
            embedded,
            durability,
            ..
        } = &self.place
        else {
            let what = format!("{} cannot be opened again", self.name());
            return Err(Failure::new(FailureKind::Limit, what));
        };
        let adopted = directory.adopt();
        let adopted = adopted.map_err(|error| {
            let what = format!("{} could not be opened: {error}", self.product.name);
            Failure::new(FailureKind::Storage, what)
        })?;
        let mut files = embedded.files.iter();
        if !adopted || !files.any(|name| directory.path().join(name).exists()) {
            directory.let_go();
            return Ok(false);
        }
        self.state().opened = true;
        self.start(embedded, *durability, &[])?;
        // What other tables there are shows by what cannot be prepared.
        Operations::prepare(&mut self.connection()?, self.product, plan)?;
        Ok(true)
    }

    /// Closes a database in our directory and leaves it there. One that was refused was not opened, and
    /// closing would open it.
    fn leave(&self) -> TargetResult<()> {
        if let Place::Directory {
            directory,
            embedded,
            ..
        } = &self.place
        {
            if self.is_ours() {
                self.stop(embedded, directory.path())?;
            }
            directory.let_go();
        }
        let mut state = self.state();
        (state.made, state.opened) = (false, false);
        Ok(())
    }

    /// True if this target has made or opened the database.
    fn is_ours(&self) -> bool {
        let state = self.state();
        state.made || state.opened
    }

    fn checked(&self, query: &str) -> TargetResult<Vec<String>> {
        Ok(match self.connection()?.rows(query, 3) {
            Err(thrown) => vec![self.failure(&thrown, "check its tables").what],
            Ok(rows) => {
                let wrong = rows
                    .iter()
                    .filter(|row| row.last().map(String::as_str) != Some("1"));
                wrong.map(|row| row.join(" ")).collect()
            }
        })
    }

    fn meet_server(&self) -> TargetResult<Met> {
        let Place::Server { address, .. } = &self.place else {
            unreachable!("only a server is met")
        };
        let process = match &address.host {
            Host::Tcp(_, port) if address.names_this_machine() => {
                listener(*port).map_or(StoreProcess::ELSEWHERE, |id| verified(id, &PROGRAMS))
            }
            _ => StoreProcess::ELSEWHERE,
        };
        let mut connection = self.bare()?;
        ours::refuse_others(self, &mut connection)?;
        let free = ours::free(self, &mut connection)?;
        let log_place = evidence::log_place(self, &mut connection, process);
        Ok(Met {
            process,
            log_place,
            free,
        })
    }
}

/// The programs that serve a database by JDBC: servers written in Java, and those with a protocol of their
/// own.
const PROGRAMS: [&str; 4] = ["java", "postgres", "mariadbd", "mysqld"];

fn system_property(java: &mut Java, name: &str, value: Option<&str>) -> Result<(), Thrown> {
    let methods = methods(java)?;
    let name = java.text(name)?;
    match value {
        Some(value) => {
            let value = java.text(value)?;
            let pair = [given(&name), given(&value)];
            java.of_class(&methods.system_set_property, &pair)?
        }
        None => java.of_class(&methods.system_clear_property, &[given(&name)])?,
    };
    Ok(())
}

impl Target for Jdbc {
    type Session = JdbcSession;
    type Worker = ();

    fn name(&self) -> String {
        let word = if self.product.word.is_empty() {
            "other"
        } else {
            self.product.word
        };
        format!("{}:{word}", LISTING.name)
    }

    async fn meet(&self) -> TargetResult<()> {
        // A driver that is not there is said before anything is measured.
        self.driver()?;
        match &self.place {
            Place::Directory { directory, .. } => return self.of_directory(directory.look()),
            Place::Memory { .. } => return Ok(()),
            Place::Server { .. } => {}
        }
        let met = self.meet_server()?;
        self.state().met = Some(met);
        let Some(asked) = self.settings.durability else {
            return Ok(());
        };
        let said = evidence::said(self, &mut self.bare()?)?;
        if said.durability == asked {
            return Ok(());
        }
        let what = format!(
            "durability={} was asked for, but {}; this target changes no setting of a server",
            asked.word(),
            said.evidence
        );
        Err(Failure::new(FailureKind::Limit, what))
    }

    fn capabilities(&self) -> Capabilities {
        let free = self.state().met.as_ref().and_then(|met| met.free);
        Capabilities {
            // One connection is ours, beside the clients'.
            clients_max: free.map(|free| free.saturating_sub(1)),
            scans: true,
            indexes: true,
            joins: true,
            aggregates: true,
            keys_by_server: true,
            loads: true,
            reopens: matches!(self.place, Place::Directory { .. }),
            ..Capabilities::least()
        }
    }

    fn log_place(&self) -> LogPlace {
        let met = || self.state().met.as_ref().map(|met| met.log_place.clone());
        let place = self.place.log_place().or_else(met);
        place.unwrap_or_else(|| LogPlace::Nowhere("the server was not met yet".to_owned()))
    }

    fn process(&self) -> StoreProcess {
        match self.place {
            Place::Server { .. } => {
                let state = self.state();
                let met = state.met.as_ref();
                met.map_or(StoreProcess::ELSEWHERE, |met| met.process)
            }
            _ => StoreProcess::Ours,
        }
    }

    async fn round_trip_ns(&self) -> TargetResult<Option<Nanos>> {
        if !matches!(self.place, Place::Server { .. }) {
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

    fn intent(&self, plan: &Plan, clients: usize) -> TargetResult<Intent> {
        Ok(intent::of(self, plan, clients))
    }

    async fn clean(&self) -> TargetResult<Vec<String>> {
        if !matches!(self.place, Place::Server { .. }) {
            let what = "an embedded database is removed with its run; remove its directory if a run was \
                        killed";
            return Err(Failure::new(FailureKind::Limit, what));
        }
        let cleaned = ours::clean(&mut self.bare()?, self.product);
        cleaned.map_err(|thrown| self.failure(&thrown, "be cleaned"))
    }

    async fn create(&self, plan: &Plan) -> TargetResult<()> {
        let again = self.state().made;
        if again {
            self.removed()?;
        }
        // A directory that is refused is not ours: what stands in it is not opened, not even to be closed.
        self.claim()?;
        self.state().made = true;
        let made = self.make(plan);
        if made.is_err() {
            // Its own error says what happened; what it left goes, as far as it goes.
            drop(self.removed());
            self.state().made = false;
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
            Place::Directory { embedded, .. } => embedded.check,
            _ => None,
        };
        check.map(|query| self.checked(query)).transpose()
    }

    async fn evidence(&self) -> TargetResult<Evidence> {
        evidence::of(self)
    }

    fn worker(&self) -> TargetResult<()> {
        Ok(())
    }

    async fn connect(&self, plan: &Plan, _worker: &()) -> TargetResult<JdbcSession> {
        let mut connection = self.connection()?;
        let operations = Operations::prepare(&mut connection, self.product, plan)?;
        let loads = Loads::prepare(&mut connection, self.product, plan)?;
        let after_commit = match &self.place {
            Place::Directory {
                embedded,
                durability,
                ..
            } => (embedded.after_commit)(*durability),
            _ => None,
        };
        Ok(JdbcSession {
            connection,
            product: self.product,
            operations,
            loads,
            after_commit,
            replies: Replies::default(),
            shape: Shape::Single,
            started: false,
            wrote: false,
        })
    }

    async fn remove(&self) -> TargetResult<()> {
        if self.is_ours() {
            self.removed()?;
        }
        Ok(())
    }
}

impl Drop for Jdbc {
    /// What was made goes with its target, also when a panic is what ends it; what was there before is
    /// closed and stays.
    fn drop(&mut self) {
        let (made, opened) = {
            let state = self.state();
            (state.made, state.opened)
        };
        // There is nobody left to tell; whoever wants to know removes or keeps it before.
        if made {
            drop(self.removed());
        } else if opened {
            drop(self.leave());
        }
    }
}
