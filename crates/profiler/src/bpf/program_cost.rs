//! The processor time of the programs, as timed by the kernel during a part of the window.
//!
//! While timing is enabled, the kernel times all BPF programs, which costs two clock readings per run: as
//! much again for a program of 40 ns. So it is enabled only briefly.

use super::collector::monotonic;
use aya::sys::{Stats, enable_stats};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use syncline_host::read_text;
use syncline_instrument::Nanos;

/// How long the programs are timed.
const LENGTH: Nanos = 60_000_000;

/// A timing in progress.
#[derive(Debug)]
pub(super) struct Timing {
    /// The kernel times the programs while this is open.
    _asked: OwnedFd,
    /// The file with each program's run time.
    programs: Vec<PathBuf>,
    since: Nanos,
    before_ns: Nanos,
}

impl Timing {
    /// Begins; none if the kernel cannot time programs (before Linux 5.8, or without permission).
    pub(super) fn begin(programs: Vec<PathBuf>) -> Option<Timing> {
        let asked = enable_stats(Stats::RunTime).ok()?;
        let before_ns = sum(&programs)?;
        Some(Timing { _asked: asked, programs, since: monotonic(), before_ns })
    }

    /// True if it has lasted long enough.
    pub(super) fn is_due(&self) -> bool {
        monotonic() >= self.since + LENGTH
    }

    /// Ends it: the programs' processor time, and the timed duration.
    pub(super) fn end(self) -> Option<(Nanos, Nanos)> {
        let now_ns = sum(&self.programs)?;
        let used = now_ns.saturating_sub(self.before_ns);
        Some((used, monotonic().saturating_sub(self.since)))
    }
}

fn sum(programs: &[PathBuf]) -> Option<Nanos> {
    let each = programs.iter().map(|program| {
        let text = read_text(program)?;
        let line = text.lines().find_map(|line| line.strip_prefix("run_time_ns:"))?;
        line.trim().parse::<Nanos>().ok()
    });
    each.sum()
}
