//! Our own database: made, marked, found again, dropped. Nothing else of the server is changed.
//!
//! The mark is a table of our name in it, whose comment is [`MARK`] and whose row holds the digest of what
//! made the other tables, so that a later run can tell whether they are those it would make. MariaDB has a
//! comment for the database itself, from version 10.5 on: there it says the same from the first moment, so
//! that a run that is killed before it has made the table leaves nothing that is not known as ours. Only a
//! database that has a name of ours *and* the mark is ever dropped.

use super::connection::Connection;
use super::reported_settings::cell;
use crate::server::{FAREWELL_LOOKS, MARK, SchemaName, digest_of_tables};
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_contract::{Failure, FailureKind, Rows, TargetResult, UserView, Value};

/// The marking table; `syncline_mark` is the runner's own, which says that every row is loaded.
const TABLE: &str = "syncline_made";

/// A name for a run's database, and whether it was made or adopted.
#[derive(Debug)]
pub(super) struct ManagedDatabase {
    pub(super) name: SchemaName,
    claimed: AtomicBool,
}

/// What stands under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OwnershipState {
    Nothing,
    /// A database of ours, and the digest of what made its tables.
    Ours(String),
    /// Somebody else's.
    Foreign,
}

impl ManagedDatabase {
    /// Of that name; nothing is there yet.
    pub(super) fn new(name: SchemaName) -> ManagedDatabase {
        ManagedDatabase { name, claimed: AtomicBool::new(false) }
    }

