//! The tables within the view of a run.

use super::grid::{Grid, Side};
use super::prose;
use crate::bucket_quantile::quantiles;
use syncline_record::units::{self, plural};
use syncline_record::{Counted, Latency, Outcomes, RunRecord};

/// How a figure is shown.
type Show = fn(f64) -> String;

/// How transactions ended, all together and by kind, and the schedule of an open loop.
pub(super) fn outcomes(run: &RunRecord) -> String {
    let mut grid = Grid::new(&[
        ("Outcomes", Side::Left),
        ("attempted", Side::Right),
        ("committed", Side::Right),
        ("aborted", Side::Right),
        ("conflicted", Side::Right),
        ("failed", Side::Right),
        ("unfinished", Side::Right),
        ("retries", Side::Right),
    ]);
    let mut row = |name: &str, one: &Outcomes| {
        let counts = [
            one.attempted,
            one.committed,
            one.aborted,
            one.conflicted,
            one.failed,
            one.unfinished,
            one.retries,
        ];
        let mut cells = vec![format!("  {name}")];
        cells.extend(counts.map(|count| count.to_string()));
        grid.row(cells);
    };
    row("all", &run.end.outcomes);
    if run.end.transactions.len() > 1 {
        run.end.transactions.iter().for_each(|one| row(&one.name, &one.outcomes));
    }
    let mut text = format!("\n{}", grid.render());
    let all = &run.end.outcomes;
    if let Some(late) = run.end.commits_late.filter(|late| *late > 0) {
        let words = format!(
            "{} acknowledged after the measured time, counted in no rate",
            plural(late, "commit")
        );
        text += &prose::wrap("  ", &words);
    }
    let causes = [
        ("conflict", &all.conflict_causes),
        ("retry", &all.retry_causes),
        ("failure", &all.failure_causes),
    ];
    for (what, causes) in causes {
        for (cause, count) in causes {
            text += &format!("  {} ({})\n", plural(*count, what), reason(cause));
        }
    }
    if let Some(arrivals) = &run.end.arrivals {
        let words = format!(
            "{} offered, {} started, {} of them late, {} skipped, {} abandoned",
            arrivals.offered, arrivals.started, arrivals.late, arrivals.skipped, arrivals.abandoned
        );
        text += &prose::wrap("  arrivals: ", &words);
    }
    text
}

/// The readable text of a cause in records.
fn reason(cause: &str) -> &str {
    match cause {
        "locked" => "database locked",
        "serialization" => "serialization failure",
        other => other,
    }
}

/// Service and response times by kind of transaction.
pub(super) fn percentiles(run: &RunRecord) -> String {
    let mut grid = times_grid("Times");
    for one in &run.end.transactions {
        if let Some(times) = &one.service_ns {
            grid.row(times_row(&format!("  {} service", one.name), one.count, times));
        }
        // In a closed loop a transaction is due when it starts, so its response times would repeat the
        // service times.
        let open = run.head.plan.arrival != "closed";
        if let Some(times) = one.response_ns.as_ref().filter(|_| open) {
            grid.row(times_row(&format!("  {} response", one.name), one.count, times));
        }
    }
    block(&grid)
}

/// Times of operations, if they were requested.
pub(super) fn operations(run: &RunRecord) -> String {
    let mut grid = times_grid("Operations");
    for one in run.end.operations.iter().flatten() {
        let pipelined = if one.pipelined { " (pipelined)" } else { "" };
        if let Some(times) = &one.service_ns {
            grid.row(times_row(&format!("  {}{pipelined}", one.name), one.count, times));
        }
    }
    block(&grid)
}

/// The store's own counts and times of its parts.
pub(super) fn internals(run: &RunRecord) -> String {
    let mut grid = Grid::new(&[
        ("Inside the store", Side::Left),
        ("a second", Side::Right),
        ("p50", Side::Right),
        ("p90", Side::Right),
        ("p99", Side::Right),
        ("p99.9", Side::Right),
        ("mean", Side::Right),
        ("timed", Side::Left),
    ]);
    for part in run.end.internals.iter().flatten().filter(|part| part.count > 0) {
        let mut cells = vec![format!("  {}", part.name), units::rate(part.rate_per_s)];
        let times = [part.p50_ns, part.p90_ns, part.p99_ns, part.p999_ns, part.mean_ns];
        cells.extend(times.map(|time| units::or_unknown(time, units::span)));
        cells.push(match part.timed_one_in {
            1 => "all".to_owned(),
            many => format!("1 in {many}"),
        });
        grid.row(cells);
    }
    block(&grid)
}

