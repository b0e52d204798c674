//! One look at a server that works: no load, nothing changed.

use super::control::Control;
use super::counters::counters;
use super::preflight::Preflight;
use super::reported_settings::settings;
use syncline_contract::{Setting, StoreObservation, TargetResult};

const FOLLOWERS: &str = "SELECT coalesce(nullif(application_name, ''), client_addr::text, 'a follower'), \
     state || ', ' || sync_state || ', ' || coalesce(pg_wal_lsn_diff(sent_lsn, replay_lsn)::text, 'an unknown \
     number of') || ' bytes not replayed, lag of replay ' || coalesce(replay_lag::text, 'not told') \
     FROM pg_stat_replication ORDER BY 1";

/// Looks once.
pub(super) async fn look(control: &mut Control, met: &Preflight) -> TargetResult<StoreObservation> {
    // Own commits are counted before the counters are read, which is a transaction too.
    let own_commits = control.commits;
    let counters = counters(control, met.product, met.version_number).await?;
    let settings = settings(control).await?;
    let replication = if met.product.is_postgres {
        followers(control).await?
    } else {
        Err(format!("{} does not tell PostgreSQL's way", met.product.name))
    };
    Ok(StoreObservation {
        product: met.product.name.to_owned(),
        version: met.version.clone(),
        log_place: met.log_place.clone(),
        process: met.process,
        unseen_syncs: met.unseen_syncs,
        counters,
        own_commits,
        settings,
        replication,
    })
}

async fn followers(control: &mut Control) -> TargetResult<Result<Vec<Setting>, String>> {
    let rows = match control.try_rows(FOLLOWERS).await? {
        Ok(rows) => rows,
        Err(error) => return Ok(Err(error.outside("a look at pg_stat_replication").what)),
    };
    Ok(Ok(rows
        .into_iter()
        .map(|row| {
            let mut cells = row.into_iter().map(Option::unwrap_or_default);
            Setting {
                name: cells.next().unwrap_or_default(),
                value: cells.next().unwrap_or_default(),
                said_by: "pg_stat_replication".to_owned(),
            }
        })
        .collect()))
}