    /// Makes the database with its tables; refuses one that is there.
    pub(super) async fn claim(
        &self,
        connection: &mut Connection,
        collation: &str,
        tables: &[String],
    ) -> TargetResult<()> {
        match self.look(connection).await? {
            OwnershipState::Nothing => {}
            OwnershipState::Ours(_) => {
                let what = format!(
                    "database {} at {} is there already; name another by schema=, run with --reuse, or \
                     remove what is ours by syncline clean",
                    self.name,
                    connection.whom()
                );
                return Err(Failure::new(FailureKind::Storage, what));
            }
            OwnershipState::Foreign => return Err(self.foreign(connection)),
        }
        connection.query(&self.create_text(collation), "make a database").await?;
        self.claimed.store(true, Ordering::Release);
        let made = self.fill(connection, tables).await;
        if made.is_err() {
            // The first failure says what happened; one of the removal would only hide it.
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

    /// Takes the database as an earlier run has left it; `false` if there is none.
    pub(super) async fn adopt(
        &self,
        connection: &mut Connection,
        tables: &[String],
    ) -> TargetResult<bool> {
        match self.look(connection).await? {
            OwnershipState::Nothing => Ok(false),
            OwnershipState::Foreign => Err(self.foreign(connection)),
            OwnershipState::Ours(made) if tables.is_empty() || made == digest_of_tables(tables) => {
                self.refuse_code(connection).await?;
                self.refuse_use(connection).await?;
                self.claimed.store(true, Ordering::Release);
                Ok(true)
            }
            OwnershipState::Ours(_) => {
                let what = format!(
                    "database {} at {} holds other tables than this workload's; name its own schema",
                    self.name,
                    connection.whom()
                );
                Err(Failure::new(FailureKind::Storage, what))
            }
        }
    }

    /// Leaves the database to a later run.
    pub(super) fn let_go(&self) {
        self.claimed.store(false, Ordering::Release);
    }

    /// True if there is something of this run's to remove.
    pub(super) fn is_claimed(&self) -> bool {
        self.claimed.load(Ordering::Acquire)
    }

    /// Drops a claimed database.
    pub(super) async fn remove(&self, connection: &mut Connection) -> TargetResult<()> {
        if self.is_claimed() {
            connection.query(&self.drop_text(), "drop its database").await?;
            self.let_go();
        }
        Ok(())
    }

    async fn look(&self, connection: &mut Connection) -> TargetResult<OwnershipState> {
        let exists = format!(
            "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{}'",
            self.name
        );
        let doing = "look for its database";
        if cell(&connection.query(&exists, doing).await?, 0, 0) == "0" {
            return Ok(OwnershipState::Nothing);
        }
        let marked = marked(connection).await?;
        if !marked.contains(&self.name) {
            return Ok(OwnershipState::Foreign);
        }
        let marking = format!(
            "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{}' AND TABLE_NAME = \
             '{TABLE}' AND TABLE_TYPE = 'BASE TABLE'",
            self.name
        );
        if cell(&connection.query(&marking, doing).await?, 0, 0) == "0" {
            return Ok(OwnershipState::Ours(String::new()));
        }
        let made = format!("SELECT made FROM `{}`.`{TABLE}`", self.name);
        let rows = connection.query(&made, doing).await?;
        Ok(OwnershipState::Ours(if rows.is_empty() {
            String::new()
        } else {
            cell(&rows, 0, 0).to_owned()
        }))
    }

    /// Refuses a database with anything in it that runs: databases have no owners, and a view in the place of
    /// a table of ours could call functions with the rights of whoever reads it.
    async fn refuse_code(&self, connection: &mut Connection) -> TargetResult<()> {
        let name = &self.name;
        let text = format!(
            "SELECT CONCAT('view ', TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{name}' \
             AND TABLE_TYPE LIKE '%VIEW' UNION ALL SELECT CONCAT('trigger ', TRIGGER_NAME) FROM \
             information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = '{name}' UNION ALL SELECT CONCAT('routine ', \
             ROUTINE_NAME) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{name}' LIMIT 1"
        );
        let found = connection.query(&text, "look for views, triggers and routines");
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

    fn foreign(&self, connection: &Connection) -> Failure {
        let what = format!(
            "database {} at {} was not made by syncline; name another schema, or drop it yourself",
            self.name,
            connection.whom()
        );
        Failure::new(FailureKind::Storage, what)
    }

    /// The statement that makes it.
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

/// The statements that mark a database, in it.
pub(super) fn mark_texts(tables: &[String]) -> [String; 2] {
    let made = digest_of_tables(tables);
    [
        format!("CREATE TABLE `{TABLE}` (made CHAR(64) NOT NULL) ENGINE=InnoDB COMMENT='{MARK}'"),
        format!("INSERT INTO `{TABLE}` VALUES ('{made}')"),
    ]
}

/// The databases that bear a name of ours and our mark.
async fn marked(connection: &mut Connection) -> TargetResult<Vec<SchemaName>> {
    let text = format!(
        "SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = '{TABLE}' \
         AND TABLE_COMMENT = '{MARK}' /*M!100500 UNION SELECT SCHEMA_NAME FROM \
         information_schema.SCHEMATA WHERE SCHEMA_COMMENT = '{MARK}' */ ORDER BY 1"
    );
    let rows = connection.query(&text, "look for databases of ours").await?;
    Ok(names(&rows))
}

fn names(rows: &Rows) -> Vec<SchemaName> {
    let texts = rows.iter().filter_map(|row| match row.value(0) {
        Value::Text(text) => Some(text.to_owned()),
        _ => None,
    });
    texts.filter_map(|text| SchemaName::of(&text)).collect()
}

/// Sessions that have that database open, as far as this user may see them.
async fn users(connection: &mut Connection, name: &SchemaName) -> TargetResult<u64> {
    let text = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '{name}' \
         AND ID <> CONNECTION_ID()"
    );
    let rows = connection.query(&text, "look who uses its database").await?;
    Ok(cell(&rows, 0, 0).parse().unwrap_or(0))
}

/// True if sessions have it open, and still do when those of a killed run had time to go.
async fn is_used(connection: &mut Connection, name: &SchemaName) -> TargetResult<bool> {
    for _ in 0..FAREWELL_LOOKS {
        if users(connection, name).await? == 0 {
            return Ok(false);
        }
        let wait = "wait for the last sessions of an ended run";
        connection.query("SELECT SLEEP(0.05)", wait).await?;
    }
    Ok(true)
}

/// What the server finds wrong in the tables of a database of ours: every page of every index is read,
/// and held against its checksum.
pub(super) async fn check(
    connection: &mut Connection,
    name: &SchemaName,
) -> TargetResult<Vec<String>> {
    let text = format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{name}' ORDER BY TABLE_NAME"
    );
    let tables = connection.query(&text, "look for its tables").await?;
    let tables: Vec<String> =
        (0..tables.len()).map(|row| format!("`{name}`.`{}`", cell(&tables, row, 0))).collect();
    let text = format!("CHECK TABLE {} EXTENDED", tables.join(", "));
    let said = connection.query(&text, "check its tables").await?;
    let lines =
        (0..said.len()).map(|row| [0, 2, 3].map(|column| cell(&said, row, column).to_owned()));
    let wrong =
        lines.filter(|[_, kind, words]| kind == "error" || (kind == "status" && words != "OK"));
    Ok(wrong.map(|line| line.join(" ")).collect())
}

/// Which of these tables the user's own database has.
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
    let rows = connection.query(&found, "look for tables of other programs").await?;
    let tables = (0..rows.len()).map(|row| cell(&rows, row, 0).to_owned());
    Ok(UserView { tables: tables.collect(), waits_for_log: None })
}

/// Drops what earlier runs have left, but what is in use; a line each.
pub(super) async fn clean(connection: &mut Connection) -> TargetResult<Vec<String>> {
    let mut lines = Vec::new();
    for name in marked(connection).await? {
        if is_used(connection, &name).await? {
            lines.push(format!("kept database {name}: a session uses it"));
            continue;
        }
        let own = ManagedDatabase::new(name);
        connection.query(&own.drop_text(), "drop a database of ours").await?;
        lines.push(format!("dropped database {}", own.name));
    }
    Ok(lines)
}
