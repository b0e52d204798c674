//! Observes a running server, read-only: its counters, its log position, its replicas.
//!
//! InnoDB's status reports the log position: the sequence number, the position up to which it is
//! flushed, and the last checkpoint, in bytes since the server was initialized; older versions also
//! count log i/o's there.

use super::connection::Connection;
use super::counters::counters;
use super::reported_settings::{cell, global_settings, pairs};
use super::server::Server;
use syncline_contract::{
    Counter, CounterUnit, Meaning, Rows, Setting, StoreObservation, TargetResult, Value,
};

const STATUS: &str = "SHOW ENGINE INNODB STATUS";
const REPLICAS: &str = "SELECT COALESCE(HOST, ''), COALESCE(STATE, '') FROM \
     information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'";

/// Lines of the status, the name of the counter, and its unit.
const LINES: [(&str, &str, CounterUnit); 4] = [
    ("Log sequence number", "log sequence number", CounterUnit::Bytes),
    ("Log flushed up to", "log flushed up to", CounterUnit::Bytes),
    ("Last checkpoint at", "last checkpoint at", CounterUnit::Bytes),
    ("log i/o's done", "log i/o's done", CounterUnit::Count),
];

/// Takes one observation. None of its statements commits.
pub(super) async fn observe(
    connection: &mut Connection,
    server: Server,
) -> TargetResult<StoreObservation> {
    let mut all = counters(connection, &server).await?;
    let status = connection.ask(STATUS).await?;
    let may_see_all = status.is_ok();
    let mut settings = global_settings(&server.variables);
    settings.extend(log_state(match &status {
        Ok(rows) => Ok(cell(rows, 0, 2)),
        Err(error) => Err(&error.message),
    }));
    match &status {
        Ok(rows) => all.extend(log_lines(cell(rows, 0, 2))),
        Err(error) => all.extend(LINES[..3].iter().map(|(_, name, unit)| {
            let why = error.message.clone();
            let counter = Counter::unavailable(Meaning::Other, *name, why, STATUS);
            Counter { unit: *unit, ..counter }
        })),
    }
    Ok(StoreObservation {
        product: server.product().to_owned(),
        unseen_syncs: server.unseen_syncs(),
        replication: replication(connection, &server, may_see_all).await?,
        settings,
        version: server.version,
        log_location: server.log_location,
        process: server.process,
        counters: all,
        own_commits: 0,
    })
}

/// The counters that the status reports about the log.
fn log_lines(status: &str) -> Vec<Counter> {
    let found = LINES.iter().filter_map(|(line, name, unit)| {
        let text = status.lines().find(|text| text.contains(line))?;
        // "Log sequence number 48153", and "8 log i/o's done, 0.08 log i/o's/second".
        let mut digits = text.split(|c: char| !c.is_ascii_digit());
        let value = digits.find(|part| !part.is_empty())?.parse().ok()?;
        let counter = Counter::read(Meaning::Other, *name, value, STATUS);
        Some(Counter { unit: *unit, ..counter })
    });
    found.collect()
}

/// The log position at this observation, in bytes since the server was initialized, and the age of its
/// checkpoint; or why they are not known.
fn log_state(status: Result<&str, &str>) -> Vec<Setting> {
    let lines = status.map(log_lines);
    let of = |name: &str| -> Result<u64, String> {
        let lines = lines.as_ref().map_err(|why| (*why).to_owned())?;
        let line = lines.iter().find(|line| line.name == name);
        line.map_or_else(
            || Err("the status does not include it".to_owned()),
            |line| line.value.clone(),
        )
    };
    let mut all: Vec<_> = LINES[..3].iter().map(|(_, name, _)| (*name, of(name))).collect();
    let age = of(LINES[0].1).and_then(|now| Ok(now.saturating_sub(of(LINES[2].1)?)));
    all.push(("checkpoint age", age));
    let settings = all.into_iter().map(|(name, bytes)| Setting {
        name: name.to_owned(),
        value: match bytes {
            Ok(bytes) => format!("{bytes} bytes"),
            Err(why) => format!("not available: {why}"),
        },
        source: STATUS.to_owned(),
    });
    settings.collect()
}

/// The sessions that read the binary log, and the size of a cluster.
async fn replication(
    connection: &mut Connection,
    server: &Server,
    may_see_all: bool,
) -> TargetResult<Result<Vec<Setting>, String>> {
    if !may_see_all {
        return Ok(Err("this user may not see other users' sessions (grant PROCESS)".to_owned()));
    }
    let rows = match connection.ask(REPLICAS).await? {
        Ok(rows) => rows,
        Err(error) => return Ok(Err(error.message)),
    };
    let mut replicas = replicas(&rows);
    if server.variables.is_on("wsrep_on") {
        let source = "SHOW GLOBAL STATUS LIKE 'wsrep_cluster_size'";
        let size = pairs(&connection.query(source, "report its cluster size").await?);
        replicas.extend(size.into_iter().map(|(name, value)| Setting {
            name,
            value,
            source: source.to_owned(),
        }));
    }
    Ok(Ok(replicas))
}

fn replicas(rows: &Rows) -> Vec<Setting> {
    let text = |value| match value {
        Value::Text(text) => text,
        _ => "",
    };
    rows.iter()
        .map(|row| Setting {
            name: format!("replica at {}", text(row.value(0))),
            value: format!("{}; only the replica knows its lag", text(row.value(1))),
            source: "information_schema.PROCESSLIST".to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{log_lines, log_state};

    #[test]
    fn an_observation_includes_the_log_position_and_the_checkpoint_age() {
        let settings = |status| -> Vec<_> {
            let state = log_state(status);
            let words = |one: syncline_contract::Setting| format!("{}={}", one.name, one.value);
            state.into_iter().map(words).collect()
        };
        let status =
            "Log sequence number 48153\nLog flushed up to   48150\nLast checkpoint at  44420";
        assert_eq!(
            settings(Ok(status)),
            [
                "log sequence number=48153 bytes",
                "log flushed up to=48150 bytes",
                "last checkpoint at=44420 bytes",
                "checkpoint age=3733 bytes"
            ]
        );
        for none in [settings(Err("no right")), settings(Ok("nothing of the kind"))] {
            assert!(none.iter().all(|one| one.contains("=not available: ")), "{none:?}");
            assert_eq!(none.len(), 4);
        }
    }

    #[test]
    fn the_log_position_is_read_from_old_and_new_statuses() {
        let new = "---\nLOG\n---\nLog sequence number 48153\nLog flushed up to   48150\n\
                   Pages flushed up to 44420\nLast checkpoint at  44420\n---";
        let old = "Log sequence number          19470640\nLog flushed up to            19470640\n\
                   Last checkpoint at           19470640\n12 log i/o's done, 0.08 log i/o's/second";
        let values = |status: &str| -> Vec<_> {
            let lines = log_lines(status);
            lines.iter().map(|counter| counter.value.clone().unwrap()).collect()
        };
        assert_eq!(values(new), [48153, 48150, 44420]);
        assert_eq!(values(old), [19_470_640, 19_470_640, 19_470_640, 12]);
        assert_eq!(log_lines("nothing of the kind").len(), 0);
    }
}
