//! The settings that the database reports: product, version, durability and isolation, read back.

use super::connection::Connection;
use super::location::DatabaseLocation;
use super::product::{DurabilityQuery, DurabilityReport};
use super::settings::Level;
use super::target::Jdbc;
use crate::server::{LogSetting, log_location as place_of};
use std::path::PathBuf;
use syncline_contract::{
    LogLocation, ReportedSettings, Setting, StoreProcess, Target, TargetResult,
};

/// All settings, read on a connection like a client's.
pub(super) fn of(target: &Jdbc) -> TargetResult<ReportedSettings> {
    let mut connection = target.connection()?;
    let about = connection.about();
    let about = about.map_err(|thrown| target.failure(&thrown, "report its version"))?;
    let level = target.level();
    let isolation = connection.isolate(level);
    let isolation =
        isolation.map_err(|thrown| target.failure(&thrown, "report its isolation level"))?;
    let mut reported_durability = reported_durability(target, &mut connection)?;
    reported_durability.settings.extend(chosen(target, level, isolation, about.driver));
    Ok(ReportedSettings {
        product: about.product,
        version: about.version,
        durability: reported_durability.durability,
        durability_evidence: reported_durability.evidence,
        isolation: level.isolation(),
        settings: reported_durability.settings,
    })
}

fn chosen(target: &Jdbc, level: Level, read_back: i32, driver: String) -> [Setting; 3] {
    let setting = |name: &str, value: String, source: &str| Setting {
        name: name.to_owned(),
        value,
        source: source.to_owned(),
    };
    let after = match &target.place {
        DatabaseLocation::Directory { embedded, durability, .. } => {
            (embedded.after_commit)(*durability)
        }
        _ => None,
    };
    let transactions = "a connection a client: autocommit for one operation, commit() for several";
    let transactions = match after {
        Some(after) => format!("{transactions}; {after} after each commit"),
        None => transactions.to_owned(),
    };
    [
        setting("driver", driver, "DatabaseMetaData.getDriverName, getDriverVersion"),
        setting(
            "isolation",
            format!("{} (JDBC's level {read_back})", level.word()),
            "Connection.getTransactionIsolation",
        ),
        setting("transactions", transactions, "this target"),
    ]
}

/// The durability of a commit, as the product reports it.
pub(super) fn reported_durability(
    target: &Jdbc,
    connection: &mut Connection,
) -> TargetResult<DurabilityReport> {
    let process = known(target.process());
    let (directory, log) = match &target.place {
        DatabaseLocation::Directory { directory, embedded, .. } => {
            let directory = directory.path().to_owned();
            let log = directory.join(embedded.log);
            (Some(directory), Some(log))
        }
        _ => (None, server_log(target, connection, process)),
    };
    let reported_durability = (target.product.reported_durability)(&mut DurabilityQuery {
        connection,
        requested: target.requested_durability(),
        directory: directory.as_deref(),
        log: log.as_deref(),
        process,
    });
    reported_durability.map_err(|thrown| target.failure(&thrown, "report its durability"))
}

/// The location of a server's log.
pub(super) fn log_location(
    target: &Jdbc,
    connection: &mut Connection,
    process: StoreProcess,
) -> LogLocation {
    let Some(log) = server_log(target, connection, known(process)) else {
        let what = format!(
            "{} does not report over JDBC where its log is; --line RECORD names a probe made there",
            target.product.name
        );
        return LogLocation::Nowhere(what);
    };
    let word = LogSetting {
        directory: log.display().to_string(),
        source: "read through JDBC, or from its process",
    };
    place_of(process, target.product.name, &word)
}

fn server_log(target: &Jdbc, connection: &mut Connection, process: Option<u32>) -> Option<PathBuf> {
    (target.product.log)(&mut DurabilityQuery {
        connection,
        requested: None,
        directory: None,
        log: None,
        process,
    })
}

fn known(process: StoreProcess) -> Option<u32> {
    match process {
        StoreProcess::InProcess => Some(std::process::id()),
        StoreProcess::Other(process) => Some(process),
        StoreProcess::Unknown(_) => None,
    }
}
