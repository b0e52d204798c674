//! One probe: the sync line, every cell, reads, the device with the source of each fact, verdicts.

use super::grid::{Grid, Side};
use super::probe_device;
use super::prose::{self, fact};
use syncline_record::units;
use syncline_record::{Cell, CellFigures, Counted, ProbeRecord};

/// How much of a probe is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The columns that fit a width of one hundred.
    Short,
    /// Also the device's counts per sync, and the fio command of each cell.
    Wide,
}

/// The view of a probe.
pub fn probe(record: &ProbeRecord, detail: Detail) -> String {
    let mut text = headline(record);
    if !record.body.fitness.is_empty() {
        text += &format!("\n{}", super::fitness(std::slice::from_ref(record)));
    }
    if record.body.over_time.is_some() {
        text += &format!("\n{}", super::over_time(record));
    }
    text += &cells(record, detail);
    text += &transfers(record);
    text += &probe_device::device(record);
    text += &verdicts(record);
    text
}

fn headline(record: &ProbeRecord) -> String {
    let body = &record.body;
    let line = &body.sync_line;
    let mut text = format!(
        "probe of {}   {}   {}\n\n",
        body.directory, record.identity.started, record.identity.id
    );
    if let Some(line_1) = line.line_1 {
        let mut one = String::new();
        if let Some(times) = &line.latency_ns {
            let (p50, p99) = (units::span_ns(times.p50), units::span_ns(times.p99));
            one = format!("p50 {p50}, p99 {p99}, max {}", units::span_ns(times.max));
        }
        let first = format!("  syncs one at a time  {:>9}  ", units::rate(line_1));
        text += &prose::wrap(&first, &one);
        let most = units::or_unknown(line.line_max, units::rate);
        text += &format!("  syncs in parallel    {most:>9}");
        if let Some(outstanding) = line.line_max_outstanding {
            text += &format!("  {outstanding} outstanding, the best of 2 to 16");
        }
        let method = line.method.as_deref().unwrap_or(units::UNKNOWN);
        let state = line.file_state.as_deref().unwrap_or(units::UNKNOWN);
        let size = units::size(line.write_bytes.unwrap_or(4_096) as f64);
        text += &format!("\n  {size}, {state}, walking, by {method}; {}\n", body.label);
    } else {
        let reason = line.reason.as_deref().unwrap_or("no durable sync method could be measured");
        text += &format!("  sync rate unknown: {reason}\n");
    }
    if let Some(reason) = &body.cut_short {
        text += &prose::wrap("  cut short: ", reason);
    }
    text
}

fn cells(record: &ProbeRecord, detail: Detail) -> String {
    let mut columns = vec![
        ("Method", Side::Left),
        ("size", Side::Right),
        ("file state", Side::Left),
        ("out", Side::Right),
        ("syncs/s", Side::Right),
        ("p50", Side::Right),
        ("p90", Side::Right),
        ("p99", Side::Right),
        ("p99.9", Side::Right),
        ("max", Side::Right),
    ];
    if detail == Detail::Wide {
        columns.extend([
            ("writes/sync", Side::Right),
            ("bytes/sync", Side::Right),
            ("flushes/sync", Side::Right),
            ("steady", Side::Left),
            ("the same by fio", Side::Left),
        ]);
    }
    let mut grid = Grid::new(&columns).optional_columns(&["p90", "p99.9", "max"]);
    for cell in &record.body.cells {
        match (&cell.measured, &cell.reason) {
            (Some(figures), _) => grid.row(row(cell, figures, detail)),
            (None, reason) => {
                let reason = reason.as_deref().unwrap_or("not measured");
                let size = units::size(cell.write_bytes as f64);
                let (state, outstanding) = (state(cell), cell.outstanding);
                let what = format!("{}, {size}, {state}, {outstanding}: {reason}", cell.method);
                grid.text(prose::wrap("", &what).trim_end());
            }
        }
    }
    let mut text = format!("\n{}", grid.render());
    for cell in &record.body.cells {
        if let Some(figures) = &cell.measured {
            text += &two_clusters(cell, figures);
        }
    }
    let legend = "out: syncs outstanding at the same time; times: of one write with its sync; unwritten: \
                  blocks that were allocated and never written; one block: the same written block over \
                  and over";
    text + &prose::wrap("  ", legend)
}

