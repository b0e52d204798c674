//! Several answers to "how many commits a second can this disk do", side by side.
//!
//! The article of 2008 put five beside one another, 56 to 113 a second of one disk, and asked why they
//! differ: the calculation knows no cache, a seek is no sync, a sync of one block never seeks away, and
//! a store may wait twice a commit.

use super::grid::{Grid, Side};
use super::prose;
use crate::record::{ProbeRecord, RunRecord};
use crate::units;
use syncline_probe::AccessTime;

/// The table; `calculated` is the data sheet's access time, where somebody gave one.
pub fn from_dual(
    calculated: Option<&AccessTime>,
    probe: &ProbeRecord,
    runs: &[&RunRecord],
) -> String {
    let columns = [
        ("estimate", Side::Left),
        ("per second", Side::Right),
        ("time of one", Side::Right),
        ("what it is", Side::Left),
    ];
    let mut grid = Grid::new(&columns);
    let mut row = |name: String, per_s: Option<f64>, what: String| {
        let time = per_s.filter(|rate| *rate > 0.0).map(|rate| 1e9 / rate);
        let cells = [
            units::or_unknown(per_s, units::rate),
            units::or_unknown(time, units::span),
        ];
        let [rate, time] = cells;
        grid.row(vec![name, rate, time, what]);
    };
    row(
        "calculated".to_owned(),
        calculated.map(|time| time.rate_per_s),
        calculated.map_or_else(
            || "no data sheet was given: syncline model".to_owned(),
            |time| {
                format!(
                    "seek {:.2} ms + half a turn {:.2} ms + transfer {:.2} ms",
                    time.seek_ms, time.rotation_ms, time.transfer_ms
                )
            },
        ),
    );
    let seeks = probe.body.reads.iter().find(|read| read.depth == 1);
    row(
        "seeks".to_owned(),
        seeks.and_then(|read| read.rate_per_s),
        seeks.map_or_else(
            || "random reads were not measured".to_owned(),
            |read| {
                let what = format!(
                    "random reads of {}, one at a time, over {}",
                    units::size(read.read_bytes as f64),
                    units::size(read.file_bytes as f64)
                );
                read.reason.clone().unwrap_or(what)
            },
        ),
    );
    let line = &probe.body.sync_line;
    row(
        "syncs".to_owned(),
        line.line_1,
        line.method.as_ref().map_or_else(
            || units::or_unknown(line.reason.clone(), |reason| reason),
            |method| format!("line_1: {method}, 4 KiB, walking over written blocks"),
        ),
    );
    for run in runs.iter().filter(|run| is_single_insert(run)) {
        row(
            "single-insert commits".to_owned(),
            Some(run.end.throughput_per_s),
            format!(
                "{} ({}), {}",
                run.head.target.name,
                run.client_model(),
                run.head.target.durability_with_evidence()
            ),
        );
    }
    let mut text = grid.render_wrapped();
    if !runs.iter().any(|run| is_single_insert(run)) {
        text += &prose::wrapped(
            "",
            "single-insert commits: not run (run insert --clients 1)",
        );
    }
    text
}

/// One client that commits every insert.
pub(super) fn is_single_insert(run: &RunRecord) -> bool {
    let head = &run.head;
    head.workload.name == "insert"
        && head.plan.clients == 1
        && head.workload.unit_per_transaction == 1
}
