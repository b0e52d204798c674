//! Runs of concurrent-tx, mrow and mrmw in the format of the bigdata journal's stress tests, each printed
//! rate next to the corrected one.
//!
//! 1. `ncommitted` and `tps` include aborted transactions as printed in 2007, for Syncline's runs too, so
//!    that the columns can be compared; `commits/s` counts commits alone.
//! 2. `reads/s` of many readers and one writer are tasks, as in 2007; `record reads/s` are reads.
//! 3. The causes of failures in Syncline's runs are listed below the table.
//! 4. For many readers and many writers the source published no figures: the table has its columns with
//!    Syncline's figures alone.
//! 5. The share of tasks that waited for a flush is the share of writers if a commit is stable (data, full),
//!    and zero otherwise: each writer waits for its own commit, and readers do not wait.

use super::super::grid::{Grid, Side};
use super::super::prose;
use super::source::SourceRequirements;
use super::source_header::{self, label, mode, note};
use crate::Result;
use crate::published::bigdata;
use syncline_record::units;
use syncline_record::{Outcomes, Record, RunRecord};

pub(super) const REQUIREMENTS: SourceRequirements = SourceRequirements {
    view: "bigdata",
    shows: "runs of concurrent-tx, mrow and mrmw",
    command: "syncline run concurrent-tx --on engine --clients 20 --transactions 10000 --duration 30s \
              (or: syncline run mrow --on engine --duration 10s)",
};

/// The view.
pub(super) fn view(records: &[Record]) -> Result<String> {
    let mut runs = Vec::new();
    for record in records {
        let run = record.as_run();
        let shown = ["concurrent-tx", "mrow", "mrmw"];
        let fits = run.filter(|run| shown.iter().any(|name| is(run, name)));
        runs.push(fits.ok_or_else(|| REQUIREMENTS.refuse(record))?);
    }
    if runs.is_empty() {
        return Err(REQUIREMENTS.nothing());
    }
    let mut text = source_header::then(&bigdata().source);
    text += &source_header::now(&runs);
    let numbered: Vec<(String, &RunRecord)> =
        runs.iter().enumerate().map(|(index, run)| (label(index, runs.len()), *run)).collect();
    for (name, part) in [
        ("concurrent-tx", concurrent_tx as fn(&[&(String, &RunRecord)]) -> String),
        ("mrow", mrow),
        ("mrmw", mrmw),
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
        let counts = [row.ncommitted, row.naborted, row.nfailed, row.nuncommitted, row.ms];
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
        "ncommitted, tps: as printed in 2007 with aborted transactions in them, now as well; \
         commits/s and the last column: corrected, (ncommitted - naborted) / s and naborted / ncommitted",
    );
    text + &note(
        "nfailed now: given up after conflicts, and failed; nuncommitted now: cut off by the end, \
         and, of a requested number of transactions, never begun",
    )
}

fn concurrent_tx_row(run: &RunRecord) -> Vec<String> {
    let outcomes = &run.end.outcomes;
    let printed = outcomes.committed + outcomes.aborted;
    let ms = run.end.elapsed_ns() / 1_000_000;
    let per_s = source_header::seconds(run).map(|seconds| outcomes.committed as f64 / seconds);
    let aborted = (printed > 0).then(|| outcomes.aborted as f64 * 100.0 / printed as f64);
    vec![
        run.head.plan.clients.to_string(),
        printed.to_string(),
        outcomes.aborted.to_string(),
        failures(outcomes).to_string(),
        unended_transactions(run, printed + failures(outcomes)).to_string(),
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
        ("nwritten", Side::Right),
        ("record reads/s", Side::Right),
    ]);
    let file = &bigdata().mrow;
    for row in &file.rows {
        let reads = (row.nok * file.reads_per_task) as f64 * 1_000.0 / row.ms as f64;
        let counts = [row.nok, row.ncancelled, row.nerr, row.ms];
        let mut cells = vec![format!("then: {}", row.mode)];
        cells.extend(counts.map(|count| count.to_string()));
        cells.push(row.printed_reads_per_s.to_string());
        cells.push(row.nwritten.to_string());
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
                "{label}: the record does not distinguish readers and writer, and counts both"
            ));
        }
        text += &flush_note(label, run);
    }
    text += "\n";
    text + &note(
        "reads/s: as printed in 2007, which are tasks per second, now as well; record reads/s: \
         corrected, the verified reads of records; the writer's own are not counted; nwritten: all \
         records at the end, those before the clock started included",
    )
}

/// The table with the source's columns; the source has no figures for it.
fn mrmw(own: &[&(String, &RunRecord)]) -> String {
    let mut grid = Grid::new(&[
        ("mode", Side::Left),
        ("nok", Side::Right),
        ("ncancelled", Side::Right),
        ("nerr", Side::Right),
        ("ms", Side::Right),
        ("nread", Side::Right),
        ("nwritten", Side::Right),
        ("verified/s", Side::Right),
        ("written/s", Side::Right),
    ]);
    grid.text("then: no figures were published".to_owned());
    for (label, run) in own {
        grid.row(mrmw_row(&format!("{label}: {}", mode(run)), run));
    }
    let mut text = prose::heading("Many readers, many writers");
    text += &grid.render();
    for (label, run) in own {
        text += &causes(label, &run.end.outcomes);
        text += &flush_note(label, run);
    }
    text += "\n";
    text + &note(
        "nok: tasks, readers' and writers'; nread, nwritten: records, nwritten with those before the clock \
         started; bytes verified and written a second at the mean length of a record, where the source \
         counted bytes and cut rates to whole seconds",
    )
}

