//! Made-up records of a survey on a small virtual machine.

use serde_json::json;
use std::collections::BTreeMap;
use syncline_record::{
    Arrivals, Cell, CellFigures, Check, Client, CountBase, Counted, Device, Fact, Fairness,
    FlushCounts, Identity, Interval, Latency, Layer, Machine, NotRun, Outcomes, PerCommit,
    PlainWrite, Plan, ProbeBody, ProbeDevice, ProbeRecord, Range, ReadCell, Record, Repetition,
    RunEnd, RunHead, RunRecord, Saturation, SequentialCell, Setting, SyncLine, Target,
    TransactionFigures, Verdict, VerificationBody, VerificationRecord, Warning, Workload,
};

/// 2026-11-20T09:15:00Z.
pub(crate) const STARTED_NS: u64 = 1_795_166_100_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// A store to make runs of.
#[derive(Clone, Copy)]
pub(crate) struct Store {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) durability: &'static str,
    pub(crate) evidence: &'static str,
    pub(crate) isolation: &'static str,
    pub(crate) model: &'static str,
}

pub(crate) const SQLITE: Store = Store {
    name: "sqlite",
    version: "3.50.4",
    durability: "data",
    evidence: "synchronous=FULL, journal_mode=wal read back",
    isolation: "serializable",
    model: "threads",
};

pub(crate) const SQLITE_QUEUE: Store = Store { model: "queue", ..SQLITE };

pub(crate) const ENGINE: Store = Store {
    name: "engine",
    version: "0.1.0",
    durability: "data",
    evidence: "log opened with O_DIRECT and RWF_DSYNC, by its own word",
    isolation: "serializable",
    model: "futures",
};

pub(crate) fn identity(kind: &str, salt: u64) -> Identity {
    let mut identity = Identity::new(kind, STARTED_NS + salt * SECOND_NS, salt);
    identity.survey = Some("7kq2m".to_owned());
    identity
}

pub(crate) fn latency(p50: u64) -> Latency {
    Latency {
        p50,
        p90: p50 * 13 / 10,
        p99: p50 * 21 / 10,
        p999: p50 * 48 / 10,
        max: p50 * 190 / 10,
        mean: p50 as f64 * 1.08,
    }
}

pub(crate) fn machine() -> Machine {
    Machine {
        host: Some("buildhost7".to_owned()),
        cpu: Some("Example Xeon 8370C".to_owned()),
        cores: Some(2),
        smt: Some(true),
        governor: None,
        memory_bytes: Some(8 << 30),
        kernel: Some("6.12.40".to_owned()),
        hypervisor: Some("KVM".to_owned()),
        ..Machine::unknown()
    }
}

pub(crate) fn line() -> SyncLine {
    SyncLine {
        directory: Some("/home/ann/bench".to_owned()),
        device: Some("vda, ext4".to_owned()),
        method: Some("O_DIRECT + RWF_DSYNC".to_owned()),
        file_state: Some("overwrite".to_owned()),
        write_bytes: Some(4_096),
        line_1: Some(12_080.0),
        line_max: Some(60_200.0),
        line_max_outstanding: Some(16),
        latency_ns: Some(latency(79_000)),
        before: vec![11_950.0, 12_080.0, 12_210.0],
        after: vec![11_870.0, 12_020.0],
        round_trip_ns: None,
        verdict: None,
        reason: None,
    }
}

pub(crate) fn outcomes(committed: u64, unfinished: u64) -> Outcomes {
    Outcomes { attempted: committed + unfinished, committed, unfinished, ..Outcomes::none() }
}

/// The rates of the three slices of a run, relative to its rate.
const FACTORS: [f64; 3] = [0.98, 1.0, 1.03];

