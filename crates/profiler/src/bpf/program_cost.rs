//! How long the programs run, timed by the kernel for a part of the window.
//!
//! The kernel times all BPF programs as long as somebody asks it to, which costs each run two looks at
//! the clock: of a program that takes 40 ns as much again. Hence it is asked for a short while only.

use super::collector::monotonic;
use aya::sys::{Stats, enable_stats};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use syncline_host::read_text;
use syncline_instrument::Nanos;

/// For so long.
const LENGTH: Nanos = 60_000_000;

/// A timing that goes on.
#[derive(Debug)]
pub(super) struct Timing {
    /// The kernel times as long as this is open.
    _asked: OwnedFd,
    /// Where each program's times stand.
    programs: Vec<PathBuf>,
    since: Nanos,
    before_ns: Nanos,
}

impl Timing {
    /// Begins; none where the kernel does not (before Linux 5.8, or without the right to).
    pub(super) fn begin(programs: Vec<PathBuf>) -> Option<Timing> {
        let asked = enable_stats(Stats::RunTime).ok()?;
        let before_ns = sum(&programs)?;
        Some(Timing { _asked: asked, programs, since: monotonic(), before_ns })
    }

    /// True if it has gone on for long enough.
    pub(super) fn is_due(&self) -> bool {
        monotonic() >= self.since + LENGTH
    }

    /// Ends it: the programs' processor time, and how long they were timed.
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
