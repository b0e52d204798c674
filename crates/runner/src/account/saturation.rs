//! The bottleneck of a run, judged from figures and thresholds that the result contains.
//!
//! The first verdict that applies wins, in this order: client-bound (the laboratory itself), lock-bound,
//! sync-bound, read-bound, network-bound, CPU-bound, nothing saturated. A figure that was not measured
//! supports no verdict.

/// The bottleneck of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    /// The laboratory's own work: the store can do more than this run shows.
    Client,
    /// All processors of the machine, or all threads that the store runs in, were busy.
    Cpu,
    /// Syncs of the log.
    Sync,
    /// Reads from the disk.
    Read,
    /// The round trip to the store.
    Network,
    /// Conflicts and lock waits between transactions.
    Lock,
    /// Nothing that was measured, or the load did not saturate anything.
    Nothing,
}

impl Bottleneck {
    /// The words in tables and records.
    pub fn words(self) -> &'static str {
        match self {
            Bottleneck::Client => "client-bound",
            Bottleneck::Cpu => "CPU-bound",
            Bottleneck::Sync => "sync-bound",
            Bottleneck::Read => "read-bound",
            Bottleneck::Network => "network-bound",
            Bottleneck::Lock => "lock-bound",
            Bottleneck::Nothing => "nothing saturated",
        }
    }
}

/// The figures that a verdict is based on; `None` if not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SaturationFigures {
    /// Share of the workers' time spent running, 0 to 1; without spinning.
    pub workers_busy: Option<f64>,
    /// Share of that running time that is the laboratory's own work, 0 to 1.
    pub laboratory_share: Option<f64>,
    /// Share of all processors' time that all processes used, 0 to 1.
    pub machine_busy: Option<f64>,
    /// Conflicted tries over all tries, 0 to 1.
    pub conflict_share: Option<f64>,
    /// Syncs a second over the best rate that the probe reached in the log directory, 0 and up. Above 1 the
    /// disk's sync rate has changed since the probe.
    pub line_share: Option<f64>,
    /// Share of the time in which the log's disk had a request in flight, 0 to 1.
    pub device_busy: Option<f64>,
    /// Syncs of the store a second: system calls and, where they are counted, synchronous writes.
    pub syncs_per_s: Option<f64>,
    /// The synchronous writes among them (`O_DSYNC`, `RWF_DSYNC`); `None` if they are not counted.
    pub synced_writes_per_s: Option<f64>,
    /// Flushes that the log's disk completed, a second; for stores whose syncs are not counted.
    pub flushes_per_s: Option<f64>,
    /// Share of the disk's requests that were reads, 0 to 1.
    pub read_share: Option<f64>,
    /// The round trip to the store over the service time of a transaction, 0 to 1.
    pub round_trip_share: Option<f64>,
    /// Share of the clients' time that they waited for each other's locks, by the store's own counter,
    /// 0 to 1.
    pub lock_wait_share: Option<f64>,
}

/// One threshold of a verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// The field of [`SaturationFigures`] that it applies to.
    pub figure: &'static str,
    /// The lowest value at which that figure counts as saturated.
    pub at_least: f64,
}

/// The share at which workers or processors count as busy.
pub const BUSY: f64 = 0.9;
/// The share of the workers' running time at which the run measures the laboratory and not the store.
pub const LABORATORY: f64 = 0.5;
/// The share of conflicted tries at which conflicts are the limit.
pub const CONFLICTS: f64 = 0.3;
/// The share of the clients' time at which lock waits are the limit.
pub const LOCK_WAITS: f64 = 0.5;
/// The share of the sync line at which syncs are the limit.
pub const LINE: f64 = 0.7;
/// The share of the time at which a disk counts as busy: a single client then waits mostly for the disk.
pub const DEVICE: f64 = 0.5;
/// The share of reads among the requests at which a busy disk is read-bound.
pub const READS: f64 = 0.5;
/// The share of the service time at which the round trip is the limit.
pub const ROUND_TRIP: f64 = 0.7;

