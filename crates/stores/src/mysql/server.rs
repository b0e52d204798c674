//! The state of a server at the preflight check: product, version, settings, paths, free connections,
//! other sessions.

use super::connection::Connection;
use super::durability::{Variables, Verdict, judge};
use super::reported_settings::{cell, pairs};
use super::settings::Settings;
use crate::server::{
    Address, Host, LIVE, LogSetting, listener, log_location, process_of_peer, verified_process,
};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;
use syncline_contract::{Failure, FailureKind, LogLocation, StoreProcess, TargetResult};

/// Connections left to the server's own users and to our own checks.
const SPARED: usize = 3;

/// A session of another program counts if it is present at each of this many checks.
const CHECKS: usize = 5;
const BETWEEN_CHECKS: Duration = Duration::from_millis(60);

/// Variables that affect the speed and safety of commits, or that this target needs.
const VARIABLES: [&str; 42] = [
    "autocommit",
    "binlog_format",
    "binlog_group_commit_sync_delay",
    "binlog_commit_wait_usec",
    "datadir",
    "innodb_adaptive_hash_index",
    "innodb_autoinc_lock_mode",
    "innodb_buffer_pool_size",
    "innodb_deadlock_detect",
    "innodb_doublewrite",
    "innodb_flush_log_at_timeout",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_io_capacity",
    "innodb_lock_wait_timeout",
    "innodb_log_buffer_size",
    "innodb_log_file_buffering",
    "innodb_log_file_size",
    "innodb_log_file_write_through",
    "innodb_log_group_home_dir",
    "innodb_page_size",
    "innodb_redo_log_capacity",
    "innodb_rollback_on_timeout",
    "innodb_snapshot_isolation",
    "innodb_undo_directory",
    "innodb_use_fdatasync",
    "log_bin",
    "log_bin_basename",
    "max_allowed_packet",
    "max_connections",
    "performance_schema",
    "pid_file",
    "port",
    "read_only",
    "rpl_semi_sync_master_enabled",
    "super_read_only",
    "sync_binlog",
    "thread_handling",
    "transaction_isolation",
    "tx_isolation",
    "version_comment",
    "wsrep_on",
];

/// The facts about a server that a run needs.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) mariadb: bool,
    pub(super) version: String,
    pub(super) variables: Variables,
    pub(super) verdict: Verdict,
    pub(super) log_location: LogLocation,
    pub(super) data_location: LogLocation,
    /// The directories of its binary log and its undo logs, if reported.
    pub(super) other_locations: Vec<LogLocation>,
    /// Why it refuses writes; `None` if it accepts them.
    pub(super) read_only_reason: Option<String>,
    pub(super) process: StoreProcess,
    /// The number of clients that can still connect.
    pub(super) free: usize,
    pub(super) packet_max: usize,
    /// The collation of the managed database.
    pub(super) collation: &'static str,
}

impl Server {
    /// Reads the state; changes nothing and refuses nothing.
    pub(super) async fn inspect(
        connection: &mut Connection,
        address: &Address,
    ) -> TargetResult<Server> {
        let variables = variables(connection).await?;
        let version = connection.version().to_owned();
        let mariadb = version.contains("MariaDB");
        let number = |name: &str| variables.get(name).and_then(|value| value.parse().ok());
        let connected = "SHOW GLOBAL STATUS LIKE 'Threads_connected'";
        let connected = connection.query(connected, "count its connections").await?;
        let connected: usize = cell(&connected, 0, 1).parse().unwrap_or(0);
        // Our own connection is included and will be closed.
        let others = connected.saturating_sub(1) + SPARED;
        let free = number("max_connections").unwrap_or(0_usize).saturating_sub(others);
        let process = process(address, &variables);
        let whom = connection.whom().to_owned();
        Ok(Server {
            mariadb,
            verdict: judge(&variables, mariadb),
            log_location: place(&variables, process, &whom),
            data_location: data_location(&variables, process, &whom),
            other_locations: other_locations(&variables, process, &whom),
            read_only_reason: read_only_reason(connection, &variables, &whom).await?,
            process,
            free,
            packet_max: number("max_allowed_packet").unwrap_or(1 << 20),
            collation: collation(connection).await?,
            version,
            variables,
        })
    }

