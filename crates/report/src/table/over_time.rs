//! Syncs at a low rate over time: its parts, the stalls with what happened meanwhile, and last the phases.

use super::grid::{Grid, Side};
use super::prose;
use syncline_record::units;
use syncline_record::{ProbeRecord, ResolvedLatency, Stall, SyncsOverTime};

/// The most stalls that are shown, the longest.
const STALLS: usize = 12;

/// The view of a probe over time; empty if the record holds none.
pub fn over_time(record: &ProbeRecord) -> String {
    let Some(found) = &record.body.over_time else {
        return String::new();
    };
    let what = format!(
        "{}: {} overwritten one after another, {}, at most {}; a stall takes more than {}",
        record.body.directory,
        units::size(found.write_bytes as f64),
        found.method,
        units::rate(found.rate_per_s),
        units::span_ns(found.stall_ns)
    );
    prose::wrap("syncs over time in ", &what)
        + &cut_short(record)
        + &parts(found)
        + &stalls(found)
        + &phases(found)
}

/// Why the probe ended early.
pub(super) fn cut_short(record: &ProbeRecord) -> String {
    let reason = record.body.cut_short.as_deref();
    reason.map_or_else(String::new, |reason| prose::wrap("  cut short: ", reason))
}

const TIMES: [(&str, Side); 5] = [
    ("p50", Side::Right),
    ("p99", Side::Right),
    ("p99.9", Side::Right),
    ("p99.99", Side::Right),
    ("max", Side::Right),
];

fn times(latency: &ResolvedLatency) -> [String; 5] {
    let values = [latency.p50, latency.p99, latency.p999, latency.p9999, latency.max];
    values.map(|value| units::or_unknown(value, units::span_ns))
}

fn parts(found: &SyncsOverTime) -> String {
    if found.intervals.is_empty() {
        return String::new();
    }
    let mut columns = vec![("From", Side::Right), ("to", Side::Right), ("syncs", Side::Right)];
    columns.extend(TIMES);
    columns.push(("stalls", Side::Right));
    let mut grid = Grid::new(&columns).optional_columns(&["p99.99", "to", "syncs"]);
    for part in &found.intervals {
        let mut cells = vec![
            units::span_ns(part.start_ns),
            units::span_ns(part.end_ns),
            part.latency_ns.samples.to_string(),
        ];
        cells.extend(times(&part.latency_ns));
        cells.push(part.stalls.to_string());
        grid.row(cells);
    }
    format!("\n{}", grid.render())
}

fn stalls(found: &SyncsOverTime) -> String {
    if found.stalls.is_empty() {
        return "\nno stalls\n".to_owned();
    }
    let mut longest: Vec<&Stall> = found.stalls.iter().collect();
    longest.sort_by_key(|stall| std::cmp::Reverse(stall.length_ns));
    longest.truncate(STALLS);
    longest.sort_by_key(|stall| stall.start_ns);
    let mut grid = Grid::new(&[
        ("Stall at", Side::Right),
        ("length", Side::Right),
        ("phase", Side::Left),
        ("busy", Side::Right),
        ("wrote", Side::Right),
        ("read", Side::Right),
        ("flushes", Side::Right),
        ("in flight", Side::Right),
        ("wait", Side::Right),
        ("dirty", Side::Right),
        ("writeback", Side::Right),
    ])
    .optional_columns(&["flushes", "read", "wait", "phase"]);
    let share = |stall: &Stall, part: Option<u64>| {
        units::or_unknown(part.filter(|_| stall.counted_ns > 0), |part| {
            // Both are read at slightly different times.
            format!("{:.0} %", (part as f64 * 100.0 / stall.counted_ns as f64).min(100.0))
        })
    };
    let size = |bytes: Option<u64>| units::or_unknown(bytes, |bytes| units::size(bytes as f64));
    let count = |number: Option<u64>| units::or_unknown(number, |number| number.to_string());
    for stall in &longest {
        grid.row(vec![
            units::span_ns(stall.start_ns),
            units::span_ns(stall.length_ns),
            stall.phase.clone(),
            share(stall, stall.device_busy_ns),
            size(stall.device_written_bytes),
            size(stall.device_read_bytes),
            count(stall.device_flushes),
            count(stall.device_in_flight),
            share(stall, stall.io_pressure_ns),
            size(stall.dirty_bytes),
            size(stall.writeback_bytes),
        ]);
    }
    let mut text = format!("\n{}", grid.render());
    let shown = longest.len() as u64;
    if found.stalls_total > shown {
        text += &format!("  the longest {shown} of {} stalls\n", found.stalls_total);
    }
    if let Some(reason) = &found.reason {
        text += &prose::wrap("  the disk's counters are unknown: ", reason);
    }
    text + &prose::wrap(
        "  ",
        "busy: of the time, the disk had requests in flight; wait: some process waited for I/O; both, wrote, read \
         and flushes: of the whole disk and machine between the readings around the stall; in flight, dirty \
         and writeback: the most at a reading",
    )
}

fn phases(found: &SyncsOverTime) -> String {
    let mut columns = vec![("Phase", Side::Left), ("time", Side::Right), ("syncs", Side::Right)];
    columns.push(("skipped", Side::Right));
    columns.extend(TIMES);
    columns.push(("stalls", Side::Right));
    let mut grid = Grid::new(&columns).optional_columns(&["skipped", "time"]);
    for phase in &found.phases {
        let mut cells = vec![
            phase.name.clone(),
            units::span_ns(phase.elapsed_ns),
            phase.latency_ns.samples.to_string(),
            phase.skipped.to_string(),
        ];
        cells.extend(times(&phase.latency_ns));
        cells.push(units::or_unknown(phase.stalls, |stalls| stalls.to_string()));
        grid.row(cells);
    }
    let mut text = format!("\n{}", grid.render());
    if found.phases.iter().any(|phase| phase.stalls.is_none()) {
        text += "  the median alone sets which syncs are stalls, so none are counted there\n";
    }
    for load in found.phases.iter().filter_map(|phase| phase.load.as_ref()) {
        text += &prose::wrap("  beside: ", load);
    }
    text + &prose::wrap(
        "  ",
        "unknown: too few syncs for that percentile (368 for p99, 3,688 for p99.9, 36,887 for p99.99); \
         skipped: due while another sync was in flight",
    )
}
