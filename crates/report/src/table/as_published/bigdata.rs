//! Runs of concurrent-tx and mrow in the lines of the bigdata journal's stress tests, each printed
//! rate beside the corrected one.
//!
//! 1. `ncommitted` and `tps` are printed as in 2007, aborted transactions in them, for ours as well, so
//!    that the columns compare; `commits/s` counts commits alone.
//! 2. `reads/s` of many readers and one writer are tasks, as in 2007; `record reads/s` are reads.
//! 3. Ours failed by known causes, which stand below the table.

use super::super::grid::{Grid, Side};
use super::super::prose;
use super::parts::{self, label, mode, note};
use super::source::Wants;
use crate::Result;
use crate::published::bigdata;
use crate::record::{Outcomes, Record, RunRecord};
use crate::units;

pub(super) const WANTS: Wants = Wants {
    view: "bigdata",
    shows: "runs of concurrent-tx and mrow",
    command: "syncline run concurrent-tx --on engine --clients 20 --transactions 10000 --duration 30s \
              (or: syncline run mrow --on engine --duration 10s)",
};

/// The view.
pub(super) fn view(records: &[Record]) -> Result<String> {
    let mut runs = Vec::new();
    for record in records {
        let run = record.as_run();
        let fits = run.filter(|run| is(run, "concurrent-tx") || is(run, "mrow"));
        runs.push(fits.ok_or_else(|| WANTS.refuse(record))?);
    }
    if runs.is_empty() {
        return Err(WANTS.nothing());
    }
    let mut text = parts::then(&bigdata().source);
    text += &parts::now(&runs);
    let numbered: Vec<(String, &RunRecord)> = runs
        .iter()
        .enumerate()
        .map(|(index, run)| (label(index, runs.len()), *run))
        .collect();
    for (name, part) in [
        (
            "concurrent-tx",
            concurrent_tx as fn(&[&(String, &RunRecord)]) -> String,
        ),
        ("mrow", mrow),
    ] {
        let own: Vec<&(String, &RunRecord)> =
            numbered.iter().filter(|(_, run)| is(run, name)).collect();
        if !own.is_empty() {
            text += &part(&own);
        }
    }
    Ok(text)
}

fn is(run: &RunRecord, workload: &str) -> bool {
    run.head.workload.name == workload
}

fn concurrent_tx(own: &[&(String, &RunRecord)]) -> String {
    let mut grid = Grid::new(&[
        ("clients", Side::Right),
        ("ncommitted", Side::Right),
        ("naborted", Side::Right),
        ("nfailed", Side::Right),
        ("nuncommitted", Side::Right),
        ("ms", Side::Right),
        ("tps", Side::Right),
        ("commits/s", Side::Right),
        ("aborted", Side::Right),
    ]);
    let mut mode_before = "";
    for row in &bigdata().concurrent_tx.rows {
        if row.mode != mode_before {
            grid.text(format!("then: {}", row.mode));
            mode_before = &row.mode;
        }
        let counts = [
            row.ncommitted,
            row.naborted,
            row.nfailed,
            row.nuncommitted,
            row.ms,
        ];
        let mut cells = vec![row.clients.to_string()];
        cells.extend(counts.map(|count| count.to_string()));
        cells.push(row.printed_tps.to_string());
        cells.push(format!("{:.1}", row.commits_per_s));
        cells.push(format!("{:.1} %", row.aborted_percent));
        grid.row(cells);
    }
    for (label, run) in own {
        grid.text(format!("{label}: {}", mode(run)));
        grid.row(concurrent_tx_row(run));
    }
    let mut text = prose::heading("Concurrent transactions");
    text += &grid.render();
    for (label, run) in own {
        text += &causes(label, &run.end.outcomes);
    }
    text += "\n";
    text += &note(
        "ncommitted, tps: as printed in 2007 with aborted transactions in them, of ours as well; \
         commits/s and the last column: corrected, (ncommitted - naborted) / s and naborted / ncommitted",
    );
    text + &note(
        "nfailed of ours: given up after conflicts, and failed; nuncommitted of ours: cut off by the \
         end, and where a number of transactions was asked for, never begun",
    )
}

