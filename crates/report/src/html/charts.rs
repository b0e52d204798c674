//! The charts of surveys, runs and probes.

use super::axis::{Axis, short_count, short_span};
use super::chart::{Chart, Series, Shape, draw};
use super::stores::Stores;
use crate::survey::Survey;
use syncline_record::units::{self, plural};
use syncline_record::{Cell, CellFigures, Latency, ProbeRecord, RunRecord};

const WIDE: (u32, u32) = (920, 430);
const SMALL: (u32, u32) = (460, 300);

/// Commits per second by number of clients, with both sync rates; `None` if nothing was run.
pub(super) fn throughput(survey: &Survey<'_>, stores: &Stores) -> Option<String> {
    let mut clients: Vec<f64> =
        survey.runs.iter().map(|run| run.head.plan.clients as f64).collect();
    clients.sort_by(f64::total_cmp);
    clients.dedup();
    if clients.is_empty() {
        return None;
    }
    let line = survey.line();
    let mut rates: Vec<f64> = survey.runs.iter().map(|run| run.end.throughput_per_s).collect();
    rates.extend(line.line_1.into_iter().chain(line.line_max));
    let x = Axis::log_at("clients", &clients, |value| units::count(value).replace("1.00k", "1000"));
    let y = Axis::log("commits per second", &rates, short_count);
    let mut series = Vec::new();
    for rate in line.line_1.into_iter().chain(line.line_max) {
        let points = vec![(x.least, rate), (x.most, rate)];
        series.push(Series { style: 0, shape: Shape::DashedLine, points });
    }
    for (style, runs) in by_store(&survey.runs, stores) {
        let points = runs
            .iter()
            .map(|run| (run.head.plan.clients as f64, run.end.throughput_per_s))
            .collect();
        series.push(Series { style, shape: Shape::MarkedLine, points });
    }
    let named = [("1 sync at a time:", line.line_1), ("syncs in parallel:", line.line_max)];
    let notes = named
        .into_iter()
        .filter_map(|(name, rate)| Some((rate?, format!("{name} {}", units::rate(rate?)))))
        .collect();
    let title = "Commits per second by number of clients, against the disk's sync rate one at a time and in parallel".to_owned();
    Some(draw(&Chart { title, x, y, series, size: WIDE, left: 78, notes }))
}

/// Percentiles of service time: a chart for each number of clients.
pub(super) fn percentiles(survey: &Survey<'_>, stores: &Stores) -> Vec<(u64, String)> {
    let times: Vec<f64> =
        survey.runs.iter().filter_map(|run| run.service_ns()).flat_map(heights).collect();
    // One axis for all, so that the charts can be compared.
    let y = Axis::log("service time", &times, short_span);
    let names = ["p50", "p90", "p99", "p99.9", "max"].map(str::to_owned);
    let chart = |clients: u64, runs: &[&RunRecord]| {
        let series = runs
            .iter()
            .filter_map(|run| {
                let points = (0_u32..).map(f64::from).zip(heights(run.service_ns()?)).collect();
                Some(Series { style: stores.style(run), shape: Shape::MarkedLine, points })
            })
            .collect();
        draw(&Chart {
            title: format!("Percentiles of service time with {}", plural(clients, "client")),
            x: Axis::names("", &names),
            y: y.clone(),
            series,
            size: SMALL,
            left: 74,
            notes: Vec::new(),
        })
    };
    by_clients(survey).into_iter().map(|(clients, runs)| (clients, chart(clients, &runs))).collect()
}

/// Throughput over time: a chart for each number of clients; repetitions follow each other.
pub(super) fn over_time(survey: &Survey<'_>, stores: &Stores) -> Vec<(u64, String)> {
    let chart = |clients: u64, runs: &[&RunRecord]| {
        let rates: Vec<f64> = runs
            .iter()
            .flat_map(|run| &run.intervals)
            .map(syncline_record::Interval::throughput_per_s)
            .collect();
        let end = runs.iter().map(|run| run.end.measured_ns as f64 / 1e9).fold(0.0, f64::max);
        let series = runs.iter().flat_map(|run| time_series(run, stores.style(run))).collect();
        draw(&Chart {
            title: format!("Commits per second over time with {}", plural(clients, "client")),
            x: Axis::linear("measured seconds", end, short_count),
            y: Axis::log("commits per second", &rates, short_count),
            series,
            size: SMALL,
            left: 74,
            notes: Vec::new(),
        })
    };
    by_clients(survey).into_iter().map(|(clients, runs)| (clients, chart(clients, &runs))).collect()
}

