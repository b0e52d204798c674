//! The processor time of the profiler in the repetition that the record shows, and the overhead from all
//! slices with and without it.

use crate::{Range, RunResult};
use syncline_profile::Profile;
use syncline_profiler::ProfilerCpuTime;
use syncline_record::{OverheadCost, OverheadPair, OverheadRatio};

/// The profiler's processor time in the shown repetition, and the pairs of all repetitions; `None` without
/// the profiler.
pub(super) fn measure_overhead(shown: &RunResult, runs: &[RunResult]) -> Option<OverheadCost> {
    let spent = shown.profiler_cpu?;
    let pairs: Vec<OverheadPair> =
        runs.iter().flat_map(|run| &run.overhead_pairs).copied().collect();
    let window_ns = shown.profile.as_ref().map_or(0, Profile::window_ns);
    Some(OverheadCost {
        threads_ns: spent.threads_ns,
        programs_ns: spent.programs.map(|timed| timed.ns),
        programs_of_ns: spent.programs.map(|timed| timed.of_ns),
        programs_attached_ns: spent.programs.map(|timed| timed.attached_ns),
        share: share(&spent, window_ns, shown.head.machine.cores),
        throughput: ratio(pairs.iter().map(OverheadPair::throughput)),
        pairs,
    })
}

fn share(spent: &ProfilerCpuTime, window_ns: u64, cores: usize) -> Option<f64> {
    if window_ns == 0 || cores == 0 {
        return None;
    }
    let timed = spent.programs.filter(|timed| timed.of_ns > 0);
    let programs = timed.map_or(0.0, |timed| {
        let attached = timed.attached_ns.min(window_ns) as f64 / window_ns as f64;
        timed.ns as f64 / timed.of_ns as f64 * attached
    });
    let threads = spent.threads_ns as f64 / window_ns as f64;
    Some((programs + threads) / cores as f64)
}

fn ratio(ratios: impl Iterator<Item = f64>) -> Option<OverheadRatio> {
    let range = Range::of(ratios.filter(|ratio| ratio.is_finite()))?;
    Some(OverheadRatio { median: range.median, least: range.least, most: range.most })
}

#[cfg(test)]
mod tests {
    use super::{OverheadPair, ratio, share};
    use syncline_profiler::{BpfCpuTime, ProfilerCpuTime};

    #[test]
    fn a_sample_of_the_programs_time_is_extrapolated_to_the_time_they_were_attached() {
        let attached = |attached_ns| ProfilerCpuTime {
            threads_ns: 20_000_000,
            programs: Some(BpfCpuTime { ns: 5_000_000, of_ns: 250_000_000, attached_ns }),
        };
        let spent = attached(1_000_000_000);
        let share = |spent| share(&spent, 1_000_000_000, 2).unwrap();
        assert!((share(spent) - 0.02).abs() < 1e-12);
        assert!((share(attached(200_000_000)) - 0.012).abs() < 1e-12);
        let without = ProfilerCpuTime { programs: None, ..spent };
        assert!((share(without) - 0.01).abs() < 1e-12);
        assert_eq!(super::share(&without, 0, 2), None);
    }

    #[test]
    fn ratios_are_computed_per_pair() {
        let pair = |metered_per_s, unmetered_per_s| OverheadPair { metered_per_s, unmetered_per_s };
        let pairs = [pair(98.0, 100.0), pair(50.0, 40.0), pair(9.0, 10.0)];
        let of = ratio(pairs.iter().map(OverheadPair::throughput)).unwrap();
        assert_eq!((of.least, of.median, of.most), (0.9, 0.98, 1.25));
        assert_eq!(ratio(std::iter::once(f64::NAN)), None);
    }
}