/// Each repetition, if there were several.
pub(super) fn repetitions(run: &RunRecord) -> String {
    let mut grid = Grid::new(&[
        ("Repetitions", Side::Left),
        ("commits/s", Side::Right),
        ("p50", Side::Right),
        ("p99", Side::Right),
        ("commits/sync", Side::Right),
    ]);
    if run.end.repetitions.len() > 1 {
        for (number, one) in (1..).zip(&run.end.repetitions) {
            let main = one.transactions.iter().max_by_key(|kind| kind.count);
            let times = main.and_then(|kind| kind.service_ns.as_ref());
            let time =
                |pick: fn(&Latency) -> u64| units::or_unknown(times.map(pick), units::span_ns);
            grid.row(vec![
                format!("  {number}"),
                units::rate(one.throughput_per_s),
                time(|times| times.p50),
                time(|times| times.p99),
                units::or_unknown(one.commits_per_sync, units::figure),
            ]);
        }
    }
    block(&grid)
}

/// The cost of one commit, with the source of each figure.
pub(super) fn counts(run: &RunRecord) -> String {
    let mut grid = Grid::new(&[
        ("Per commit", Side::Left),
        ("", Side::Right),
        ("source, or why unknown", Side::Left),
    ]);
    let per = &run.end.per_commit;
    let count: Show = units::figure;
    let rows: [(&str, &Counted, Show); 9] = [
        ("syncs", &per.syncs, count),
        ("synchronous writes", &per.synced_writes, count),
        ("device writes", &per.device_writes, count),
        ("device bytes", &per.device_bytes, units::size),
        ("device flushes", &per.flushes, count),
        ("system calls", &per.system_calls, count),
        ("client CPU", &per.client_cpu_ns, units::span),
        ("target CPU", &per.target_cpu_ns, units::span),
        ("page faults", &per.page_faults, count),
    ];
    for (name, counted, show) in rows {
        let value = units::or_unknown(counted.value, show);
        grid.row(vec![format!("  {name}"), value, counted.source.clone()]);
    }
    let mut text = format!("\n{}", grid.render_wrapped());
    if let Some(commits) = per.commits_per_sync() {
        text += &prose::wrap("  ", &format!("commits per sync: {}", units::figure(commits)));
    }
    text
}

/// The store's own counters around the run.
pub(super) fn counters(run: &RunRecord) -> String {
    let Some(counters) = &run.end.counters else {
        return String::new();
    };
    let mut grid = Grid::new(&[
        ("By the store's own counters", Side::Left),
        ("", Side::Right),
        ("", Side::Left),
    ]);
    // The record also has how each was read, and the store's other counters.
    for counter in counters.iter().filter(|counter| counter.meaning != "other") {
        let show = super::observation::unit_format(&counter.unit);
        let grown = units::or_unknown(counter.grown.map(|grown| grown as f64), show);
        let why = super::observation::missing_reason(counter);
        let meaning = counter.meaning.replace('_', " ");
        grid.row(vec![format!("  {meaning} ({})", counter.name), grown, why]);
    }
    for one in quantiles(counters) {
        let at_most = units::or_unknown(one.at_most_ns, units::span);
        grid.row(vec![format!("  99 % within ({})", one.name), at_most, one.note]);
    }
    let mut text = format!("\n{}", grid.render_wrapped());
    if let Some(commits) = run.end.commits_per_sync_by_store {
        let sentence = format!("commits per sync, by these counters: {}", units::figure(commits));
        text += &prose::wrap("  ", &sentence);
    }
    text
}

fn times_grid(heading: &'static str) -> Grid {
    Grid::new(&[
        (heading, Side::Left),
        ("count", Side::Right),
        ("p50", Side::Right),
        ("p90", Side::Right),
        ("p99", Side::Right),
        ("p99.9", Side::Right),
        ("max", Side::Right),
        ("mean", Side::Right),
    ])
}

fn times_row(name: &str, count: u64, times: &Latency) -> Vec<String> {
    let mut cells = vec![name.to_owned(), count.to_string()];
    let values = [times.p50, times.p90, times.p99, times.p999, times.max];
    cells.extend(values.map(units::span_ns));
    cells.push(units::span(times.mean));
    cells
}

pub(super) fn block(grid: &Grid) -> String {
    if grid.is_empty() { String::new() } else { format!("\n{}", grid.render()) }
}
