//! A session's settings, how they are read back, and the settings that the server reports.

use super::connection::Connection;
use super::durability::Variables;
use super::server::Server;
use super::settings::{IsolationLevel, Settings};
use std::collections::BTreeMap;
use syncline_contract::{
    Durability, Failure, FailureKind, ReportedSettings, Rows, Setting, TargetResult, Value,
};

/// A session's SQL mode: values are never truncated, rounded or replaced silently, and a key of zero is
/// valid.
const SQL_MODE: &str =
    "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_VALUE_ON_ZERO";

/// The setting that turns MariaDB's repeatable read into snapshot isolation.
const SNAPSHOT: &str = "innodb_snapshot_isolation";

/// The statements with which a session configures itself, in order.
pub(super) fn session_settings(settings: &Settings, variables: &Variables) -> Vec<String> {
    let mut set = format!("SET SESSION autocommit=1, time_zone='+00:00', sql_mode='{SQL_MODE}'");
    if let Some(seconds) = settings.lock_wait_s {
        set.push_str(&format!(", innodb_lock_wait_timeout={seconds}"));
    }
    if variables.get(SNAPSHOT).is_some() {
        set.push_str(&format!(", {}", snapshot(settings)));
    }
    vec![
        "SET NAMES utf8mb4".to_owned(),
        set,
        format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", settings.isolation_level.level()),
    ]
}

fn snapshot(settings: &Settings) -> &'static str {
    match settings.isolation_level {
        IsolationLevel::Snapshot => "innodb_snapshot_isolation=ON",
        _ => "innodb_snapshot_isolation=OFF",
    }
}

/// The note on a setting that only some versions have, for a dry run in which the version is not known.
pub(super) fn snapshot_by_version(settings: &Settings) -> String {
    format!(
        "-- by version: where the server supports it (MariaDB), also {} in the first SET SESSION",
        snapshot(settings)
    )
}

/// Configures a session, and fails if the settings read back differ.
pub(super) async fn set(
    connection: &mut Connection,
    settings: &Settings,
    variables: &Variables,
) -> TargetResult<()> {
    for text in session_settings(settings, variables) {
        connection.query(&text, "set its session").await?;
    }
    if let Some(setting) = session_snapshot(connection, variables).await?
        && let Some(what) = snapshot_refused(connection.whom(), settings, &setting)
    {
        return Err(Failure::new(FailureKind::Statement, what));
    }
    let setting = session_isolation(connection, variables).await?;
    if level_of(&setting.value) == Some(settings.isolation_level.level()) {
        return Ok(());
    }
    let what = format!(
        "{}: isolation {} was set, but the server reports {}",
        connection.whom(),
        settings.isolation_level.level(),
        setting.value
    );
    Err(Failure::new(FailureKind::Statement, what))
}

/// The session's isolation level, as the server reports it.
async fn session_isolation(
    connection: &mut Connection,
    variables: &Variables,
) -> TargetResult<Setting> {
    // The first name exists since MySQL 5.7.20 and MariaDB 11.1; the second was removed in MySQL 8.0.3.
    let name = if variables.get("transaction_isolation").is_some() {
        "transaction_isolation"
    } else {
        "tx_isolation"
    };
    let source = format!("SELECT @@session.{name}");
    let rows = connection.query(&source, "report its isolation level").await?;
    Ok(Setting { name: name.to_owned(), value: cell(&rows, 0, 0).to_owned(), source })
}

/// Whether the session refuses to lock rows that have changed since its snapshot; `None` where the
/// server does not have the setting.
async fn session_snapshot(
    connection: &mut Connection,
    variables: &Variables,
) -> TargetResult<Option<Setting>> {
    if variables.get(SNAPSHOT).is_none() {
        return Ok(None);
    }
    let source = format!("SELECT @@session.{SNAPSHOT}");
    // As text, since its type depends on the version.
    let asks = format!("SELECT CAST(@@session.{SNAPSHOT} AS CHAR)");
    let rows = connection.query(&asks, "report its isolation level").await?;
    let is_on = matches!(cell(&rows, 0, 0), "1" | "ON");
    Ok(Some(Setting {
        name: SNAPSHOT.to_owned(),
        value: if is_on { "ON" } else { "OFF" }.to_owned(),
        source,
    }))
}

/// An error if the session's setting differs from the one that was set.
fn snapshot_refused(whom: &str, settings: &Settings, setting: &Setting) -> Option<String> {
    let asked = snapshot(settings);
    let there = format!("{}={}", setting.name, setting.value);
    (there != asked).then(|| format!("{whom}: {asked} was set, but the server reports {there}"))
}

/// The words of SET TRANSACTION for a variable's value.
fn level_of(value: &str) -> Option<&'static str> {
    IsolationLevel::ALL
        .into_iter()
        .map(IsolationLevel::level)
        .find(|level| level.replace(' ', "-") == value)
}

