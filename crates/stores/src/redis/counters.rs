//! The server's running counters, from INFO, and one observation.
//!
//! Redis counts commands, not commits, and does not count the syncs of its file.

use super::connection::Connection;
use super::reported_settings::{Info, ServerInfo};
use std::io;
use syncline_contract::{Counter, Meaning, Setting, StoreObservation};

const SOURCE: &str = "INFO everything";

/// Counters other than those of single commands, with their meanings.
const COUNTED: [(Meaning, &str); 5] = [
    (Meaning::LogBytes, "aof_current_size"),
    // The counter for "Asynchronous AOF fsync is taking too long" in its log.
    (Meaning::DelayedSyncs, "aof_delayed_fsync"),
    (Meaning::Other, "total_commands_processed"),
    (Meaning::Other, "total_connections_received"),
    (Meaning::Other, "total_error_replies"),
];

/// Counters that Redis does not have, with the reason.
const UNCOUNTED: [(Meaning, &str); 7] = [
    (Meaning::Commits, "Redis counts commands, not commits"),
    (Meaning::Aborts, "Redis counts commands, not transactions"),
    (Meaning::LogSyncs, "Redis does not count the syncs of its file"),
    (Meaning::LogWrites, "Redis does not count the writes to its file"),
    (Meaning::SyncTime, "Redis does not time the syncs of its file"),
    (Meaning::WriteTime, "Redis does not time the writes to its file"),
    (Meaning::LockWaitTime, "Redis has no locks to wait for"),
];

/// All counters.
pub(super) fn of(connection: &mut Connection) -> io::Result<Vec<Counter>> {
    Ok(counters(&Info::ask(connection, b"everything")?))
}

/// Takes one observation.
pub(super) fn observation(
    connection: &mut Connection,
    server_info: &ServerInfo,
) -> io::Result<StoreObservation> {
    let info = Info::ask(connection, b"everything")?;
    let mut settings = server_info.settings.clone();
    for name in ["aof_pending_bio_fsync", "aof_last_write_status", "aof_rewrite_in_progress"] {
        if let Some(value) = info.get(name) {
            settings.push(setting(name, value));
        }
    }
    let followers = info.fields().filter(|(name, _)| {
        let number = name.strip_prefix("slave");
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    });
    Ok(StoreObservation {
        product: server_info.product.clone(),
        version: server_info.version.clone(),
        log_location: server_info.log_location.clone(),
        process: server_info.process,
        unseen_syncs: None,
        counters: counters(&info),
        own_commits: 0,
        settings,
        replication: Ok(followers.map(|(name, value)| setting(name, value)).collect()),
    })
}

fn counters(info: &Info) -> Vec<Counter> {
    let mut counters = Vec::new();
    for (meaning, name) in COUNTED {
        counters.push(match info.number(name) {
            Some(value) => Counter::read(meaning, name, value, SOURCE),
            None => Counter::unavailable(
                meaning,
                name,
                "the server does not report it with its current settings",
                SOURCE,
            ),
        });
    }
    if let Some(calls) = info.get("cmdstat_exec").and_then(calls) {
        counters.push(Counter::read(Meaning::Other, "cmdstat_exec.calls", calls, SOURCE));
    }
    for (meaning, why) in UNCOUNTED {
        counters.push(Counter::unavailable(meaning, meaning.name(), why, SOURCE));
    }
    counters
}

/// The calls of a command: `calls=7,usec=...`.
fn calls(statistics: &str) -> Option<u64> {
    let calls = statistics.split(',').find_map(|one| one.strip_prefix("calls="));
    calls?.parse().ok()
}

fn setting(name: &str, value: &str) -> Setting {
    Setting { name: name.to_owned(), value: value.trim().to_owned(), source: SOURCE.to_owned() }
}