/// A run of three slices of two seconds.
pub(crate) fn run(store: Store, clients: u64, per_s: f64, commits_per_sync: f64) -> RunRecord {
    let salt = clients + per_s as u64;
    let service_ns = (clients as f64 * 1e9 / per_s * 0.93) as u64;
    let repetitions: Vec<Repetition> = FACTORS
        .into_iter()
        .zip(0..)
        .map(|(factor, number)| repetition(number, per_s * factor, service_ns, commits_per_sync))
        .collect();
    let mut summed = Outcomes::none();
    for one in &repetitions {
        summed.add(&one.outcomes);
    }
    RunRecord {
        identity: identity("run", salt),
        head: head(store, clients),
        intervals: (1..=3)
            .zip(FACTORS)
            .flat_map(|(one, factor)| intervals(one, per_s * factor, service_ns))
            .collect(),
        end: RunEnd {
            stopped_by: Some("duration".to_owned()),
            cut_short: None,
            measured_ns: 6 * SECOND_NS,
            to_last_end_ns: Some(6 * SECOND_NS),
            commits_in_span: Some(summed.committed),
            commits_late: Some(0),
            outcomes: summed,
            throughput_per_s: per_s,
            throughput_range: Some(Range { least: per_s * 0.98, most: per_s * 1.03 }),
            transactions: repetitions[1].transactions.clone(),
            repetitions,
            arrivals: None,
            operations: None,
            figures: None,
            internals: None,
            commit_path: None,
            counters: None,
            commits_per_sync_by_store: None,
            per_commit: per_commit(commits_per_sync),
            sync_line: line(),
            client: Some(Client {
                model: store.model.to_owned(),
                workers: if store.model == "threads" { clients } else { 2 },
                cpu_ns_per_transaction: Some(2_150.0),
                workers_tried: None,
                workers_clear: None,
            }),
            saturation: Some(saturation()),
            device: Device {
                name: Some("vda".to_owned()),
                model: None,
                queue_length: Some(0.94),
                reason: None,
            },
            fairness: Some(Fairness {
                least: summed_share(per_s, clients, 0.9),
                median: summed_share(per_s, clients, 1.0),
                most: summed_share(per_s, clients, 1.1),
                starved: Vec::new(),
            }),
            cost: None,
            reconnects: 0,
            checks: vec![Check {
                name: "every acknowledged row is there".to_owned(),
                outcome: "held".to_owned(),
                detail: None,
            }],
            warnings: vec![Warning {
                name: "short_warm_up".to_owned(),
                what: "the warm-up took only 0.5 s".to_owned(),
                advice: "use --warm-up 5s or longer for results you keep".to_owned(),
            }],
        },
    }
}

/// A run with starved clients.
pub(crate) fn starving(mut run: RunRecord) -> RunRecord {
    if let Some(fairness) = &mut run.end.fairness {
        fairness.least = 0;
        fairness.starved = vec![0, 4, 17];
    }
    run
}

/// An open loop at twice the store's rate.
pub(crate) fn overloaded() -> RunRecord {
    let mut run = run(SQLITE, 8, 9_000.0, 1.0);
    run.head.plan.arrival = "poisson".to_owned();
    run.head.plan.rate_per_s = Some(18_000.0);
    run.end.arrivals = Some(Arrivals {
        offered: 108_000,
        started: 54_600,
        late: 54_200,
        skipped: 0,
        abandoned: 53_400,
    });
    for one in &mut run.end.transactions {
        one.response_ns = Some(latency(1_480_000_000));
    }
    run
}

fn summed_share(per_s: f64, clients: u64, part: f64) -> u64 {
    (per_s * 6.0 / clients as f64 * part) as u64
}

fn head(store: Store, clients: u64) -> RunHead {
    RunHead {
        plan: plan(clients),
        workload: Workload {
            name: "insert".to_owned(),
            options: BTreeMap::from([
                ("commit-every".to_owned(), "1".to_owned()),
                ("keys".to_owned(), "ascending".to_owned()),
            ]),
            seed: 1,
            rows_kept: Some(false),
            unit: "inserts".to_owned(),
            unit_per_transaction: 1,
            notice: None,
        },
        target: Target {
            name: store.name.to_owned(),
            url: Some(format!("{}:/home/ann/bench/x?durability={}", "sqlite", store.durability)),
            product: Some(store.name.to_owned()),
            version: Some(store.version.to_owned()),
            durability: Some(store.durability.to_owned()),
            evidence: Some(store.evidence.to_owned()),
            isolation: Some(store.isolation.to_owned()),
            settings: vec![Setting {
                name: "synchronous".to_owned(),
                value: "2".to_owned(),
                said_by: "PRAGMA synchronous".to_owned(),
            }],
            log_directory: Some("/home/ann/bench".to_owned()),
            log_reason: None,
            disk_drops_syncs: None,
            disk_space: Vec::new(),
            disk_space_reason: None,
            statements: None,
            statements_reason: Some("the store runs in this process".to_owned()),
        },
        machine: machine(),
    }
}