fn mrmw_row(name: &str, run: &RunRecord) -> Vec<String> {
    let outcomes = &run.end.outcomes;
    let read = of_kinds(run, "read").zip(option(run, "reads_per_task"));
    let figure = |name: &str| {
        let found = run.end.figures.iter().flatten().find(|figure| figure.name.starts_with(name));
        units::or_unknown(found, |figure| format!("{:.1} {}", figure.value, figure.unit))
    };
    vec![
        name.to_owned(),
        outcomes.committed.to_string(),
        outcomes.unfinished.to_string(),
        failures(outcomes).to_string(),
        (run.end.elapsed_ns() / 1_000_000).to_string(),
        units::or_unknown(read, |(tasks, each)| (tasks.committed * each).to_string()),
        records_at_end(run),
        figure("verified a second"),
        figure("written a second"),
    ]
}

/// The number of records at the end, over all repetitions: those loaded and those of acknowledged writers.
fn records_at_end(run: &RunRecord) -> String {
    let each = option(run, "writes_per_task").or_else(|| option(run, "records_per_commit"));
    let known = of_kinds(run, "write").zip(each).zip(option(run, "prewritten"));
    let loads = run.end.repetitions.len().max(1) as u64;
    units::or_unknown(known, |((tasks, each), before)| {
        (tasks.committed * each + before * loads).to_string()
    })
}

fn option(run: &RunRecord, name: &str) -> Option<u64> {
    run.head.workload.options.get(name)?.parse().ok()
}

/// A note on the share of the acknowledged tasks that waited for a flush.
fn flush_note(label: &str, run: &RunRecord) -> String {
    let all = run.end.outcomes.committed;
    let word = run.head.target.durability.as_deref();
    let waited = match word {
        Some("data" | "full") => of_kinds(run, "write").map(|tasks| tasks.committed),
        Some(_) => Some(0),
        None => None,
    };
    let Some(waited) = waited.filter(|_| all > 0) else {
        return note(&format!("{label}: how many tasks waited for a flush is unknown"));
    };
    let share = waited as f64 * 100.0 / all as f64;
    let why = match word {
        Some(word @ ("data" | "full")) => format!("every writer's did, by durability {word}"),
        other => format!("no commit does by durability {}", other.unwrap_or(units::UNKNOWN)),
    };
    note(&format!("{label}: {share:.2} % of the acknowledged tasks waited for a flush; {why}"))
}

fn mrow_row(name: &str, run: &RunRecord) -> Vec<String> {
    let outcomes = readers(run);
    let ms = run.end.elapsed_ns() / 1_000_000;
    let mut reads =
        run.end.figures.iter().flatten().filter(|figure| figure.name == "record reads a second");
    vec![
        name.to_owned(),
        outcomes.committed.to_string(),
        outcomes.unfinished.to_string(),
        failures(&outcomes).to_string(),
        ms.to_string(),
        whole_per_s(outcomes.committed, ms),
        records_at_end(run),
        units::or_unknown(reads.next(), |figure| units::rate(figure.value)),
    ]
}

/// How reading tasks ended.
fn reading_tasks(run: &RunRecord) -> Option<Outcomes> {
    of_kinds(run, "read")
}

/// The outcomes of tasks whose name contains `word`, over all repetitions; `None` without such kinds.
fn of_kinds(run: &RunRecord, word: &str) -> Option<Outcomes> {
    run.end
        .repetitions
        .iter()
        .flat_map(|one| &one.transactions)
        .filter(|kind| kind.name.contains(word))
        .fold(None, |sum: Option<Outcomes>, kind| {
            let mut sum = sum.unwrap_or_else(Outcomes::none);
            sum.add(&kind.outcomes);
            Some(sum)
        })
}

/// The outcomes of reading tasks, or of all tasks if the record does not distinguish them.
fn readers(run: &RunRecord) -> Outcomes {
    reading_tasks(run).unwrap_or_else(|| run.end.outcomes.clone())
}

fn failures(outcomes: &Outcomes) -> u64 {
    outcomes.conflicted + outcomes.failed
}

/// Requested transactions that did not end, or those that the end cut off, whichever is more.
fn unended_transactions(run: &RunRecord, ended: u64) -> u64 {
    let phases = run.end.repetitions.len().max(1) as u64;
    let requested = run.head.plan.transactions.map_or(0, |each| each.saturating_mul(phases));
    run.end.outcomes.unfinished.max(requested.saturating_sub(ended))
}

/// A rate truncated to a whole number, as in 2007.
fn whole_per_s(count: u64, ms: u64) -> String {
    let per_s = (u128::from(count) * 1_000).checked_div(u128::from(ms));
    units::or_unknown(per_s, |rate| rate.to_string())
}

fn causes(label: &str, outcomes: &Outcomes) -> String {
    let causes = outcomes.conflict_causes.iter().chain(&outcomes.failure_causes);
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
