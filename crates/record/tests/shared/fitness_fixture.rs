//! Made-up probes: one that judges a directory for two products, one of syncs over time.

use crate::fixture;
use syncline_record::{
    Fitness, FitnessShape, FitnessThreshold, FitnessWindow, ProbeRecord, ResolvedLatency, Stall,
    SyncInterval, SyncPhase, SyncsOverTime,
};

const SECOND_NS: u64 = 1_000_000_000;

/// A directory that is unfit for etcd and fit for MariaDB, whose samples resolve less.
pub(crate) fn fitness_probe() -> ProbeRecord {
    let mut record = fixture::probe();
    record.body.fitness = vec![etcd(), mariadb()];
    record
}

/// Syncs alone, beside a writer and over six hours, with two stalls.
pub(crate) fn probe_over_time() -> ProbeRecord {
    let mut record = fixture::probe();
    let phase = |name: &str, load: Option<&str>, seconds, samples, stalls| SyncPhase {
        name: name.to_owned(),
        load: load.map(str::to_owned),
        elapsed_ns: seconds * SECOND_NS,
        skipped: 4,
        stalls,
        latency_ns: latency(samples, 1_900_000, 9_000_000),
    };
    let interval = |start_s: u64, stalls| SyncInterval {
        start_ns: start_s * SECOND_NS,
        end_ns: (start_s + 900) * SECOND_NS,
        stalls,
        latency_ns: latency(90_000, 1_900_000, 9_000_000),
    };
    record.body.over_time = Some(SyncsOverTime {
        method: "fdatasync".to_owned(),
        write_bytes: 4_096,
        rate_per_s: 100.0,
        stall_ns: 19_000_000,
        phases: vec![
            phase("alone", None, 10, 996, None),
            phase("beside", Some("a buffered writer"), 20, 1_204, Some(1)),
            phase("over time", None, 21_600, 2_150_000, Some(1)),
        ],
        intervals: vec![interval(34, 0), interval(934, 1)],
        stalls: vec![stall("beside", 17, true), stall("over time", 1_180, false)],
        stalls_total: 2,
        reason: None,
    });
    record
}

fn stall(phase: &str, start_s: u64, counted: bool) -> Stall {
    let known = |value: u64| counted.then_some(value);
    Stall {
        phase: phase.to_owned(),
        start_ns: start_s * SECOND_NS,
        length_ns: 203_000_000,
        counted_ns: 400_000_000,
        device_busy_ns: known(380_000_000),
        device_read_bytes: known(0),
        device_written_bytes: known(364 << 20),
        device_flushes: known(3),
        device_in_flight: known(72),
        io_pressure_ns: known(150_000_000),
        dirty_bytes: known(546 << 20),
        writeback_bytes: known(258 << 20),
    }
}

fn etcd() -> Fitness {
    let windows = [(900_000, 2_000_000), (1_100_000, 14_000_000), (950_000, 2_200_000)]
        .map(|(p50, p99)| window(4_200, p50, p99))
        .to_vec();
    Fitness {
        product: "etcd".to_owned(),
        title: "etcd".to_owned(),
        word: "unfit".to_owned(),
        reason: "wal: in 1 of 3 windows more than 1 % took longer than 10 ms, in the worst 71 of 4200"
            .to_owned(),
        consequence: Some(
            "heartbeats every 100 ms will be late in about 1 of 200 syncs; one proposal after another, 840/s \
             at most"
                .to_owned(),
        ),
        limits: vec![
            "Speed only; whether a sync survives a power loss is unknown here: virtual machine.".to_owned(),
        ],
        remedies: vec!["a volume class with a lower and guaranteed write latency".to_owned()],
        beside: None,
        shapes: vec![FitnessShape {
            name: "wal".to_owned(),
            about: "proposals are appended to a preallocated log file".to_owned(),
            source: "etcd server/storage/wal/wal.go".to_owned(),
            operation: "2300 B, fdatasync".to_owned(),
            file_state: "unwritten extents".to_owned(),
            windows,
            worst_window: Some(2),
            latency_ns: Some(latency(12_600, 950_000, 8_000_000)),
            thresholds: vec![FitnessThreshold {
                statistic: "p99".to_owned(),
                value: 10.0,
                unit: "ms".to_owned(),
                required: true,
                source: "etcd FAQ".to_owned(),
                measured: Some(14.0),
                above: Some(74),
                word: "unfit".to_owned(),
                reason: "in 1 of 3 windows more than 1 % took longer than 10 ms".to_owned(),
            }],
            reason: None,
        }],
    }
}

fn mariadb() -> Fitness {
    Fitness {
        product: "mariadb".to_owned(),
        title: "MariaDB".to_owned(),
        word: "fit".to_owned(),
        reason: "the product publishes no limit, so any disk that keeps what it syncs will do"
            .to_owned(),
        consequence: Some("the longest of 200 took 9.00 ms".to_owned()),
        limits: Vec::new(),
        remedies: Vec::new(),
        beside: None,
        shapes: vec![FitnessShape {
            name: "redo log".to_owned(),
            about: "a commit writes one block".to_owned(),
            source: "MariaDB storage/innobase/log/log0log.cc".to_owned(),
            operation: "512 B, O_DIRECT + fdatasync".to_owned(),
            file_state: "overwrite".to_owned(),
            windows: vec![window(200, 800_000, 2_000_000)],
            worst_window: Some(1),
            latency_ns: Some(latency(200, 800_000, 2_000_000)),
            thresholds: Vec::new(),
            reason: Some("stopped before its time".to_owned()),
        }],
    }
}

fn window(syncs: u64, p50: u64, p99: u64) -> FitnessWindow {
    FitnessWindow {
        start_ns: 4 * SECOND_NS,
        elapsed_ns: 5 * SECOND_NS,
        syncs,
        rate_per_s: syncs as f64 / 5.0,
        latency_ns: latency(syncs, p50, p99),
    }
}

fn latency(samples: u64, p50: u64, p99: u64) -> ResolvedLatency {
    let resolves = |needed: u64, value: u64| (samples >= needed).then_some(value);
    ResolvedLatency {
        samples,
        p50: resolves(6, p50),
        p90: resolves(36, p50 * 2),
        p99: resolves(368, p99),
        p99_least: resolves(368, p99 * 9 / 10),
        p99_most: resolves(368, p99 * 12 / 10),
        p999: resolves(3_688, p99 * 4),
        p9999: resolves(36_887, p99 * 6),
        max: Some(p99 * 45 / 10),
        mean: Some(p50 as f64 * 1.1),
    }
}