fn plan(clients: u64) -> Plan {
    Plan {
        clients,
        workers: None,
        duration_ns: Some(2 * SECOND_NS),
        transactions: None,
        warm_up_ns: SECOND_NS / 2,
        drain_ns: 10 * SECOND_NS,
        arrival: "closed".to_owned(),
        rate_per_s: None,
        retries: 0,
        seed: 1,
        pin: Vec::new(),
        operations: false,
        looks_per_s: None,
        unmetered_beside: Some(false),
        pipeline: Some(false),
        connects_each: Some(false),
        transactions_each: None,
        skip_after_ns: None,
        retry_within_ns: None,
        goes_on_after_errors: Some(false),
        reuse: Some(false),
        interval_ns: SECOND_NS,
        repeat: 3,
        interleave: true,
    }
}

fn repetition(number: u64, per_s: f64, service_ns: u64, commits_per_sync: f64) -> Repetition {
    let outcomes = outcomes((per_s * 2.0) as u64, 0);
    let commits = outcomes.committed;
    let syncs = (commits as f64 / commits_per_sync) as u64;
    Repetition {
        started_wall_ns: STARTED_NS + number * 20 * SECOND_NS,
        measured_ns: 2 * SECOND_NS,
        to_last_end_ns: Some(2 * SECOND_NS),
        commits_in_span: Some(outcomes.committed),
        commits_late: Some(0),
        counted: Some(CountBase {
            span_ns: 2 * SECOND_NS,
            commits: outcomes.committed,
            syncs: Some(syncs),
        }),
        client_time: None,
        throughput_per_s: commits as f64 / 2.0,
        transactions: vec![TransactionFigures {
            always_writes: Some(true),
            name: "insert".to_owned(),
            count: outcomes.committed,
            outcomes: outcomes.clone(),
            service_ns: Some(latency(service_ns + number * 100)),
            response_ns: Some(latency(service_ns + number * 100)),
            service_histogram: None,
            response_histogram: None,
        }],
        outcomes,
        commits_per_sync: Some(commits as f64 / syncs as f64),
    }
}

fn intervals(repetition: u64, per_s: f64, service_ns: u64) -> Vec<Interval> {
    (0..2)
        .map(|second| Interval {
            repetition,
            start_ns: second * SECOND_NS,
            end_ns: (second + 1) * SECOND_NS,
            // A small variation, so that curves over time are not straight lines; both seconds together are
            // the repetition.
            committed: (per_s * (1.0 + 0.002 * (2.0 * second as f64 - 1.0))) as u64,
            aborted: 0,
            conflicted: 0,
            failed: 0,
            unfinished: 0,
            service_p50_ns: Some(service_ns),
            service_p99_ns: Some(service_ns * 2),
            service_max_ns: Some(service_ns * 19),
            response_p50_ns: Some(service_ns),
            response_p99_ns: Some(service_ns * 2),
            response_max_ns: Some(service_ns * 19),
            response_histogram: None,
            steal: Some(0.003),
            foreign_cpus: Some(0.04),
            busy: Some(0.61),
            pressure_cpu: Some(0.02),
            pressure_io: Some(0.7),
            queue_length: Some(0.94),
            device_busy: Some(0.92),
            page_faults: Some(12),
        })
        .collect()
}

fn per_commit(commits_per_sync: f64) -> PerCommit {
    let disk = "disk vda, all its requests";
    PerCommit {
        syncs: Counted::by(Some(1.0 / commits_per_sync), "perf event on sync system calls"),
        synced_writes: Counted::unknown("which writes are synchronous is not known"),
        device_writes: Counted::by(Some(1.1 / commits_per_sync), disk),
        device_bytes: Counted::by(Some(4_506.0 / commits_per_sync), disk),
        flushes: Counted::by(Some(0.98 / commits_per_sync), disk),
        system_calls: Counted::by(Some(4.2), "perf event on raw_syscalls:sys_enter"),
        client_cpu_ns: Counted::by(Some(2_150.0), "processor time of the workers"),
        target_cpu_ns: Counted::unknown("the store is a library in the workers"),
        page_faults: Counted::by(Some(0.0), "/proc/self/stat"),
    }
}

fn saturation() -> Saturation {
    Saturation {
        verdict: "sync-bound".to_owned(),
        reason: "the store syncs at 75 % of the sync line".to_owned(),
        figures: BTreeMap::from([
            ("line_share".to_owned(), Some(0.75)),
            ("read_share".to_owned(), None),
        ]),
        thresholds: BTreeMap::from([("line_share".to_owned(), 0.7)]),
    }
}