fn row(cell: &Cell, figures: &CellFigures, detail: Detail) -> Vec<String> {
    let times = &figures.latency_ns;
    let mut cells = vec![
        cell.method.clone(),
        units::size(cell.write_bytes as f64),
        state(cell),
        cell.outstanding.to_string(),
        units::rate(figures.rate_per_s),
    ];
    let values = [times.p50, times.p90, times.p99, times.p999, times.max];
    cells.extend(values.map(units::span_ns));
    if detail == Detail::Wide {
        let per_sync = |counted: &Counted| units::or_unknown(counted.value, units::figure);
        cells.extend([
            per_sync(&figures.device_writes_per_sync),
            units::or_unknown(figures.device_bytes_per_sync.value, units::size),
            per_sync(&figures.flushes_per_sync),
            if figures.steady { "yes".to_owned() } else { "no".to_owned() },
            cell.fio.clone().unwrap_or_else(|| "fio has no equivalent".to_owned()),
        ]);
    }
    cells
}

fn state(cell: &Cell) -> String {
    match cell.placement.as_str() {
        "same block" => "one block".to_owned(),
        _ => cell.file_state.replace("unwritten extents", "unwritten"),
    }
}

fn two_clusters(cell: &Cell, figures: &CellFigures) -> String {
    let Some([low, high]) = figures.modes.as_deref() else {
        return String::new();
    };
    prose::wrap(
        "  two clusters: ",
        &format!(
            "{} of {}, {}: {} near {}, {} near {}",
            cell.method,
            units::size(cell.write_bytes as f64),
            state(cell),
            units::percent(low.share),
            units::span_ns(low.typical_ns),
            units::percent(high.share),
            units::span_ns(high.typical_ns)
        ),
    )
}

fn transfers(record: &ProbeRecord) -> String {
    let body = &record.body;
    let mut grid = Grid::new(&[
        ("Other I/O", Side::Left),
        ("rate", Side::Right),
        ("p50", Side::Right),
        ("p99", Side::Right),
        ("max", Side::Right),
    ]);
    let mut row = |name: String, rate: Option<String>, times: Option<&syncline_record::Latency>| {
        let time = |value: Option<u64>| value.map_or_else(String::new, units::span_ns);
        grid.row(vec![
            name,
            units::or_unknown(rate, |rate| rate),
            time(times.map(|times| times.p50)),
            time(times.map(|times| times.p99)),
            time(times.map(|times| times.max)),
        ]);
    };
    if let Some(write) = &body.plain_write {
        let name = format!("direct writes of {}, no sync", units::size(write.write_bytes as f64));
        row(name, Some(units::rate(write.rate_per_s)), Some(&write.latency_ns));
    }
    for read in &body.reads {
        let name = format!(
            "random reads of {}, depth {}, over {}",
            units::size(read.read_bytes as f64),
            read.depth,
            units::size(read.file_bytes as f64)
        );
        row(name, read.rate_per_s.map(units::rate), read.latency_ns.as_ref());
    }
    for one in &body.sequential {
        let name =
            format!("sequential {}, {}", one.direction, units::size(one.transfer_bytes as f64));
        row(name, one.bytes_per_s.map(|rate| units::size(rate) + "/s"), None);
    }
    let mut text = if grid.is_empty() { String::new() } else { format!("\n{}", grid.render()) };
    let reads = body.reads.iter().filter_map(|read| read.reason.as_ref());
    for reason in reads.chain(body.sequential.iter().filter_map(|one| one.reason.as_ref())) {
        text += &prose::wrap("  unknown: ", reason);
    }
    text
}

fn verdicts(record: &ProbeRecord) -> String {
    let body = &record.body;
    let mut text = prose::heading("Verdict");
    if body.verdicts.is_empty() {
        text += "  unknown: nothing was measured that would allow a verdict\n";
    }
    for verdict in &body.verdicts {
        let sentence = format!("{}: {}: {}", verdict.subject, verdict.word, verdict.reason);
        text += &prose::wrap("  ", &sentence);
        if let Some(remedy) = &verdict.remedy {
            text += &format!("  to change it: {remedy}\n");
        }
    }
    // Notes that the device part has printed are not repeated.
    for note in body.notes.iter().filter(|note| !body.device.sentences.contains(note)) {
        text += &prose::wrap("  note: ", note);
    }
    let counts = &body.flush_counts;
    if let Some(reason) = &counts.reason {
        text += &fact("  flushes", &format!("not counted: {reason}"));
    }
    text
}
