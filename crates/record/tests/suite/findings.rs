//! The rate rule and the count rule, applied to records.

use crate::fixture::{self, SQLITE, Store};
use syncline_record::{Counted, CounterFigures, Interval, RunRecord, SyncLine};
use syncline_record::{contradicted_syncs, count_finding, findings, rate_finding, sync_line_ratio};

const OS: Store = Store { durability: "os", evidence: "synchronous=OFF read back", ..SQLITE };

/// A run of one client with one of `rates` in each second.
fn one_client(store: Store, rates: &[u64]) -> RunRecord {
    let mut run = fixture::run(store, 1, 9_000.0, 1.0);
    let pattern = run.intervals[0].clone();
    run.intervals = rates
        .iter()
        .zip(0_u64..)
        .map(|(rate, second)| Interval {
            start_ns: second * 1_000_000_000,
            end_ns: (second + 1) * 1_000_000_000,
            committed: *rate,
            ..pattern.clone()
        })
        .collect();
    run
}

#[test]
fn a_store_faster_than_any_sync_is_flagged() {
    // The best second of line_1 before and after is 12,210: five windows above 14,652.
    let finding = rate_finding(&one_client(OS, &[90_000; 5])).unwrap();
    assert!(finding.sentence.starts_with("faster than any sync this tool could make here"));
    assert!(finding.advice.contains("check its settings"));
    assert!(!finding.fails, "os promises no sync");
    assert!(rate_finding(&one_client(SQLITE, &[90_000; 5])).unwrap().fails);
    assert_eq!(rate_finding(&one_client(SQLITE, &[90_000; 4])), None);
    assert_eq!(rate_finding(&one_client(SQLITE, &[14_600; 9])), None);
}

#[test]
fn short_intervals_are_combined_to_seconds() {
    let mut run = one_client(OS, &[9_000; 24]);
    for (interval, number) in run.intervals.iter_mut().zip(0_u64..) {
        interval.start_ns = number * 250_000_000;
        interval.end_ns = (number + 1) * 250_000_000;
    }
    assert!(rate_finding(&run).is_some(), "9,000 in a quarter of a second are 36,000 per second");
    run.intervals.truncate(16);
    assert_eq!(rate_finding(&run), None, "four seconds are too few");
}

#[test]
fn sixteen_honest_writers_and_a_run_without_both_probes_are_not_flagged() {
    let mut together = one_client(SQLITE, &[56_000; 10]);
    together.head.plan.clients = 16;
    assert_eq!(findings(&together), []);
    let mut unprobed = one_client(SQLITE, &[90_000; 10]);
    unprobed.end.sync_line.after.clear();
    assert_eq!(rate_finding(&unprobed), None);
}

#[test]
fn more_commits_per_sync_than_clients_are_flagged() {
    let counted = |per_sync: f64| fixture::run(SQLITE, 8, 9_000.0, per_sync);
    assert_eq!(count_finding(&counted(7.9)), None);
    assert_eq!(count_finding(&counted(8.2)), None, "within the margin of the counters");
    let finding = count_finding(&counted(400.0)).unwrap();
    assert!(finding.fails && finding.sentence.starts_with("400 commits share one sync"));
}

#[test]
fn a_store_that_syncs_without_sync_calls_is_not_accused() {
    let mut run = fixture::run(SQLITE, 8, 9_000.0, 1.0);
    run.end.per_commit.syncs = Counted::by(Some(0.0), "perf event");
    assert_eq!(count_finding(&run), None, "one flush per commit reached the disk");
    run.end.per_commit.flushes = Counted::unknown("several disks");
    assert_eq!(count_finding(&run), None, "flushes were not counted");
    run.end.per_commit.flushes = Counted::by(Some(0.0001), "disk vda");
    assert!(count_finding(&run).unwrap().sentence.starts_with("no sync was counted"));
    run.end.per_commit.synced_writes = Counted::by(Some(1.0), "by the store's word");
    assert_eq!(count_finding(&run), None);
}

/// A run with as many reads as writes, and with `syncs` counted per commit.
fn half_reads(syncs: f64) -> RunRecord {
    let mut run = one_client(SQLITE, &[90_000; 5]);
    let mut reads = run.end.transactions[0].clone();
    reads.name = "read".to_owned();
    reads.always_writes = Some(false);
    run.end.transactions.push(reads);
    let counted = Counted { value: Some(syncs), source: "counted".to_owned() };
    run.end.per_commit.syncs = counted.clone();
    run.end.per_commit.flushes = counted;
    run
}

