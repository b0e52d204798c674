//! PostgreSQL as a target.

use super::amcheck::check;
use super::control::Control;
use super::counters::counters;
use super::load::Loading;
use super::login;
use super::observation::observe;
use super::own_sessions;
use super::preflight::{Preflight, check_server};
use super::prepared::{Bound, Prepared, prepare};
use super::protocol::{Connection, ServerLocation};
use super::reported_settings;
use super::schema;
use super::session::PostgresSession;
use super::settings::{LISTING, Names, Settings};
use super::user_view::user_view;
use super::waits;
use crate::error::Error;
use crate::libpq::{self, Passwords};
use crate::server::{Address, AddressForm, Host, Password, SchemaName};
use crate::sql::{POSTGRES, Sql};
use crate::url::Url;
use crate::wire::{Cleanup, Endpoint, Poller, Tls};
use parking_lot::Mutex;
use postgres_protocol::message::frontend;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use syncline_contract::{
    Capabilities, ClientModel, Counter, DryRunPlan, Failure, FailureKind, LogLocation, LogSegments,
    Plan, PlannedOperation, ReportedSettings, StoreObservation, StoreProcess, Target, TargetResult,
    UserView,
};
use syncline_instrument::{Nanos, clock};

/// The number of empty requests; the fastest of them measures the round trip.
const ROUND_TRIPS: usize = 300;

const ADDRESS: AddressForm = AddressForm {
    form: LISTING.form,
    port: 5432,
    password_variable: "PGPASSWORD",
    socket_file: |port| format!(".s.PGSQL.{port}"),
};

/// Opens the target that a `postgres:` URL names, without connecting.
pub(crate) fn open(url: &Url) -> Result<Postgres, Error> {
    let variable = |name: &str| std::env::var(name).ok();
    let url = &Url { pairs: libpq::translated(&url.pairs, variable)?, ..url.clone() };
    let settings = Settings::parse(url)?;
    let mut address = Address::of(url, &ADDRESS)?;
    libpq::readdress(&mut address, &url.pairs)?;
    let user = login::user(&address);
    let no_password = match address.password {
        Some(_) => None,
        None => match libpq::lookup(&address, &user, settings.passfile.as_deref(), variable) {
            Passwords::Found(password) => {
                address.password = Some(Password::new(password));
                None
            }
            Passwords::None(why) => why,
        },
    };
    let endpoint = match &address.host {
        Host::Tcp(host, port) => Endpoint::Tcp {
            host: settings.hostaddr.clone().unwrap_or_else(|| host.clone()),
            port: *port,
        },
        Host::Socket(path) => Endpoint::Unix(path.clone()),
    };
    let tls = Tls::new(settings.tls, settings.roots.as_deref());
    let tls = tls.map_err(|failure| Error::NotHonoured {
        target: LISTING.name,
        what: format!("tls={}: {failure}", settings.tls.word()),
    })?;
    let is_permanent = settings.schema.is_some();
    let schema = settings.schema.clone().unwrap_or_else(SchemaName::fresh);
    Ok(Postgres {
        place: Box::new(ServerLocation { address, endpoint, settings, tls, user, no_password }),
        schema,
        is_permanent,
        preflight: Mutex::default(),
        made: AtomicBool::new(false),
        existed_before: AtomicBool::new(false),
        loaded: Arc::default(),
        session_processes: Mutex::default(),
        observing: Mutex::default(),
    })
}

/// A server that speaks PostgreSQL's protocol, with one managed schema.
#[derive(Debug)]
pub struct Postgres {
    place: Box<ServerLocation>,
    schema: SchemaName,
    /// The schema's name was chosen in the URL, so that a later run finds it.
    is_permanent: bool,
    preflight: Mutex<Option<Preflight>>,
    /// A schema exists that must be removed.
    made: AtomicBool,
    /// It existed before this run; other runs may use it.
    existed_before: AtomicBool,
    loaded: Arc<AtomicBool>,
    /// The backend processes of the sessions that were opened, by the server's numbers.
    session_processes: Mutex<Vec<u64>>,
    /// The session that takes observations.
    observing: Mutex<Option<Box<Control>>>,
}

impl Postgres {
    /// Opens a session for our own queries and commands. If its wait is interrupted, the backend that
    /// it leaves is ended before the removal, as a client's is.
    async fn control(&self) -> TargetResult<Control> {
        let control = Control::open(&self.place).await?;
        self.session_processes.lock().extend(control.process_at_login());
        Ok(control)
    }

    /// The facts known about the server; runs the preflight check if that has not happened.
    async fn known_server(&self) -> TargetResult<Preflight> {
        if let Some(preflight) = self.preflight.lock().clone() {
            return Ok(preflight);
        }
        let preflight = check_server(&self.place).await?;
        *self.preflight.lock() = Some(preflight.clone());
        Ok(preflight)
    }

