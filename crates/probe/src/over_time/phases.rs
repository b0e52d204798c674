//! The phases of one directory, added up part by part.

use super::plan::Phase;
use super::sampling::{METHOD, Part, PartFigures, RATE_PER_S};
use super::stalls::{Stalls, stall_ns};
use crate::fitness::resolved;
use crate::measure::histogram;
use crate::plan::LINE_BYTES;
use hdrhistogram::Histogram;
use syncline_instrument::{Nanos, clock};
use syncline_record::{SyncInterval, SyncPhase, SyncsOverTime};

/// The phases of one directory so far.
#[derive(Debug)]
pub(crate) struct SyncHistory {
    /// The start of the directory's probe, on the clock of this process.
    began_ns: Nanos,
    phases: Vec<PhaseTotals>,
    intervals: Vec<SyncInterval>,
    stalls: Stalls,
    stall_ns: Option<Nanos>,
}

#[derive(Debug)]
struct PhaseTotals {
    phase: Phase,
    load: Option<String>,
    elapsed_ns: Nanos,
    histogram: Histogram<u64>,
    skipped: u64,
    /// `None` if it was not known which syncs are stalls.
    stalls: Option<u64>,
}

impl SyncHistory {
    /// The history of a directory whose probe begins now.
    pub(crate) fn new() -> SyncHistory {
        SyncHistory {
            began_ns: clock::now(),
            phases: Vec::new(),
            intervals: Vec::new(),
            stalls: Stalls::default(),
            stall_ns: None,
        }
    }

    /// The next part of a phase.
    pub(crate) fn part<'a>(&self, phase: Phase, span_ns: Nanos, disk: Option<&'a str>) -> Part<'a> {
        let (stall_ns, began_ns) = (self.stall_ns, self.began_ns);
        Part { phase: phase.name(), span_ns, disk, stall_ns, began_ns }
    }

    /// Adds a part. The first one, alone, sets the time above which a sync is a stall.
    pub(crate) fn add(&mut self, phase: Phase, load: Option<String>, part: PartFigures) {
        let times = resolved(&part.histogram);
        let detects_stalls = self.stall_ns.is_some();
        self.stall_ns.get_or_insert_with(|| stall_ns(times.p50));
        let stalls = part.stalls.len() as u64;
        if phase == Phase::OverTime {
            let start_ns = part.start_ns.saturating_sub(self.began_ns);
            let end_ns = start_ns + part.elapsed_ns;
            self.intervals.push(SyncInterval { start_ns, end_ns, stalls, latency_ns: times });
        }
        part.stalls.into_iter().for_each(|stall| self.stalls.push(stall));
        let known = self.phases.iter().position(|known| known.phase == phase);
        let index = known.unwrap_or_else(|| {
            self.phases.push(PhaseTotals {
                phase,
                load,
                elapsed_ns: 0,
                histogram: histogram(),
                skipped: 0,
                stalls: detects_stalls.then_some(0),
            });
            self.phases.len() - 1
        });
        let totals = &mut self.phases[index];
        totals.elapsed_ns += part.elapsed_ns;
        totals.histogram.add(&part.histogram).expect("both have the same bounds");
        totals.skipped += part.skipped;
        totals.stalls = totals.stalls.map(|before| before + stalls);
    }

    /// The intervals of the phase over time so far.
    pub(crate) fn intervals(&self) -> &[SyncInterval] {
        &self.intervals
    }

    /// For the record; `None` if no part was measured. `reason` says why the disk's counters are unknown.
    pub(crate) fn saved(&self, reason: Option<&str>) -> Option<SyncsOverTime> {
        let saved = |totals: &PhaseTotals| SyncPhase {
            name: totals.phase.name().to_owned(),
            load: totals.load.clone(),
            elapsed_ns: totals.elapsed_ns,
            skipped: totals.skipped,
            stalls: totals.stalls,
            latency_ns: resolved(&totals.histogram),
        };
        Some(SyncsOverTime {
            method: METHOD.name().to_owned(),
            write_bytes: LINE_BYTES as u64,
            rate_per_s: RATE_PER_S as f64,
            stall_ns: self.stall_ns?,
            phases: self.phases.iter().map(saved).collect(),
            intervals: self.intervals.clone(),
            stalls: self.stalls.longest().to_vec(),
            stalls_total: self.stalls.total(),
            reason: reason.map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Phase, SyncHistory};
    use crate::measure::histogram;
    use crate::over_time::sampling::PartFigures;

    const MS: u64 = 1_000_000;

    fn part(start_ms: u64, count: u64, ms: u64) -> PartFigures {
        let mut times = histogram();
        times.record_n(ms * MS, count).unwrap();
        PartFigures {
            start_ns: start_ms * MS,
            elapsed_ns: 1_000 * MS,
            histogram: times,
            skipped: 2,
            stalls: Vec::new(),
        }
    }

    #[test]
    fn parts_add_up_to_phases_and_those_over_time_are_also_intervals() {
        let mut history = SyncHistory { began_ns: 0, ..SyncHistory::new() };
        assert!(history.saved(None).is_none());
        assert_eq!(history.part(Phase::Alone, 1, None).stall_ns, None);
        history.add(Phase::Alone, None, part(0, 100, 4));
        assert_eq!(history.part(Phase::Beside, 1, None).stall_ns.map(|ns| ns / MS), Some(40));
        history.add(Phase::Beside, Some("a load".to_owned()), part(2_000, 100, 8));
        history.add(Phase::OverTime, None, part(4_000, 200, 4));
        history.add(Phase::OverTime, None, part(5_000, 200, 4));
        let saved = history.saved(Some("several disks")).unwrap();
        let names: Vec<_> = saved.phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, ["alone", "beside", "over time"]);
        assert_eq!(saved.phases[2].latency_ns.samples, 400);
        assert_eq!((saved.phases[2].skipped, saved.phases[2].elapsed_ns), (4, 2_000 * MS));
        assert!(saved.phases[2].latency_ns.p99.is_some());
        assert_eq!(saved.intervals.len(), 2);
        assert_eq!(saved.intervals[1].latency_ns.p99, None, "200 samples do not resolve it");
        let stalls: Vec<_> = saved.phases.iter().map(|phase| phase.stalls).collect();
        assert_eq!(stalls, [None, Some(0), Some(0)], "the first phase only sets the limit");
        assert_eq!(saved.phases[1].load.as_deref(), Some("a load"));
    }
}