    /// Refuses the server if its settings are not as required, other sessions are active, or no
    /// connection is free.
    pub(super) async fn refuse(
        &self,
        connection: &mut Connection,
        settings: &Settings,
    ) -> TargetResult<()> {
        let refused = |what: String| {
            let what = format!("{}: {what}", connection.whom());
            Err(Failure::new(FailureKind::Limit, what))
        };
        if let Some(why) = self.verdict.refusal(settings.durability, self.mariadb) {
            return refused(why);
        }
        if self.free == 0 {
            return refused(format!(
                "no connection is free (max_connections={})",
                self.variables.get("max_connections").unwrap_or("unknown")
            ));
        }
        if settings.live {
            return Ok(());
        }
        match others(connection).await? {
            None => Ok(()),
            Some(who) => {
                let what = format!(
                    "{}: others work on this server ({who}); a run would slow them and they would \
                     distort its results; {LIVE}",
                    connection.whom()
                );
                Err(Failure::new(FailureKind::Limit, what))
            }
        }
    }

    /// Why sync calls do not show its syncs; `None` if they do.
    pub(super) fn unseen_syncs(&self) -> Option<&'static str> {
        self.variables.unseen_syncs()
    }

    /// The name in tables and records.
    pub(super) fn name(&self) -> &'static str {
        if self.mariadb { "mariadb" } else { "mysql" }
    }

    /// The product's name.
    pub(super) fn product(&self) -> &'static str {
        if self.mariadb { "MariaDB" } else { "MySQL" }
    }
}

/// The requested variables that this server has.
pub(super) async fn variables(connection: &mut Connection) -> TargetResult<Variables> {
    let names: Vec<_> = VARIABLES.iter().map(|name| format!("'{name}'")).collect();
    let text = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", names.join(", "));
    let rows = connection.query(&text, "report its settings").await?;
    Ok(Variables(pairs(&rows)))
}

/// A collation by bytes, so that keys are ordered as the plan requires, and without padding where the
/// server has such a collation.
async fn collation(connection: &mut Connection) -> TargetResult<&'static str> {
    let known = ["utf8mb4_nopad_bin", "utf8mb4_0900_bin", "utf8mb4_bin"];
    let text = "SHOW COLLATION WHERE Collation LIKE 'utf8mb4%bin'";
    let rows = connection.query(text, "report its collations").await?;
    let there: Vec<_> = (0..rows.len()).map(|row| cell(&rows, row, 0)).collect();
    let found = known.into_iter().find(|name| there.contains(name));
    Ok(found.unwrap_or("utf8mb4_bin"))
}

/// Describes the other sessions, except those of our own runs and the server's threads: their
/// number, and one of them. A session that is just ending, such as one of an earlier run, no longer
/// exists at a later check.
async fn others(connection: &mut Connection) -> TargetResult<Option<String>> {
    let mut stay = other_sessions(connection).await?;
    for _ in 1..CHECKS {
        if stay.is_empty() {
            return Ok(None);
        }
        thread::sleep(BETWEEN_CHECKS);
        let there = other_sessions(connection).await?;
        stay.retain(|id, _| there.contains_key(id));
    }
    let count = stay.len();
    let sessions = if count == 1 { "session" } else { "sessions" };
    Ok(stay.into_values().next().map(|one| format!("{count} {sessions}, one of {one}")))
}

/// The other sessions by id, with their user and database. Users without the PROCESS right see only
/// sessions under their own name.
async fn other_sessions(connection: &mut Connection) -> TargetResult<BTreeMap<String, String>> {
    let text = "SELECT ID, CONCAT('user ', USER, ' in database ', COALESCE(DB, '-')) \
                FROM information_schema.PROCESSLIST \
                WHERE ID <> CONNECTION_ID() AND USER NOT IN ('system user', 'event_scheduler') \
                AND COMMAND NOT IN ('Daemon', 'Binlog Dump', 'Binlog Dump GTID') \
                AND COALESCE(DB, '') NOT LIKE 'syncline\\_%'";
    let rows = connection.query(text, "report other sessions").await?;
    Ok(pairs(&rows))
}