    /// Updates the statistics of what was loaded since the last time.
    async fn analyze(&self, plan: &Plan) -> TargetResult<()> {
        let preflight = self.known_server().await?;
        let mut control = self.control().await?;
        for table in plan.tables() {
            let sql = Sql { dialect: &POSTGRES, schema: Some(self.schema.as_str()) };
            let statement = format!("{} {}", preflight.product.analyze, sql.table_name(table));
            control.run_long(&statement).await?;
        }
        Ok(())
    }

    /// Applies the settings of a session and prepares the plan's statements.
    async fn start_session(
        &self,
        connection: &mut Connection,
        plan: &Plan,
    ) -> TargetResult<Vec<Prepared>> {
        let settings = self.place.settings.session(&self.schema, Names::of(plan));
        let settings = settings.join("; ");
        let written = frontend::query(&settings, &mut connection.out);
        written.map_err(|error| Failure::new(FailureKind::Statement, error.to_string()))?;
        connection.flush().await?;
        connection.done(&settings).await?;
        prepare(connection, plan, &self.schema).await
    }
}

/// The failure of a session that was accepted and got no answer in time.
fn silent_start(place: &ServerLocation, limit: Duration) -> Failure {
    let what = format!(
        "{} accepted a session and did not answer its first statements within {} ms: a pooler there may have \
         fewer connections than the run has clients; enlarge its pool, or use fewer --clients",
        place.address,
        limit.as_millis()
    );
    Failure::new(FailureKind::Connection, what)
}

impl Target for Postgres {
    type Session = PostgresSession;
    type Worker = Poller;

    fn name(&self) -> String {
        LISTING.name.to_owned()
    }

