//! Conversion of the results of runner and probe to records.

use crate::closed_schema;
use crate::fixture::{self, SQLITE};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use syncline_probe::record::from_probe;
use syncline_probe::{FileState, MethodChoice, Placement, Plan, Silent, Span, Step, SyncStep};
use syncline_record::{
    Arrivals, ClientTime, CountBase, Counted, Fairness, Identity, Interval, Machine, PerCommit,
    Record, SyncLine, Writer, read,
};
use syncline_report::table::{self, Detail};
use syncline_runner::record::{RunInputs, from_run, head_from_run, interval_from_run};
use syncline_runner::{
    Arrival, BlockDevice, Check, CheckOutcome, ClientFacts, ClientModel, Distribution, DryRunPlan,
    Durability, FailureKind, Isolation, LogLocation, OutcomeCounts, ReportedSettings, RunHead,
    RunPlan, RunResult, RunWarning, SaturationFigures, Setting, StopReason, StoreProcess,
    TargetFacts, TransactionResult, Unit, WorkloadFacts, saturation,
};

pub(crate) fn run_inputs() -> RunInputs {
    RunInputs {
        identity: Identity::new("run", fixture::STARTED_NS, 3),
        url: Some("sqlite:/home/ann/x?durability=data".to_owned()),
        alias: None,
        host: Some("buildhost7".to_owned()),
        repeat: 3,
        map: None,
        interleave: true,
        dropped_syncs: None,
        sync_line: fixture::line(),
    }
}

fn runner_head() -> RunHead {
    RunHead {
        began_wall_ns: fixture::STARTED_NS,
        plan: RunPlan {
            clients: 2,
            duration: Some(Duration::from_secs(2)),
            arrival: Arrival::Poisson { rate_per_s: 500.0 },
            ..RunPlan::default()
        },
        target: TargetFacts {
            name: "sqlite".to_owned(),
            reported_settings: ReportedSettings {
                product: "SQLite".to_owned(),
                version: "3.50.4".to_owned(),
                durability: Durability::Data,
                durability_evidence: "synchronous=2 (FULL) read back".to_owned(),
                isolation: Isolation::Serializable,
                settings: vec![Setting {
                    name: "synchronous".to_owned(),
                    value: "2".to_owned(),
                    source: "PRAGMA synchronous".to_owned(),
                }],
            },
            log_location: LogLocation::Directory(PathBuf::from("/home/ann")),
            process: StoreProcess::InProcess,
            disk_space: Err("the store was not reached".to_owned()),
            dry_run: DryRunPlan::default(),
        },
        workload: WorkloadFacts {
            name: "insert".to_owned(),
            notice: None,
            options: vec![("commit-every".to_owned(), "100".to_owned())],
            unit: Unit { name: "inserts", per_transaction: 100 },
            rows_kept: false,
        },
        client: ClientFacts { model: ClientModel::Threads, clients: 2, workers: 2 },
        worker_trials: None,
        machine: syncline_runner::Machine {
            cores: 2,
            smt: None,
            governor: None,
            kernel: Some("6.12.40".to_owned()),
            cpu_model: Some("Example".to_owned()),
            memory_bytes: Some(1 << 30),
            hypervisor: None,
        },
        device: BlockDevice::of(Path::new("/proc"), Path::new("/")),
    }
}

/// A repetition with `committed` commits in two seconds.
pub(crate) fn result(committed: u64, syncs: Option<f64>) -> RunResult {
    let outcomes = OutcomeCounts {
        attempted: committed + 3,
        committed,
        conflicted: [2, 0, 0],
        unfinished: 1,
        ..OutcomeCounts::default()
    };
    let count = |value: Option<f64>| match value {
        Some(value) => Counted::by(Some(value), "perf event"),
        None => Counted::unknown("perf_event_paranoid is 3"),
    };
    let times = Some(Distribution {
        count: committed,
        p50: committed,
        p90: committed + 1,
        p99: committed + 2,
        p999: committed + 3,
        max: committed + 4,
        mean: committed as f64,
        deviation: 1.0,
    });
    RunResult {
        head: runner_head(),
        measured_ns: 2_000_000_000,
        to_last_end_ns: 2_100_000_000,
        outcomes,
        throughput_per_s: committed as f64 / 2.0,
        arrivals: Some(Arrivals {
            offered: committed + 12,
            started: committed + 3,
            late: 5,
            skipped: 2,
            abandoned: 7,
        }),
        transactions: vec![TransactionResult {
            always_writes: true,
            name: "insert".to_owned(),
            outcomes,
            service_ns: times,
            response_ns: times,
            service_histogram: None,
            response_histogram: None,
        }],
        operations: Vec::new(),
        count_base: CountBase {
            span_ns: 2_000_000_000,
            commits: committed,
            syncs: syncs.map(|value| (value * committed as f64) as u64),
        },
        per_commit: PerCommit {
            syncs: count(syncs),
            synced_writes: count(None),
            device_writes: count(Some(2.0)),
            device_bytes: count(Some(8_192.0)),
            flushes: count(None),
            system_calls: count(None),
            client_cpu_ns: count(Some(1_000.0)),
            target_cpu_ns: count(None),
            page_faults: count(Some(0.0)),
        },
        figures: Vec::new(),
        internals: Vec::new(),
        counters: Vec::new(),
        round_trip_ns: None,
        client_cpu_ns_per_transaction: Some(1_000.0),
        profile: None,
        profiler_cpu: None,
        overhead_pairs: Vec::new(),
        commit_paths: None,
        commits_in_span: committed,
        commits_late: 0,
        client_time: ClientTime { in_transactions: 0.0, between: 1.0 },
        commits_in_whole: 0,
        saturation: saturation(SaturationFigures {
            line_share: Some(0.9),
            ..SaturationFigures::default()
        }),
        intervals: vec![interval(0, committed / 2), interval(1, committed - committed / 2)],
        fairness: Fairness { least: 1, median: 2, most: 3, starved: vec![1] },
        checks: vec![Check {
            name: "every acknowledged row is there".to_owned(),
            outcome: CheckOutcome::Held,
        }],
        warnings: vec![RunWarning::DebugBuild],
        stopped_by: StopReason::Duration,
        reconnects: 0,
        first_lost: None,
    }
}

