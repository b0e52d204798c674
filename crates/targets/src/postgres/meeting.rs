//! What a server is asked first, and what is refused: what a run could harm, and what the settings cannot
//! honour. Reads only.

use super::control::Control;
use super::product::Product;
use super::protocol::Place;
use super::settings::LISTING;
use crate::server::{Host, LIVE, LogWord, counted, listener, log_place, process_of_peer};
use syncline_contract::{Durability, Failure, FailureKind, LogPlace, StoreProcess, TargetResult};

/// What is known of a server once it was asked.
#[derive(Clone, Debug)]
pub(super) struct Met {
    pub(super) product: &'static Product,
    /// Its own words.
    pub(super) version: String,
    /// `150018`; 0 where it does not say.
    pub(super) version_number: u64,
    pub(super) process: StoreProcess,
    pub(super) log_place: LogPlace,
    /// Connections that nobody uses, ours for questions taken off; none if it does not say.
    pub(super) free_connections: Option<usize>,
}

/// Those who work there beside us: in a transaction, or heard of within the last ten seconds, or hidden
/// from us.
const WORKING: &str = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' \
     AND pid <> pg_backend_pid() AND application_name <> 'syncline' AND (state IS NULL OR state <> 'idle' \
     OR state_change > clock_timestamp() - interval '10 seconds')";
const FREE: &str = "SELECT current_setting('max_connections')::int \
     - current_setting('superuser_reserved_connections')::int \
     - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')";

/// Asks.
pub(super) async fn meet(place: &Place) -> TargetResult<Met> {
    let mut control = Control::open(place).await?;
    let version = control.text("SELECT version()").await?;
    let product = Product::of(&version);
    let version_number = control
        .number("SHOW server_version_num")
        .await?
        .unwrap_or(0);
    let process = process(place, &control);
    let log_place = if product.is_postgres {
        log_of(place, &mut control, process).await?
    } else {
        LogPlace::Nowhere(format!("{} does not say where its log is", product.name))
    };
    let free_connections = if product.is_postgres {
        let free: Option<i64> = control.text(FREE).await?.parse().ok();
        free.map(|free| usize::try_from(free).unwrap_or(0))
    } else {
        None
    };
    if product.is_postgres {
        refuse_workers(place, &mut control).await?;
        refuse_settings(place, &mut control).await?;
    }
    Ok(Met {
        product,
        version,
        version_number,
        process,
        log_place,
        free_connections,
    })
}

fn process(place: &Place, control: &Control) -> StoreProcess {
    let pid = match &place.address.host {
        Host::Socket(_) => process_of_peer(&control.socket()),
        Host::Tcp(_, port) if place.address.names_this_machine() => listener(*port),
        Host::Tcp(..) => None,
    };
    pid.map_or(StoreProcess::Unknown, StoreProcess::Other)
}

async fn log_of(
    place: &Place,
    control: &mut Control,
    process: StoreProcess,
) -> TargetResult<LogPlace> {
    // Only who may read all settings is told.
    match control.try_rows("SHOW data_directory").await? {
        Ok(rows) => {
            let directory = rows
                .into_iter()
                .flatten()
                .flatten()
                .next()
                .unwrap_or_default();
            let word = LogWord {
                directory: format!("{directory}/pg_wal"),
                said_by: "SHOW data_directory",
            };
            Ok(log_place(process, &place.address.to_string(), &word))
        }
        Err(error) => {
            let why = error.outside("SHOW data_directory").what;
            Ok(LogPlace::Nowhere(format!(
                "{why}; grant pg_read_all_settings"
            )))
        }
    }
}

async fn refuse_workers(place: &Place, control: &mut Control) -> TargetResult<()> {
    let working = control.number(WORKING).await?.unwrap_or(0);
    if working == 0 || place.settings.live {
        return Ok(());
    }
    let what = format!(
        "{} at work on {}, which a run would disturb; wait for them, or {LIVE}",
        counted(working, "other session"),
        place.address
    );
    Err(Failure::new(FailureKind::Limit, what))
}

/// A word that the whole server would have to honour and does not.
async fn refuse_settings(place: &Place, control: &mut Control) -> TargetResult<()> {
    let fsync = control.text("SHOW fsync").await? == "on";
    let full_pages = control.text("SHOW full_page_writes").await? == "on";
    let why = match place.settings.durability {
        Durability::Data | Durability::Full if !fsync => {
            "the server runs with fsync=off, so nothing of it survives a power cut; ask for os or none, or \
             start it with fsync=on"
        }
        Durability::Data | Durability::Full if !full_pages => {
            "the server runs with full_page_writes=off, so a page that a crash tears cannot be mended; ask \
             for os or none, or start it with full_page_writes=on"
        }
        Durability::Full if !syncs_metadata(&control.text("SHOW wal_sync_method").await?) => {
            "its wal_sync_method syncs the data of its log alone; ask for data, or start it with \
             wal_sync_method=fsync"
        }
        Durability::Os if fsync && full_pages => {
            "the server runs with fsync=on, and a session cannot turn off the sync alone: ask for data, or \
             for none (synchronous_commit=off), or start it with fsync=off"
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

/// True if the server syncs its log with all metadata.
pub(super) fn syncs_metadata(wal_sync_method: &str) -> bool {
    matches!(
        wal_sync_method,
        "fsync" | "fsync_writethrough" | "open_sync"
    )
}
