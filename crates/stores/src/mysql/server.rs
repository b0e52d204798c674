//! The server as it is met: product, version, settings, place, free connections, who else is there.

use super::connection::Connection;
use super::durability::{Variables, Verdict, judge};
use super::reported_settings::{cell, pairs};
use super::settings::Settings;
use crate::server::{
    Address, Host, LIVE, LogSetting, listener, log_place, process_of_peer, verified,
};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;
use syncline_contract::{Failure, FailureKind, LogLocation, StoreProcess, TargetResult};

/// Connections that are left to the server's own users and to our own looks at it.
const SPARED: usize = 3;

/// A session of others' counts if it is there at each of so many looks.
const LOOKS: usize = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(60);

/// Variables that bear on the speed and safety of commits, or that this target needs.
const ASKED: [&str; 42] = [
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

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) mariadb: bool,
    pub(super) version: String,
    pub(super) variables: Variables,
    pub(super) verdict: Verdict,
    pub(super) log_place: LogLocation,
    pub(super) data_place: LogLocation,
    /// Where its binary log and its undo logs go, if it says so.
    pub(super) further_places: Vec<LogLocation>,
    /// Why it takes no writes; none if it does.
    pub(super) takes_no_writes: Option<String>,
    pub(super) process: StoreProcess,
    /// Clients for which there is room.
    pub(super) free: usize,
    pub(super) packet_max: usize,
    /// The collation of our own database.
    pub(super) collation: &'static str,
}

impl Server {
    /// Looks; changes nothing and refuses nothing.
    pub(super) async fn look(
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
        // Our own connection is among them and will go.
        let others = connected.saturating_sub(1) + SPARED;
        let free = number("max_connections").unwrap_or(0_usize).saturating_sub(others);
        let process = process(address, &variables);
        let whom = connection.whom().to_owned();
        Ok(Server {
            mariadb,
            verdict: judge(&variables, mariadb),
            log_place: place(&variables, process, &whom),
            data_place: data_place(&variables, process, &whom),
            further_places: further_places(&variables, process, &whom),
            takes_no_writes: takes_no_writes(connection, &variables, &whom).await?,
            process,
            free,
            packet_max: number("max_allowed_packet").unwrap_or(1 << 20),
            collation: collation(connection).await?,
            version,
            variables,
        })
    }

    /// Why nothing may run here: settings that are not as asked, others at work, no room.
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
                    "{}: others work on this server ({who}); measuring would slow them and they would \
                     blur the figures; {LIVE}",
                    connection.whom()
                );
                Err(Failure::new(FailureKind::Limit, what))
            }
        }
    }

    /// Why its sync calls are not its syncs; none if they are.
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

/// The variables that are asked for, as far as this server has them.
pub(super) async fn variables(connection: &mut Connection) -> TargetResult<Variables> {
    let names: Vec<_> = ASKED.iter().map(|name| format!("'{name}'")).collect();
    let text = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})", names.join(", "));
    let rows = connection.query(&text, "say its settings").await?;
    Ok(Variables(pairs(&rows)))
}

/// By bytes, so that keys come in the order that the plan says, and without padding where the server
/// has such a collation.
async fn collation(connection: &mut Connection) -> TargetResult<&'static str> {
    let known = ["utf8mb4_nopad_bin", "utf8mb4_0900_bin", "utf8mb4_bin"];
    let text = "SHOW COLLATION WHERE Collation LIKE 'utf8mb4%bin'";
    let rows = connection.query(text, "say its collations").await?;
    let there: Vec<_> = (0..rows.len()).map(|row| cell(&rows, row, 0)).collect();
    let found = known.into_iter().find(|name| there.contains(name));
    Ok(found.unwrap_or("utf8mb4_bin"))
}

