//! The cost of a profiled run as a record holds it.

use syncline_record::{
    Cost, CostRow, CostTotal, MetricCost, OverheadCost, OverheadPair, OverheadRatio, Range,
    RunRecord, StoreCommits, SyncEvidence,
};

pub(crate) const COMMITS: u64 = 12_000;

/// Class of threads, module, user, kernel.
type Cpu = (&'static str, Option<&'static str>, u64, u64);

/// Nanoseconds per transaction by class of threads and module: user, kernel; `None` is unknown code.
const CPU: [Cpu; 9] = [
    ("connection", Some("network_server"), 4_200, 21_500),
    ("connection", Some("client_api"), 300, 0),
    ("connection", Some("access"), 1_200, 100),
    ("connection", Some("lock_manager"), 1_900, 2_350),
    ("connection", Some("logging"), 2_250, 6_000),
    ("connection", Some("transaction_control"), 2_000, 0),
    ("connection", None, 210, 40),
    ("background", Some("logging"), 900, 2_100),
    ("runtime", None, 510, 90),
];
const CALLS: [(&str, Option<&str>, u64); 5] = [
    ("connection", Some("network_server"), 47_880),
    ("connection", Some("lock_manager"), 31_440),
    ("connection", Some("logging"), 8_400),
    ("connection", None, 36),
    ("background", Some("logging"), 1_200),
];
const VOLUNTARY: [(&str, Option<&str>, u64); 4] = [
    ("connection", Some("network_server"), 34_800),
    ("connection", Some("lock_manager"), 15_840),
    ("connection", Some("logging"), 8_880),
    ("connection", None, 12),
];
const OFF: [(&str, Option<&str>, u64); 4] = [
    ("connection", Some("lock_manager"), 95_000),
    ("connection", Some("logging"), 61_000),
    ("connection", Some("waiting_for_request"), 480_000),
    ("connection", None, 1_000),
];

fn rows(charges: &[(&str, Option<&str>, u64)], sample: Option<u64>, waits: bool) -> Vec<CostRow> {
    let left_out = |module: Option<&str>| waits && module == Some("waiting_for_request");
    let row = |(class, module, amount): &(&str, Option<&str>, u64)| {
        let own = charges.iter().filter(|(one, ..)| one == class);
        let of: u64 =
            own.filter(|(_, module, _)| !left_out(*module)).map(|(.., amount)| amount).sum();
        let share = (of > 0 && !left_out(*module)).then(|| *amount as f64 / of as f64);
        CostRow {
            threads: (*class).to_owned(),
            module: module.map(str::to_owned),
            amount: *amount,
            per_transaction: Some(*amount as f64 / COMMITS as f64),
            share,
            count: sample.map_or(*amount, |each| *amount / each),
            share_range: share
                .filter(|_| sample.is_some())
                .map(|share| Range { least: share * 0.9, most: share * 1.1 }),
        }
    };
    charges.iter().map(row).collect()
}

fn metric(name: &str, unit: &str, rows: Vec<CostRow>, distance: Option<&str>) -> MetricCost {
    // On behalf of: the lock manager's part is charged to the log.
    let outward = rows.iter().cloned().map(|mut row| {
        if row.module.as_deref() == Some("lock_manager") {
            row.module = Some("logging".to_owned());
        }
        row
    });
    MetricCost {
        metric: name.to_owned(),
        unit: unit.to_owned(),
        collector: "perf events".to_owned(),
        how: if distance.is_some() { "sampled" } else { "exact" }.to_owned(),
        detail: distance.map(str::to_owned),
        lost: 3,
        total: None,
        guessed: 0,
        on_behalf_of: outward.collect(),
        innermost: rows,
        lengths: None,
    }
}

fn ratio(ratio: f64) -> OverheadRatio {
    OverheadRatio { median: ratio, least: ratio, most: ratio }
}

/// A server's cost: processor time sampled, calls and switches exact, allocations not available.
pub(crate) fn cost() -> Cost {
    let each = |pick: fn(&Cpu) -> u64| {
        let all = CPU.iter().map(|one| (one.0, one.1, pick(one) * COMMITS));
        all.collect::<Vec<_>>()
    };
    let frequency = "99 samples/s per CPU";
    let mut user = metric(
        "cpu_user",
        "ns",
        rows(&each(|one| one.2), Some(10_101_010), false),
        Some(frequency),
    );
    user.total = Some(CostTotal {
        amount: 14_000 * COMMITS,
        per_transaction: Some(14_000.0),
        source: "/proc/PID/stat".to_owned(),
    });
    let kernel = metric(
        "cpu_kernel",
        "ns",
        rows(&each(|one| one.3), Some(10_101_010), false),
        Some(frequency),
    );
    let off = OFF.map(|(class, module, each)| (class, module, each * COMMITS));
    let mut off = metric("off_cpu", "ns", rows(&off, None, true), None);
    off.lengths = Some(vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 40, 410, 2_200, 30_500, 21_000, 900, 7, 3]);
    let mut bytes = metric("allocated_bytes", "bytes", Vec::new(), None);
    bytes.how = "not attributable".to_owned();
    bytes.collector = "async-profiler".to_owned();
    bytes.detail = Some("the store runs in no JVM: its memory is not collected".to_owned());
    bytes.lost = 0;
    Cost {
        map: Some("postgresql 12 to 18".to_owned()),
        window_ns: 6_000_000_000,
        commits: COMMITS,
        commits_by_store: StoreCommits {
            acknowledged: 13_010,
            counted: Some(13_016),
            ratio: Some(13_016.0 / 13_010.0),
            source: "xact_commit of pg_stat_database".to_owned(),
        },
        syncs: SyncEvidence {
            metered_per_commit: Some(0.303),
            traced_per_commit: Some(0.305),
            difference: Some(0.303 / 0.305 - 1.0),
            flushes_per_commit: Some(0.29),
            flushes_within_syncs: Some(true),
        },
        looking: Some(OverheadCost {
            threads_ns: 24_000_000,
            programs_ns: Some(5_000_000),
            programs_of_ns: Some(250_000_000),
            programs_attached_ns: Some(1_000_000_000),
            share: Some(0.012),
            pairs: vec![OverheadPair { metered_per_s: 1_970.0, unmetered_per_s: 2_000.0 }],
            throughput: Some(ratio(0.985)),
        }),
        metrics: vec![
            user,
            kernel,
            off,
            metric("system_calls", "count", rows(&CALLS, None, false), None),
            metric("voluntary_switches", "count", rows(&VOLUNTARY, None, false), None),
            bytes,
        ],
        warnings: vec!["3.1 % of the functions seen are not in the map's table".to_owned()],
        stacks: None,
    }
}

/// The same run with a profile.
pub(crate) fn metered(mut run: RunRecord) -> RunRecord {
    run.head.plan.looks_per_s = Some(99);
    run.end.cost = Some(cost());
    run
}
