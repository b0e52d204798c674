//! The five estimates of the article of 2008 next to Syncline's, and the curve by inserts per commit.
//!
//! The article's five estimates answer one question about one disk in five ways. Below each are the nearest
//! measurements of a probe and of runs of insert, or a note that there is none.

use super::super::from_dual::{self as from_dual_table, Estimate};
use super::super::grid::{Grid, Side};
use super::super::prose;
use super::source::SourceRequirements;
use super::source_header::{self, note};
use crate::AccessTime;
use crate::Result;
use crate::published::from_dual;
use syncline_record::units;
use syncline_record::{ProbeRecord, Record, RunRecord};

pub(super) const REQUIREMENTS: SourceRequirements = SourceRequirements {
    view: "fromdual",
    shows: "runs of insert, and probes of their directories",
    command: "syncline run insert --on sqlite --clients 1 --sweep commit-every=1,10,100,1000",
};

/// The view.
pub(super) fn view(records: &[Record]) -> Result<String> {
    let mut runs: Vec<&RunRecord> = Vec::new();
    let mut probes: Vec<&ProbeRecord> = Vec::new();
    for record in records {
        match record {
            Record::Run(run) if run.head.workload.name == "insert" => runs.push(run),
            Record::Probe(probe) => probes.push(probe),
            Record::Run(_) | Record::Observation(_) | Record::Verification(_) => {
                return Err(REQUIREMENTS.refuse(record));
            }
        }
    }
    if runs.is_empty() && probes.is_empty() {
        return Err(REQUIREMENTS.nothing());
    }
    let mut text = source_header::then(&from_dual().source);
    if !runs.is_empty() {
        text += &source_header::now(&runs);
    }
    text +=
        &prose::heading("Commits per second of one disk: the five answers of 2008, and Syncline's");
    text += &answers(&probes, &runs);
    if !runs.is_empty() {
        text += &curve(&runs);
    }
    Ok(text)
}

/// Each answer of 2008 with Syncline's below it, in the order of the file.
fn answers(probes: &[&ProbeRecord], runs: &[&RunRecord]) -> String {
    let mut grid = Grid::new(&[
        ("estimate", Side::Left),
        ("when", Side::Left),
        ("a second", Side::Right),
        ("time of one", Side::Right),
        ("what it is", Side::Left),
    ]);
    for then in &from_dual().estimates {
        grid.row(vec![
            then.name.clone(),
            "2008".to_owned(),
            units::rate(then.per_s),
            units::span(then.ms * 1e6),
            then.what.clone(),
        ]);
        for (when, one) in estimates_for(&then.name, probes, runs) {
            let [rate, time] = one.figures();
            grid.row(vec![String::new(), when, rate, time, one.what]);
        }
    }
    grid.render_wrapped()
}

/// Syncline's estimates that are nearest to the answer of that name, each with the label of its run.
fn estimates_for(
    name: &str,
    probes: &[&ProbeRecord],
    runs: &[&RunRecord],
) -> Vec<(String, Estimate)> {
    let plain = |estimates: Vec<Estimate>| -> Vec<(String, Estimate)> {
        let when = |one| ("now".to_owned(), one);
        estimates.into_iter().map(when).collect()
    };
    let of_singles = |of: fn(&RunRecord) -> Estimate| -> Vec<(String, Estimate)> {
        runs.iter()
            .enumerate()
            .filter(|(_, run)| from_dual_table::is_single_insert(run))
            .map(|(index, run)| (source_header::label(index, runs.len()), of(run)))
            .collect()
    };
    let found = match name {
        // A record has no data sheet to calculate with.
        "calculated" => plain(vec![from_dual_table::data_sheet_estimate(None::<&AccessTime>)]),
        "seeks" => plain(probes.iter().map(|probe| from_dual_table::seeks(probe)).collect()),
        "log I/O" => of_singles(log_writes),
        "syncs of one block" => plain(syncs(probes, runs)),
        "single-insert commits" => of_singles(commits),
        other => unreachable!("the file of 2008 holds no estimate {other}"),
    };
    if found.is_empty() { plain(vec![nothing(name)]) } else { found }
}

