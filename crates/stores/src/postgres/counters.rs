//! The server's running counters, by version: `pg_stat_wal` from 14 to 17, `pg_stat_io` from 18,
//! `pg_stat_database` in all.
//!
//! `xact_commit` also counts read-only transactions. A transaction that writes takes a transaction id,
//! so the number of ids assigned counts the writing ones; subtransactions and transactions that are
//! rolled back take ids too.

use super::control::Control;
use super::product::Product;
use syncline_contract::{Counter, Meaning, TargetResult};

const DATABASE: &str = "pg_stat_database";
const WAL: &str = "pg_stat_wal";
const IO: &str = "pg_stat_io";
/// Whether the server is a standby, and the first unassigned id with its epoch: 64 bits.
const IDS: &str = "SELECT pg_is_in_recovery(), txid_snapshot_xmax(txid_current_snapshot())";
const IDS_NAME: &str = "txid_snapshot_xmax";
const LSN: &str = "pg_current_wal_insert_lsn()";

/// Converts the server's times (milliseconds with fractions) to nanoseconds.
const NS_OF_MS: &str = "::numeric * 1000000";

/// A counter that a statement returns.
struct Source {
    meaning: Meaning,
    name: &'static str,
    column: String,
}

/// Every counter, available or not.
pub(super) async fn counters(
    control: &mut Control,
    product: &Product,
    version_number: u64,
) -> TargetResult<Vec<Counter>> {
    if !product.is_postgres {
        let why = format!("{} does not have PostgreSQL's counters", product.name);
        let none = |meaning: &Meaning| {
            Counter::unavailable(*meaning, meaning.name(), why.as_str(), "version()")
        };
        let all = Meaning::ALL.iter().chain(&[Meaning::TransactionIds]);
        return Ok(all.map(none).collect());
    }
    let mut counters = read(
        control,
        DATABASE,
        "",
        &[
            source(Meaning::Commits, "xact_commit", "sum(xact_commit)"),
            source(Meaning::Aborts, "xact_rollback", "sum(xact_rollback)"),
            source(Meaning::Other, "deadlocks", "sum(deadlocks)"),
            source(Meaning::Other, "blks_read", "sum(blks_read)"),
        ],
    )
    .await?;
    counters.insert(1, transaction_ids(control).await?);
    counters.extend(match version_number {
        180_000.. => from_18(control).await?,
        140_000.. => from_14(control).await?,
        _ => before_14(control).await?,
    });
    let why = "PostgreSQL does not count the total time that sessions wait for locks";
    let meaning = Meaning::LockWaitTime;
    counters.push(Counter::unavailable(meaning, meaning.name(), why, DATABASE));
    Ok(counters)
}

/// The ids assigned so far; a standby reports its primary's.
async fn transaction_ids(control: &mut Control) -> TargetResult<Counter> {
    let meaning = Meaning::TransactionIds;
    let row = control.rows(IDS).await?.into_iter().next();
    let mut cells = row.unwrap_or_default().into_iter().flatten();
    let follows = cells.next().is_none_or(|cell| cell != "f");
    let ids = cells.next().and_then(|cell| cell.parse().ok());
    Ok(match ids {
        _ if follows => {
            let why = "this server is a standby: it assigns no ids and commits read-only transactions only";
            Counter::unavailable(meaning, IDS_NAME, why, IDS)
        }
        Some(ids) => Counter::read(meaning, IDS_NAME, ids, IDS),
        None => Counter::unavailable(meaning, IDS_NAME, "the answer is not a number", IDS),
    })
}

async fn from_18(control: &mut Control) -> TargetResult<Vec<Counter>> {
    let mut counters = read(
        control,
        WAL,
        "",
        &[
            source(Meaning::LogBytes, "wal_bytes", "wal_bytes"),
            source(Meaning::Other, "wal_records", "wal_records"),
            source(Meaning::Other, "wal_fpi", "wal_fpi"),
            source(Meaning::Other, "wal_buffers_full", "wal_buffers_full"),
        ],
    )
    .await?;
    let timed = control.text("SHOW track_wal_io_timing").await? == "on";
    let io = read(
        control,
        IO,
        "WHERE object = 'wal'",
        &[
            source(Meaning::LogWrites, "writes", "sum(writes)"),
            source(Meaning::LogSyncs, "fsyncs", "sum(fsyncs)"),
            timed_source(Meaning::WriteTime, "write_time", "sum(write_time)"),
            timed_source(Meaning::SyncTime, "fsync_time", "sum(fsync_time)"),
        ],
    )
    .await?;
    let method = control.text("SHOW wal_sync_method").await?;
    counters
        .extend(io.into_iter().map(|counter| checked_against_settings(counter, &method, timed)));
    Ok(counters)
}

