//! The checks before a run: refuses what a run could harm, and settings that the server cannot honour.
//! Reads only.

use super::connection_limit::{self, FreeConnections};
use super::control::Control;
use super::pooler;
use super::product::Product;
use super::protocol::ServerLocation;
use super::settings::LISTING;
use crate::server::{
    FORWARDER, Host, LIVE, LogSetting, is_parent_of, listener, log_location, pluralized,
    process_of_peer, verified_process,
};
use syncline_contract::{
    Durability, Failure, FailureKind, LogLocation, StoreProcess, TargetResult,
};

/// The facts that the checks gathered about a server.
#[derive(Clone, Debug)]
pub(super) struct Preflight {
    pub(super) product: &'static Product,
    /// As the server reports it.
    pub(super) version: String,
    /// `150018`; 0 where it is not reported.
    pub(super) version_number: u64,
    pub(super) process: StoreProcess,
    /// Why sync calls do not show its syncs, if they do not.
    pub(super) unseen_syncs: Option<&'static str>,
    pub(super) log_location: LogLocation,
    /// The location of its data.
    pub(super) data_location: LogLocation,
    /// The size of its log segments, by which the log grows.
    pub(super) log_segment_bytes: Option<u64>,
    /// Why it refuses writes; `None` if it accepts them.
    pub(super) read_only_reason: Option<String>,
    /// Unused connections, less the one for our own queries; `None` if not reported.
    pub(super) free_connections: Option<FreeConnections>,
    /// Tablespaces outside of the data directory that it may write to.
    pub(super) tablespaces: Vec<LogLocation>,
}

/// Counts the other sessions at work: in a transaction, active within the last ten seconds, or
/// hidden from this role.
const WORKING: &str = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' \
     AND pid <> pg_backend_pid() AND split_part(application_name, ' ', 1) <> 'syncline' AND (state IS NULL OR state <> 'idle' \
     OR state_change > clock_timestamp() - interval '10 seconds')";
/// Counts the standbys that a commit can wait for, and those whose state is hidden from this role.
const STANDBYS: &str = "SELECT count(*) FROM pg_catalog.pg_stat_replication \
     WHERE sync_state IS NULL OR sync_state IN ('sync', 'quorum')";
/// The segment size is configurable since PostgreSQL 11.
const SEGMENT_BYTES: &str = "SELECT setting FROM pg_settings WHERE name = 'wal_segment_size'";
/// The tablespaces that may hold managed tables and temporary files.
const TABLESPACES: &str = "SELECT pg_tablespace_location(t.oid) FROM pg_tablespace t WHERE \
     pg_tablespace_location(t.oid) <> '' AND (t.oid = (SELECT dattablespace FROM pg_database WHERE datname = \
     current_database()) OR t.spcname = current_setting('default_tablespace') OR t.spcname = ANY \
     (regexp_split_to_array(translate(current_setting('temp_tablespaces'), '\"', ''), '\\s*,\\s*')))";

/// Runs the checks.
pub(super) async fn check_server(place: &ServerLocation) -> TargetResult<Preflight> {
    let mut control = Control::open(place).await?;
    let version = control.text("SELECT version()").await?;
    let product = Product::of(&version);
    let version_number = control.number("SHOW server_version_num").await?.unwrap_or(0);
    if product.is_postgres {
        pooler::refuse(place, &mut control).await?;
    }
    let process = process(place, &mut control, product).await?;
    let (log_location, data_location) = if product.is_postgres {
        places(place, &mut control, process).await?
    } else {
        let nowhere = format!("{} does not report where its log is", product.name);
        let nowhere = LogLocation::Nowhere(nowhere);
        (nowhere.clone(), nowhere)
    };
    let tablespaces = if product.is_postgres {
        tablespaces(place, &mut control, process).await?
    } else {
        Vec::new()
    };
    let log_segment_bytes = if product.is_postgres {
        control.number(SEGMENT_BYTES).await?.filter(|bytes| *bytes > 0)
    } else {
        None
    };
    let read_only_reason =
        if product.is_postgres { read_only_reason(place, &mut control).await? } else { None };
    let unseen_syncs = if product.is_postgres {
        unseen_syncs(&control.text("SHOW wal_sync_method").await?)
    } else {
        None
    };
    let free_connections =
        if product.is_postgres { connection_limit::free(&mut control).await? } else { None };
    if product.is_postgres {
        refuse_workers(place, &mut control).await?;
        refuse_settings(place, &mut control).await?;
        refuse_missing_standby(place, &mut control).await?;
    }
    Ok(Preflight {
        product,
        version,
        version_number,
        process,
        unseen_syncs,
        log_location,
        data_location,
        log_segment_bytes,
        read_only_reason,
        free_connections,
        tablespaces,
    })
}