fn interval(second: u64, committed: u64) -> Interval {
    Interval {
        repetition: 1,
        start_ns: second * 1_000_000_000,
        end_ns: (second + 1) * 1_000_000_000,
        committed,
        aborted: 0,
        conflicted: 1,
        failed: 0,
        unfinished: 0,
        service_p50_ns: Some(900),
        service_p99_ns: Some(1_900),
        service_max_ns: Some(5_900),
        response_p50_ns: Some(950),
        response_p99_ns: Some(2_900),
        response_max_ns: Some(6_900),
        response_histogram: None,
        steal: Some(0.01),
        foreign_cpus: None,
        busy: None,
        pressure_cpu: None,
        pressure_io: None,
        queue_length: None,
        device_busy: None,
        page_faults: None,
    }
}

#[test]
fn repetitions_become_one_record_of_median_sum_and_range() {
    let runs = [result(300, Some(0.5)), result(100, Some(0.1)), result(200, None)];
    let record = from_run(&runs, &run_inputs());
    let end = &record.end;
    assert!((end.throughput_per_s - 100.0).abs() < 1e-9, "the median of 150, 50 and 100");
    let range = end.throughput_range.as_ref().unwrap();
    assert!((range.least - 50.0).abs() < 1e-9 && (range.most - 150.0).abs() < 1e-9);
    assert_eq!((end.outcomes.attempted, end.outcomes.committed), (609, 600));
    assert_eq!(end.outcomes.conflict_causes["locked"], 6);
    assert!(end.outcomes.adds_up());
    let times = end.transactions[0].service_ns.as_ref().unwrap();
    assert_eq!(times.p50, 200, "times are those of the median repetition");
    assert_eq!(end.arrivals.as_ref().unwrap().abandoned, 21);
    assert_eq!(end.per_commit.syncs.value, Some(0.3), "the median of those that were counted");
    assert_eq!(end.per_commit.synced_writes.source, "perf_event_paranoid is 3");
    let repetitions: Vec<u64> = record.intervals.iter().map(|one| one.repetition).collect();
    assert_eq!(repetitions, [1, 1, 2, 2, 3, 3]);
    assert_eq!(end.warnings.len(), 1, "each warning once: {:?}", end.warnings);
    assert_eq!(record.head.machine.steal, Some(0.01));
    assert_eq!(record.head.machine.foreign_cpus, None);
    assert_eq!(end.cut_short, None);
    let text = table::run(&record);
    assert!(text.contains("10.0k/s inserts"), "{text}");
    closed_schema::check(&[Record::from(record)]);
}

#[test]
fn a_violated_check_of_any_repetition_is_kept() {
    let mut runs = [result(100, None), result(100, None), result(100, None)];
    runs[1].checks[0].outcome = CheckOutcome::Violated("row 17 is missing".to_owned());
    let record = from_run(&runs, &run_inputs());
    assert!(record.violated());
    assert_eq!(record.end.checks.len(), 1);
    assert_eq!(record.end.checks[0].detail.as_deref(), Some("row 17 is missing"));
}