pub(crate) fn probe() -> ProbeRecord {
    ProbeRecord { identity: identity("probe", 0), body: probe_body() }
}

fn probe_body() -> ProbeBody {
    ProbeBody {
        directory: "/home/ann/bench".to_owned(),
        machine: machine(),
        duration_ns: 15 * SECOND_NS,
        quick: true,
        label: "burst".to_owned(),
        device: device(),
        sync_line: SyncLine { after: Vec::new(), ..line() },
        cells: cells(),
        plain_write: Some(PlainWrite {
            write_bytes: 4_096,
            rate_per_s: 31_400.0,
            latency_ns: latency(30_000),
        }),
        reads: [(1, Some(9_870.0)), (32, None)]
            .map(|(depth, rate_per_s)| ReadCell {
                read_bytes: 4_096,
                depth,
                file_bytes: 256 << 20,
                rate_per_s,
                latency_ns: rate_per_s.map(|_| latency(98_000)),
                reason: rate_per_s.is_none().then(|| "the time was over".to_owned()),
            })
            .to_vec(),
        sequential: [("read", 1.9e9), ("write", 0.8e9)]
            .map(|(direction, rate)| SequentialCell {
                direction: direction.to_owned(),
                transfer_bytes: 1 << 20,
                bytes_per_s: Some(rate),
                reason: None,
            })
            .to_vec(),
        flush_counts: FlushCounts {
            disk: Some("vda".to_owned()),
            idle_flushes_per_s: Some(0.2),
            idle_writes_per_s: Some(1.4),
            reason: None,
        },
        verdicts: vec![Verdict {
            subject: "/home/ann/bench".to_owned(),
            word: "consistent with flushing".to_owned(),
            reason: "one flush reaches vda for each sync and costs 49 us beside a plain write"
                .to_owned(),
            remedy: None,
        }],
        notes: vec!["cells of 0.3 s show a burst, not what the device keeps up".to_owned()],
        cut_short: None,
        not_run: vec![NotRun {
            target: "sqlite".to_owned(),
            durability: "data".to_owned(),
            model: "threads".to_owned(),
            clients: 1_000,
            reason: "a thread a client: 1,000 threads would measure the scheduler".to_owned(),
        }],
        fitness: Vec::new(),
        over_time: None,
    }
}

fn fact(name: &str, value: Option<&str>, said_by: &str) -> Fact {
    Fact {
        name: name.to_owned(),
        value: value.map(str::to_owned),
        said_by: said_by.to_owned(),
        private: name == "serial",
    }
}

fn device() -> ProbeDevice {
    ProbeDevice {
        mount: vec![
            fact("mount point", Some("/home"), "/proc/self/mountinfo"),
            fact("options", Some("rw,relatime"), "/proc/self/mountinfo"),
        ],
        layers: vec![
            Layer {
                name: "/home".to_owned(),
                kind: "ext4".to_owned(),
                depth: 0,
                facts: Vec::new(),
                standing: "passes on".to_owned(),
                standing_reason: None,
                remedy: None,
            },
            Layer {
                name: "vda".to_owned(),
                kind: "disk".to_owned(),
                depth: 1,
                facts: vec![
                    fact("write cache", Some("write back"), "/sys/block/vda/queue/write_cache"),
                    fact("model", None, "/sys/block/vda/device/model"),
                    fact("serial", Some("ZX-99881"), "/sys/block/vda/serial"),
                ],
                standing: "not known".to_owned(),
                standing_reason: Some("a virtual disk: the host decides".to_owned()),
                remedy: None,
            },
        ],
        environment: vec![fact("hypervisor", Some("KVM"), "/proc/cpuinfo")],
        sentences: vec![
            "This is a virtual machine: the disk ZX-99881 is what its host says it is.".to_owned(),
        ],
        file_system: Some("ext4".to_owned()),
        disks: vec!["vda".to_owned()],
        write_cache: "write back".to_owned(),
        rpm: None,
        rpm_said_by: None,
        model: None,
        cache_off_command: Some(
            "echo 'write through' > /sys/block/vda/queue/write_cache".to_owned(),
        ),
    }
}