/// The postmaster: the process that listens there, if it is the parent of our own backend. The listener
/// may be a forwarder instead, such as `docker-proxy`, `ssh -L` or a pooler.
async fn process(
    place: &ServerLocation,
    control: &mut Control,
    product: &Product,
) -> TargetResult<StoreProcess> {
    let candidate = match &place.address.host {
        Host::Socket(_) => process_of_peer(&control.socket()),
        Host::Tcp(_, port) if place.address.names_this_machine() => listener(*port),
        Host::Tcp(..) => None,
    };
    let Some(candidate) = candidate else {
        return Ok(StoreProcess::REMOTE);
    };
    if !product.is_postgres {
        return Ok(verified_process(candidate, product.programs));
    }
    let backend = control.number("SELECT pg_backend_pid()").await?;
    let backend = backend.and_then(|id| u32::try_from(id).ok());
    Ok(match backend {
        Some(backend) if is_parent_of(candidate, backend) => StoreProcess::Other(candidate),
        _ => StoreProcess::Unknown(FORWARDER),
    })
}

/// Why sync calls do not show the syncs of a server with that `wal_sync_method`; `None` if they do.
fn unseen_syncs(wal_sync_method: &str) -> Option<&'static str> {
    match wal_sync_method {
        "open_datasync" => Some(
            "wal_sync_method=open_datasync: the server syncs its log by writing it to a file opened with \
             O_DSYNC, which sync calls do not show",
        ),
        "open_sync" => Some(
            "wal_sync_method=open_sync: the server syncs its log by writing it to a file opened with O_SYNC, \
             which sync calls do not show",
        ),
        _ => None,
    }
}

/// The locations of its log and its data.
async fn places(
    place: &ServerLocation,
    control: &mut Control,
    process: StoreProcess,
) -> TargetResult<(LogLocation, LogLocation)> {
    // Only roles that may read all settings can see this one.
    match control.try_rows("SHOW data_directory").await? {
        Ok(rows) => {
            let directory = rows.into_iter().flatten().flatten().next().unwrap_or_default();
            let whom = place.address.to_string();
            let of = |directory| {
                let source = "SHOW data_directory";
                log_location(process, &whom, &LogSetting { directory, source })
            };
            Ok((of(format!("{directory}/pg_wal")), of(directory)))
        }
        Err(error) => {
            let why = error.outside("SHOW data_directory").what;
            let nowhere = LogLocation::Nowhere(format!("{why}; grant pg_read_all_settings"));
            Ok((nowhere.clone(), nowhere))
        }
    }
}

/// The tablespaces that a run may write to, as the server reports them.
async fn tablespaces(
    place: &ServerLocation,
    control: &mut Control,
    process: StoreProcess,
) -> TargetResult<Vec<LogLocation>> {
    let rows = control.rows(TABLESPACES).await?;
    let whom = place.address.to_string();
    let directories = rows.into_iter().flatten().flatten();
    let places = directories.map(|directory| {
        let source = "pg_tablespace_location";
        log_location(process, &whom, &LogSetting { directory, source })
    });
    Ok(places.collect())
}

