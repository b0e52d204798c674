//! From a profile to the cost in a record: folded by the product's map, both ways, and held to what
//! else was counted in the run.

use super::cost::{
    Cost, CostRow, CostTotal, MetricCost, NOT_ATTRIBUTABLE, StoreCommits, SyncEvidence, class_word,
};
use super::figures::PerCommit;
use crate::stats;
use crate::units;
use syncline_instrument::Module;
use syncline_profile::{
    self as profile, Charge, Histogram, Map, Metric, Precision, Profile, Quantity, ThreadClass,
    View, fold,
};

/// By more than this share two counts of the same may not differ without a warning.
const APART: f64 = 0.01;

/// So many calls may fall between the begins, or the ends, of two counts, and are no disagreement.
const CALLS_BETWEEN: f64 = 8.0;

/// What a cost is held to.
#[derive(Clone, Debug)]
pub struct CostContext<'a> {
    /// Commits in the window.
    pub commits: u64,
    /// Of the clients' whole life.
    pub by_store: StoreCommits,
    /// How many clients there were.
    pub clients: u64,
    /// What was counted of a commit beside the meter.
    pub per_commit: &'a PerCommit,
}

/// The cost of a profile that was folded both ways.
fn cost(
    innermost: &profile::Cost,
    on_behalf_of: &profile::Cost,
    histograms: &[Histogram],
    beside: &CostContext<'_>,
) -> Cost {
    let pairs = innermost.metrics.iter().zip(&on_behalf_of.metrics);
    let metrics: Vec<MetricCost> = pairs
        .map(|(one, other)| MetricCost {
            lengths: lengths(histograms, one),
            ..metric(one, other, beside.commits)
        })
        .collect();
    let syncs = sync_evidence(&metrics, beside.per_commit);
    let mut warnings = innermost.warnings.clone();
    warnings.extend(disagreements(beside, &syncs));
    Cost {
        map: Some(innermost.map.clone()),
        window_ns: innermost.window_ns,
        commits: beside.commits,
        commits_by_store: beside.by_store.clone(),
        syncs,
        looking: None,
        metrics,
        warnings,
        stacks: None,
    }
}

/// Of several histograms of a metric the one of most events.
fn lengths(histograms: &[Histogram], cost: &profile::MetricCost) -> Option<Vec<u64>> {
    let of = histograms.iter().filter(|one| one.metric == cost.metric);
    let fullest = of.max_by_key(|one| one.events())?;
    Some(fullest.counts.clone())
}

fn metric(one: &profile::MetricCost, other: &profile::MetricCost, commits: u64) -> MetricCost {
    let (how, detail) = match &one.how {
        Precision::Exact => ("exact", None),
        Precision::Sampled(distance) => ("sampled", Some(distance.clone())),
        Precision::NotAttributable(why) => (NOT_ATTRIBUTABLE, Some(why.clone())),
    };
    let rows = |cost: &profile::MetricCost| rows(cost, commits);
    MetricCost {
        metric: one.metric.name().to_owned(),
        unit: unit(one.metric).to_owned(),
        collector: one.collector.clone(),
        how: how.to_owned(),
        detail,
        lost: one.lost,
        total: one.total.as_ref().map(|total| CostTotal {
            amount: total.amount,
            per_transaction: each(total.amount, commits),
            source: total.source.clone(),
        }),
        guessed: one.guessed,
        innermost: rows(one),
        on_behalf_of: rows(other),
        lengths: None,
    }
}

fn unit(metric: Metric) -> &'static str {
    match metric.quantity() {
        Quantity::Time => "ns",
        Quantity::Count => "count",
        Quantity::Bytes => "bytes",
    }
}

fn each(amount: u64, commits: u64) -> Option<f64> {
    (commits > 0).then(|| amount as f64 / commits as f64)
}

/// Every class of threads that was seen, and in each at least the row of what is unknown.
fn rows(cost: &profile::MetricCost, commits: u64) -> Vec<CostRow> {
    if matches!(cost.how, Precision::NotAttributable(_)) {
        return Vec::new();
    }
    let mut charges = cost.charges.clone();
    let mut classes: Vec<ThreadClass> = charges.iter().map(|charge| charge.class).collect();
    classes.sort_unstable();
    classes.dedup();
    if classes.is_empty() {
        classes.push(ThreadClass::Unknown);
    }
    for class in classes {
        let unknown = |charge: &Charge| charge.class == class && charge.module.is_none();
        if !charges.iter().any(unknown) {
            charges.push(Charge { class, module: None, weight: 0, count: 0 });
        }
    }
    charges.sort_by_key(|charge| (charge.class, charge.module.is_none(), charge.module));
    charges.iter().map(|charge| row(cost, &charges, charge, commits)).collect()
}

