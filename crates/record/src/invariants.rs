//! Consistency checks between the figures of any record.
//!
//! 1. Outcomes: attempted = committed + aborted + conflicted + failed + unfinished, of all, of each
//!    repetition and of each type; the types of a repetition add up to it.
//! 2. Rates: a rate times its duration is its count.
//! 3. Syncs: commits per sync times the syncs is the number of commits.
//! 4. Shares lie between zero and one, and the parts of a whole add up to it: the cost by module, the steps
//!    of a commit's path, the clients' time in transactions and between them.
//! 5. Percentiles are in order; a response time is at least the service time, and equal in a closed loop.
//! 6. In a closed loop, clients divided by the rate is the mean time of a transaction plus the measured time
//!    of clients between transactions, within 2 %. Transactions that did not commit, or that cross the ends
//!    of the span, are allowed for.
//! 7. The ratio to the sync line is at most what the counted syncs allow.
//!
//! A figure that a record does not have (an older version, a record that was cut short) is not checked.

use crate::sync_line_ratio;
use crate::{Latency, Outcomes, Repetition, RunRecord, TransactionFigures};
use std::collections::BTreeMap;

/// The relative difference that rounding may cause between two figures of one quantity.
const ROUNDING: f64 = 1e-6;
/// How far the clients' time may differ from that of the transactions, as a part of it.
const TIME_TOLERANCE: f64 = 0.02;
/// The shortest span for which the clients' time is checked: in a shorter one, starting and stopping threads
/// takes a part that depends on the machine.
const SHORTEST_SPAN_NS: u64 = 500_000_000;

/// Each invariant that a record violates, in one sentence without a final period.
pub fn violations(run: &RunRecord) -> Vec<String> {
    let mut found = Vec::new();
    ends(run, &mut found);
    for (repetition, number) in run.end.repetitions.iter().zip(1_u64..) {
        let mut here = Vec::new();
        rates(run, repetition, &mut here);
        times(run, repetition, &mut here);
        client_time(run, repetition, &mut here);
        found.extend(here.into_iter().map(|what| format!("repetition {number}: {what}")));
    }
    shares(run, &mut found);
    intervals(run, &mut found);
    line(run, &mut found);
    found
}

fn ends(run: &RunRecord, found: &mut Vec<String>) {
    let mut lost = Vec::new();
    let mut check = |what: &str, one: &Outcomes| {
        if !one.adds_up() {
            found.push(format!(
                "the outcomes of {what} do not add up to the {} attempted",
                one.attempted
            ));
        }
    };
    check("all transactions", &run.end.outcomes);
    for repetition in &run.end.repetitions {
        check("a repetition", &repetition.outcomes);
        let mut sum = Outcomes::none();
        for kind in &repetition.transactions {
            check(&kind.name, &kind.outcomes);
            sum.add(&kind.outcomes);
        }
        let all = &repetition.outcomes;
        let same = (sum.attempted, sum.committed) == (all.attempted, all.committed);
        if !repetition.transactions.is_empty() && !same {
            lost.push("the types of a repetition do not add up to it".to_owned());
        }
    }
    found.extend(lost);
    let Some(in_span) = run.end.commits_in_span else {
        return;
    };
    let each: Option<u64> = run.end.repetitions.iter().map(|one| one.commits_in_span).sum();
    if !run.end.repetitions.is_empty() && each.is_some_and(|each| each != in_span) {
        found.push(format!("the repetitions' commits do not add up to the {in_span} of the run"));
    }
}