/// The ratio of disk flushes to sync calls above which the calls cannot be all syncs. Applies if synchronous
/// writes are not counted.
const UNSEEN: f64 = 5.0;

/// All thresholds, as the record lists them.
pub const THRESHOLDS: [Threshold; 9] = [
    Threshold { figure: "workers_busy", at_least: BUSY },
    Threshold { figure: "machine_busy", at_least: BUSY },
    Threshold { figure: "laboratory_share", at_least: LABORATORY },
    Threshold { figure: "conflict_share", at_least: CONFLICTS },
    Threshold { figure: "line_share", at_least: LINE },
    Threshold { figure: "device_busy", at_least: DEVICE },
    Threshold { figure: "read_share", at_least: READS },
    Threshold { figure: "round_trip_share", at_least: ROUND_TRIP },
    Threshold { figure: "lock_wait_share", at_least: LOCK_WAITS },
];

/// A verdict with its figures and thresholds, each a field that rules read; the record's `Saturation`
/// names them.
#[derive(Clone, Debug, PartialEq)]
pub struct BottleneckAnalysis {
    /// The verdict.
    pub verdict: Bottleneck,
    /// The reason, in one sentence.
    pub reason: String,
    /// The figures.
    pub figures: SaturationFigures,
    /// The thresholds that the figures were compared with.
    pub thresholds: &'static [Threshold],
}

/// Judges the figures. A pure function: call it again when a figure becomes known later, such as the sync
/// line.
pub fn saturation(figures: SaturationFigures) -> BottleneckAnalysis {
    let (verdict, reason) = judge(&figures);
    BottleneckAnalysis { verdict, reason, figures, thresholds: &THRESHOLDS }
}

fn judge(figures: &SaturationFigures) -> (Bottleneck, String) {
    let workers_busy = reached(figures.workers_busy, BUSY);
    if workers_busy && reached(figures.laboratory_share, LABORATORY) {
        let share = percent(figures.laboratory_share);
        return (
            Bottleneck::Client,
            format!(
                "the workers were busy and {share} of their work was syncline's own (the load generator)"
            ),
        );
    }
    if reached(figures.conflict_share, CONFLICTS) {
        let share = percent(figures.conflict_share);
        return (Bottleneck::Lock, format!("{share} of the tries conflicted"));
    }
    if reached(figures.lock_wait_share, LOCK_WAITS) {
        let share = percent(figures.lock_wait_share);
        let reason = format!("clients waited for each other's locks {share} of their time");
        return (Bottleneck::Lock, reason);
    }
    if let Some(verdict) = disk(figures) {
        return verdict;
    }
    if reached(figures.round_trip_share, ROUND_TRIP) {
        let share = percent(figures.round_trip_share);
        let reason = format!("the round trip to the store is {share} of the service time");
        return (Bottleneck::Network, reason);
    }
    if reached(figures.machine_busy, BUSY) {
        let share = percent(figures.machine_busy);
        let reason = format!("{share} of the processors' time was used");
        return (Bottleneck::Cpu, reason);
    }
    if workers_busy {
        let share = percent(figures.workers_busy);
        let reason = format!("the threads that the store runs in were busy {share} of the time");
        return (Bottleneck::Cpu, reason);
    }
    (Bottleneck::Nothing, nothing(figures))
}

