//! The managed database: created, marked, reopened, dropped. Nothing else on the server is changed.
//!
//! The mark is a table in it, whose comment is [`MARK`] and whose row holds the digest of the
//! statements that created the other tables, so that a later run can check whether they are the ones it
//! would create. MariaDB supports a comment for the database itself from version 10.5 on: it carries
//! the mark from the start, so that a run that is killed before it has created the table leaves nothing
//! unmarked. A database is dropped only if it has a name of our form *and* the mark.

use super::connection::Connection;
use super::reported_settings::cell;
use crate::server::{MARK, SESSION_END_CHECKS, SchemaName, digest_of_tables};
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_contract::{Failure, FailureKind, Rows, TargetResult, UserView, Value};

/// The marking table; `syncline_mark` is the runner's, which records that every row is loaded.
const TABLE: &str = "syncline_made";

/// The name of a run's database, and whether the run created or adopted it.
#[derive(Debug)]
pub(super) struct ManagedDatabase {
    pub(super) name: SchemaName,
    claimed: AtomicBool,
}

/// Whether a database exists, and whether it is managed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OwnershipState {
    Nothing,
    /// A managed database, and the digest of the statements that created its tables.
    Managed(String),
    /// Any other database.
    Unmanaged,
}

impl ManagedDatabase {
    /// With that name; nothing is created yet.
    pub(super) fn new(name: SchemaName) -> ManagedDatabase {
        ManagedDatabase { name, claimed: AtomicBool::new(false) }
    }

    /// Creates the database with its tables; refuses an existing one.
    pub(super) async fn claim(
        &self,
        connection: &mut Connection,
        collation: &str,
        tables: &[String],
    ) -> TargetResult<()> {
        match self.ownership(connection).await? {
            OwnershipState::Nothing => {}
            OwnershipState::Managed(_) => {
                let what = format!(
                    "database {} at {} exists already; name another with schema=, run with --reuse, or \
                     remove managed databases with syncline clean",
                    self.name,
                    connection.whom()
                );
                return Err(Failure::new(FailureKind::Storage, what));
            }
            OwnershipState::Unmanaged => return Err(self.unmanaged(connection)),
        }
        connection.query(&self.create_text(collation), "create a database").await?;
        self.claimed.store(true, Ordering::Release);
        let made = self.fill(connection, tables).await;
        if made.is_err() {
            // The first failure is the one to report; a failed removal would only hide it.
            drop(self.remove(connection).await);
        }
        made
    }

    async fn fill(&self, connection: &mut Connection, tables: &[String]) -> TargetResult<()> {
        let using = format!("USE `{}`", self.name);
        connection.query(&using, "use its database").await?;
        for text in mark_texts(tables) {
            connection.query(&text, "mark its database").await?;
        }
        for text in tables {
            connection.query(text, &format!("execute {text}")).await?;
        }
        Ok(())
    }

    /// Adopts the database of an earlier run; `false` if there is none.
    pub(super) async fn adopt(
        &self,
        connection: &mut Connection,
        tables: &[String],
    ) -> TargetResult<bool> {
        match self.ownership(connection).await? {
            OwnershipState::Nothing => Ok(false),
            OwnershipState::Unmanaged => Err(self.unmanaged(connection)),
            OwnershipState::Managed(made)
                if tables.is_empty() || made == digest_of_tables(tables) =>
            {
                self.refuse_code(connection).await?;
                self.refuse_use(connection).await?;
                self.claimed.store(true, Ordering::Release);
                Ok(true)
            }
            OwnershipState::Managed(_) => {
                let what = format!(
                    "database {} at {} holds other tables than this workload's; name another schema",
                    self.name,
                    connection.whom()
                );
                Err(Failure::new(FailureKind::Storage, what))
            }
        }
    }

    /// Keeps the database for a later run.
    pub(super) fn release(&self) {
        self.claimed.store(false, Ordering::Release);
    }

