//! The cost in a run's record: the profile of the repetition that the record shows, folded, and the store's
//! own count of commits.

use super::from_run::RunInputs;
use super::profiler_overhead::measure_overhead;
use crate::{RunResult, StoreCounter};
use syncline_record::{
    Cost, CostContext, PerCommit, REMOVED, StoreCommits, disagreements, folded, map_for,
};

/// The store's own count of commits next to the clients' count.
fn store_commits(counters: &[StoreCounter], acknowledged: u64) -> StoreCommits {
    let counter = counters.iter().find(|one| one.meaning.name() == "commits");
    let (counted, source) = match counter.map(|one| (one, &one.grown)) {
        None => (None, "the store does not count commits".to_owned()),
        Some((one, Ok(grown))) => (Some(*grown), one.name.clone()),
        Some((one, Err(why))) => (None, format!("{}: {why}", one.name)),
    };
    StoreCommits {
        acknowledged,
        counted,
        ratio: counted
            .filter(|_| acknowledged > 0)
            .map(|counted| counted as f64 / acknowledged as f64),
        source,
    }
}

/// The cost of the repetition that the record shows, with the profiler's overhead in all repetitions; `None`
/// without a profile.
pub(super) fn cost_of(
    run: &RunResult,
    runs: &[RunResult],
    per_commit: &PerCommit,
    given: &RunInputs,
) -> Option<Cost> {
    let profile = run.profile.as_ref()?;
    let evidence = &run.head.target.reported_settings;
    let map = map_for(given.map.as_ref(), &evidence.product, &evidence.version);
    let mut by_store = store_commits(&run.counters, run.commits_in_whole);
    if given.alias.is_some() {
        // The name of a counter would reveal the product.
        REMOVED.clone_into(&mut by_store.source);
    }
    let context = CostContext {
        commits: run.count_base.commits,
        by_store,
        clients: run.head.client.clients as u64,
        per_commit,
    };
    let mut cost = folded(profile, &map, &context);
    cost.looking = measure_overhead(run, runs);
    if given.alias.is_some() {
        // The map and its warnings would reveal the product too; only disagreements between counts stay.
        cost.map = None;
        cost.warnings = disagreements(&context, &cost.syncs);
    }
    Some(cost)
}
