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
use crate::server::{Host, Password, SchemaName};
use crate::sql::{MYSQL, Sql};
use crate::url::{Listing, Url};
use crate::wire::{Cleanup, Endpoint, Poller, Tls};
use parking_lot::{Mutex, MutexGuard};
use syncline_contract::{
    Capabilities, ClientModel, Counter, DryRunPlan, LogLocation, Plan, PlannedOperation,
    ReportedSettings, StoreObservation, StoreProcess, Target, TargetResult, UserView,
};
use syncline_instrument::{Nanos, clock};

/// Requests of which the fastest is the round trip.
const PINGS: usize = 300;

/// What is said of the collation as long as the version is not known.
const BY_VERSION: &str = "-- by version: COLLATE utf8mb4_nopad_bin where the server has it (MariaDB), else \
     utf8mb4_0900_bin (MySQL from 8.0.17), else as above";

/// The generator of every statement; names stand in the session's own database.
const SQL: Sql<'static> = Sql { dialect: &MYSQL, schema: None };

/// MariaDB or MySQL, by InnoDB.
#[derive(Debug)]
pub struct Mysql {
    listing: &'static Listing,
    settings: Settings,
    own: ManagedDatabase,
    /// What the server said when it was met.
    met: Mutex<Option<Server>>,
}

/// Opens what a `mysql:` URL names; touches nothing yet.
pub(crate) fn open(url: &Url) -> Result<Mysql, Error> {
    Mysql::of(url, LISTING)
}

/// Opens what a `mariadb:` URL names; touches nothing yet.
pub(crate) fn open_mariadb(url: &Url) -> Result<Mysql, Error> {
    Mysql::of(url, MARIADB_LISTING)
}

impl Mysql {
    fn of(url: &Url, listing: &'static Listing) -> Result<Mysql, Error> {
        let settings = Settings::parse(url, listing)?;
        let name = settings.schema.clone().unwrap_or_else(SchemaName::fresh);
        Ok(Mysql { listing, settings, own: ManagedDatabase::new(name), met: Mutex::new(None) })
    }

    fn door(&self) -> TargetResult<ConnectionSpec> {
        let address = &self.settings.address;
        // As the products' own clients do it.
        let user = address.user.clone().or_else(|| std::env::var("USER").ok());
        Ok(ConnectionSpec {
            endpoint: match &address.host {
                Host::Tcp(host, port) => Endpoint::Tcp { host: host.clone(), port: *port },
                Host::Socket(path) => Endpoint::Unix(path.clone()),
            },
            user: user.unwrap_or_else(|| "root".to_owned()),
            password: address.password.clone().unwrap_or_else(|| Password::new("")),
            server_key: self.settings.server_key.clone(),
            cleartext: self.settings.cleartext,
            tls: Tls::new(self.settings.tls, self.settings.tls_roots.as_deref())?,
            limit: self.settings.connect_timeout,
        })
    }

    /// A connection for what is asked outside a worker.
    async fn control(&self) -> TargetResult<Connection> {
        let database = self.settings.address.database.as_deref();
        Connection::open(&self.door()?, database, None).await
    }