#[test]
fn a_run_that_ended_early_has_a_reason() {
    let mut runs = [result(100, None), result(0, None)];
    runs[1].stopped_by = StopReason::Failure {
        kind: FailureKind::DiskFull,
        operation: Some("insert".to_owned()),
        what: "no space is left".to_owned(),
    };
    runs[1].transactions[0].service_ns = None;
    let record = from_run(&runs, &run_inputs());
    let reason = record.end.cut_short.as_deref();
    assert_eq!(reason, Some("the store failed in insert: no space is left"));
    assert_eq!(record.end.stopped_by.as_deref(), Some("failure"));
    let missing = from_run(&[result(100, None)], &run_inputs());
    assert_eq!(missing.end.cut_short.as_deref(), Some("1 of 3 repetitions ran"));
    assert_eq!(missing.end.throughput_range, None);
    closed_schema::check(&[Record::from(record), Record::from(missing)]);
}

#[test]
fn a_run_written_during_the_run_equals_the_converted_one() {
    let folder = tempfile::tempdir().unwrap();
    let runs = [result(300, Some(0.5))];
    let given = RunInputs { repeat: 1, ..run_inputs() };
    let head = head_from_run(&runs[0].head, &given);
    let mut writer = Writer::create_run(folder.path(), &given.identity, &head).unwrap();
    for interval in &runs[0].intervals {
        writer.interval(&interval_from_run(interval, 1)).unwrap();
    }
    let mut record = from_run(&runs, &given);
    let path = writer.finish_run(&mut record, None).unwrap();
    assert_eq!(read(&path).unwrap(), Record::from(record));
}

/// A rate above the line is noted in the record itself, so that every reader gets it.
#[test]
fn findings_are_written_into_the_record() {
    let mut run = result(600_000, None);
    run.head.client.clients = 1;
    run.intervals = (0..6).map(|second| interval(second, 100_000)).collect();
    let record = from_run(&[run], &run_inputs());
    assert!(record.end.sync_line.verdict.as_deref().unwrap().starts_with("faster than any sync"));
    assert!(record.end.warnings.iter().any(|warning| warning.name == "durability"));
}

/// A real probe of a real folder: its record matches the schema and can be shown.
#[test]
fn a_real_probe_becomes_a_record() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let sync = |outstanding| {
        Step::Sync(SyncStep {
            method: MethodChoice::Fastest,
            write_bytes: 4_096,
            file_state: FileState::Overwrite,
            placement: Placement::Walk,
            outstanding,
            span: Span::fixed(30_000_000, 10_000_000),
        })
    };
    let mut plan = Plan::quick();
    // The methods one by one, each briefly; then the sync line with the fastest.
    plan.steps.truncate(4);
    for step in &mut plan.steps {
        if let Step::Sync(step) = step {
            step.span = Span::fixed(30_000_000, 10_000_000);
        }
    }
    plan.steps
        .extend([sync(2), Step::Line1 { method: MethodChoice::Fastest, span_ns: 60_000_000 }]);
    plan.read_file_bytes = 1 << 20;
    let stop = AtomicBool::new(false);
    let directories = [folder.path().to_owned()];
    let results = syncline_probe::probe(&directories, &plan, &stop, &mut Silent).unwrap();
    let identity = Identity::new("probe", fixture::STARTED_NS, 1);
    let record = from_probe(&results[0], &identity, Machine::unknown(), Vec::new());
    let measured = record.body.cells.iter().filter(|cell| cell.measured.is_some()).count();
    assert!(measured > 0, "{:?}", record.body.cells);
    let line = SyncLine::between(&record, None);
    assert_eq!(line.line_1, record.body.sync_line.line_1);
    let text = table::probe(&record, Detail::Wide);
    assert!(text.contains("probe of") && text.contains("Verdict"), "{text}");
    closed_schema::check(&[
        Record::from(record),
        Record::from(fixture::run(SQLITE, 1, 9_000.0, 1.0)),
    ]);
}

/// D8: the line moved fivefold between before and after without a warning.
#[test]
fn a_line_that_moved_by_more_than_a_fifth_causes_a_warning() {
    let warned = |before: &[f64], after: &[f64]| {
        let given = RunInputs {
            dropped_syncs: None,
            sync_line: SyncLine {
                before: before.to_vec(),
                after: after.to_vec(),
                ..fixture::line()
            },
            ..run_inputs()
        };
        let run = result(1_000, Some(1.0));
        let record = from_run(&[run], &given);
        let mut warnings = record.end.warnings.into_iter();
        warnings.find(|warning| warning.name == "line_moved")
    };
    let moved = warned(&[1_193.0, 3_597.0], &[1_294.0, 6_167.0]).unwrap();
    assert!(moved.what.contains("6.17k/s"), "{}", moved.what);
    assert!(warned(&[12_000.0, 12_100.0], &[9_000.0, 9_100.0]).is_some());
    assert_eq!(warned(&[12_000.0, 12_100.0], &[11_000.0, 13_000.0]), None);
    assert_eq!(warned(&[12_000.0], &[]), None);
}