/// Throughput of one run over time; `None` if it has no intervals.
pub(super) fn run_over_time(run: &RunRecord) -> Option<String> {
    let rates: Vec<f64> =
        run.intervals.iter().map(syncline_record::Interval::throughput_per_s).collect();
    let most = rates.iter().copied().reduce(f64::max)?;
    let end = run.end.measured_ns as f64 / 1e9;
    Some(draw(&Chart {
        title: "Commits per second over time".to_owned(),
        x: Axis::linear("measured seconds", end, short_count),
        y: Axis::linear("commits per second", most * 1.05, short_count),
        series: time_series(run, 0),
        size: SMALL,
        left: 74,
        notes: Vec::new(),
    }))
}

/// Percentiles of service time of one run; `None` if nothing committed.
pub(super) fn run_percentiles(run: &RunRecord) -> Option<String> {
    let times = heights(run.service_ns()?);
    let names = ["p50", "p90", "p99", "p99.9", "max"].map(str::to_owned);
    Some(draw(&Chart {
        title: "Percentiles of service time".to_owned(),
        x: Axis::names("", &names),
        y: Axis::log("service time", &times, short_span),
        series: vec![Series {
            style: 0,
            shape: Shape::MarkedLine,
            points: (0_u32..).map(f64::from).zip(times).collect(),
        }],
        size: SMALL,
        left: 74,
        notes: Vec::new(),
    }))
}

/// The distributions of a probe: every method at 4 KiB, and the sync line's method at every size and state,
/// and at every number outstanding. A bar from p50 to p99.9, marks at p50, p99 and the slowest; `None` if
/// none was measured. A full probe has hundreds of cells; the table has all of them.
pub(super) fn distributions(probe: &ProbeRecord) -> Option<String> {
    let cells: Vec<(&Cell, &CellFigures)> = probe
        .body
        .cells
        .iter()
        .filter(|cell| is_in_chart(cell, probe.body.sync_line.method.as_deref()))
        .filter_map(|cell| Some((cell, cell.measured.as_ref()?)))
        .rev()
        .collect();
    if cells.is_empty() {
        return None;
    }
    let names: Vec<String> = cells.iter().map(|(cell, _)| cell_name(cell)).collect();
    let times: Vec<f64> =
        cells.iter().flat_map(|(_, figures)| heights(&figures.latency_ns)).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut series = Vec::new();
    let mut marks = [Vec::new(), Vec::new(), Vec::new()];
    for (row, (_, figures)) in (0_u32..).map(f64::from).zip(&cells) {
        let times = &figures.latency_ns;
        let points = vec![(times.p50 as f64, row), (times.p999 as f64, row)];
        series.push(Series { style: 5, shape: Shape::ThickLine, points });
        marks[0].push((times.p50 as f64, row));
        marks[1].push((times.p99 as f64, row));
        marks[2].push((times.max as f64, row));
    }
    for (style, points) in DISTRIBUTION_STYLES.into_iter().zip(marks) {
        series.push(Series { style, shape: Shape::Marks, points });
    }
    Some(draw(&Chart {
        title: "How long one write with its sync took, by method, size and file state".to_owned(),
        x: Axis::log("time of one write with its sync", &times, short_span),
        y: Axis::names("", &names),
        series,
        size: (920, 80 + 25 * cells.len() as u32),
        left: 24 + 8 * longest as u32,
        notes: Vec::new(),
    }))
}

/// The marks of p50, p99 and the slowest in the chart of distributions.
pub(super) const DISTRIBUTION_STYLES: [usize; 3] = [0, 2, 3];