    fn met(&self) -> MutexGuard<'_, Option<Server>> {
        self.met.lock()
    }

    /// What the server said when it was met; meets it if nobody has.
    async fn server(&self, connection: &mut Connection) -> TargetResult<Server> {
        let met = self.met().clone();
        if let Some(server) = met {
            return Ok(server);
        }
        let server = Server::look(connection, &self.settings.address).await?;
        server.refuse(connection, &self.settings).await?;
        *self.met() = Some(server.clone());
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
        let met = self.met();
        let name = met.as_ref().map_or(self.listing.name, Server::name);
        name.to_owned()
    }

    async fn meet(&self) -> TargetResult<()> {
        let mut connection = self.control().await?;
        self.server(&mut connection).await.map(drop)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            client_model: ClientModel::Futures,
            workers_max: None,
            clients_max: self.met().as_ref().map(|server| server.free),
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

    fn log_place(&self) -> LogLocation {
        match &*self.met() {
            Some(server) => server.log_place.clone(),
            None => LogLocation::Nowhere("not connected to the server yet".to_owned()),
        }
    }

    fn data_place(&self) -> LogLocation {
        match &*self.met() {
            Some(server) => server.data_place.clone(),
            None => LogLocation::Nowhere("the server was not met yet".to_owned()),
        }
    }

    fn further_places(&self) -> Vec<LogLocation> {
        let met = self.met();
        met.as_ref().map_or_else(Vec::new, |server| server.further_places.clone())
    }

    fn clients_max_reason(&self) -> Option<String> {
        let met = self.met();
        let most = met.as_ref()?.variables.get("max_connections")?;
        Some(format!(
            "max_connections is {most}, and the others are taken (SHOW PROCESSLIST names who holds them)"
        ))
    }

    fn takes_no_writes(&self) -> Option<String> {
        self.met().as_ref()?.takes_no_writes.clone()
    }

    fn process(&self) -> StoreProcess {
        let met = self.met();
        met.as_ref().map_or(StoreProcess::REMOTE, |server| server.process)
    }

    fn unseen_syncs(&self) -> Option<&'static str> {
        self.met().as_ref()?.unseen_syncs()
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

    fn intent(&self, plan: &Plan, clients: usize) -> TargetResult<DryRunPlan> {
        let tables = Mysql::tables(plan);
        let met = self.met().clone();
        let collation = met.as_ref().map_or("utf8mb4_bin", |server| server.collation);
        let is_met = met.is_some();
        let variables = met.map(|server| server.variables).unwrap_or_default();
        let mut settings = session_settings(&self.settings, &variables);
        let mut makes = vec![self.own.create_text(collation), format!("USE `{}`", self.own.name)];
        if !is_met {
            // Nobody was asked, so the version is not known, nor what follows from it.
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
            removes: vec![self.own.drop_text()],
        })
    }

    async fn observe(&self) -> TargetResult<StoreObservation> {
        let mut connection = self.control().await?;
        // Each look asks anew: the settings may have changed, and nothing is refused.
        let server = Server::look(&mut connection, &self.settings.address).await?;
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
        self.own.claim(&mut connection, server.collation, &tables).await
    }

    async fn reopen(&self, plan: &Plan) -> TargetResult<bool> {
        let mut connection = self.control().await?;
        self.server(&mut connection).await?;
        self.own.adopt(&mut connection, &Mysql::tables(plan)).await
    }

    async fn keep(&self) -> TargetResult<()> {
        self.own.let_go();
        Ok(())
    }

    async fn self_check(&self) -> TargetResult<Option<Vec<String>>> {
        managed_database::check(&mut self.control().await?, &self.own.name).await.map(Some)
    }

    async fn evidence(&self) -> TargetResult<ReportedSettings> {
        let mut connection = self.control().await?;
        let server = self.server(&mut connection).await?;
        reported_settings::set(&mut connection, &self.settings, &server.variables).await?;
        // The settings as they are now, not as they were met.
        let server = Server::look(&mut connection, &self.settings.address)
            .await
            .map(|now| Server { free: server.free, ..now })?;
        reported_settings::evidence(&mut connection, &self.settings, &server).await
    }

    fn worker(&self) -> TargetResult<Poller> {
        Poller::new()
    }

    async fn connect(&self, plan: &Plan, worker: &Poller) -> TargetResult<MysqlSession> {
        let name = self.own.name.as_str();
        let mut connection = Connection::open(&self.door()?, Some(name), Some(worker)).await?;
        let server = self.server(&mut connection).await?;
        reported_settings::set(&mut connection, &self.settings, &server.variables).await?;
        connection.limited();
        let operations = prepared::prepare(&mut connection, plan, SQL).await?;
        connection.unlimited();
        let loads = Loads::new(plan, SQL, server.packet_max);
        Ok(MysqlSession::new(connection, operations, loads, plan.pipeline))
    }

    async fn remove(&self) -> TargetResult<()> {
        if !self.own.is_claimed() {
            return Ok(());
        }
        let _removal = Cleanup::begins();
        self.own.remove(&mut self.control().await?).await
    }
}
