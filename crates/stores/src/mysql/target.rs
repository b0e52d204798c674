//! MariaDB and MySQL as a target.

use super::connection::{Connection, ConnectionSpec};
use super::counters;
use super::load::Loads;
use super::managed_database::{self, ManagedDatabase};
use super::observation;
use super::prepared;
use super::reported_settings::{self, session_settings, snapshot_by_version};
use super::server::Server;
use super::session::MysqlSession;
use super::settings::{LISTING, MARIADB_LISTING, Settings};
use crate::error::Error;
use crate::server::{Password, SchemaName};
use crate::sql::{MYSQL, Sql};
use crate::url::{Listing, Url};
use crate::wire::{Cleanup, Poller, Tls};
use parking_lot::{Mutex, MutexGuard};
use syncline_contract::{
    Capabilities, ClientModel, Counter, DryRunPlan, LogLocation, Plan, PlannedOperation,
    ReportedSettings, StoreObservation, StoreProcess, Target, TargetResult, UserView,
};
use syncline_instrument::{Nanos, clock};

/// The number of requests; the fastest one is the round trip.
const PINGS: usize = 300;

/// The note on the collation for a dry run in which the version is not known.
const BY_VERSION: &str = "-- by version: COLLATE utf8mb4_nopad_bin where the server has it (MariaDB), else \
     utf8mb4_0900_bin (MySQL from 8.0.17), else as above";

/// The generator of every statement; names refer to the session's default database.
const SQL: Sql<'static> = Sql { dialect: &MYSQL, schema: None };

/// A MariaDB or MySQL server with InnoDB.
#[derive(Debug)]
pub struct Mysql {
    listing: &'static Listing,
    settings: Settings,
    managed_database: ManagedDatabase,
    /// The state of the server at the preflight check.
    server_state: Mutex<Option<Server>>,
}

/// Opens the target that a `mysql:` URL names, without connecting.
pub(crate) fn open(url: &Url) -> Result<Mysql, Error> {
    Mysql::of(url, LISTING)
}

/// Opens the target that a `mariadb:` URL names, without connecting.
pub(crate) fn open_mariadb(url: &Url) -> Result<Mysql, Error> {
    Mysql::of(url, MARIADB_LISTING)
}

impl Mysql {
    fn of(url: &Url, listing: &'static Listing) -> Result<Mysql, Error> {
        let settings = Settings::parse(url, listing)?;
        let name = settings.schema.clone().unwrap_or_else(SchemaName::fresh);
        Ok(Mysql {
            listing,
            settings,
            managed_database: ManagedDatabase::new(name),
            server_state: Mutex::new(None),
        })
    }

    fn connection_spec(&self) -> TargetResult<ConnectionSpec> {
        let address = &self.settings.address;
        // As the products' own clients choose it.
        let user = address.user.clone().or_else(|| std::env::var("USER").ok());
        Ok(ConnectionSpec {
            endpoint: address.host.endpoint(),
            user: user.unwrap_or_else(|| "root".to_owned()),
            password: address.password.clone().unwrap_or_else(|| Password::new("")),
            server_key: self.settings.server_key.clone(),
            cleartext: self.settings.cleartext,
            tls: Tls::new(self.settings.tls, self.settings.tls_roots.as_deref())?,
            limit: self.settings.connect_timeout,
        })
    }

    /// A connection for requests outside of a worker.
    async fn control(&self) -> TargetResult<Connection> {
        let database = self.settings.address.database.as_deref();
        Connection::open(&self.connection_spec()?, database, None).await
    }

    fn server_state(&self) -> MutexGuard<'_, Option<Server>> {
        self.server_state.lock()
    }

    /// The state of the server; runs the preflight check if that has not happened.
    async fn server(&self, connection: &mut Connection) -> TargetResult<Server> {
        let server_state = self.server_state().clone();
        if let Some(server) = server_state {
            return Ok(server);
        }
        let server = Server::inspect(connection, &self.settings.address).await?;
        server.refuse(connection, &self.settings).await?;
        *self.server_state() = Some(server.clone());
        Ok(server)
    }

    fn tables(plan: &Plan) -> Vec<String> {
        SQL.schema(plan, |_| " ENGINE=InnoDB")
    }
}

impl Target for Mysql {
    type Session = MysqlSession;
    type Worker = Poller;

    fn name(&self) -> String {
        let server_state = self.server_state();
        let name = server_state.as_ref().map_or(self.listing.name, Server::name);
        name.to_owned()
    }

