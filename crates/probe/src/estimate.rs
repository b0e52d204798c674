//! The cost of a plan before it runs: time, bytes written, space.
//!
//! The disk's speed is not yet known, so the bytes are those of a fast disk under published assumptions; a
//! slower disk writes less in the same time.

use crate::measure::{Sizes, is_copy_on_write};
use crate::plan::{LINE_BYTES, OVERWRITE_BYTES};
use crate::{Direction, FileState, Plan, Step, device};
use std::path::Path;
use syncline_instrument::Nanos;
use syncline_instrument::clock::SECOND;

/// The cost of a plan before it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Seconds if every cell is steady as early as possible.
    pub shortest_s: f64,
    /// Seconds if no cell becomes steady.
    pub longest_s: f64,
    /// Bytes written in the shortest time by a disk of [`ASSUMED_SYNCS_PER_S`] and
    /// [`ASSUMED_BYTES_PER_S`]; a slower disk writes less.
    pub bytes_written: u64,
}

/// The assumed syncs a second with one outstanding.
pub const ASSUMED_SYNCS_PER_S: f64 = 10_000.0;

/// The assumed upper bound of a disk's bytes a second.
pub const ASSUMED_BYTES_PER_S: f64 = 1.5e9;

impl Plan {
    /// The cost of a run in that many directories.
    pub fn estimate(&self, directories: usize) -> Estimate {
        let sum = |cost: fn(&Step) -> f64| self.steps.iter().map(cost).sum::<f64>();
        let count = directories as f64;
        let preparation_s = 0.5 + 0.01 * self.steps.len() as f64;
        let file_bytes = OVERWRITE_BYTES as f64;
        let written = sum(bytes_written) + file_bytes;
        Estimate {
            shortest_s: (sum(|step| seconds(shortest_ns(step))) + preparation_s) * count,
            longest_s: (sum(|step| seconds(longest_ns(step))) + preparation_s) * count,
            bytes_written: (written * count) as u64,
        }
    }

    /// The most bytes that its files use at one time in a directory with its present free space; `None` if
    /// there is too little space to write anything.
    pub fn space_in(&self, directory: &Path) -> Option<u64> {
        let free = device::free_bytes(directory);
        let absolute = directory.canonicalize().ok()?;
        let summary = device::inspect(Path::new("/"), &absolute).summary;
        let elsewhere = is_copy_on_write(summary.file_system.as_deref());
        let sizes = Sizes::of(directory, free, elsewhere, self.read_file_bytes).ok()?;
        let laps = [FileState::Unwritten, FileState::Append].map(|state| {
            let uses = |step: &Step| match step {
                Step::Sync(sync) => sync.file_state == state,
                Step::Shape { shape, .. } => shape.file_state == state,
                _ => false,
            };
            if self.steps.iter().any(uses) { sizes.lap } else { 0 }
        });
        let transfers = |step: &Step| matches!(step, Step::Sequential { .. });
        let transfer = if self.steps.iter().any(transfers) { sizes.transfer } else { 0 };
        Some(sizes.overwrite + laps.iter().sum::<u64>() + transfer)
    }
}

/// The shortest time of a step.
pub(crate) fn shortest_ns(step: &Step) -> Nanos {
    match step {
        Step::Sync(step) => step.span.min_ns,
        Step::EndLoad => 0,
        Step::Idle { span_ns }
        | Step::Pause { span_ns }
        | Step::BeginLoad { lead_ns: span_ns, .. }
        | Step::Sample { span_ns, .. }
        | Step::Shape { span_ns, .. }
        | Step::Line1 { span_ns, .. }
        | Step::LineMax { span_ns, .. }
        | Step::PlainWrite { span_ns }
        | Step::Sequential { span_ns, .. }
        | Step::RandomReads { span_ns, .. } => *span_ns,
    }
}

fn longest_ns(step: &Step) -> Nanos {
    match step {
        Step::Sync(step) => step.span.max_ns,
        other => shortest_ns(other),
    }
}

fn bytes_written(step: &Step) -> f64 {
    let line = |outstanding: usize| LINE_BYTES as f64 * merged_rate(outstanding);
    let rate = match step {
        Step::Sync(step) => step.write_bytes as f64 * merged_rate(step.outstanding),
        Step::Line1 { .. } => line(1),
        Step::LineMax { outstanding, .. } => line(outstanding.unwrap_or(16)),
        Step::Shape { shape, .. } => shape.bytes() as f64 * merged_rate(1),
        Step::Sample { .. } => LINE_BYTES as f64 * crate::over_time::RATE_PER_S as f64,
        Step::PlainWrite { .. } => line(2),
        Step::Sequential { direction: Direction::Write, .. } => ASSUMED_BYTES_PER_S,
        Step::Idle { .. }
        | Step::Pause { .. }
        | Step::BeginLoad { .. }
        | Step::EndLoad
        | Step::RandomReads { .. }
        | Step::Sequential { direction: Direction::Read, .. } => 0.0,
    };
    rate.min(ASSUMED_BYTES_PER_S) * seconds(shortest_ns(step))
}

/// The kernel merges concurrent syncs: sixteen outstanding reach about five times the rate of one.
fn merged_rate(outstanding: usize) -> f64 {
    ASSUMED_SYNCS_PER_S * (outstanding as f64).powf(0.6)
}

fn seconds(span_ns: Nanos) -> f64 {
    span_ns as f64 / SECOND as f64
}