    /// True if this run has a database to remove.
    pub(super) fn is_claimed(&self) -> bool {
        self.claimed.load(Ordering::Acquire)
    }

    /// Drops a claimed database.
    pub(super) async fn remove(&self, connection: &mut Connection) -> TargetResult<()> {
        if self.is_claimed() {
            connection.query(&self.drop_text(), "drop its database").await?;
            self.release();
        }
        Ok(())
    }

    async fn ownership(&self, connection: &mut Connection) -> TargetResult<OwnershipState> {
        let exists = format!(
            "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{}'",
            self.name
        );
        let doing = "search for its database";
        if cell(&connection.query(&exists, doing).await?, 0, 0) == "0" {
            return Ok(OwnershipState::Nothing);
        }
        let marked = marked(connection).await?;
        if !marked.contains(&self.name) {
            return Ok(OwnershipState::Unmanaged);
        }
        let marking = format!(
            "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{}' AND TABLE_NAME = \
             '{TABLE}' AND TABLE_TYPE = 'BASE TABLE'",
            self.name
        );
        if cell(&connection.query(&marking, doing).await?, 0, 0) == "0" {
            return Ok(OwnershipState::Managed(String::new()));
        }
        let made = format!("SELECT made FROM `{}`.`{TABLE}`", self.name);
        let rows = connection.query(&made, doing).await?;
        Ok(OwnershipState::Managed(if rows.is_empty() {
            String::new()
        } else {
            cell(&rows, 0, 0).to_owned()
        }))
    }

    /// Refuses a database that contains code: databases have no owners, and a view instead of a managed
    /// table could call functions with the rights of its reader.
    async fn refuse_code(&self, connection: &mut Connection) -> TargetResult<()> {
        let name = &self.name;
        let text = format!(
            "SELECT CONCAT('view ', TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{name}' \
             AND TABLE_TYPE LIKE '%VIEW' UNION ALL SELECT CONCAT('trigger ', TRIGGER_NAME) FROM \
             information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = '{name}' UNION ALL SELECT CONCAT('routine ', \
             ROUTINE_NAME) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{name}' LIMIT 1"
        );
        let found = connection.query(&text, "search for views, triggers and routines");
        let found = found.await?;
        let found = cell(&found, 0, 0);
        if found.is_empty() {
            return Ok(());
        }
        let what = format!(
            "database {name} at {} holds a {found}, which could act with the rights of this session; drop it, \
             or name another schema",
            connection.whom()
        );
        Err(Failure::new(FailureKind::Storage, what))
    }

    async fn refuse_use(&self, connection: &mut Connection) -> TargetResult<()> {
        if !is_used(connection, &self.name).await? {
            return Ok(());
        }
        let what =
            format!("database {} at {} is in use by another run", self.name, connection.whom());
        Err(Failure::new(FailureKind::Storage, what))
    }

    fn unmanaged(&self, connection: &Connection) -> Failure {
        let what = format!(
            "database {} at {} was not made by syncline; name another schema, or drop it yourself",
            self.name,
            connection.whom()
        );
        Failure::new(FailureKind::Storage, what)
    }

    /// The statement that creates it.
    pub(super) fn create_text(&self, collation: &str) -> String {
        format!(
            "CREATE DATABASE `{}` CHARACTER SET utf8mb4 COLLATE {collation} /*M!100500 COMMENT='{MARK}' */",
            self.name
        )
    }

    /// The statement that drops it.
    pub(super) fn drop_text(&self) -> String {
        format!("DROP DATABASE `{}`", self.name)
    }
}

/// The statements that mark a database, executed in it.
pub(super) fn mark_texts(tables: &[String]) -> [String; 2] {
    let made = digest_of_tables(tables);
    [
        format!("CREATE TABLE `{TABLE}` (made CHAR(64) NOT NULL) ENGINE=InnoDB COMMENT='{MARK}'"),
        format!("INSERT INTO `{TABLE}` VALUES ('{made}')"),
    ]
}

