//! What looking costs, weighed before the measured span: slices of time with a meter and without one, in
//! turns, under the same clients.
//!
//! Between two runs throughput differs by far more than looking costs: clients, server processes and their
//! threads fall into places of which one run keeps most and the next has others (`docs/decisions/0032`). So
//! both slices of a pair are of one run, one right behind the other. A round has two pairs: without, with,
//! with, without; so what goes only up or only down meanwhile favours neither. What is slow, opening a meter
//! and putting it away, lies between rounds and in no slice.

use crate::account::live_counters::{LiveCounters, committed};
use crate::coordinate::coordinator::Coordinator;
use crate::coordinate::phases::{METER_STEP_NS, POLL_NS};
use crate::drive::control::Control;
use std::time::Duration;
use syncline_contract::{Target, Workload};
use syncline_instrument::{Nanos, clock};
use syncline_profiler::Profiler;
use syncline_record::LookingPair;

/// Rounds of four slices.
const ROUNDS: u32 = 4;

/// A slice is a part of the measured span, so that what is weighed costs as much time again.
const SLICES: u32 = 4 * ROUNDS;

/// Bounds of a slice: shorter ones hold too few commits and too much of a meter's begin, longer ones let the
/// machine change between two.
const SLICE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// How long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OverheadTiming {
    slice_ns: Nanos,
    change_ns: Nanos,
}

impl OverheadTiming {
    /// For a span of that length, if it has one, and a meter that took so long to open and to put away.
    fn of(span: Option<Duration>, change_ns: Nanos) -> OverheadTiming {
        let (shortest, longest) = SLICE;
        let slice = span.map_or(longest, |span| (span / SLICES).clamp(shortest, longest));
        OverheadTiming { slice_ns: clock::nanos(slice), change_ns }
    }

    /// How long all rounds may take.
    pub(crate) fn all_ns(self) -> Nanos {
        // Under load meters change more slowly than before the clients start.
        u64::from(ROUNDS) * (self.round_ns() + 2 * self.change_ns)
    }

    /// The least that a round takes.
    fn round_ns(self) -> Nanos {
        4 * self.slice_ns + self.change_ns
    }
}

impl<T: Target, W: Workload> Coordinator<'_, T, W> {
    /// Opens a meter and puts it away, to know how long that takes.
    pub(crate) fn overhead_timing(&self) -> OverheadTiming {
        let before = clock::now();
        drop(self.meter());
        OverheadTiming::of(self.plan.duration, clock::now() - before)
    }

    /// As many rounds as there is time for until then, [`ROUNDS`] at most. Takes a meter that is open and
    /// leaves another.
    pub(crate) fn measure_overhead(
        &self,
        control: &Control,
        live: &[LiveCounters],
        scale: OverheadTiming,
        until: Nanos,
        meter: &mut Option<Profiler>,
    ) -> Vec<LookingPair> {
        let mut pairs = Vec::new();
        for _ in 0..ROUNDS {
            if clock::now() + scale.round_ns() > until {
                break;
            }
            let Some(open) = meter.take() else { break };
            let round = self.round(control, live, scale.slice_ns, open);
            *meter = self.meter();
            let Some(round) = round else { break };
            pairs.extend(round);
        }
        pairs
    }

    /// None if the run ended in it.
    fn round(
        &self,
        control: &Control,
        live: &[LiveCounters],
        slice_ns: Nanos,
        mut meter: Profiler,
    ) -> Option<[LookingPair; 2]> {
        let commits = || committed(live);
        let without = || self.slice(control, live, slice_ns, &mut |_| {});
        let first = without()?;
        meter.start(&commits);
        let mut with = |further_ns| {
            self.slice(control, live, slice_ns, &mut |rest_ns| {
                if rest_ns + further_ns > METER_STEP_NS {
                    meter.go_on(&commits);
                }
            })
        };
        let metered = [with(slice_ns)?, with(0)?];
        meter.stop(&commits);
        let unmetered = [first, without()?];
        Some([0, 1].map(|pair| LookingPair {
            metered_per_s: metered[pair],
            unmetered_per_s: unmetered[pair],
        }))
    }

    /// Commits a second of a slice; none if the run ended in it. `look` is called as often as in the span,
    /// with the time that is left.
    fn slice(
        &self,
        control: &Control,
        live: &[LiveCounters],
        slice_ns: Nanos,
        look: &mut dyn FnMut(Nanos),
    ) -> Option<f64> {
        let (begun, before) = (clock::now(), committed(live));
        loop {
            if self.asked_to_stop() || control.ending() || self.disk.shortage().is_some() {
                return None;
            }
            let since = clock::now() - begun;
            if since >= slice_ns {
                let commits = committed(live) - before;
                return Some(commits as f64 / since as f64 * clock::SECOND as f64);
            }
            look(slice_ns - since);
            Control::rest(POLL_NS.min(slice_ns - since));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OverheadTiming, ROUNDS};
    use std::time::Duration;

    #[test]
    fn slices_together_are_as_long_as_the_span_within_bounds() {
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
