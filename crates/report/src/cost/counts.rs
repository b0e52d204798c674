//! Sentences that compare a cost with other counts: commits by the store, syncs, flushes, coverage, garbage.

use super::sheet::{Figure, Heading, KERNEL, Sheet, TAG, USER};
use super::{CostChoice, sampling_error, too_few};
use syncline_record::units;
use syncline_record::{Cost, OverheadRatio};

/// The sentences below the table.
pub(crate) fn sentences(cost: &Cost, choice: &CostChoice) -> Vec<String> {
    let sheet = Sheet::of(cost, choice);
    let all = [
        Some(commits(cost)),
        too_few(cost, choice),
        sampling_error(cost, choice),
        coverage(&sheet),
        two_methods(&sheet),
        garbage(cost),
        syncs(cost),
        flushes(cost),
        profiler_cpu(cost),
        profiler_slowdown(cost),
    ];
    all.into_iter().flatten().collect()
}

fn commits(cost: &Cost) -> String {
    let by = &cost.commits_by_store;
    let own = match (by.counted, by.ratio) {
        (Some(counted), Some(ratio)) => format!(
            "from connect to disconnect the clients counted {} commits and the store {counted}, {} ({})",
            by.acknowledged,
            exactly(ratio),
            by.source
        ),
        _ => format!("the store's own count is not known: {}", by.source),
    };
    format!(
        "per transaction: divided by the {} commits of the {} that were profiled; {own}",
        cost.commits,
        units::span_ns(cost.window_ns)
    )
}

/// A ratio, with four decimals if it is near one, so that a small difference shows.
fn exactly(ratio: f64) -> String {
    if (0.9..1.1).contains(&ratio) { format!("{ratio:.4} x") } else { units::times(ratio) }
}

/// The part of the processor time that belongs to modules; if only user or kernel time could be split, of
/// that.
fn coverage(sheet: &Sheet) -> Option<String> {
    let of_what = |heading: &Heading| match heading {
        Heading::CpuShare => Some("the processor time"),
        Heading::Share(USER) => Some("user CPU alone"),
        Heading::Share(KERNEL) => Some("kernel CPU alone"),
        _ => None,
    };
    let mut columns = sheet.headings.iter().map(of_what).enumerate();
    let (column, what) = columns.find_map(|(column, what)| Some((column, what?)))?;
    match sheet.modules.last()?.cells[column] {
        Figure::Share(unknown) => Some(format!(
            "coverage: {} of {what} belongs to a module",
            units::percent(1.0 - unknown)
        )),
        _ => None,
    }
}

/// Why shares by stacks and shares by tags differ; `None` unless the table has both.
fn two_methods(sheet: &Sheet) -> Option<String> {
    let has = |wanted: fn(&Heading) -> bool| sheet.headings.iter().any(wanted);
    let by_stacks = has(|one| matches!(one, Heading::CpuShare | Heading::Share(USER | KERNEL)));
    let by_tags = has(|one| matches!(one, Heading::Share(name) if *name == TAG));
    (by_stacks && by_tags).then(|| {
        "tag % and CPU % are two methods and differ: a tag is the module that the store's thread reports \
         to be in, short calls into other modules included; CPU % goes by the functions on the sampled \
         stack. A tag does not separate access from buffer manager"
            .to_owned()
    })
}

/// The sum of a metric, over its modules or, if it could not be split, by its total.
fn sum_of(cost: &Cost, name: &str) -> Option<f64> {
    let metric = cost.metric(name)?;
    let rows = metric.innermost.iter().map(|row| row.amount).sum::<u64>();
    if metric.is_split() {
        Some(rows as f64)
    } else {
        metric.total.as_ref().map(|total| total.amount as f64)
    }
}

/// The part of all processor time spent on garbage collection; `None` if one of the two is not known.
pub(crate) fn garbage_share(cost: &Cost) -> Option<f64> {
    let all = sum_of(cost, "cpu_user")? + sum_of(cost, "cpu_kernel")?;
    let garbage = sum_of(cost, "garbage_collection")?;
    (all > 0.0).then(|| garbage / all)
}

fn garbage(cost: &Cost) -> Option<String> {
    let garbage = sum_of(cost, "garbage_collection")?;
    let each = (cost.commits > 0).then(|| garbage / cost.commits as f64);
    let share = garbage_share(cost).map_or_else(String::new, |share| {
        format!(", {} of the processor time", units::percent(share))
    });
    Some(format!(
        "garbage collection: {} per transaction{share}",
        units::or_unknown(each, units::span)
    ))
}

fn syncs(cost: &Cost) -> Option<String> {
    let syncs = &cost.syncs;
    let metered = units::figure(syncs.metered_per_commit?);
    Some(match (syncs.traced_per_commit, syncs.difference) {
        (Some(traced), Some(difference)) => format!(
            "sync calls per commit: {metered} in the profile, {} by the run's own count ({}{})",
            units::figure(traced),
            if difference > 0.0 { "+" } else { "" },
            units::percent(difference)
        ),
        (Some(traced), None) => format!(
            "sync calls per commit: {metered} in the profile, {} by the run's own count",
            units::figure(traced)
        ),
        _ => format!(
            "sync calls per commit: {metered} in the profile, without a second count to check it"
        ),
    })
}

fn flushes(cost: &Cost) -> Option<String> {
    let syncs = &cost.syncs;
    let flushes = units::figure(syncs.flushes_per_commit?);
    let compared = match syncs.flushes_within_syncs {
        Some(true) => "not more than syncs",
        Some(false) => {
            "more than syncs: others flush the same disk, or some syncs were not counted"
        }
        None => {
            "whether more than syncs is unknown: synchronous writes, which are syncs too, or sync calls \
             were not counted"
        }
    };
    Some(format!("flushes per commit: {flushes}, {compared}"))
}

/// The processor time of the profiler itself.
fn profiler_cpu(cost: &Cost) -> Option<String> {
    let looking = cost.looking.as_ref()?;
    let programs = match (looking.programs_ns, looking.programs_of_ns) {
        (Some(ns), Some(of_ns)) => format!(
            "BPF programs {} in the {} for which the kernel timed them, attached for {} of the {}",
            units::span_ns(ns),
            units::span_ns(of_ns),
            units::span_ns(looking.programs_attached_ns.unwrap_or(cost.window_ns)),
            units::span_ns(cost.window_ns)
        ),
        _ => "BPF programs were not timed".to_owned(),
    };
    Some(format!(
        "profiling overhead: {} CPU of the machine: profiler threads {}, {programs}; sampling interrupts are \
         not included",
        units::or_unknown(looking.share, units::percent),
        units::span_ns(looking.threads_ns)
    ))
}

/// The profiler's effect on throughput.
fn profiler_slowdown(cost: &Cost) -> Option<String> {
    let looking = cost.looking.as_ref()?;
    let Some(throughput) = &looking.throughput else {
        return Some(
            "the profiler's cost in throughput was not measured: --meter-overhead measures it before the run"
                .to_owned(),
        );
    };
    let pairs = looking.pairs.len();
    Some(format!(
        "throughput with the profiler over without, {}: {}",
        units::plural(pairs as u64, "pair"),
        ratio(throughput)
    ))
}

fn ratio(ratio: &OverheadRatio) -> String {
    format!("{:.3} x (from {:.3} to {:.3})", ratio.median, ratio.least, ratio.most)
}
