//! One observation of a server in use: no load, no changes.

use super::control::Control;
use super::counters::counters;
use super::preflight::Preflight;
use super::reported_settings::settings;
use syncline_contract::{Setting, StoreObservation, TargetResult};

const FOLLOWERS: &str = "SELECT coalesce(nullif(application_name, ''), client_addr::text, 'a follower'), \
     state || ', ' || sync_state || ', ' || coalesce(pg_wal_lsn_diff(sent_lsn, replay_lsn)::text, 'an unknown \
     number of') || ' bytes not replayed, lag of replay ' || coalesce(replay_lag::text, 'not reported') \
     FROM pg_stat_replication ORDER BY 1";

/// Takes one observation.
pub(super) async fn observe(
    control: &mut Control,
    preflight: &Preflight,
) -> TargetResult<StoreObservation> {
    // Counted before the counters are read, which is a transaction too.
    let own_commits = control.commits;
    let counters = counters(control, preflight.product, preflight.version_number).await?;
    let settings = settings(control).await?;
    let replication = if preflight.product.is_postgres {
        followers(control).await?
    } else {
        Err(format!("{} does not report replication as PostgreSQL does", preflight.product.name))
    };
    Ok(StoreObservation {
        product: preflight.product.name.to_owned(),
        version: preflight.version.clone(),
        log_location: preflight.log_location.clone(),
        process: preflight.process,
        unseen_syncs: preflight.unseen_syncs,
        counters,
        own_commits,
        settings,
        replication,
    })
}

async fn followers(control: &mut Control) -> TargetResult<Result<Vec<Setting>, String>> {
    let rows = match control.try_rows(FOLLOWERS).await? {
        Ok(rows) => rows,
        Err(error) => return Ok(Err(error.outside("the query of pg_stat_replication").what)),
    };
    Ok(Ok(rows
        .into_iter()
        .map(|row| {
            let mut cells = row.into_iter().map(Option::unwrap_or_default);
            Setting {
                name: cells.next().unwrap_or_default(),
                value: cells.next().unwrap_or_default(),
                source: "pg_stat_replication".to_owned(),
            }
        })
        .collect()))
}