fn disk(figures: &SaturationFigures) -> Option<(Bottleneck, String)> {
    if reached(figures.line_share, LINE) {
        let reason = match figures.line_share {
            // A store cannot sync faster than its disk: the probe's sync rate is out of date.
            Some(share) if share > 1.0 => {
                let syncs = figures.syncs_per_s.unwrap_or_default();
                format!(
                    "the store made {syncs:.0} syncs a second, more than the disk's measured sync rate, which \
                     was measured while the disk was slower"
                )
            }
            share => format!("the store syncs at {} of the disk's sync rate", percent(share)),
        };
        return Some((Bottleneck::Sync, reason));
    }
    if !reached(figures.device_busy, DEVICE) {
        return None;
    }
    let busy = percent(figures.device_busy);
    if reached(figures.read_share, READS) {
        let share = percent(figures.read_share);
        let reason =
            format!("the disk was busy {busy} of the time, {share} of requests were reads");
        return Some((Bottleneck::Read, reason));
    }
    let busy = format!("the log's disk was busy {busy} of the time");
    let calls = figures.syncs_per_s.unwrap_or_default();
    let flushes = figures.flushes_per_s.unwrap_or_default();
    let unseen = figures.synced_writes_per_s.is_none() && flushes > UNSEEN * calls;
    match figures.syncs_per_s {
        Some(syncs) if syncs > 0.0 && !unseen => {
            Some((Bottleneck::Sync, format!("{busy}, {syncs:.0} syncs a second")))
        }
        // Syncs were not counted, or synchronous writes were not; each of them flushes the disk.
        None | Some(_) if flushes > 0.0 && figures.syncs_per_s != Some(0.0) => {
            Some((Bottleneck::Sync, format!("{busy}, {flushes:.0} flushes a second")))
        }
        _ => None,
    }
}

/// Why no bottleneck is reported.
fn nothing(figures: &SaturationFigures) -> String {
    if !reached(figures.device_busy, DEVICE) {
        return "no measured figure reached its threshold".to_owned();
    }
    let busy = percent(figures.device_busy);
    let counted = match (figures.syncs_per_s, figures.synced_writes_per_s) {
        (Some(_), Some(_)) => "the store made no sync, so no transaction waited for its writes",
        (Some(_), None) => {
            "no sync was counted, and the synchronous writes of this store are unknown"
        }
        (None, _) => "the syncs of this store were not counted",
    };
    format!("the log's disk was busy {busy} of the time, but {counted}")
}

/// Syncs by system calls and, where they are counted, by synchronous writes; `None` if the calls are not
/// counted.
pub(crate) fn all_syncs(calls: Option<f64>, writes: Option<f64>) -> Option<f64> {
    Some(calls? + writes.unwrap_or(0.0))
}

fn reached(figure: Option<f64>, threshold: f64) -> bool {
    figure.is_some_and(|value| value >= threshold)
}

fn percent(share: Option<f64>) -> String {
    format!("{:.0} %", share.unwrap_or_default() * 100.0)
}

#[cfg(test)]
mod tests {
    use super::{Bottleneck, SaturationFigures, THRESHOLDS, all_syncs, saturation};

    fn verdict(set: impl Fn(&mut SaturationFigures)) -> Bottleneck {
        let mut figures = SaturationFigures::default();
        set(&mut figures);
        saturation(figures).verdict
    }

    #[test]
    fn nothing_measured_supports_no_verdict() {
        assert_eq!(verdict(|_| ()), Bottleneck::Nothing);
    }

    #[test]
    fn busy_workers_are_client_bound_only_if_the_work_is_the_laboratorys_own() {
        let busy = |share: Option<f64>| {
            verdict(|figures| {
                figures.workers_busy = Some(0.97);
                figures.laboratory_share = share;
            })
        };
        assert_eq!(busy(Some(0.9)), Bottleneck::Client);
        assert_eq!(busy(Some(0.1)), Bottleneck::Cpu);
        assert_eq!(busy(None), Bottleneck::Cpu);
    }