/// The rate of the sync line's own cells over time; `None` with too few windows for a curve.
pub(super) fn line_over_time(probe: &ProbeRecord) -> Option<String> {
    const WINDOWS: usize = 8;
    let line = &probe.body.sync_line;
    let method = line.method.as_deref()?;
    let outstanding = [Some(1), line.line_max_outstanding];
    let cells: Vec<&CellFigures> = outstanding
        .into_iter()
        .flatten()
        .filter_map(|count| probe.cell(method, line.write_bytes?, "overwrite", count))
        .map(|(_, figures)| figures)
        .filter(|figures| figures.windows.len() >= WINDOWS)
        .collect();
    let rates: Vec<f64> = cells.iter().flat_map(|figures| figures.windows.clone()).collect();
    if rates.is_empty() {
        return None;
    }
    let seconds = |figures: &CellFigures| figures.window_ns as f64 / 1e9;
    let end = cells.iter().map(|one| one.windows.len() as f64 * seconds(one)).fold(0.0, f64::max);
    let series = cells
        .iter()
        .enumerate()
        .map(|(style, figures)| {
            let middle = (0_u32..).map(|window| (f64::from(window) + 0.5) * seconds(figures));
            let points = middle.zip(figures.windows.iter().copied()).collect();
            Series { style, shape: Shape::Line, points }
        })
        .collect();
    Some(draw(&Chart {
        title: "Syncs per second over the time of the probe".to_owned(),
        x: Axis::linear("seconds", end, short_count),
        y: Axis::log("syncs per second", &rates, short_count),
        series,
        size: WIDE,
        left: 78,
        notes: Vec::new(),
    }))
}

fn is_in_chart(cell: &Cell, line_method: Option<&str>) -> bool {
    let plain = cell.write_bytes == 4_096 && cell.file_state == "overwrite";
    let own = line_method == Some(cell.method.as_str());
    (plain && (own || cell.outstanding == 1)) || (own && cell.outstanding == 1)
}

fn cell_name(cell: &Cell) -> String {
    let size = units::size(cell.write_bytes as f64);
    let state = match (cell.placement.as_str(), cell.file_state.as_str()) {
        ("same block", _) => "one block",
        (_, "unwritten extents") => "unwritten",
        (_, state) => state,
    };
    let several = if cell.outstanding > 1 {
        format!(", {} at once", cell.outstanding)
    } else {
        String::new()
    };
    format!("{}, {size}, {state}{several}", cell.method)
}

fn heights(times: &Latency) -> [f64; 5] {
    [times.p50, times.p90, times.p99, times.p999, times.max].map(|ns| ns as f64)
}

/// One series per repetition, so that no line joins two repetitions.
fn time_series(run: &RunRecord, style: usize) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    let (mut repetition, mut begin, mut end) = (0, 0.0, 0.0);
    for interval in &run.intervals {
        if interval.repetition != repetition {
            (repetition, begin) = (interval.repetition, end);
            series.push(Series { style, shape: Shape::MarkedLine, points: Vec::new() });
        }
        end = begin + interval.end_ns as f64 / 1e9;
        let middle = f64::midpoint(begin + interval.start_ns as f64 / 1e9, end);
        if let Some(series) = series.last_mut() {
            series.points.push((middle, interval.throughput_per_s()));
            if series.points.len() > 20 {
                series.shape = Shape::Line;
            }
        }
    }
    series
}

fn by_store<'a>(runs: &[&'a RunRecord], stores: &Stores) -> Vec<(usize, Vec<&'a RunRecord>)> {
    let mut grouped: Vec<(usize, Vec<&RunRecord>)> = Vec::new();
    for run in runs {
        let style = stores.style(run);
        match grouped.iter_mut().find(|(known, _)| *known == style) {
            Some((_, runs)) => runs.push(run),
            None => grouped.push((style, vec![run])),
        }
    }
    for (_, runs) in &mut grouped {
        runs.sort_by_key(|run| run.head.plan.clients);
    }
    grouped
}

fn by_clients<'a>(survey: &Survey<'a>) -> Vec<(u64, Vec<&'a RunRecord>)> {
    let mut grouped = std::collections::BTreeMap::<u64, Vec<&RunRecord>>::new();
    for run in &survey.runs {
        grouped.entry(run.head.plan.clients).or_default().push(run);
    }
    grouped.into_iter().collect()
}
