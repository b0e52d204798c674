//! Records of the loads that are compared with published figures: tpcc, ycsb, concurrent-tx, mrow, mrmw,
//! select, update, join, and insert by inserts per commit.

use crate::cost_fixture;
use crate::fixture::{self, ENGINE, SQLITE, latency};
use std::collections::BTreeMap;
use syncline_record::{
    InternalFigures, Outcomes, OwnFigure, Record, RunRecord, TransactionFigures,
};

const NOTICE: &str = "derived from TPC-C, not comparable to published TPC results";

/// A run of another workload with these options: "name=value", separated by blanks.
pub(crate) fn run_of(workload: &str, options: &str, clients: u64, per_s: f64) -> RunRecord {
    let mut run = fixture::run(ENGINE, clients, per_s, 6.0);
    run.identity.survey = None;
    run.head.workload.name = workload.to_owned();
    run.head.workload.unit = "transactions".to_owned();
    run.head.workload.options = options_of(options);
    run
}

fn options_of(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Splits the commits of a run over kinds by their shares.
fn with_kinds(mut run: RunRecord, kinds: &[(&str, f64)]) -> RunRecord {
    let all = run.end.transactions[0].count as f64;
    run.end.transactions = kinds
        .iter()
        .map(|(name, share)| {
            let committed = (all * share) as u64;
            TransactionFigures {
                name: (*name).to_owned(),
                count: committed,
                outcomes: fixture::outcomes(committed, 0),
                service_ns: Some(latency((180_000.0 * (1.0 + share)) as u64)),
                response_ns: None,
                service_histogram: None,
                response_histogram: None,
                always_writes: Some(true),
            }
        })
        .collect();
    run
}

fn part(name: &str, rate_per_s: f64, p50_ns: f64, timed_one_in: u64) -> InternalFigures {
    InternalFigures {
        name: name.to_owned(),
        count: (rate_per_s * 2.0) as u64,
        rate_per_s,
        timed_one_in,
        p50_ns: Some(p50_ns),
        p90_ns: Some(p50_ns * 1.5),
        p99_ns: Some(p50_ns * 4.0),
        p999_ns: Some(p50_ns * 9.0),
        mean_ns: Some(p50_ns * 1.2),
    }
}

/// The engine's own times of its parts; its log is opened so that a write syncs.
fn internals() -> Vec<InternalFigures> {
    vec![
        part("read", 1_100_000.0, 384.0, 64),
        part("scan", 14_000.0, 6_144.0, 64),
        part("write", 900_000.0, 192.0, 64),
        part("lock", 61_000.0, 768.0, 64),
        part("timestamp", 61_000.0, 24.0, 64),
        part("validate", 61_000.0, 1_536.0, 64),
        part("apply", 61_000.0, 3_072.0, 64),
        part("log write", 10_100.0, 98_304.0, 1),
        part("log sync call", 0.0, 0.0, 1),
        part("wait for log room", 0.0, 0.0, 1),
    ]
}

/// TPC-C's five kinds by K2's weights, with conflicts and retries.
pub(crate) fn tpcc() -> RunRecord {
    let options = "profile=k2 warehouses=4 weights=43,4,4,45,4 think=none";
    let mut run = with_kinds(
        run_of("tpcc", options, 64, 61_200.0),
        &[
            ("new-order", 0.446),
            ("payment", 0.43),
            ("order-status", 0.041),
            ("delivery", 0.041),
            ("stock_level", 0.042),
        ],
    );
    run.head.workload.notice = Some(NOTICE.to_owned());
    run.end.internals = Some(internals());
    run.end.outcomes.retries = 9_600;
    run.end.outcomes.conflicted = 12;
    run.end.outcomes.attempted += 12;
    run
}

/// The same on a store that counts nothing inside.
pub(crate) fn tpcc_elsewhere() -> RunRecord {
    let mut run = tpcc();
    run.head.target = fixture::run(SQLITE, 1, 900.0, 1.0).head.target;
    run.end.throughput_per_s = 1_130.0;
    run.end.internals = None;
    run.identity.id = "8hx3s".to_owned();
    run
}

pub(crate) fn ycsb() -> RunRecord {
    let options = "profile=k2 records=5000 fields=10 field_bytes=10 read=0.95 update=0.05 \
                   distribution=scrambled ops_per_txn=1";
    let run = run_of("ycsb", options, 64, 1_410_000.0);
    let mut run = with_kinds(run, &[("read", 0.95), ("update", 0.05)]);
    run.end.internals = Some(internals());
    run
}

/// 20 clients, 11 % aborts, a few failures of two causes, and a requested number of transactions.
pub(crate) fn concurrent_tx() -> RunRecord {
    let mut run = run_of("concurrent-tx", "operations=100 key_bytes=4", 20, 1_480.0);
    run.end.repetitions.truncate(1);
    run.head.plan.transactions = Some(10_000);
    run.end.measured_ns = 5_123_456_789;
    run.end.to_last_end_ns = Some(5_123_456_789);
    run.end.outcomes = Outcomes {
        attempted: 9_991,
        committed: 8_855,
        aborted: 1_102,
        conflicted: 21,
        failed: 3,
        unfinished: 10,
        conflict_causes: BTreeMap::from([("serialization".to_owned(), 21)]),
        failure_causes: BTreeMap::from([("limit".to_owned(), 3)]),
        ..Outcomes::none()
    };
    run.end.throughput_per_s = 8_855.0 / 5.123_456_789;
    let all = run.end.outcomes.clone();
    let kind = &mut run.end.repetitions[0].transactions[0];
    (kind.count, kind.outcomes) = (all.committed, all);
    of_one_repetition(run)
}

pub(crate) fn mrow() -> RunRecord {
    let mut run = run_of("mrow", "prewritten=2500 records_per_commit=1", 21, 40_300.0);
    run.end.repetitions.truncate(1);
    run.end.measured_ns = 10_047_000_000;
    run.end.to_last_end_ns = Some(10_047_000_000);
    let readers =
        Outcomes { attempted: 400_020, committed: 400_000, unfinished: 20, ..Outcomes::none() };
    let kinds = [("read", readers.clone()), ("write", fixture::outcomes(2_790, 1))];
    run.end.repetitions[0].transactions = tasks(&kinds);
    run.end.outcomes = readers;
    run.end.outcomes.add(&fixture::outcomes(2_790, 1));
    run.end.figures = Some(vec![
        own("tasks a second", "", 39_812.9),
        own("record reads a second", "", 3_981_288.0),
    ]);
    of_one_repetition(run)
}

/// Tasks of both kinds by many clients, on a store that syncs nothing.
pub(crate) fn mrmw() -> RunRecord {
    let options = "prewritten=5000 reads_per_task=100 writes_per_task=100";
    let mut run = run_of("mrmw", options, 20, 20_000.0);
    run.head.target.durability = Some("os".to_owned());
    run.end.repetitions.truncate(1);
    run.end.measured_ns = 10_000_000_000;
    run.end.to_last_end_ns = Some(10_000_000_000);
    let (read, write) = (fixture::outcomes(160_000, 2), fixture::outcomes(40_000, 1));
    let kinds = [("read task", read.clone()), ("write task", write.clone())];
    run.end.repetitions[0].transactions = tasks(&kinds);
    run.end.outcomes = read;
    run.end.outcomes.add(&write);
    run.end.figures = Some(vec![
        own("verified a second, at the mean length", "MB", 820.0),
        own("written a second, at the mean length", "MB", 205.0),
    ]);
    of_one_repetition(run)
}

/// Makes the only repetition equal to the whole run.
fn of_one_repetition(mut run: RunRecord) -> RunRecord {
    let end = &mut run.end;
    let commits = end.outcomes.committed;
    end.commits_in_span = Some(commits);
    let one = &mut end.repetitions[0];
    one.outcomes = end.outcomes.clone();
    one.measured_ns = end.measured_ns;
    one.to_last_end_ns = end.to_last_end_ns;
    one.commits_in_span = Some(commits);
    one.throughput_per_s = commits as f64 * 1e9 / end.measured_ns as f64;
    run
}

fn own(name: &str, unit: &str, value: f64) -> OwnFigure {
    OwnFigure { name: name.to_owned(), unit: unit.to_owned(), value }
}

fn tasks(kinds: &[(&str, Outcomes)]) -> Vec<TransactionFigures> {
    kinds
        .iter()
        .map(|(name, outcomes)| TransactionFigures {
            name: (*name).to_owned(),
            count: outcomes.committed,
            outcomes: outcomes.clone(),
            service_ns: Some(latency(400_000)),
            response_ns: None,
            service_histogram: None,
            response_histogram: None,
            always_writes: Some(!name.contains("read")),
        })
        .collect()
}

/// One store with several numbers of inserts per commit, one client; a second store with one number.
pub(crate) fn commit_every() -> Vec<Record> {
    let mut runs = Vec::new();
    for (each, commits_per_s) in [(100, 3_900.0), (1, 8_940.0), (10, 7_800.0)] {
        let mut run = fixture::run(SQLITE, 1, commits_per_s, 1.0);
        run.head.workload.unit_per_transaction = each;
        let options = &mut run.head.workload.options;
        options.insert("commit_every".to_owned(), each.to_string());
        runs.push(run);
    }
    let mut engine = fixture::run(ENGINE, 1, 11_300.0, 1.0);
    engine.end.internals = Some(internals());
    runs.push(engine);
    runs.into_iter().map(Record::from).collect()
}

/// A select without a profile.
pub(crate) fn select() -> RunRecord {
    run_of("select", "rows=100000", 10, 812_000.0)
}

/// A profiled update.
pub(crate) fn update() -> RunRecord {
    cost_fixture::metered(run_of("update", "rows=100000", 20, 94_000.0))
}
