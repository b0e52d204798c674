//! The A/B test of the profiler's overhead, before the measured span: slices with and without the profiler,
//! in turns, under the same clients.
//!
//! Two runs differ in throughput by far more than the profiler costs: clients, server processes and their
//! threads end up in a placement that one run mostly keeps and the next run does not share
//! (`docs/decisions/0032`). So both slices of a pair are in one run, one right after the other. A round has
//! two pairs: without, with, with, without; so a steady trend favours neither side. Opening and closing the
//! profiler is slow; it happens between rounds and is in no slice.

use crate::account::live_counters::{LiveCounters, committed};
use crate::coordinate::coordinator::Coordinator;
use crate::coordinate::phases::{POLL_NS, PROFILER_STEP_NS};
use crate::drive::control::Control;
use std::time::Duration;
use syncline_contract::{Target, Workload};
use syncline_instrument::{Nanos, clock};
use syncline_profiler::Profiler;
use syncline_record::OverheadPair;

/// Rounds of four slices.
const ROUNDS: u32 = 4;

/// A slice is this fraction of the measured span, so that the test takes as long as the span.
const SLICES: u32 = 4 * ROUNDS;

/// Bounds of a slice. A shorter slice has too few commits and too much of the profiler's start-up; between
/// longer ones the machine may change.
const SLICE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// The duration of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OverheadTiming {
    slice_ns: Nanos,
    change_ns: Nanos,
}

impl OverheadTiming {
    /// For a measured span of this length, if it has one. `change_ns` is the time to open and close the
    /// profiler.
    fn of(span: Option<Duration>, change_ns: Nanos) -> OverheadTiming {
        let (shortest, longest) = SLICE;
        let slice = span.map_or(longest, |span| (span / SLICES).clamp(shortest, longest));
        OverheadTiming { slice_ns: clock::nanos(slice), change_ns }
    }

    /// The time reserved for all rounds.
    pub(crate) fn all_ns(self) -> Nanos {
        // Twice the time to open and close: it takes longer under load than before the clients start.
        u64::from(ROUNDS) * (self.round_ns() + 2 * self.change_ns)
    }

    /// The least time that a round takes.
    fn round_ns(self) -> Nanos {
        4 * self.slice_ns + self.change_ns
    }
}

impl<T: Target, W: Workload> Coordinator<'_, T, W> {
    /// Opens and closes the profiler once, to measure how long that takes.
    pub(crate) fn overhead_timing(&self) -> OverheadTiming {
        let before = clock::now();
        drop(self.open_profiler());
        OverheadTiming::of(self.plan.duration, clock::now() - before)
    }

    /// Runs as many rounds as fit before `until`, at most [`ROUNDS`]. Takes an open profiler and leaves a new
    /// one.
    pub(crate) fn measure_overhead(
        &self,
        control: &Control,
        live: &[LiveCounters],
        scale: OverheadTiming,
        until: Nanos,
        profiler: &mut Option<Profiler>,
    ) -> Vec<OverheadPair> {
        let mut pairs = Vec::new();
        for _ in 0..ROUNDS {
            if clock::now() + scale.round_ns() > until {
                break;
            }
            let Some(open) = profiler.take() else { break };
            let round = self.round(control, live, scale.slice_ns, open);
            *profiler = self.open_profiler();
            let Some(round) = round else { break };
            pairs.extend(round);
        }
        pairs
    }

    /// The two pairs of a round; `None` if the run ended in it.
    fn round(
        &self,
        control: &Control,
        live: &[LiveCounters],
        slice_ns: Nanos,
        mut profiler: Profiler,
    ) -> Option<[OverheadPair; 2]> {
        let commits = || committed(live);
        let without = || self.slice(control, live, slice_ns, &mut |_| {});
        let first = without()?;
        profiler.start(&commits);
        let mut with = |further_ns| {
            self.slice(control, live, slice_ns, &mut |rest_ns| {
                if rest_ns + further_ns > PROFILER_STEP_NS {
                    profiler.tick(&commits);
                }
            })
        };
        let metered = [with(slice_ns)?, with(0)?];
        profiler.stop(&commits);
        let unmetered = [first, without()?];
        Some([0, 1].map(|pair| OverheadPair {
            metered_per_s: metered[pair],
            unmetered_per_s: unmetered[pair],
        }))
    }

    /// Commits a second of a slice; `None` if the run ended in it. `sample` is called as often as in the
    /// measured span, with the time that is left.
    fn slice(
        &self,
        control: &Control,
        live: &[LiveCounters],
        slice_ns: Nanos,
        sample: &mut dyn FnMut(Nanos),
    ) -> Option<f64> {
        let (begun, before) = (clock::now(), committed(live));
        loop {
            if self.stop_requested() || control.ending() || self.disk.shortage().is_some() {
                return None;
            }
            let since = clock::now() - begun;
            if since >= slice_ns {
                let commits = committed(live) - before;
                return Some(commits as f64 / since as f64 * clock::SECOND as f64);
            }
            sample(slice_ns - since);
            Control::rest(POLL_NS.min(slice_ns - since));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OverheadTiming, ROUNDS};
    use std::time::Duration;

    #[test]
    fn all_slices_together_take_as_long_as_the_span_within_bounds() {
        let change_ns = 10_000_000;
        let all_s = |span_ms: Option<u64>| {
            let scale = OverheadTiming::of(span_ms.map(Duration::from_millis), change_ns);
            (scale.all_ns() - u64::from(3 * ROUNDS) * change_ns) as f64 / 1e9
        };
        assert!((all_s(Some(16_000)) - 16.0).abs() < 1e-6);
        assert!((all_s(Some(300)) - 1.6).abs() < 1e-6);
        assert!((all_s(Some(600_000)) - 32.0).abs() < 1e-6);
        assert!((all_s(None) - 32.0).abs() < 1e-6);
    }
}