    async fn preflight(&self) -> TargetResult<()> {
        let mut connection = self.control().await?;
        self.server(&mut connection).await.map(drop)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            client_model: ClientModel::Futures,
            workers_max: None,
            clients_max: self.server_state().as_ref().map(|server| server.free),
            keeps_rows: true,
            aborts: true,
            scans: true,
            indexes: true,
            joins: true,
            aggregates: true,
            keys_by_server: true,
            loads: true,
            reopens: self.settings.schema.is_some(),
            pipelines: true,
            statements: Some(MYSQL.name),
            protocols: false,
        }
    }

    fn log_location(&self) -> LogLocation {
        match &*self.server_state() {
            Some(server) => server.log_location.clone(),
            None => LogLocation::Nowhere("the server has not been contacted yet".to_owned()),
        }
    }

    fn data_location(&self) -> LogLocation {
        match &*self.server_state() {
            Some(server) => server.data_location.clone(),
            None => LogLocation::Nowhere("the server has not been contacted yet".to_owned()),
        }
    }

    fn other_locations(&self) -> Vec<LogLocation> {
        let server_state = self.server_state();
        server_state.as_ref().map_or_else(Vec::new, |server| server.other_locations.clone())
    }

    fn clients_max_reason(&self) -> Option<String> {
        let server_state = self.server_state();
        let most = server_state.as_ref()?.variables.get("max_connections")?;
        Some(format!(
            "max_connections is {most}, and the others are in use (SHOW PROCESSLIST lists them)"
        ))
    }

    fn read_only_reason(&self) -> Option<String> {
        self.server_state().as_ref()?.read_only_reason.clone()
    }

    fn process(&self) -> StoreProcess {
        let server_state = self.server_state();
        server_state.as_ref().map_or(StoreProcess::REMOTE, |server| server.process)
    }

    fn unseen_syncs(&self) -> Option<&'static str> {
        self.server_state().as_ref()?.unseen_syncs()
    }

    async fn counters(&self) -> TargetResult<Vec<Counter>> {
        let mut connection = self.control().await?;
        let server = self.server(&mut connection).await?;
        counters::counters(&mut connection, &server).await
    }

    async fn round_trip_ns(&self) -> TargetResult<Option<Nanos>> {
        let mut connection = self.control().await?;
        let mut least = None;
        for _ in 0..PINGS {
            let since = clock::now();
            connection.ping().await?;
            let took = clock::now() - since;
            least = Some(least.map_or(took, |least: Nanos| least.min(took)));
        }
        Ok(least)
    }

    fn dry_run(&self, plan: &Plan, clients: usize) -> TargetResult<DryRunPlan> {
        let tables = Mysql::tables(plan);
        let server_state = self.server_state().clone();
        let collation = server_state.as_ref().map_or("utf8mb4_bin", |server| server.collation);
        let is_known = server_state.is_some();
        let variables = server_state.map(|server| server.variables).unwrap_or_default();
        let mut settings = session_settings(&self.settings, &variables);
        let mut makes = vec![
            self.managed_database.create_text(collation),
            format!("USE `{}`", self.managed_database.name),
        ];
        if !is_known {
            // No server was contacted, so the version is not known, nor what depends on it.
            makes.insert(1, BY_VERSION.to_owned());
            settings.push(snapshot_by_version(&self.settings));
        }
        makes.extend(managed_database::mark_texts(&tables));
        makes.extend(tables);
        let operations = plan.operations().iter();
        Ok(DryRunPlan {
            makes,
            operations: operations
                .map(|operation| PlannedOperation {
                    name: operation.name.clone(),
                    statements: vec![SQL.statement(plan, &operation.action).text],
                })
                .collect(),
            transactions: ["SET autocommit=0", "COMMIT", "ROLLBACK"].map(str::to_owned).to_vec(),
            settings,
            connections: Some(clients + 1),
            removes: vec![self.managed_database.drop_text()],
        })
    }

    async fn observe(&self) -> TargetResult<StoreObservation> {
        let mut connection = self.control().await?;
        // Each observation reads the state anew: the settings may have changed, and nothing is refused.
        let server = Server::inspect(&mut connection, &self.settings.address).await?;
        observation::observe(&mut connection, server).await
    }

    async fn user_view(&self, tables: &[String]) -> TargetResult<UserView> {
        managed_database::user_view(&mut self.control().await?, tables).await
    }

    async fn clean(&self) -> TargetResult<Vec<String>> {
        managed_database::clean(&mut self.control().await?).await
    }

    async fn create(&self, plan: &Plan) -> TargetResult<()> {
        let mut connection = self.control().await?;
        let server = self.server(&mut connection).await?;
        reported_settings::set(&mut connection, &self.settings, &server.variables).await?;
        let tables = Mysql::tables(plan);
        self.managed_database.claim(&mut connection, server.collation, &tables).await
    }

    async fn reopen(&self, plan: &Plan) -> TargetResult<bool> {
        let mut connection = self.control().await?;
        self.server(&mut connection).await?;
        self.managed_database.adopt(&mut connection, &Mysql::tables(plan)).await
    }

    async fn keep(&self) -> TargetResult<()> {
        self.managed_database.release();
        Ok(())
    }

    async fn self_check(&self) -> TargetResult<Option<Vec<String>>> {
        managed_database::check(&mut self.control().await?, &self.managed_database.name)
            .await
            .map(Some)
    }

    async fn reported_settings(&self) -> TargetResult<ReportedSettings> {
        let mut connection = self.control().await?;
        let server = self.server(&mut connection).await?;
        reported_settings::set(&mut connection, &self.settings, &server.variables).await?;
        // The current settings, not those of the preflight check.
        let server = Server::inspect(&mut connection, &self.settings.address)
            .await
            .map(|now| Server { free: server.free, ..now })?;
        reported_settings::read(&mut connection, &self.settings, &server).await
    }

    fn worker(&self) -> TargetResult<Poller> {
        Poller::new()
    }

    async fn connect(&self, plan: &Plan, worker: &Poller) -> TargetResult<MysqlSession> {
        let name = self.managed_database.name.as_str();
        let mut connection =
            Connection::open(&self.connection_spec()?, Some(name), Some(worker)).await?;
        let server = self.server(&mut connection).await?;
        reported_settings::set(&mut connection, &self.settings, &server.variables).await?;
        connection.limit_waits();
        let operations = prepared::prepare(&mut connection, plan, SQL).await?;
        connection.unlimit_waits();
        let loads = Loads::new(plan, SQL, server.packet_max);
        Ok(MysqlSession::new(connection, operations, loads, plan.pipeline))
    }

    async fn remove(&self) -> TargetResult<()> {
        if !self.managed_database.is_claimed() {
            return Ok(());
        }
        let _removal = Cleanup::begins();
        self.managed_database.remove(&mut self.control().await?).await
    }
}