fn cells() -> Vec<Cell> {
    let walk = [
        ("fsync", 4_096, "overwrite", 1, 6_940.0),
        ("fdatasync", 4_096, "overwrite", 1, 7_210.0),
        ("O_DIRECT + fdatasync", 4_096, "overwrite", 1, 8_030.0),
        ("O_DIRECT + RWF_DSYNC", 4_096, "overwrite", 1, 12_080.0),
        ("O_DIRECT + RWF_DSYNC", 4_096, "overwrite", 2, 21_500.0),
        ("O_DIRECT + RWF_DSYNC", 4_096, "overwrite", 4, 37_900.0),
        ("O_DIRECT + RWF_DSYNC", 4_096, "overwrite", 16, 60_200.0),
        ("O_DIRECT + RWF_DSYNC", 16_384, "overwrite", 1, 10_300.0),
        ("O_DIRECT + RWF_DSYNC", 1_048_576, "overwrite", 1, 1_120.0),
        ("O_DIRECT + RWF_DSYNC", 4_096, "unwritten extents", 1, 3_350.0),
        ("O_DIRECT + RWF_DSYNC", 4_096, "append", 1, 2_990.0),
    ];
    let mut cells: Vec<Cell> = walk.into_iter().map(measured).collect();
    cells[0].placement = "same block".to_owned();
    if let Some(figures) = &mut cells[9].measured {
        figures.modes = Some(
            [(0.71, 240_000), (0.29, 610_000)]
                .map(|(share, typical_ns)| syncline_record::Mode { share, typical_ns })
                .to_vec(),
        );
    }
    cells.push(Cell {
        measured: None,
        reason: Some("not possible: 256 B is below the block of 512 B".to_owned()),
        fio: None,
        ..measured(("O_DIRECT + RWF_DSYNC", 256, "overwrite", 1, 1.0))
    });
    cells
}

fn measured((method, write_bytes, state, outstanding, rate): (&str, u64, &str, u64, f64)) -> Cell {
    Cell {
        method: method.to_owned(),
        write_bytes,
        file_state: state.to_owned(),
        placement: "walk".to_owned(),
        outstanding,
        fio: Some(format!("fio --name=cell --rw=write --bs={write_bytes} --numjobs={outstanding}")),
        measured: Some(CellFigures {
            syncs: (rate * 0.3) as u64,
            elapsed_ns: 300_000_000,
            rate_per_s: rate,
            latency_ns: latency((outstanding as f64 * 0.95e9 / rate) as u64),
            modes: None,
            device_writes_per_sync: Counted::by(Some(1.0), "the disk's counters"),
            device_bytes_per_sync: Counted::by(Some(write_bytes as f64), "the disk's counters"),
            flushes_per_sync: Counted::unknown("several outstanding: the kernel merges flushes"),
            windows: vec![rate * 0.99, rate, rate * 1.01],
            window_ns: 100_000_000,
            steady: true,
        }),
        reason: None,
    }
}

/// The whole survey, the probe first.
pub(crate) fn survey() -> Vec<Record> {
    let mut records = vec![Record::from(probe())];
    let steps = [
        (ENGINE, 1, 11_300.0, 1.0),
        (ENGINE, 8, 61_400.0, 5.6),
        (ENGINE, 64, 412_000.0, 38.0),
        (ENGINE, 1_000, 1_870_000.0, 520.0),
        (SQLITE, 1, 8_940.0, 1.0),
        (SQLITE, 8, 9_120.0, 1.0),
        (SQLITE, 64, 8_310.0, 1.0),
        (SQLITE_QUEUE, 1, 8_700.0, 1.0),
        (SQLITE_QUEUE, 8, 52_300.0, 7.6),
        (SQLITE_QUEUE, 64, 231_000.0, 61.0),
        (SQLITE_QUEUE, 1_000, 334_000.0, 870.0),
    ];
    records.extend(steps.map(|(store, clients, rate, commits)| {
        let run = run(store, clients, rate, commits);
        let crowded = store.model == "threads" && clients == 64;
        Record::from(if crowded { starving(run) } else { run })
    }));
    records
}

pub(crate) fn verification() -> VerificationRecord {
    VerificationRecord {
        identity: Identity::new("verification", STARTED_NS, 11),
        body: VerificationBody {
            verified: "durability".to_owned(),
            subject: "sqlite?durability=os".to_owned(),
            machine: machine(),
            outcome: "broken".to_owned(),
            sentences: vec![
                "sqlite: not durable: 3 of 20 images lost a commit.".to_owned(),
                "a table\n  of two lines".to_owned(),
            ],
            finding: json!({ "format": 2, "store": "sqlite", "verdict": { "not_durable": "3" } }),
        },
    }
}