/// The settings that the server and one of our sessions report.
pub(super) async fn read(
    connection: &mut Connection,
    settings: &Settings,
    server: &Server,
) -> TargetResult<ReportedSettings> {
    let isolation = session_isolation(connection, &server.variables).await?;
    let snapshot = session_snapshot(connection, &server.variables).await?;
    let durability = server.verdict.durability.min(settings.durability);
    let more = if durability < server.verdict.durability && durability == Durability::Data {
        "; this also satisfies durability=full"
    } else {
        ""
    };
    let mut all = vec![
        isolation,
        Setting {
            name: "isolation".to_owned(),
            value: words(settings.isolation_level).to_owned(),
            source: "this target".to_owned(),
        },
        Setting {
            name: "transactions".to_owned(),
            value: "autocommit=1 for one operation; autocommit=0 and COMMIT for several, COMMIT in the same \
                    round trip where there is one write at most"
                .to_owned(),
            source: "this target".to_owned(),
        },
        Setting {
            name: "collation of texts".to_owned(),
            value: server.collation.to_owned()
                + if server.collation == "utf8mb4_bin" {
                    ", which ignores spaces at the end"
                } else {
                    ""
                },
            source: "SHOW COLLATION".to_owned(),
        },
    ];
    // The session's value is the one in force, not the global one.
    let global = global_settings(&server.variables).into_iter();
    let is_of_session =
        |one: &Setting| snapshot.as_ref().is_some_and(|session| session.name == one.name);
    all.extend(global.filter(|one| !is_of_session(one)));
    all.extend(snapshot);
    Ok(ReportedSettings {
        product: server.product().to_owned(),
        version: server.version.clone(),
        durability,
        durability_evidence: server.verdict.evidence.clone() + more,
        isolation: settings.isolation_level.isolation(),
        settings: all,
    })
}

/// Converts the variables to settings.
pub(super) fn global_settings(variables: &Variables) -> Vec<Setting> {
    let pairs = variables.0.iter();
    pairs
        .map(|(name, value)| Setting {
            name: name.clone(),
            value: value.clone(),
            source: "SHOW GLOBAL VARIABLES".to_owned(),
        })
        .collect()
}

/// What the level means in InnoDB.
fn words(isolation_level: IsolationLevel) -> &'static str {
    match isolation_level {
        IsolationLevel::ReadCommitted => {
            "plain reads see what was committed before the statement began"
        }
        IsolationLevel::RepeatableRead => {
            "plain reads use one snapshot; locking reads and writes see the newest rows, so that it \
             is not snapshot isolation"
        }
        IsolationLevel::Snapshot => {
            "repeatable read with innodb_snapshot_isolation=ON: locking a row that has changed since the \
             snapshot fails (error 1020)"
        }
        IsolationLevel::Serializable => {
            "plain reads lock the rows that they read, except in autocommit"
        }
    }
}

/// A cell of a query's answer; empty for null.
pub(super) fn cell(rows: &Rows, row: usize, column: usize) -> &str {
    if row >= rows.len() || column >= rows.width() {
        return "";
    }
    match rows.row(row).value(column) {
        Value::Text(text) => text,
        _ => "",
    }
}

/// The first two columns as names, in lower case, and values.
pub(super) fn pairs(rows: &Rows) -> BTreeMap<String, String> {
    let all = 0..rows.len();
    all.map(|row| {
        let name = cell(rows, row, 0).to_ascii_lowercase();
        (name, cell(rows, row, 1).to_owned())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{cell, level_of, pairs, session_settings, snapshot_refused};
    use crate::mysql::durability::Variables;
    use crate::mysql::settings::{LISTING, Settings};
    use crate::url::Url;
    use syncline_contract::{Rows, Setting, Value};

    #[test]
    fn a_session_whose_reported_settings_differ_is_refused() {
        let refused = |isolation: &str, value: &str| {
            let url = Url::parse(&format!("mysql://h?isolation={isolation}")).unwrap();
            let setting = Setting {
                name: "innodb_snapshot_isolation".to_owned(),
                value: value.to_owned(),
                source: String::new(),
            };
            snapshot_refused("h", &Settings::parse(&url, LISTING).unwrap(), &setting)
        };
        assert_eq!(refused("snapshot", "ON"), None);
        assert_eq!(refused("repeatable-read", "OFF"), None);
        let words = refused("snapshot", "OFF").unwrap();
        assert!(words.contains("=ON was set") && words.ends_with("=OFF"), "{words}");
        assert!(refused("repeatable-read", "ON").is_some());
    }

    #[test]
    fn a_session_sets_its_isolation_level_and_lock_wait() {
        let url = Url::parse("mysql://h?isolation=snapshot&lock_wait_s=7").unwrap();
        let settings = Settings::parse(&url, LISTING).unwrap();
        let mut variables = Variables::default();
        let set = session_settings(&settings, &variables).join("; ");
        assert!(set.contains("innodb_lock_wait_timeout=7"), "{set}");
        assert!(!set.contains("snapshot"), "a server without the variable must not get it: {set}");
        variables.0.insert("innodb_snapshot_isolation".to_owned(), "OFF".to_owned());
        let set = session_settings(&settings, &variables).join("; ");
        assert!(set.contains("innodb_snapshot_isolation=ON"), "{set}");
        assert!(set.ends_with("LEVEL REPEATABLE READ"), "{set}");
    }

    #[test]
    fn levels_are_recognized_by_the_servers_words() {
        assert_eq!(level_of("REPEATABLE-READ"), Some("REPEATABLE READ"));
        assert_eq!(level_of("READ-UNCOMMITTED"), None);
    }

    #[test]
    fn cells_beyond_an_answer_are_empty() {
        let mut rows = Rows::new(2);
        rows.push_row(&[Value::Text("Log_Bin"), Value::Null]);
        assert_eq!((cell(&rows, 0, 0), cell(&rows, 0, 1)), ("Log_Bin", ""));
        assert_eq!((cell(&rows, 1, 0), cell(&rows, 0, 2)), ("", ""));
        assert_eq!(pairs(&rows).get("log_bin").map(String::as_str), Some(""));
    }
}