    async fn preflight(&self) -> TargetResult<()> {
        let preflight = check_server(&self.place).await?;
        *self.preflight.lock() = Some(preflight);
        Ok(())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            client_model: ClientModel::Futures,
            workers_max: None,
            clients_max: self
                .preflight
                .lock()
                .as_ref()
                .and_then(|preflight| Some(preflight.free_connections.as_ref()?.count)),
            keeps_rows: true,
            aborts: true,
            scans: true,
            indexes: true,
            joins: true,
            aggregates: true,
            keys_by_server: true,
            loads: true,
            reopens: self.is_permanent,
            pipelines: true,
            statements: Some(POSTGRES.name),
            protocols: true,
        }
    }

    fn log_location(&self) -> LogLocation {
        let not_contacted =
            || LogLocation::Nowhere("the server has not been contacted yet".to_owned());
        self.preflight
            .lock()
            .as_ref()
            .map_or_else(not_contacted, |preflight| preflight.log_location.clone())
    }

    fn data_location(&self) -> LogLocation {
        let preflight = self.preflight.lock().clone();
        preflight.map_or_else(|| self.log_location(), |preflight| preflight.data_location)
    }

    fn log_segments(&self) -> Option<LogSegments> {
        let bytes = self.preflight.lock().as_ref()?.log_segment_bytes?;
        let set_by = "initdb --wal-segsize";
        Some(LogSegments { bytes, set_by })
    }

    fn other_locations(&self) -> Vec<LogLocation> {
        let preflight = self.preflight.lock();
        preflight.as_ref().map_or_else(Vec::new, |preflight| preflight.tablespaces.clone())
    }

    fn clients_max_reason(&self) -> Option<String> {
        let preflight = self.preflight.lock();
        Some(preflight.as_ref()?.free_connections.as_ref()?.why.clone())
    }

    fn read_only_reason(&self) -> Option<String> {
        self.preflight.lock().as_ref()?.read_only_reason.clone()
    }

    async fn unfinished_wait(&self) -> TargetResult<Option<String>> {
        if !self.known_server().await?.product.is_postgres {
            return Ok(None);
        }
        let processes = self.session_processes.lock().clone();
        waits::described(&mut self.control().await?, &processes).await
    }

    fn process(&self) -> StoreProcess {
        self.preflight.lock().as_ref().map_or(StoreProcess::REMOTE, |preflight| preflight.process)
    }

    fn unseen_syncs(&self) -> Option<&'static str> {
        self.preflight.lock().as_ref()?.unseen_syncs
    }

    async fn counters(&self) -> TargetResult<Vec<Counter>> {
        let preflight = self.known_server().await?;
        let mut control = self.control().await?;
        if preflight.product.is_postgres {
            // A session reports its counters when it ends, a moment after its client has gone: without
            // a wait, the loaders' and the round-trip timer's would be counted with the clients'. A
            // pooler's sessions do not end; they report once a second.
            let _stays = own_sessions::is_used(&mut control).await?;
        }
        counters(&mut control, preflight.product, preflight.version_number).await
    }

    async fn round_trip_ns(&self) -> TargetResult<Option<Nanos>> {
        let mut control = self.control().await?;
        let mut least = None;
        for _ in 0..ROUND_TRIPS {
            let began = clock::now();
            control.run("").await?;
            let took = clock::now() - began;
            least = Some(least.map_or(took, |least: Nanos| least.min(took)));
        }
        Ok(least)
    }

    fn dry_run(&self, plan: &Plan, clients: usize) -> TargetResult<DryRunPlan> {
        let sql = Sql { dialect: &POSTGRES, schema: Some(self.schema.as_str()) };
        let operations = plan.operations().iter();
        Ok(DryRunPlan {
            makes: schema::makes(plan, &self.schema),
            operations: operations
                .map(|operation| PlannedOperation {
                    name: operation.name.clone(),
                    statements: vec![sql.statement(plan, &operation.action).text],
                })
                .collect(),
            transactions: [Bound::Begin, Bound::Commit, Bound::Rollback]
                .map(|bound| bound.word().to_owned())
                .into(),
            settings: self.place.settings.session(&self.schema, Names::of(plan)),
            // One in addition to the clients', for the queries before and after them.
            connections: Some(clients + 1),
            removes: schema::removes(plan, &self.schema),
        })
    }

    async fn observe(&self) -> TargetResult<StoreObservation> {
        let preflight = self.known_server().await?;
        let kept = self.observing.lock().take();
        let mut control = match kept {
            Some(control) => control,
            None => Box::new(self.control().await?),
        };
        let observed = observe(&mut control, &preflight).await?;
        *self.observing.lock() = Some(control);
        Ok(observed)
    }

    async fn user_view(&self, tables: &[String]) -> TargetResult<UserView> {
        user_view(&mut self.control().await?, tables).await
    }

    async fn clean(&self) -> TargetResult<Vec<String>> {
        schema::clean(&mut self.control().await?).await
    }

    async fn create(&self, plan: &Plan) -> TargetResult<()> {
        schema::create(&mut self.control().await?, plan, &self.schema).await?;
        self.made.store(true, Ordering::Release);
        Ok(())
    }

    async fn reopen(&self, plan: &Plan) -> TargetResult<bool> {
        let mut control = self.control().await?;
        if plan.tables().is_empty() {
            // No tables are needed; an existing managed schema is to be removed, as after `create`.
            let is_managed = schema::is_managed(&mut control, &self.schema).await?;
            self.made.store(is_managed, Ordering::Release);
            self.existed_before.store(is_managed, Ordering::Release);
            return Ok(true);
        }
        schema::reopen(&mut control, plan, &self.schema).await
    }

    async fn keep(&self) -> TargetResult<()> {
        self.made.store(false, Ordering::Release);
        Ok(())
    }

    async fn self_check(&self) -> TargetResult<Option<Vec<String>>> {
        check(&mut self.control().await?).await
    }

    async fn reported_settings(&self) -> TargetResult<ReportedSettings> {
        let preflight = self.known_server().await?;
        reported_settings::read(&self.place, &preflight, &self.schema).await
    }

    fn worker(&self) -> TargetResult<Poller> {
        Poller::new()
    }

    async fn connect(&self, plan: &Plan, worker: &Poller) -> TargetResult<PostgresSession> {
        if self.loaded.swap(false, Ordering::AcqRel) {
            self.analyze(plan).await?;
        }
        let mut connection = Connection::open(&self.place, Some(worker)).await?;
        self.session_processes.lock().extend(connection.process_at_login);
        let limit = self.place.settings.connect_timeout;
        let began = clock::now();
        // A pooler accepts clients at once, and each then waits for a connection of the pool.
        connection.stream.limit(Some(limit));
        let started = self.start_session(&mut connection, plan).await;
        let prepared = started.map_err(|failure| {
            let over = Duration::from_nanos(clock::now() - began) >= limit;
            if over && failure.kind == FailureKind::Connection {
                silent_start(&self.place, limit)
            } else {
                failure
            }
        })?;
        connection.stream.limit(None);
        let loads = Loading::of(plan, &self.schema);
        let loaded = Arc::clone(&self.loaded);
        Ok(PostgresSession::new(connection, prepared, loads, loaded, plan))
    }

    async fn remove(&self) -> TargetResult<()> {
        if self.made.load(Ordering::Acquire) {
            let _removal = Cleanup::begins();
            let mut control = self.control().await?;
            if self.existed_before.load(Ordering::Acquire) {
                own_sessions::refuse_use(&mut control).await?;
            }
            let preflight = self.preflight.lock().clone();
            if preflight.is_some_and(|preflight| preflight.product.is_postgres) {
                let processes = self.session_processes.lock().clone();
                waits::end_abandoned(&mut control, &processes).await?;
            }
            schema::remove(&mut control, &self.schema).await?;
            self.made.store(false, Ordering::Release);
        }
        Ok(())
    }
}