fn rates(run: &RunRecord, one: &Repetition, found: &mut Vec<String>) {
    if let Some(commits) = one.commits_in_span {
        let counted = one.throughput_per_s * one.measured_ns as f64 / 1e9;
        if !near(counted, commits as f64, ROUNDING) {
            found.push(format!(
                "the rate times the measured time is {counted:.3} commits, but {commits} were counted"
            ));
        }
    }
    if one.commits_late > Some(one.outcomes.committed) {
        found.push("more commits were late than there were commits".to_owned());
    }
    let counted = one.counted.as_ref().zip(one.commits_per_sync);
    if let Some((base, shared)) = counted
        && let Some(syncs) = base.syncs
        && !near(shared * syncs as f64, base.commits as f64, ROUNDING)
    {
        found.push(format!(
            "{shared} commits per sync times {syncs} syncs are not {} commits",
            base.commits
        ));
    }
    let by_count = run.end.stopped_by.as_deref() == Some("transactions");
    if by_count && one.commits_in_span.is_some_and(|commits| commits != one.outcomes.committed) {
        found.push("a run that ends by count has more or fewer commits than that count".to_owned());
    }
}

fn times(run: &RunRecord, one: &Repetition, found: &mut Vec<String>) {
    for kind in &one.transactions {
        kind_times(run, kind, found);
    }
}

fn kind_times(run: &RunRecord, kind: &TransactionFigures, found: &mut Vec<String>) {
    let name = &kind.name;
    let both = [("service", &kind.service_ns), ("response", &kind.response_ns)];
    for (what, times) in both {
        if times.as_ref().is_some_and(|times| !ordered(times)) {
            found.push(format!("the percentiles of the {what} time of {name} are not in order"));
        }
    }
    if let Some((service, response)) = kind.service_ns.as_ref().zip(kind.response_ns.as_ref()) {
        let closed = run.head.plan.arrival == "closed";
        if closed && service != response {
            found.push(format!("service and response time of {name} differ in a closed loop"));
        } else if response.mean < service.mean * (1.0 - ROUNDING) {
            found.push(format!("the mean response time of {name} is below its mean service time"));
        }
    }
}

fn ordered(times: &Latency) -> bool {
    let each = [times.p50, times.p90, times.p99, times.p999, times.max];
    // A histogram of three digits may put the mean a thousandth above the longest time.
    each.is_sorted() && times.mean <= times.max as f64 * 1.001
}

/// Checks that a closed loop's clients are always in a transaction or between two.
fn client_time(run: &RunRecord, one: &Repetition, found: &mut Vec<String>) {
    let by_time = run.end.stopped_by.as_deref() == Some("duration");
    let closed = run.head.plan.arrival == "closed";
    if !by_time || !closed || one.measured_ns < SHORTEST_SPAN_NS || run.end.reconnects > 0 {
        return;
    }
    let (Some(time), Some(commits)) = (&one.client_time, one.commits_in_span) else {
        return;
    };
    let sum = time.in_transactions + time.between;
    if !near(sum, 1.0, TIME_TOLERANCE) {
        found.push(format!(
            "the clients' time in transactions and between them adds up to {sum:.3}, not 1"
        ));
    }
    let clients = run.head.plan.clients as f64;
    let served = one.transactions.iter().filter_map(|kind| {
        let times = kind.service_ns.as_ref()?;
        Some((kind.count as f64 * times.mean, times.max))
    });
    let (sum_ns, longest_ns) =
        served.fold((0.0, 0), |(sum, longest), (part, max)| (sum + part, longest.max(max)));
    let committed = one.outcomes.committed as f64;
    if committed == 0.0 || commits == 0 {
        return;
    }
    // Commits times their mean time, as a part of the clients' time.
    let mean_ns = sum_ns / committed;
    let served = commits as f64 * mean_ns / (clients * one.measured_ns as f64);
    let ends = 2.0 * longest_ns as f64 / one.measured_ns as f64;
    let others = 1.0 - committed / one.outcomes.attempted.max(1) as f64;
    let above = served > time.in_transactions + TIME_TOLERANCE + ends;
    let below = served
        < time.in_transactions * (1.0 - others) - TIME_TOLERANCE - ends - others - waited(run);
    if above || below {
        found.push(format!(
            "{clients} clients divided by the rate are {:.0} ns per transaction, {:.0} ns of them between \
             transactions, but the mean is {mean_ns:.0} ns",
            clients * one.measured_ns as f64 / commits as f64,
            time.between * clients * one.measured_ns as f64 / commits as f64
        ));
    }
}