fn row(cost: &profile::MetricCost, all: &[Charge], charge: &Charge, commits: u64) -> CostRow {
    let passes = matches!(cost.metric, Metric::Wall | Metric::OffCpu);
    let left_out = |one: &Charge| passes && one.module == Some(Module::WaitingForRequest);
    let whole = all.iter().filter(|one| one.class == charge.class && !left_out(one));
    let (weight, count) =
        whole.fold((0_u64, 0_u64), |sum, one| (sum.0 + one.weight, sum.1 + one.count));
    let share = (weight > 0 && !left_out(charge)).then(|| charge.weight as f64 / weight as f64);
    // Wall clock that was added up rests on looks and on events, which have no common error.
    let sampled = matches!(cost.how, Precision::Sampled(_)) && !is_derived(&cost.collector);
    let range = share.filter(|_| sampled).and_then(|share| stats::share_range(share, count));
    CostRow {
        threads: class_word(charge.class).to_owned(),
        module: charge.module.map(|module| module.name().to_owned()),
        amount: charge.weight,
        per_transaction: each(charge.weight, commits),
        share,
        count: charge.count,
        share_range: range,
    }
}

/// True of a metric that was added up of others.
pub fn is_derived(collector: &str) -> bool {
    collector.starts_with("derived")
}

fn sync_evidence(metrics: &[MetricCost], per_commit: &PerCommit) -> SyncEvidence {
    let metered = |name: &str| {
        let metric = metrics.iter().find(|one| one.metric == name && one.how == "exact")?;
        let rows = metric.rows(View::Innermost).iter();
        rows.map(|row| row.per_transaction).sum::<Option<f64>>()
    };
    let calls = metered(Metric::SyncCalls.name());
    let traced = per_commit.syncs.value;
    let flushes = metered(Metric::Flushes.name()).or(per_commit.flushes.value);
    let calls_known = traced.or(calls);
    let within = |syncs: f64| flushes.map(|flushes| flushes <= syncs * (1.0 + APART));
    // Synchronous writes are syncs that are no calls. Where nobody counts them they only add to the
    // syncs: no more flushes than calls is no more than syncs, and more is not known to be more.
    let flushes_within_syncs = match (calls_known, per_commit.synced_writes.value) {
        (Some(calls), Some(writes)) => within(calls + writes),
        (Some(calls), None) => within(calls).filter(|within| *within),
        (None, _) => None,
    };
    SyncEvidence {
        metered_per_commit: calls,
        traced_per_commit: traced,
        difference: calls
            .zip(traced.filter(|traced| *traced > 0.0))
            .map(|(calls, traced)| calls / traced - 1.0),
        flushes_per_commit: flushes,
        flushes_within_syncs,
    }
}

/// What two counts of the same do not agree on.
pub fn disagreements(beside: &CostContext<'_>, syncs: &SyncEvidence) -> Vec<String> {
    let mut sentences = Vec::new();
    let by = &beside.by_store;
    if let (Some(counted), Some(ratio)) = (by.counted, by.ratio) {
        // Each client may have committed a statement of its own when it came and when it left.
        let own = 2 * beside.clients + 8;
        if (ratio - 1.0).abs() > APART && counted.abs_diff(by.acknowledged) > own {
            sentences.push(format!(
                "the store counted {counted} commits ({}) where its clients counted {}: others \
                 work there, or a transaction of the load is not one of the store's; what is given per \
                 transaction is by the clients' count",
                by.source, by.acknowledged
            ));
        }
    }
    sentences.extend(apart(beside.commits, syncs));
    sentences
}

/// Two counts of sync calls that do not agree.
fn apart(commits: u64, syncs: &SyncEvidence) -> Option<String> {
    let difference = syncs.difference.filter(|part| part.abs() > APART)?;
    let calls = (syncs.metered_per_commit? - syncs.traced_per_commit?) * commits as f64;
    (calls.abs() > CALLS_BETWEEN).then(|| {
        format!(
            "the meter's sync calls differ by {} from the count beside the run",
            units::percent(difference)
        )
    })
}

/// The given map, or the one of a product; where none knows it, one in which all is unknown. A given one
/// warns if it is of another product or of other versions.
pub fn map_for(given: Option<&Map>, product: &str, version: &str) -> Map {
    let used = given.map(|map| map.clone().used_for(product, version));
    let known = used.or_else(|| Map::for_product(product, version));
    known.unwrap_or_else(|| {
        Map::parse("product = \"none\"", "none").expect("a map without rules is a map")
    })
}

/// A profile folded both ways.
pub fn folded(profile: &Profile, map: &Map, beside: &CostContext<'_>) -> Cost {
    cost(
        &fold(profile, map, View::Innermost),
        &fold(profile, map, View::OnBehalfOf),
        profile.histograms(),
        beside,
    )
}

#[cfg(test)]
mod tests {
    use super::{SyncEvidence, apart};

    #[test]
    fn a_call_between_the_begins_of_two_counts_is_no_disagreement() {
        let counted = |metered: f64, traced: f64| {
            let commits = 1_000;
            let evidence = SyncEvidence {
                metered_per_commit: Some(metered / 1_000.0),
                traced_per_commit: Some(traced / 1_000.0),
                difference: Some(metered / traced - 1.0),
                flushes_per_commit: None,
                flushes_within_syncs: None,
            };
            apart(commits, &evidence)
        };
        assert_eq!(counted(0.0, 1.0), None);
        assert_eq!(counted(1_005.0, 1_000.0), None);
        let said = counted(900.0, 1_000.0);
        assert!(said.is_some_and(|said| said.contains("differ by")));
    }
}