/// Who else has a session here, our own runs and the server's own threads apart; one of them, and how
/// many. A session that is ending, such as one of ours a moment ago, is gone at a later look.
async fn others(connection: &mut Connection) -> TargetResult<Option<String>> {
    let mut stay = look_for_others(connection).await?;
    for _ in 1..LOOKS {
        if stay.is_empty() {
            return Ok(None);
        }
        thread::sleep(BETWEEN_LOOKS);
        let there = look_for_others(connection).await?;
        stay.retain(|id, _| there.contains_key(id));
    }
    let count = stay.len();
    let sessions = if count == 1 { "session" } else { "sessions" };
    Ok(stay.into_values().next().map(|one| format!("{count} {sessions}, one of {one}")))
}

/// The sessions of others, by number; whose, and in which database. Users without the right to see
/// others' sessions see those of their own name alone.
async fn look_for_others(connection: &mut Connection) -> TargetResult<BTreeMap<String, String>> {
    let text = "SELECT ID, CONCAT('user ', USER, ' in database ', COALESCE(DB, '-')) \
                FROM information_schema.PROCESSLIST \
                WHERE ID <> CONNECTION_ID() AND USER NOT IN ('system user', 'event_scheduler') \
                AND COMMAND NOT IN ('Daemon', 'Binlog Dump', 'Binlog Dump GTID') \
                AND COALESCE(DB, '') NOT LIKE 'syncline\\_%'";
    let rows = connection.query(text, "say who else is there").await?;
    Ok(pairs(&rows))
}

/// The server's process, if it is one of this machine.
fn process(address: &Address, variables: &Variables) -> StoreProcess {
    if !address.names_this_machine() {
        return StoreProcess::REMOTE;
    }
    let found = match &address.host {
        Host::Tcp(_, port) => listener(*port),
        Host::Socket(path) => by_pid_file(variables).or_else(|| by_peer(path)),
    };
    found.map_or(StoreProcess::REMOTE, |pid| verified(pid, &["mariadbd", "mysqld"]))
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
        return LogLocation::Nowhere(format!("{whom} does not say where its data are"));
    };
    let (log, said_by) = match variables.get("innodb_log_group_home_dir") {
        Some(log) if !matches!(log, "" | "." | "./") => (log, "innodb_log_group_home_dir"),
        _ => ("", "datadir"),
    };
    let directory = Path::new(data).join(log).display().to_string();
    log_place(process, whom, &LogSetting { directory, said_by })
}

fn data_place(variables: &Variables, process: StoreProcess, whom: &str) -> LogLocation {
    let Some(directory) = variables.get("datadir").map(str::to_owned) else {
        return LogLocation::Nowhere(format!("{whom} does not say where its data are"));
    };
    let said_by = "datadir";
    log_place(process, whom, &LogSetting { directory, said_by })
}

fn further_places(variables: &Variables, process: StoreProcess, whom: &str) -> Vec<LogLocation> {
    let Some(data) = variables.get("datadir").map(Path::new) else {
        return Vec::new();
    };
    // A binary log is named with the beginning of its files' names.
    let binary_log = variables
        .get("log_bin_basename")
        .filter(|name| !name.is_empty() && variables.get("log_bin") == Some("ON"))
        .and_then(|name| Some((data.join(name).parent()?.to_owned(), "log_bin_basename")));
    let undo = variables
        .get("innodb_undo_directory")
        .filter(|name| !name.is_empty())
        .map(|name| (data.join(name), "innodb_undo_directory"));
    let places = binary_log.into_iter().chain(undo);
    let places = places.map(|(directory, said_by)| {
        let directory = directory.display().to_string();
        log_place(process, whom, &LogSetting { directory, said_by })
    });
    places.collect()
}

/// Why a session as ours takes no writes: `read_only` binds who has none of the rights that overrule it.
async fn takes_no_writes(
    connection: &mut Connection,
    variables: &Variables,
    whom: &str,
) -> TargetResult<Option<String>> {
    let is_on = |name: &str| variables.get(name).is_some_and(|word| word != "OFF");
    let refusal = |setting: &str| {
        Some(format!(
            "{whom} takes no writes ({setting}=ON), as a server that follows another does: run on its primary, or a \
             workload that only reads with --reuse on rows that a run on the primary has kept"
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
    let rows = connection.query(rights, "say its user's rights").await?;
    let overrules = !rows.is_empty();
    Ok(if overrules { None } else { refusal("read_only") })
}
