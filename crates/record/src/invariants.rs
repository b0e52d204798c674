//! What the figures of any record must agree on, checked over a record.
//!
//! 1. Ends: attempted = committed + aborted + conflicted + failed + unfinished, of all, of each repetition
//!    and of each type; the types of a repetition add up to it.
//! 2. Rates: a rate by its time is the count it is made of.
//! 3. Syncs: commits per sync by the syncs is the commits.
//! 4. Shares lie between zero and one, and those of one whole add up to it: what was spent by module, the
//!    steps of a commit's way, the clients' time in transactions and between them.
//! 5. Percentiles are in order; a response is at least as long as its service, and in a closed loop the same.
//! 6. In a closed loop the clients by the rate is the mean time of a transaction, within 2 %, beside the time
//!    that clients were measured to spend between transactions; what did not commit, and what reached over
//!    the ends of the span, is allowed for.
//! 7. No place on the sync line above what counted syncs allow.
//!
//! What a record does not know (one of an older version, one that was cut short) is not checked.

use crate::sync_line_ratio;
use crate::{Latency, Outcomes, Repetition, RunRecord, TransactionFigures};
use std::collections::BTreeMap;

/// How far two figures of one thing may differ by rounding.
const ROUNDING: f64 = 1e-6;
/// How far the clients' time and the transactions' may differ.
const TIME: f64 = 0.02;
/// The shortest span of which the clients' time is checked: starting and stopping threads takes a part of
/// shorter ones that depends on the machine.
const TIME_NS: u64 = 500_000_000;

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
            found.push(format!("the ends of {what} are not the {} attempted", one.attempted));
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
        found.push(format!("the repetitions' commits are not the {in_span} of all"));
    }
}

fn rates(run: &RunRecord, one: &Repetition, found: &mut Vec<String>) {
    if let Some(commits) = one.commits_in_span {
        let counted = one.throughput_per_s * one.measured_ns as f64 / 1e9;
        if !near(counted, commits as f64, ROUNDING) {
            found.push(format!(
                "the rate by the measured time is {counted:.3} commits, and {commits} were counted"
            ));
        }
    }
    if one.commits_late > Some(one.outcomes.committed) {
        found.push("more commits were late than there were".to_owned());
    }
    let counted = one.counted.as_ref().zip(one.commits_per_sync);
    if let Some((base, shared)) = counted
        && let Some(syncs) = base.syncs
        && !near(shared * syncs as f64, base.commits as f64, ROUNDING)
    {
        found.push(format!(
            "{shared} commits per sync by {syncs} syncs are not {} commits",
            base.commits
        ));
    }
    let by_count = run.end.stopped_by.as_deref() == Some("transactions");
    if by_count && one.commits_in_span.is_some_and(|commits| commits != one.outcomes.committed) {
        found.push("a run by count counted other commits than those of its count".to_owned());
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
            found.push(format!("in a closed loop {name} has two times"));
        } else if response.mean < service.mean * (1.0 - ROUNDING) {
            found.push(format!("{name} was answered before it was served"));
        }
    }
}

fn ordered(times: &Latency) -> bool {
    let each = [times.p50, times.p90, times.p99, times.p999, times.max];
    // A histogram of three digits may say of a mean what lies a thousandth above the longest.
    each.is_sorted() && times.mean <= times.max as f64 * 1.001
}

/// A closed loop's clients are in a transaction or between two.
fn client_time(run: &RunRecord, one: &Repetition, found: &mut Vec<String>) {
    let by_time = run.end.stopped_by.as_deref() == Some("duration");
    let closed = run.head.plan.arrival == "closed";
    if !by_time || !closed || one.measured_ns < TIME_NS || run.end.reconnects > 0 {
        return;
    }
    let (Some(time), Some(commits)) = (&one.client_time, one.commits_in_span) else {
        return;
    };
    let sum = time.in_transactions + time.between;
    if !near(sum, 1.0, TIME) {
        found.push(format!("the clients' time in transactions and between them is {sum:.3} of it"));
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
    // Commits by their mean time, as a part of the clients' time.
    let mean_ns = sum_ns / committed;
    let served = commits as f64 * mean_ns / (clients * one.measured_ns as f64);
    let ends = 2.0 * longest_ns as f64 / one.measured_ns as f64;
    let others = 1.0 - committed / one.outcomes.attempted.max(1) as f64;
    let above = served > time.in_transactions + TIME + ends;
    let below = served < time.in_transactions * (1.0 - others) - TIME - ends - others - waited(run);
    if above || below {
        found.push(format!(
            "{clients} clients by the rate are {:.0} ns a transaction, of which {:.0} ns lie between \
             transactions, and the mean is {mean_ns:.0} ns",
            clients * one.measured_ns as f64 / commits as f64,
            time.between * clients * one.measured_ns as f64 / commits as f64
        ));
    }
}

/// The most of the clients' time that starved clients waited in transactions that did not end in the span.
/// Who starved in one of several repetitions is not recorded.
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
            found.push(format!("{name} is no part of a whole"));
        }
    }
    for row in run.end.commit_path.iter().flat_map(|path| &path.rows) {
        if !near(row.step_ns.iter().sum(), row.total_ns, ROUNDING) {
            found
                .push(format!("the steps of the way of a commit ({}) are not its whole", row.name));
        }
    }
    for metric in run.end.cost.iter().flat_map(|cost| &cost.metrics) {
        for (how, rows) in
            [("by who spent it", &metric.innermost), ("by on whose behalf", &metric.on_behalf_of)]
        {
            // Shares are of a class of threads; time spent waiting for a request is in none.
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
            found.push(format!("interval {number} is not in order"));
        }
    }
    for (one, number) in run.end.repetitions.iter().zip(1_u64..) {
        let of = run.intervals.iter().filter(|interval| interval.repetition == number);
        let commits: u64 = of.map(|interval| interval.committed).sum();
        let by_time = run.end.stopped_by.as_deref() == Some("duration");
        // Readings of several workers are of no one instant: a transaction a client.
        let most = one.commits_in_span.map(|most| most + run.head.plan.clients);
        if by_time && most.is_some_and(|most| commits > most) {
            found.push(format!("the intervals of repetition {number} hold more commits than it"));
        }
    }
}

fn line(run: &RunRecord, found: &mut Vec<String>) {
    let line = &run.end.sync_line;
    let Some(most) = sync_line_ratio::most_commits_per_s(run, line) else {
        return;
    };
    for rate in [line.line_1, line.line_max].into_iter().flatten() {
        let place = sync_line_ratio::ratio(run, line, Some(rate));
        if place.is_some_and(|place| place * rate > most * (1.0 + ROUNDING)) {
            found.push(format!(
                "the place on the line is above the {most:.0} commits a second that counted syncs allow"
            ));
        }
    }
}

/// Equal but for a part of the second; both zero, too.
fn near(one: f64, other: f64, part: f64) -> bool {
    (one - other).abs() <= other.abs() * part + f64::EPSILON
}