/// Why our sessions cannot write.
async fn read_only_reason(
    place: &ServerLocation,
    control: &mut Control,
) -> TargetResult<Option<String>> {
    let address = &place.address;
    if control.text("SELECT pg_is_in_recovery()").await? == "t" {
        return Ok(Some(format!(
            "{address} is a standby of another server and accepts no writes: run on its primary; a workload \
             that only reads can run here with --reuse on rows that a run on the primary kept"
        )));
    }
    Ok((control.text("SHOW transaction_read_only").await? == "on").then(|| {
        format!(
            "sessions of {} on {address} are read-only (default_transaction_read_only=on) and accept no writes: turn it \
             off for that role, or run a workload that only reads with --reuse on kept rows",
            place.user
        )
    }))
}

async fn refuse_workers(place: &ServerLocation, control: &mut Control) -> TargetResult<()> {
    let working = control.number(WORKING).await?.unwrap_or(0);
    if working == 0 || place.settings.live {
        return Ok(());
    }
    let what = format!(
        "{} active on {}, which a run would disturb; wait for them, or {LIVE}",
        pluralized(working, "other session"),
        place.address
    );
    Err(Failure::new(FailureKind::Limit, what))
}

/// Refuses a durability that the whole server's settings cannot provide.
async fn refuse_settings(place: &ServerLocation, control: &mut Control) -> TargetResult<()> {
    let fsync = control.text("SHOW fsync").await? == "on";
    let full_pages = control.text("SHOW full_page_writes").await? == "on";
    let why = match place.settings.durability {
        Durability::Data | Durability::Full if !fsync => {
            "the server runs with fsync=off, so it loses data in a power loss; use durability=os or none, or \
             start it with fsync=on"
        }
        Durability::Data | Durability::Full if !full_pages => {
            "the server runs with full_page_writes=off, so a page torn by a crash cannot be repaired; use \
             durability=os or none, or start it with full_page_writes=on"
        }
        Durability::Full if !syncs_metadata(&control.text("SHOW wal_sync_method").await?) => {
            "its wal_sync_method syncs only the data of its log; use durability=data, or start it with \
             wal_sync_method=fsync"
        }
        Durability::Os if fsync && full_pages => {
            "the server runs with fsync=on, and a session cannot turn off only the sync: use durability=data, or \
             none (synchronous_commit=off), or start it with fsync=off"
        }
        _ => return Ok(()),
    };
    let what = format!(
        "{} cannot honour durability={}: {why}",
        LISTING.name,
        place.settings.durability.word()
    );
    Err(Failure::new(FailureKind::Limit, what))
}

/// Refuses a server whose commits wait for a standby that is not connected: our commits would wait for
/// ever, even those that create the managed tables.
async fn refuse_missing_standby(place: &ServerLocation, control: &mut Control) -> TargetResult<()> {
    let names = control.text("SHOW synchronous_standby_names").await?;
    let waits = control.text("SHOW synchronous_commit").await?;
    if names.is_empty() || matches!(waits.as_str(), "off" | "local") {
        return Ok(());
    }
    // Without the right to read all statistics, each state is null and nothing is known.
    if control.number(STANDBYS).await?.is_none_or(|count| count > 0) {
        return Ok(());
    }
    let what = format!(
        "no synchronous standby of {} is connected (synchronous_standby_names={names}, synchronous_commit={waits}): \
         each commit would wait until one is; connect it, or name none in synchronous_standby_names",
        place.address
    );
    Err(Failure::new(FailureKind::Limit, what))
}

/// True if the server also syncs the metadata of its log.
pub(super) fn syncs_metadata(wal_sync_method: &str) -> bool {
    matches!(wal_sync_method, "fsync" | "fsync_writethrough" | "open_sync")
}

#[cfg(test)]
mod tests {
    use super::unseen_syncs;

    // B.F3
    #[test]
    fn a_log_opened_with_o_sync_makes_no_sync_calls() {
        for method in ["open_datasync", "open_sync"] {
            assert!(unseen_syncs(method).unwrap().contains(method));
        }
        for method in ["fdatasync", "fsync", "fsync_writethrough"] {
            assert_eq!(unseen_syncs(method), None);
        }
    }
}
