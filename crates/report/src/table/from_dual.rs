//! Several answers to "how many commits per second can this disk do" in one table.
//!
//! The article of 2008 compared five answers for one disk, 56 to 113 per second, and asked why they differ:
//! the calculation ignores caches, a seek is not a sync, a sync of one block never seeks away, and a store
//! may wait twice per commit.

use super::grid::{Grid, Side};
use super::prose;
use crate::AccessTime;
use syncline_record::units;
use syncline_record::{ProbeRecord, RunRecord, SyncLine};

/// The arrival of a closed loop, as it is stored in records.
const CLOSED: &str = "closed";

/// One answer.
pub(super) struct Estimate {
    pub(super) name: &'static str,
    pub(super) per_s: Option<f64>,
    /// A description, or why there is no figure.
    pub(super) what: String,
}

/// The table; `calculated` is the access time from a data sheet, if one was given.
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
    let mut estimates =
        vec![data_sheet_estimate(calculated), seeks(probe), syncs(&probe.body.sync_line)];
    let singles: Vec<Estimate> = runs.iter().filter_map(|run| single_insert(run)).collect();
    let none_single = singles.is_empty();
    estimates.extend(singles);
    for one in estimates {
        let [rate, time] = one.figures();
        grid.row(vec![one.name.to_owned(), rate, time, one.what]);
    }
    let mut text = grid.render_wrapped();
    if none_single {
        text += &prose::wrap("", "single-insert commits: not run (run insert --clients 1)");
    }
    text
}

impl Estimate {
    /// The rate and the time of one, as shown.
    pub(super) fn figures(&self) -> [String; 2] {
        let time = self.per_s.filter(|rate| *rate > 0.0).map(|rate| 1e9 / rate);
        [units::or_unknown(self.per_s, units::rate), units::or_unknown(time, units::span)]
    }
}

/// The estimate from the data sheet.
pub(super) fn data_sheet_estimate(sheet: Option<&AccessTime>) -> Estimate {
    Estimate {
        name: "calculated",
        per_s: sheet.map(|time| time.rate_per_s),
        what: sheet.map_or_else(
            || "no data sheet was given: syncline model".to_owned(),
            |time| {
                format!(
                    "seek {:.2} ms + half a turn {:.2} ms + transfer {:.2} ms",
                    time.seek_ms, time.rotation_ms, time.transfer_ms
                )
            },
        ),
    }
}

/// Random reads, one at a time.
pub(super) fn seeks(probe: &ProbeRecord) -> Estimate {
    let read = probe.body.reads.iter().find(|read| read.depth == 1);
    Estimate {
        name: "seeks",
        per_s: read.and_then(|read| read.rate_per_s),
        what: read.map_or_else(
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
    }
}

/// The line with one sync outstanding.
pub(super) fn syncs(line: &SyncLine) -> Estimate {
    Estimate {
        name: "syncs",
        per_s: line.line_1,
        what: line.method.as_ref().map_or_else(
            || units::or_unknown(line.reason.clone(), |reason| reason),
            |method| format!("one sync at a time: {method}, 4 KiB, walking over written blocks"),
        ),
    }
}

/// The estimate from a store with one client that commits every insert; `None` for any other run.
pub(super) fn single_insert(run: &RunRecord) -> Option<Estimate> {
    is_single_insert(run).then(|| Estimate {
        name: "single-insert commits",
        per_s: Some(run.end.throughput_per_s),
        what: format!(
            "{} ({}), {}",
            run.head.target.name,
            run.client_model(),
            run.head.target.durability_with_evidence()
        ),
    })
}

/// True for one client that commits every insert, as fast as it can: in an open loop the rate is the
/// requested one and depends on neither store nor disk.
pub(super) fn is_single_insert(run: &RunRecord) -> bool {
    let head = &run.head;
    head.workload.name == "insert"
        && head.plan.clients == 1
        && head.workload.unit_per_transaction == 1
        && head.plan.arrival == CLOSED
}