/// The databases that have a name of our form and the mark.
async fn marked(connection: &mut Connection) -> TargetResult<Vec<SchemaName>> {
    let text = format!(
        "SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = '{TABLE}' \
         AND TABLE_COMMENT = '{MARK}' /*M!100500 UNION SELECT SCHEMA_NAME FROM \
         information_schema.SCHEMATA WHERE SCHEMA_COMMENT = '{MARK}' */ ORDER BY 1"
    );
    let rows = connection.query(&text, "search for managed databases").await?;
    Ok(names(&rows))
}

fn names(rows: &Rows) -> Vec<SchemaName> {
    let texts = rows.iter().filter_map(|row| match row.value(0) {
        Value::Text(text) => Some(text.to_owned()),
        _ => None,
    });
    texts.filter_map(|text| SchemaName::of(&text)).collect()
}

/// The number of sessions with that database open that this user may see.
async fn users(connection: &mut Connection, name: &SchemaName) -> TargetResult<u64> {
    let text = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '{name}' \
         AND ID <> CONNECTION_ID()"
    );
    let rows = connection.query(&text, "find sessions that use its database").await?;
    Ok(cell(&rows, 0, 0).parse().unwrap_or(0))
}

/// True if sessions have it open even after those of a killed run had time to end.
async fn is_used(connection: &mut Connection, name: &SchemaName) -> TargetResult<bool> {
    for _ in 0..SESSION_END_CHECKS {
        if users(connection, name).await? == 0 {
            return Ok(false);
        }
        let wait = "wait for the last sessions of an ended run";
        connection.query("SELECT SLEEP(0.05)", wait).await?;
    }
    Ok(true)
}

/// The faults that the server finds in the tables of a managed database: it reads every page of every
/// index and verifies its checksum.
pub(super) async fn check(
    connection: &mut Connection,
    name: &SchemaName,
) -> TargetResult<Vec<String>> {
    let text = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{name}' ORDER BY TABLE_NAME"
    );
    let tables = connection.query(&text, "search for its tables").await?;
    let tables: Vec<String> =
        (0..tables.len()).map(|row| format!("`{name}`.`{}`", cell(&tables, row, 0))).collect();
    let text = format!("CHECK TABLE {} EXTENDED", tables.join(", "));
    let report = connection.query(&text, "check its tables").await?;
    let lines =
        (0..report.len()).map(|row| [0, 2, 3].map(|column| cell(&report, row, column).to_owned()));
    let wrong =
        lines.filter(|[_, kind, words]| kind == "error" || (kind == "status" && words != "OK"));
    Ok(wrong.map(|line| line.join(" ")).collect())
}

/// The given tables that exist in the user's own database.
pub(super) async fn user_view(
    connection: &mut Connection,
    tables: &[String],
) -> TargetResult<UserView> {
    let names: Vec<_> =
        tables.iter().map(|name| format!("'{}'", name.replace(['\'', '\\'], ""))).collect();
    if names.is_empty() {
        return Ok(UserView::default());
    }
    let found = format!(
        "SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = \
         DATABASE() AND TABLE_NAME IN ({}) ORDER BY 1",
        names.join(", ")
    );
    let rows = connection.query(&found, "search for tables of other programs").await?;
    let tables = (0..rows.len()).map(|row| cell(&rows, row, 0).to_owned());
    Ok(UserView { tables: tables.collect(), waits_for_log: None })
}

/// Drops the databases of earlier runs, except those in use; returns a line for each.
pub(super) async fn clean(connection: &mut Connection) -> TargetResult<Vec<String>> {
    let mut lines = Vec::new();
    for name in marked(connection).await? {
        if is_used(connection, &name).await? {
            lines.push(format!("kept database {name}: a session uses it"));
            continue;
        }
        let own = ManagedDatabase::new(name);
        connection.query(&own.drop_text(), "drop a managed database").await?;
        lines.push(format!("dropped database {}", own.name));
    }
    Ok(lines)
}