/// The server's process, if it runs on this machine.
fn process(address: &Address, variables: &Variables) -> StoreProcess {
    if !address.names_this_machine() {
        return StoreProcess::REMOTE;
    }
    let found = match &address.host {
        Host::Tcp(_, port) => listener(*port),
        Host::Socket(path) => by_pid_file(variables).or_else(|| by_peer(path)),
    };
    found.map_or(StoreProcess::REMOTE, |pid| verified_process(pid, &["mariadbd", "mysqld"]))
}

fn by_pid_file(variables: &Variables) -> Option<u32> {
    let file = Path::new(variables.get("datadir")?).join(variables.get("pid_file")?);
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn by_peer(socket: &Path) -> Option<u32> {
    process_of_peer(&UnixStream::connect(socket).ok()?)
}

fn place(variables: &Variables, process: StoreProcess, whom: &str) -> LogLocation {
    let Some(data) = variables.get("datadir") else {
        return LogLocation::Nowhere(format!("{whom} does not report its data directory"));
    };
    let (log, source) = match variables.get("innodb_log_group_home_dir") {
        Some(log) if !matches!(log, "" | "." | "./") => (log, "innodb_log_group_home_dir"),
        _ => ("", "datadir"),
    };
    let directory = Path::new(data).join(log).display().to_string();
    log_location(process, whom, &LogSetting { directory, source })
}

fn data_location(variables: &Variables, process: StoreProcess, whom: &str) -> LogLocation {
    let Some(directory) = variables.get("datadir").map(str::to_owned) else {
        return LogLocation::Nowhere(format!("{whom} does not report its data directory"));
    };
    let source = "datadir";
    log_location(process, whom, &LogSetting { directory, source })
}

fn other_locations(variables: &Variables, process: StoreProcess, whom: &str) -> Vec<LogLocation> {
    let Some(data) = variables.get("datadir").map(Path::new) else {
        return Vec::new();
    };
    // The variable holds the common prefix of the log's files.
    let binary_log = variables
        .get("log_bin_basename")
        .filter(|name| !name.is_empty() && variables.get("log_bin") == Some("ON"))
        .and_then(|name| Some((data.join(name).parent()?.to_owned(), "log_bin_basename")));
    let undo = variables
        .get("innodb_undo_directory")
        .filter(|name| !name.is_empty())
        .map(|name| (data.join(name), "innodb_undo_directory"));
    let places = binary_log.into_iter().chain(undo);
    let places = places.map(|(directory, source)| {
        let directory = directory.display().to_string();
        log_location(process, whom, &LogSetting { directory, source })
    });
    places.collect()
}

/// Why our sessions cannot write: `read_only` applies unless the user has a right that overrides it.
async fn read_only_reason(
    connection: &mut Connection,
    variables: &Variables,
    whom: &str,
) -> TargetResult<Option<String>> {
    let is_on = |name: &str| variables.get(name).is_some_and(|word| word != "OFF");
    let refusal = |setting: &str| {
        Some(format!(
            "{whom} accepts no writes ({setting}=ON), as a replica does: run on its primary, or run a \
             workload that only reads with --reuse on rows that a run on the primary kept"
        ))
    };
    if is_on("super_read_only") {
        return Ok(refusal("super_read_only"));
    }
    if !is_on("read_only") {
        return Ok(None);
    }
    let rights = "SELECT PRIVILEGE_TYPE FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE IN \
                  ('SUPER', 'READ_ONLY ADMIN', 'READ ONLY ADMIN', 'CONNECTION_ADMIN') AND GRANTEE = \
                  CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')";
    let rows = connection.query(rights, "report its user's rights").await?;
    let overrules = !rows.is_empty();
    Ok(if overrules { None } else { refusal("read_only") })
}