#[test]
fn reads_need_no_sync_and_cause_no_finding() {
    assert_eq!(findings(&half_reads(0.5)), [], "one sync per write");
    let too_few = count_finding(&half_reads(0.2)).unwrap();
    assert!(too_few.fails, "five commits per sync, of which two and a half wrote");
    assert!(too_few.sentence.starts_with("2.5"), "{}", too_few.sentence);
    let mut all_read = half_reads(0.0);
    all_read.end.transactions.remove(0);
    assert_eq!(findings(&all_read), []);
}

/// D8: 1.42 times the line at one counted commit per sync.
#[test]
fn no_ratio_to_the_line_is_above_what_counted_syncs_allow() {
    // line_1 is 12,080/s, line_max 60,200/s.
    let ratio = |clients, per_s, commits_per_sync, line: fn(&SyncLine) -> Option<f64>| {
        let run = fixture::run(SQLITE, clients, per_s, commits_per_sync);
        let on = fixture::line();
        sync_line_ratio(&run, &on, line(&on))
    };
    let line_1: fn(&SyncLine) -> Option<f64> = |line| line.line_1;
    assert_eq!(ratio(1, 17_150.0, 1.0, line_1), None);
    assert_eq!(ratio(1, 12_080.0, 1.0, line_1), Some(1.0));
    let noise = ratio(1, 12_300.0, 1.0, line_1).unwrap();
    assert!((noise - 1.0).abs() < 1e-9, "{noise}");
    assert!(ratio(1, 17_150.0, 4.0, line_1).unwrap() > 1.4, "four share one");
    // Several clients' syncs may be outstanding at once.
    assert!(ratio(8, 17_150.0, 1.0, line_1).unwrap() > 1.4);
    assert_eq!(ratio(8, 90_000.0, 1.0, |line| line.line_max), None);
    let mut unknown = fixture::run(SQLITE, 1, 17_150.0, 1.0);
    unknown.end.per_commit.syncs = Counted::unknown("tracing is not allowed");
    assert!(sync_line_ratio(&unknown, &fixture::line(), Some(12_080.0)).is_some());
}

// B.F10
#[test]
fn a_store_that_counts_syncs_which_the_kernel_did_not_count_causes_a_warning() {
    let counter = |meaning: &str, name: &str, grown: u64| CounterFigures {
        meaning: meaning.to_owned(),
        name: name.to_owned(),
        unit: "count".to_owned(),
        before: Some(0),
        after: Some(grown),
        grown: Some(grown),
        reason: None,
        said_by: "SELECT".to_owned(),
    };
    let mut run = fixture::run(SQLITE, 1, 9_000.0, 1.0);
    run.end.counters = Some(vec![
        counter("commits", "xact_commit", 376),
        counter("log_syncs", "pg_stat_wal.wal_sync", 382),
    ]);
    let calls = "fsync, fdatasync, msync and syncfs calls counted by perf event";
    run.end.per_commit.syncs = Counted::by(Some(0.0), calls);
    let what = contradicted_syncs(&run).unwrap();
    assert!(what.contains("382 syncs") && what.contains("the kernel counted 0"), "{what}");
    run.end.per_commit.syncs = Counted::by(Some(1.01), calls);
    assert_eq!(contradicted_syncs(&run), None, "they agree");
    run.end.per_commit.syncs = Counted::unknown("the store's process is not on this machine");
    assert_eq!(contradicted_syncs(&run), None, "the kernel did not count");
}

// B.F3
#[test]
fn a_disk_without_flushes_is_not_evidence_against_a_store() {
    let mut run = fixture::run(SQLITE, 1, 9_000.0, 1.0);
    run.end.per_commit.syncs = Counted::by(Some(0.0), "perf event");
    run.end.per_commit.flushes = Counted::by(Some(0.0), "disk vda");
    assert!(count_finding(&run).is_some(), "two counts agree that there was none");
    run.end.per_commit.flushes = Counted::unknown(
        "the kernel sends no flushes to vda because it treats the disk's cache as write-through",
    );
    assert_eq!(count_finding(&run), None);
}