fn concurrent_tx_row(run: &RunRecord) -> Vec<String> {
    let outcomes = &run.end.outcomes;
    let printed = outcomes.committed + outcomes.aborted;
    let ms = run.end.measured_ns / 1_000_000;
    let per_s = parts::seconds(run).map(|seconds| outcomes.committed as f64 / seconds);
    let aborted = (printed > 0).then(|| outcomes.aborted as f64 * 100.0 / printed as f64);
    vec![
        run.head.plan.clients.to_string(),
        printed.to_string(),
        outcomes.aborted.to_string(),
        failed(outcomes).to_string(),
        not_ended(run, printed + failed(outcomes)).to_string(),
        ms.to_string(),
        whole_per_s(printed, ms),
        units::or_unknown(per_s, |rate| format!("{rate:.1}")),
        units::or_unknown(aborted, |percent| format!("{percent:.1} %")),
    ]
}

fn mrow(own: &[&(String, &RunRecord)]) -> String {
    let mut grid = Grid::new(&[
        ("mode", Side::Left),
        ("nok", Side::Right),
        ("ncancelled", Side::Right),
        ("nerr", Side::Right),
        ("ms", Side::Right),
        ("reads/s", Side::Right),
        ("record reads/s", Side::Right),
    ]);
    let file = &bigdata().mrow;
    for row in &file.rows {
        let reads = (row.nok * file.reads_per_task) as f64 * 1_000.0 / row.ms as f64;
        let counts = [row.nok, row.ncancelled, row.nerr, row.ms];
        let mut cells = vec![format!("then: {}", row.mode)];
        cells.extend(counts.map(|count| count.to_string()));
        cells.push(row.printed_reads_per_s.to_string());
        cells.push(units::rate(reads));
        grid.row(cells);
    }
    for (label, run) in own {
        grid.row(mrow_row(&format!("{label}: {}", mode(run)), run));
    }
    let mut text = prose::heading("Many readers, one writer");
    text += &grid.render();
    for (label, run) in own {
        text += &causes(label, &readers(run));
        if reading_tasks(run).is_none() {
            text += &note(&format!(
                "{label}: the record does not tell readers and writer apart, and counts both"
            ));
        }
    }
    text += "\n";
    text + &note(
        "reads/s: as printed in 2007, which are tasks a second, of ours as well; record reads/s: \
         corrected, the verified reads of records; the writer's own are not counted",
    )
}

fn mrow_row(name: &str, run: &RunRecord) -> Vec<String> {
    let outcomes = readers(run);
    let ms = run.end.measured_ns / 1_000_000;
    let figures = run.end.figures.iter().flatten();
    let mut reads = figures.filter(|figure| figure.name == "record reads a second");
    vec![
        name.to_owned(),
        outcomes.committed.to_string(),
        outcomes.unfinished.to_string(),
        failed(&outcomes).to_string(),
        ms.to_string(),
        whole_per_s(outcomes.committed, ms),
        units::or_unknown(reads.next(), |figure| units::rate(figure.value)),
    ]
}

/// How reading tasks ended, over all repetitions; none where kinds are not told apart.
fn reading_tasks(run: &RunRecord) -> Option<Outcomes> {
    let of_repetitions = run.end.repetitions.iter().flat_map(|one| &one.transactions);
    let reading = of_repetitions.filter(|kind| kind.name.contains("read"));
    reading.fold(None, |sum: Option<Outcomes>, kind| {
        let mut sum = sum.unwrap_or_else(Outcomes::none);
        sum.add(&kind.outcomes);
        Some(sum)
    })
}

/// Reading tasks, or all there is.
fn readers(run: &RunRecord) -> Outcomes {
    reading_tasks(run).unwrap_or_else(|| run.end.outcomes.clone())
}

fn failed(outcomes: &Outcomes) -> u64 {
    outcomes.conflicted + outcomes.failed
}

/// What was asked for and did not end, or what the end cut off, whichever is more.
fn not_ended(run: &RunRecord, ended: u64) -> u64 {
    let phases = run.end.repetitions.len().max(1) as u64;
    let asked = run
        .head
        .plan
        .transactions
        .map_or(0, |each| each.saturating_mul(phases));
    run.end.outcomes.unfinished.max(asked.saturating_sub(ended))
}

/// As 2007 printed rates: cut to whole numbers.
fn whole_per_s(count: u64, ms: u64) -> String {
    let per_s = (u128::from(count) * 1_000).checked_div(u128::from(ms));
    units::or_unknown(per_s, |rate| rate.to_string())
}

fn causes(label: &str, outcomes: &Outcomes) -> String {
    let causes = outcomes
        .conflict_causes
        .iter()
        .chain(&outcomes.failure_causes);
    let named: Vec<String> = causes
        .filter(|(_, count)| **count > 0)
        .map(|(cause, count)| format!("{count} by cause {cause}"))
        .collect();
    if named.is_empty() {
        String::new()
    } else {
        note(&format!("{label}, nfailed: {}", named.join(", ")))
    }
}