/// Why Syncline has no estimate for an answer.
fn nothing(name: &str) -> Estimate {
    Estimate {
        name: "",
        per_s: None,
        what: match name {
            "seeks" => "the directory was not probed: syncline probe",
            _ => "no run of one client that commits every insert",
        }
        .to_owned(),
    }
}

fn commits(run: &RunRecord) -> Estimate {
    from_dual_table::single_insert(run).unwrap_or_else(|| nothing("single-insert commits"))
}

/// The counterpart of log I/O in the status of `InnoDB`: the store's own count of its log writes.
fn log_writes(run: &RunRecord) -> Estimate {
    let part =
        run.end.internals.iter().flatten().find(|part| part.name == "log write" && part.count > 0);
    let store = &run.head.target.name;
    Estimate {
        name: "log I/O",
        per_s: part.map(|part| part.rate_per_s),
        what: match part {
            None => format!("{store} does not count the writes of its log"),
            Some(_) => format!("writes of the log by {store}'s own count, one client"),
        },
    }
}

/// For each probe the cell that syncs one block, as writetest does, and the sync line; for a directory
/// without a probe, the sync line in a run's record.
fn syncs(probes: &[&ProbeRecord], runs: &[&RunRecord]) -> Vec<Estimate> {
    let cells = probes.iter().filter_map(|probe| one_block(probe));
    let mut estimates: Vec<Estimate> = cells.collect();
    let of_probes = probes.iter().map(|probe| &probe.body.sync_line);
    let mut lines: Vec<_> = of_probes.collect();
    for run in runs {
        let line = &run.end.sync_line;
        if lines.iter().all(|known| known.directory != line.directory) {
            lines.push(line);
        }
    }
    estimates.extend(lines.into_iter().map(from_dual_table::syncs));
    estimates
}

/// The fastest measured cell that writes the same block again and again, one sync outstanding.
fn one_block(probe: &ProbeRecord) -> Option<Estimate> {
    let cells = probe.body.cells.iter();
    let cells = cells.filter(|cell| cell.placement == "same block" && cell.outstanding == 1);
    let measured = cells.filter_map(|cell| Some((cell, cell.measured.as_ref()?)));
    let (cell, figures) =
        measured.max_by(|(_, one), (_, other)| one.rate_per_s.total_cmp(&other.rate_per_s))?;
    Some(Estimate {
        name: "syncs of one block",
        per_s: Some(figures.rate_per_s),
        what: format!("{}, {} at one place", cell.method, units::size(cell.write_bytes as f64)),
    })
}

/// Inserts and commits per second by inserts per commit, grouped by store.
fn curve(runs: &[&RunRecord]) -> String {
    let mut sorted: Vec<&RunRecord> = runs.to_vec();
    sorted.sort_by_key(|run| (store(run), commit_every(run)));
    let mut grid = Grid::new(&[
        ("inserts a commit", Side::Right),
        ("inserts/s", Side::Right),
        ("commits/s", Side::Right),
        ("x the fewest", Side::Right),
    ]);
    let mut open = None;
    for run in sorted {
        let name = store(run);
        let (commits, each) = (run.end.throughput_per_s, commit_every(run));
        let inserts = commits * each as f64;
        let first = match &open {
            Some((known, first)) if *known == name => *first,
            _ => {
                grid.text(name.as_str());
                open = Some((name, inserts));
                inserts
            }
        };
        let ratio = (first > 0.0).then(|| inserts / first);
        grid.row(vec![
            each.to_string(),
            units::rate(inserts),
            units::rate(commits),
            units::or_unknown(ratio, units::figure),
        ]);
    }
    let then = &from_dual().commit_every;
    let mut text = prose::heading("Inserts per second by inserts per commit");
    text += &grid.render();
    text + &note(&format!(
        "then: {} inserts/s at {} a commit ({} inserts); for more a commit the article has a drawing \
         that rises strongly, and no figures. x the fewest: inserts/s divided by those of the run with \
         the fewest inserts per commit",
        units::figure(then.per_s),
        then.published_at,
        then.inserts
    ))
}

fn commit_every(run: &RunRecord) -> u64 {
    run.head.workload.unit_per_transaction
}

/// "engine, data, futures, 8 clients": the runs of one curve.
fn store(run: &RunRecord) -> String {
    let clients = units::plural(run.head.plan.clients, "client");
    format!("{}, {}, {clients}", source_header::mode(run), run.client_model())
}
