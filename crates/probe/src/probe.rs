//! Probes several directories, interleaved step by step.
//!
//! The directories alternate at every step, so that a slow minute of the machine affects all of them alike.
//! Nothing is printed: an [`Observer`] receives the progress.

use crate::directory_probe::DirectoryProbe;
use crate::estimate::shortest_ns;
use crate::plan::LINE_BYTES;
use crate::{Error, FileState, MethodChoice, Placement, Plan, ProbeResult, Result, Step};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_instrument::Nanos;
use syncline_record::SyncInterval;

/// Receives the progress of a probe.
pub trait Observer {
    /// A step begins.
    fn step(&mut self, progress: &Progress<'_>);

    /// An interval of the syncs over time has ended.
    #[allow(unused_variables, reason = "most observers show the progress alone")]
    fn interval(&mut self, directory: &Path, interval: &SyncInterval) {}
}

/// The progress of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The directory of this step.
    pub directory: &'a Path,
    /// The number of this step, counted from 1 over all directories.
    pub step: usize,
    /// The number of steps over all directories.
    pub steps: usize,
    /// A short description of the step.
    pub what: String,
    /// The shortest remaining time, this step included.
    pub remaining_ns: Nanos,
}

/// An observer that ignores the progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn step(&mut self, _: &Progress<'_>) {}
}

/// Probes the directories by the plan until it is done or `stop` is set; returns what was measured in either
/// case. Fails only if a path is absent or not a directory, before anything is written.
pub fn probe(
    directories: &[PathBuf],
    plan: &Plan,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Vec<ProbeResult>> {
    let directories = resolve_all(directories)?;
    let mut probes: Vec<_> = directories
        .into_iter()
        .map(|directory| DirectoryProbe::begin(directory, plan, stop))
        .collect();
    let steps = plan.steps.len();
    let count = probes.len();
    let mut done = 0;
    for (index, step) in plan.steps.iter().enumerate() {
        for (turn, probe) in probes.iter_mut().enumerate() {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            if probe.is_over() {
                continue;
            }
            let later: Nanos = plan.steps[index + 1..].iter().map(shortest_ns).sum();
            let this_round = shortest_ns(step) * (count - turn) as Nanos;
            observer.step(&Progress {
                directory: probe.directory(),
                step: index * count + turn + 1,
                steps: steps * count,
                what: in_words(step),
                remaining_ns: later * count as Nanos + this_round,
            });
            let known = probe.intervals().len();
            probe.step(step);
            for interval in &probe.intervals()[known..] {
                observer.interval(probe.directory(), interval);
            }
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        done = index + 1;
    }
    let stopped = (done < steps).then_some((done, steps));
    Ok(probes.into_iter().map(|probe| probe.finish(stopped)).collect())
}

fn resolve_all(directories: &[PathBuf]) -> Result<Vec<PathBuf>> {
    if directories.is_empty() {
        return Err(Error::NoDirectory);
    }
    let resolve = |path: &PathBuf| {
        let failed = |source| Error::Directory { path: path.clone(), source };
        let real = path.canonicalize().map_err(failed)?;
        if !real.is_dir() {
            return Err(Error::NotADirectory { path: path.clone() });
        }
        Ok(real)
    };
    directories.iter().map(resolve).collect()
}

fn in_words(step: &Step) -> String {
    match step {
        Step::Idle { .. } => "the disk at rest".to_owned(),
        Step::Pause { .. } => "a pause between windows".to_owned(),
        Step::Shape { shape, .. } => shape.in_words(),
        Step::BeginLoad { load, .. } => format!("starts {load}"),
        Step::EndLoad => "ends the load".to_owned(),
        Step::Sample { phase, .. } => format!("syncs at a low rate, {}", phase.name()),
        Step::Sync(step) => {
            let method = match step.method {
                MethodChoice::Named(method) => method.name(),
                MethodChoice::Fastest => "fastest method",
            };
            let place = match step.placement {
                Placement::Walk => step.file_state.name(),
                Placement::SameBlock => Placement::SameBlock.name(),
            };
            format!("{method}, {} B, {place}, {} outstanding", step.write_bytes, step.outstanding)
        }
        Step::Line1 { .. } => {
            format!("sync rate, one at a time: {LINE_BYTES} B, {}", FileState::Overwrite.name())
        }
        Step::LineMax { .. } => {
            format!("sync rate, in parallel: {LINE_BYTES} B, {}", FileState::Overwrite.name())
        }
        Step::PlainWrite { .. } => "direct writes without a sync".to_owned(),
        Step::Sequential { direction: crate::Direction::Read, .. } => "sequential read".to_owned(),
        Step::Sequential { direction: crate::Direction::Write, .. } => {
            "sequential write".to_owned()
        }
        Step::RandomReads { depth, .. } => format!("random reads, depth {depth}"),
    }
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