    #[test]
    fn a_busy_disk_is_judged_by_its_requests() {
        let disk =
            |read_share: Option<f64>, syncs_per_s: Option<f64>, flushes_per_s: Option<f64>| {
                verdict(|figures| {
                    figures.device_busy = Some(0.95);
                    figures.read_share = read_share;
                    figures.syncs_per_s = syncs_per_s;
                    figures.flushes_per_s = flushes_per_s;
                })
            };
        assert_eq!(disk(Some(0.01), Some(12_000.0), None), Bottleneck::Sync);
        assert_eq!(disk(Some(0.01), None, Some(12_000.0)), Bottleneck::Sync);
        assert_eq!(disk(Some(0.8), Some(12.0), None), Bottleneck::Read);
        assert_eq!(disk(Some(0.01), Some(0.0), Some(9.0)), Bottleneck::Nothing);
        assert_eq!(disk(None, None, None), Bottleneck::Nothing);
    }

    /// D2, D3, D19: synchronous writes count as syncs.
    #[test]
    fn a_disk_busy_with_synchronous_writes_is_sync_bound() {
        let figures = SaturationFigures {
            device_busy: Some(0.84),
            read_share: Some(0.0),
            syncs_per_s: all_syncs(Some(5.0), Some(4_217.0)),
            synced_writes_per_s: Some(4_217.0),
            ..SaturationFigures::default()
        };
        let result = saturation(figures);
        assert_eq!(result.verdict, Bottleneck::Sync);
        assert!(result.reason.contains("4222 syncs a second"), "{}", result.reason);
        assert_eq!(all_syncs(Some(5.0), None), Some(5.0));
        assert_eq!(all_syncs(None, Some(4_217.0)), None, "the calls are unknown");
    }

    /// D3: a few sync calls, and many synchronous writes that are not counted.
    #[test]
    fn flushes_decide_where_synchronous_writes_are_not_counted() {
        let result = saturation(SaturationFigures {
            device_busy: Some(0.66),
            syncs_per_s: Some(5.0),
            flushes_per_s: Some(4_200.0),
            ..SaturationFigures::default()
        });
        assert_eq!(result.verdict, Bottleneck::Sync);
        assert!(result.reason.contains("4200 flushes a second"), "{}", result.reason);
    }

    /// D2: the reason must not say "no figure reached its threshold" when one did.
    #[test]
    fn a_busy_disk_is_named_even_without_a_verdict() {
        let result = saturation(SaturationFigures {
            device_busy: Some(0.84),
            syncs_per_s: Some(0.0),
            ..SaturationFigures::default()
        });
        assert_eq!(result.verdict, Bottleneck::Nothing);
        assert!(result.reason.contains("busy 84 %"), "{}", result.reason);
    }

    /// D8
    #[test]
    fn a_sync_rate_above_the_line_means_the_line_is_out_of_date() {
        let result = saturation(SaturationFigures {
            line_share: Some(1.15),
            syncs_per_s: Some(7_400.0),
            ..SaturationFigures::default()
        });
        assert_eq!(result.verdict, Bottleneck::Sync);
        assert!(!result.reason.contains("115"), "{}", result.reason);
        assert!(
            result.reason.contains("which was measured while the disk was slower"),
            "{}",
            result.reason
        );
    }

    #[test]
    fn every_other_figure_has_its_verdict() {
        assert_eq!(verdict(|figures| figures.conflict_share = Some(0.3)), Bottleneck::Lock);
        assert_eq!(verdict(|figures| figures.conflict_share = Some(0.29)), Bottleneck::Nothing);
        assert_eq!(verdict(|figures| figures.lock_wait_share = Some(0.6)), Bottleneck::Lock);
        assert_eq!(verdict(|figures| figures.line_share = Some(0.8)), Bottleneck::Sync);
        assert_eq!(verdict(|figures| figures.round_trip_share = Some(0.8)), Bottleneck::Network);
        assert_eq!(verdict(|figures| figures.machine_busy = Some(0.95)), Bottleneck::Cpu);
        assert_eq!(verdict(|figures| figures.workers_busy = Some(0.95)), Bottleneck::Cpu);
    }

    #[test]
    fn thresholds_name_figures_that_exist() {
        let known = format!("{:?}", SaturationFigures::default());
        assert!(THRESHOLDS.iter().all(|threshold| known.contains(threshold.figure)));
    }
}