async fn from_14(control: &mut Control) -> TargetResult<Vec<Counter>> {
    let timed = control.text("SHOW track_wal_io_timing").await? == "on";
    let method = control.text("SHOW wal_sync_method").await?;
    let counters = read(
        control,
        WAL,
        "",
        &[
            source(Meaning::LogBytes, "wal_bytes", "wal_bytes"),
            source(Meaning::LogWrites, "wal_write", "wal_write"),
            source(Meaning::LogSyncs, "wal_sync", "wal_sync"),
            timed_source(Meaning::WriteTime, "wal_write_time", "wal_write_time"),
            timed_source(Meaning::SyncTime, "wal_sync_time", "wal_sync_time"),
            source(Meaning::Other, "wal_records", "wal_records"),
            source(Meaning::Other, "wal_fpi", "wal_fpi"),
            source(Meaning::Other, "wal_buffers_full", "wal_buffers_full"),
        ],
    )
    .await?;
    Ok(counters
        .into_iter()
        .map(|counter| checked_against_settings(counter, &method, timed))
        .collect())
}

async fn before_14(control: &mut Control) -> TargetResult<Vec<Counter>> {
    let source = format!("SELECT pg_wal_lsn_diff({LSN}, '0/0')::bigint");
    let bytes = control.number(&source).await?;
    let why = "PostgreSQL has this counter since version 14";
    let mut counters = vec![match bytes {
        Some(bytes) => Counter::read(Meaning::LogBytes, LSN, bytes, source),
        None => Counter::unavailable(Meaning::LogBytes, LSN, "the answer is not a number", source),
    }];
    for meaning in [Meaning::LogWrites, Meaning::LogSyncs, Meaning::SyncTime, Meaning::WriteTime] {
        counters.push(Counter::unavailable(meaning, meaning.name(), why, WAL));
    }
    Ok(counters)
}

fn source(meaning: Meaning, name: &'static str, column: &str) -> Source {
    Source { meaning, name, column: format!("({column})::bigint") }
}

fn timed_source(meaning: Meaning, name: &'static str, column: &str) -> Source {
    Source { meaning, name, column: format!("round(({column}){NS_OF_MS})::bigint") }
}

/// Reads counters of one view with one statement.
async fn read(
    control: &mut Control,
    view: &str,
    condition: &str,
    sources: &[Source],
) -> TargetResult<Vec<Counter>> {
    let columns: Vec<_> = sources.iter().map(|source| source.column.as_str()).collect();
    let statement = format!("SELECT {} FROM {view} {condition}", columns.join(", "));
    let query = statement.trim_end();
    let row = control.rows(query).await?.into_iter().next().unwrap_or_default();
    let cells = row.into_iter().chain(std::iter::repeat(None));
    Ok(sources
        .iter()
        .zip(cells)
        .map(|(source, cell)| {
            let name = format!("{view}.{}", source.name);
            match cell.and_then(|cell| cell.parse().ok()) {
                Some(value) => Counter::read(source.meaning, name, value, query),
                None => Counter::unavailable(source.meaning, name, "it is null", query),
            }
        })
        .collect())
}

/// Marks counters as unavailable where a setting makes them meaningless: a log that is synced by its
/// writes counts no syncs, and times are zero unless the server measures them.
fn checked_against_settings(counter: Counter, method: &str, timed: bool) -> Counter {
    let why = match counter.meaning {
        Meaning::LogSyncs if method.starts_with("open") => format!(
            "wal_sync_method={method} syncs with each write, which the server does not count as a sync"
        ),
        Meaning::SyncTime if method.starts_with("open") => {
            format!("wal_sync_method={method} syncs with each write: the sync time is part of the write time")
        }
        Meaning::SyncTime | Meaning::WriteTime if !timed => {
            "track_wal_io_timing is off, so the server does not measure times; run ALTER SYSTEM SET track_wal_io_timing = on, \
             then SELECT pg_reload_conf(), to measure log writes and syncs"
                .to_owned()
        }
        _ => return counter,
    };
    Counter::unavailable(counter.meaning, counter.name, why, counter.source)
}

#[cfg(test)]
mod tests {
    use super::checked_against_settings;
    use syncline_contract::{Counter, Meaning};

    // B.F19
    #[test]
    fn missing_times_are_reported_with_the_setting_that_enables_them() {
        let counter = || Counter::read(Meaning::SyncTime, "wal_sync_time", 0, "SELECT");
        let why = checked_against_settings(counter(), "fdatasync", false).value.unwrap_err();
        assert!(
            why.contains("ALTER SYSTEM SET track_wal_io_timing = on")
                && why.contains("pg_reload_conf"),
            "{why}"
        );
        assert_eq!(checked_against_settings(counter(), "fdatasync", true).value, Ok(0));
    }
}