/// An upper bound for the part of the clients' time that starved clients spent in transactions that did not
/// end in the span. The starved clients of a single repetition among several are not recorded.
fn waited(run: &RunRecord) -> f64 {
    let fairness = run.end.fairness.as_ref();
    let starved = fairness.map_or(0, |found| found.starved.len());
    match (starved, run.end.repetitions.len()) {
        (0, _) => 0.0,
        (starved, 1) => starved as f64 / run.head.plan.clients as f64,
        _ => 1.0,
    }
}

fn shares(run: &RunRecord, found: &mut Vec<String>) {
    let figures = run.end.saturation.iter().flat_map(|found| &found.figures);
    for (name, value) in figures {
        let part = name.ends_with("_share") && name != "line_share" || name.ends_with("_busy");
        if part && value.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
            found.push(format!("{name} is not between 0 and 1"));
        }
    }
    for row in run.end.commit_path.iter().flat_map(|path| &path.rows) {
        if !near(row.step_ns.iter().sum(), row.total_ns, ROUNDING) {
            found.push(format!(
                "the steps of a commit's path ({}) do not add up to its total",
                row.name
            ));
        }
    }
    for metric in run.end.cost.iter().flat_map(|cost| &cost.metrics) {
        for (how, rows) in [
            ("by innermost module", &metric.innermost),
            ("on behalf of modules", &metric.on_behalf_of),
        ] {
            // Shares are per class of threads; time spent waiting for a request has none.
            let mut classes: BTreeMap<&str, f64> = BTreeMap::new();
            for row in rows {
                if let Some(share) = row.share {
                    *classes.entry(&row.threads).or_default() += share;
                }
            }
            for (threads, sum) in classes {
                if !near(sum, 1.0, ROUNDING) {
                    let name = &metric.metric;
                    found.push(format!(
                        "the shares of {name} of {threads} threads {how} add up to {sum:.3}"
                    ));
                }
            }
        }
    }
}

fn intervals(run: &RunRecord, found: &mut Vec<String>) {
    for (interval, number) in run.intervals.iter().zip(1_u64..) {
        let quantiles = [interval.service_p50_ns, interval.service_p99_ns, interval.service_max_ns];
        let responses =
            [interval.response_p50_ns, interval.response_p99_ns, interval.response_max_ns];
        let sorted = quantiles.is_sorted() && responses.is_sorted();
        if !sorted || interval.start_ns > interval.end_ns {
            found.push(format!("the times of interval {number} are not in order"));
        }
    }
    for (one, number) in run.end.repetitions.iter().zip(1_u64..) {
        let of = run.intervals.iter().filter(|interval| interval.repetition == number);
        let commits: u64 = of.map(|interval| interval.committed).sum();
        let by_time = run.end.stopped_by.as_deref() == Some("duration");
        // The workers are not read at the same instant: allow one transaction per client.
        let most = one.commits_in_span.map(|most| most + run.head.plan.clients);
        if by_time && most.is_some_and(|most| commits > most) {
            found.push(format!(
                "the intervals of repetition {number} have more commits than the repetition"
            ));
        }
    }
}

fn line(run: &RunRecord, found: &mut Vec<String>) {
    let line = &run.end.sync_line;
    let Some(most) = sync_line_ratio::most_commits_per_s(run, line) else {
        return;
    };
    for rate in [line.line_1, line.line_max].into_iter().flatten() {
        let place = sync_line_ratio(run, line, Some(rate));
        if place.is_some_and(|place| place * rate > most * (1.0 + ROUNDING)) {
            found.push(format!(
                "the ratio to the sync line exceeds the {most:.0} commits/s that counted syncs allow"
            ));
        }
    }
}

/// True if the two are equal up to `part` of the second.
fn near(one: f64, other: f64, part: f64) -> bool {
    (one - other).abs() <= other.abs() * part + f64::EPSILON
}
