//! The sync lines of the log directories of a run, measured before and after it.

use super::probe;
use crate::interrupt;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use syncline_console::{CannotRun, LineArg, terminal::Progress};
use syncline_contract::LogLocation;
use syncline_probe::record::from_probe;
use syncline_probe::{Plan, ProbeResult};
use syncline_record::{DroppedSyncs, ProbeRecord, Record, SyncLine, Warning};

/// Sync lines by directory, before and after.
pub(super) struct SyncLines {
    source: LineArg,
    saved_probe: Option<ProbeRecord>,
    before: BTreeMap<PathBuf, ProbeResult>,
    after: BTreeMap<PathBuf, ProbeResult>,
    /// Why directories could not be measured again: a killed server may have taken its own along.
    lost: BTreeMap<PathBuf, String>,
}

impl SyncLines {
    /// Measures the sync lines of the log directories, or reads the given record.
    pub(super) fn before(
        source: &LineArg,
        places: &[LogLocation],
        bar: &Progress,
    ) -> Result<SyncLines, CannotRun> {
        let mut lines = SyncLines {
            source: source.clone(),
            saved_probe: None,
            before: BTreeMap::new(),
            after: BTreeMap::new(),
            lost: BTreeMap::new(),
        };
        match source {
            LineArg::None => {}
            LineArg::Record(path) => lines.saved_probe = Some(probe_of(path)?),
            LineArg::Brief => {
                let directories = directories(places);
                if !directories.is_empty() {
                    let results =
                        probe::run(&directories, &Plan::line(), interrupt::stop_flag(), bar)?;
                    lines.before = directories.into_iter().zip(results).collect();
                }
            }
        }
        Ok(lines)
    }

    /// Measures the same sync lines again. If one cannot be measured, the records say so, and all results are
    /// kept.
    pub(super) fn after(&mut self, bar: &Progress) {
        for (directory, before) in &self.before {
            match before.line.as_ref().map(|line| again(directory, line, bar)) {
                Some(Ok(after)) => drop(self.after.insert(directory.clone(), after)),
                Some(Err(why)) => drop(self.lost.insert(directory.clone(), why.0)),
                None => {}
            }
        }
    }

    /// `line_max` of a log directory, if it is known.
    pub(super) fn line_max(&self, place: &LogLocation) -> Option<f64> {
        if let Some(probe) = &self.saved_probe {
            return probe.body.sync_line.line_max;
        }
        let LogLocation::Directory(directory) = place else {
            return None;
        };
        self.before.get(directory)?.line.as_ref()?.line_max
    }

    /// The sync line of a log directory, and a warning for the record.
    pub(super) fn of(&self, place: &LogLocation) -> (SyncLine, Option<Warning>) {
        if let Some(probe) = &self.saved_probe {
            return (SyncLine::between(probe, None), None);
        }
        let directory = match place {
            LogLocation::Nowhere(why) => return (SyncLine::unknown(None, why.clone()), None),
            LogLocation::Directory(directory) => directory,
        };
        if let Some(before) = self.before.get(directory) {
            let lost = self.lost.get(directory).map(|why| not_again(why));
            return (between(before, self.after.get(directory)), lost);
        }
        let unknown =
            SyncLine::unknown(Some(directory.display().to_string()), "not measured: --line none");
        (unknown, None)
    }

    /// The estimated time of measuring the sync lines once, in tenths of a second.
    pub(super) fn tenths_before(source: &LineArg, places: &[LogLocation]) -> u64 {
        match source {
            LineArg::Brief => probe::tenths(&Plan::line(), directories(places).len()),
            LineArg::None | LineArg::Record(_) => 0,
        }
    }

    /// The estimated time of measuring the sync lines before and after a run, in seconds.
    pub(super) fn seconds(source: &LineArg, places: &[LogLocation]) -> f64 {
        let count = if *source == LineArg::Brief { directories(places).len() } else { 0 };
        let seconds = |plan: &Plan| plan.estimate(count).shortest_s;
        if count == 0 { 0.0 } else { seconds(&Plan::line()) + 3.0 * count as f64 }
    }
}

impl std::fmt::Debug for SyncLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SyncLines").field("source", &self.source).finish_non_exhaustive()
    }
}

/// Whether the file system or device below a log drops syncs, as the kernel reports it; a few reads of
/// `/proc` and `/sys`.
pub(super) fn dropped_syncs(place: &LogLocation) -> Option<DroppedSyncs> {
    let LogLocation::Directory(directory) = place else {
        return None;
    };
    let directory = directory.canonicalize().ok()?;
    syncline_probe::inspect(Path::new("/"), &directory).dropped_syncs()
}

/// Measures a sync line again, briefly.
pub(super) fn again(
    directory: &Path,
    line: &syncline_probe::SyncLine,
    bar: &Progress,
) -> Result<ProbeResult, CannotRun> {
    let directories = [directory.to_owned()];
    let mut results = probe::run(&directories, &Plan::brief(line), interrupt::stop_flag(), bar)?;
    let result = results.pop();
    result.ok_or_else(|| CannotRun(format!("nothing was measured in {}", directory.display())))
}

/// The warning in a record whose sync line was not measured again.
pub(super) fn not_again(why: &str) -> Warning {
    Warning {
        name: "line_not_measured_again".to_owned(),
        what: format!("the sync line was not measured again after the run: {why}"),
        advice: "it is unknown whether the disk became slower or faster; measure it alone: syncline probe DIR"
            .to_owned(),
    }
}

/// The sync line of a directory from the probes before and after a run.
pub(super) fn between(before: &ProbeResult, after: Option<&ProbeResult>) -> SyncLine {
    let record = |result: &ProbeResult| {
        let identity = super::environment::identity("probe", 0);
        from_probe(result, &identity, super::environment::machine(), Vec::new())
    };
    SyncLine::between(&record(before), after.map(record).as_ref())
}

fn probe_of(path: &Path) -> Result<ProbeRecord, CannotRun> {
    match syncline_record::read(&syncline_record::named(path)?)? {
        Record::Probe(probe) => Ok(*probe),
        Record::Run(_) | Record::Observation(_) | Record::Verification(_) => {
            let what = "is not a probe record, which --line expects";
            Err(CannotRun(format!("{} {what}", path.display())))
        }
    }
}

fn directories(places: &[LogLocation]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for place in places {
        if let LogLocation::Directory(directory) = place
            && !found.contains(directory)
        {
            found.push(directory.clone());
        }
    }
    found
}
