//! The server's running counters, and their meanings.
//!
//! | meaning | MySQL | MariaDB |
//! |---|---|---|
//! | commits | `trx_rw_commits` of `INNODB_METRICS` where it is switched on, else `Binlog_commits` where there is a binary log | the same |
//! | aborts | `trx_rollbacks` likewise | likewise |
//! | log syncs | `Innodb_os_log_fsyncs` | the same before 10.8, which stopped counting them |
//! | log writes, bytes | `Innodb_log_writes`, `Innodb_os_log_written` | the same |
//! | time of syncs and writes | `performance_schema`, where it is enabled | the same |
//! | time of waits for locks | `Innodb_row_lock_time` | the same |
//!
//! `Com_commit` counts COMMIT statements, not statements that commit themselves; `Handler_commit`
//! counts statements too. Neither is the number of transactions, so they are listed as other counters.

use super::connection::Connection;
use super::reported_settings::{cell, pairs};
use super::server::Server;
use std::collections::BTreeMap;
use syncline_contract::{Counter, Meaning, TargetResult};

/// Counters that are listed without a meaning.
const OTHERS: [&str; 10] = [
    "Binlog_commits",
    "Binlog_group_commits",
    "Com_commit",
    "Com_rollback",
    "Handler_commit",
    "Handler_prepare",
    "Handler_rollback",
    "Innodb_data_fsyncs",
    "Innodb_log_write_requests",
    "Innodb_row_lock_waits",
];

/// Counters that are listed by their meaning.
const WITH_MEANING: [&str; 4] =
    ["Innodb_log_writes", "Innodb_os_log_fsyncs", "Innodb_os_log_written", LOCK_TIME];

/// The time of waits for row locks, in milliseconds.
const LOCK_TIME: &str = "Innodb_row_lock_time";

const STATUS: &str = "SHOW GLOBAL STATUS";
const METRICS: &str = "information_schema.INNODB_METRICS";
const FILES: &str = "performance_schema.file_summary_by_event_name";

/// Reads all counters.
pub(super) async fn counters(
    connection: &mut Connection,
    server: &Server,
) -> TargetResult<Vec<Counter>> {
    let names: Vec<_> =
        OTHERS.iter().chain(&WITH_MEANING).map(|name| format!("'{name}'")).collect();
    let text = format!("{STATUS} WHERE Variable_name IN ({})", names.join(", "));
    let status = pairs(&connection.query(&text, "report its counters").await?);
    let metrics = metrics(connection, server.mariadb).await?;
    let times = times(connection, server).await?;
    let mut all = vec![
        commits(&status, &metrics, server),
        aborts(&metrics),
        log_syncs(&status),
        of_status(Meaning::LogWrites, "Innodb_log_writes", &status),
        of_status(Meaning::LogBytes, "Innodb_os_log_written", &status),
        lock_waits(&status),
    ];
    all.extend(times);
    let others = OTHERS.iter().filter(|name| {
        // The counter that serves as the commits is not listed twice.
        all[0].name != **name && status.contains_key(&name.to_ascii_lowercase())
    });
    let others: Vec<_> = others.map(|name| of_status(Meaning::Other, name, &status)).collect();
    all.extend(others);
    Ok(all)
}

fn of_status(meaning: Meaning, name: &str, status: &BTreeMap<String, String>) -> Counter {
    let why = "this version does not have this counter";
    read_or(meaning, name, number(status, name), STATUS, why)
}

fn number(of: &BTreeMap<String, String>, name: &str) -> Option<u64> {
    of.get(&name.to_ascii_lowercase())?.parse().ok()
}

fn commits(
    status: &BTreeMap<String, String>,
    metrics: &BTreeMap<String, String>,
    server: &Server,
) -> Counter {
    if let Some(value) = number(metrics, "trx_rw_commits") {
        return Counter::read(Meaning::Commits, "trx_rw_commits", value, METRICS);
    }
    if server.variables.is_on("log_bin")
        && let Some(value) = number(status, "Binlog_commits")
    {
        return Counter::read(Meaning::Commits, "Binlog_commits", value, STATUS);
    }
    let why = "the server is not configured to count transactions: Com_commit omits statements that commit themselves, \
               Handler_commit counts statements; innodb_monitor_enable=trx_rw_commits would count them";
    Counter::unavailable(Meaning::Commits, "trx_rw_commits", why, METRICS)
}

fn aborts(metrics: &BTreeMap<String, String>) -> Counter {
    let name = "trx_rollbacks";
    let why = "the server is not configured to count it; innodb_monitor_enable=trx_rollbacks would count it";
    read_or(Meaning::Aborts, name, number(metrics, name), METRICS, why)
}

fn log_syncs(status: &BTreeMap<String, String>) -> Counter {
    let name = "Innodb_os_log_fsyncs";
    let why = "MariaDB does not count the syncs of its log since version 10.8";
    read_or(Meaning::LogSyncs, name, number(status, name), STATUS, why)
}

fn lock_waits(status: &BTreeMap<String, String>) -> Counter {
    let nanoseconds = number(status, LOCK_TIME).map(|milliseconds| milliseconds * 1_000_000);
    let why = "this version does not have this counter";
    read_or(Meaning::LockWaitTime, LOCK_TIME, nanoseconds, STATUS, why)
}

fn read_or(meaning: Meaning, name: &str, value: Option<u64>, source: &str, why: &str) -> Counter {
    value.map_or_else(
        || Counter::unavailable(meaning, name, why, source),
        |value| Counter::read(meaning, name, value, source),
    )
}

/// The metrics that are enabled; none if the user may not read them.
async fn metrics(
    connection: &mut Connection,
    mariadb: bool,
) -> TargetResult<BTreeMap<String, String>> {
    let on = if mariadb { "ENABLED = 1" } else { "STATUS = 'enabled'" };
    let text = format!(
        "SELECT NAME, COUNT FROM {METRICS} WHERE NAME IN ('trx_rw_commits', 'trx_rollbacks') AND {on}"
    );
    Ok(connection.ask(&text).await?.map(|rows| pairs(&rows)).unwrap_or_default())
}

/// The time that syncs and writes of the log took; the server reports picoseconds.
async fn times(connection: &mut Connection, server: &Server) -> TargetResult<[Counter; 2]> {
    let columns = [(Meaning::SyncTime, "SUM_TIMER_MISC"), (Meaning::WriteTime, "SUM_TIMER_WRITE")];
    let text = format!(
        "SELECT {}, {}, COUNT_WRITE FROM {FILES} \
         WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_log_file'",
        columns[0].1, columns[1].1
    );
    let rows = if server.variables.is_on("performance_schema") {
        connection.ask(&text).await?.ok()
    } else {
        None
    };
    let timed = rows.filter(|rows| !rows.is_empty() && cell(rows, 0, 2) != "0");
    Ok([0, 1].map(|place| {
        let (meaning, column) = columns[place];
        let name = format!("innodb_log_file.{column}");
        let read = timed.as_ref().and_then(|rows| cell(rows, 0, place).parse::<u64>().ok());
        let why = "performance_schema is off or not readable by this user";
        // The contract's unit is nanoseconds.
        let nanoseconds = read.map(|picoseconds| picoseconds / 1_000);
        read_or(meaning, &name, nanoseconds, FILES, why)
    }))
}
