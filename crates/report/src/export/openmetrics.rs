//! Metrics in the text format `OpenMetrics`, for Prometheus and the text collector of its `node_exporter`.
//!
//! 1. Names and meanings do not change; new ones may be added. All are gauges: a record is one observation of
//!    something that is measured again later.
//! 2. An unknown value has no line. Times are in seconds.
//! 3. No two lines have the same name and labels, since a collector would refuse the whole file: of several
//!    values the newest is printed. A record's id is no label, since each would begin a series of its own;
//!    the time of the newest record is a metric.

use std::collections::BTreeMap;
use std::path::Path;
use syncline_record::{
    Fitness, Identity, Interval, ObservationRecord, ObservedInterval, Outcomes, PerCommit,
    ProbeRecord, Record, ResolvedLatency, RunHead, RunRecord, SyncInterval, SyncLine,
    VerificationRecord,
};

type Labels = Vec<(String, String)>;

/// Metrics under construction: by name the meaning, and by labels the value.
///
/// The text is written here and not by the client library of Prometheus, whose version 0.24 does not escape
/// the values of labels and prints lines in random order.
#[derive(Default)]
struct Metrics(BTreeMap<&'static str, (&'static str, BTreeMap<Labels, f64>)>);

impl Metrics {
    fn set(&mut self, name: &'static str, help: &'static str, labels: &Labels, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            let (_, values) = self.0.entry(name).or_insert_with(|| (help, BTreeMap::new()));
            values.insert(labels.clone(), value);
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, (help, values)) in &self.0 {
            text += &format!("# TYPE {name} gauge\n# HELP {name} {help}.\n");
            for (labels, value) in values {
                let labels =
                    labels.iter().map(|(label, of)| format!("{label}=\"{}\"", escaped(of)));
                text += &format!("{name}{{{}}} {value}\n", labels.collect::<Vec<_>>().join(","));
            }
        }
        text + "# EOF\n"
    }
}

/// A value of a label between quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The metrics of records.
pub fn openmetrics(records: &[Record]) -> String {
    let mut oldest_first: Vec<&Record> = records.iter().collect();
    oldest_first.sort_by_key(|record| record.identity().started_wall_ns);
    let mut metrics = Metrics::default();
    for record in oldest_first {
        let labels = &labels(record);
        let started = record.identity().started_wall_ns as f64 / 1e9;
        metrics.set(
            "syncline_started_timestamp_seconds",
            "When the measurement began, in seconds since 1970",
            labels,
            Some(started),
        );
        match record {
            Record::Run(run) => of_run(&mut metrics, labels, run),
            Record::Probe(probe) => of_probe(&mut metrics, labels, probe),
            Record::Observation(observation) => of_observation(&mut metrics, labels, observation),
            Record::Verification(verification) => {
                of_verification(&mut metrics, labels, verification);
            }
        }
    }
    metrics.text()
}

/// The metrics of an interval of a run that is not over.
pub fn openmetrics_of_interval(identity: &Identity, head: &RunHead, interval: &Interval) -> String {
    let labels = labels_of_run(identity, head);
    let mut metrics = Metrics::default();
    metrics.set(
        "syncline_interval_end_seconds",
        "End of the last interval of the run in progress, from the start of its measured time",
        &labels,
        Some(interval.end_ns as f64 / 1e9),
    );
    throughput(&mut metrics, &labels, interval.throughput_per_s());
    let times = [
        ("0.5", interval.response_p50_ns),
        ("0.99", interval.response_p99_ns),
        ("1", interval.response_max_ns),
    ];
    response_times(&mut metrics, &labels, &times);
    outcomes(&mut metrics, &labels, &interval.outcomes());
    metrics.text()
}

/// The metrics of the last interval of an observation that is not over.
pub fn openmetrics_of_observed(target: &str, interval: &ObservedInterval) -> String {
    let mut labels = Labels::new();
    label(&mut labels, "target", Some(target));
    let seconds = interval.end_ns.saturating_sub(interval.start_ns).max(1) as f64 / 1e9;
    let rate = |count: Option<u64>| count.map(|count| count as f64 / seconds);
    let mut metrics = Metrics::default();
    metrics.set(
        "syncline_observed_interval_end_seconds",
        "End of the last interval of the observation in progress, from its start",
        &labels,
        Some(interval.end_ns as f64 / 1e9),
    );
    metrics.set(OBSERVED_COMMITS.0, OBSERVED_COMMITS.1, &labels, rate(interval.commits));
    metrics.set(
        "syncline_observed_log_syncs_per_second",
        "Syncs of the log per second",
        &labels,
        rate(interval.log_syncs),
    );
    metrics.set(
        "syncline_observed_log_bytes_per_second",
        "Bytes added to the log per second",
        &labels,
        rate(interval.log_bytes),
    );
    metrics.text()
}

/// The metrics of the last interval of syncs over time, of a probe that is not over.
pub fn openmetrics_of_syncs(directory: &Path, interval: &SyncInterval) -> String {
    let mut labels = Labels::new();
    label(&mut labels, "directory", Some(&directory.display().to_string()));
    let mut metrics = Metrics::default();
    metrics.set(
        "syncline_sync_interval_end_seconds",
        "End of the last interval of the probe in progress, from its start",
        &labels,
        Some(interval.end_ns as f64 / 1e9),
    );
    let in_interval = with(&labels, "load", "last interval");
    for (quantile, ns) in quantiles(&interval.latency_ns) {
        sync_seconds(&mut metrics, &in_interval, quantile, ns);
    }
    metrics.set(STALLS.0, STALLS.1, &labels, Some(interval.stalls as f64));
    metrics.text()
}

/// The name and the meaning of metrics that are set in two places.
const OBSERVED_COMMITS: (&str, &str) =
    ("syncline_observed_commits_per_second", "Commits per second of the store's own users");
const STALLS: (&str, &str) =
    ("syncline_sync_stalls", "Syncs that took longer than the limit of a stall");

fn quantiles(times: &ResolvedLatency) -> [(&'static str, Option<u64>); 5] {
    [
        ("0.5", times.p50),
        ("0.99", times.p99),
        ("0.999", times.p999),
        ("0.9999", times.p9999),
        ("1", times.max),
    ]
}

fn label(labels: &mut Labels, name: &str, value: Option<&str>) {
    labels.extend(value.map(|value| (name.to_owned(), value.to_owned())));
}

/// The labels that identify what was measured.
fn labels(record: &Record) -> Labels {
    let mut labels = Labels::new();
    match record {
        Record::Run(run) => return labels_of_run(&run.identity, &run.head),
        Record::Probe(probe) => label(&mut labels, "directory", Some(&probe.body.directory)),
        Record::Observation(observation) => {
            label(&mut labels, "target", Some(&observation.body.target.name));
        }
        Record::Verification(verification) => {
            label(&mut labels, "verified", Some(&verification.body.verified));
            label(&mut labels, "subject", Some(&verification.body.subject));
        }
    }
    label(&mut labels, "tag", record.identity().tag.as_deref());
    labels
}

fn labels_of_run(identity: &Identity, head: &RunHead) -> Labels {
    let mut labels = Labels::new();
    label(&mut labels, "workload", Some(&head.workload.name));
    label(&mut labels, "target", Some(&head.target.name));
    label(&mut labels, "durability", head.target.durability.as_deref());
    label(&mut labels, "clients", Some(&head.plan.clients.to_string()));
    label(&mut labels, "arrival", Some(&head.plan.arrival));
    let offered = head.plan.rate_per_s.map(|rate| rate.to_string());
    label(&mut labels, "offered_per_second", offered.as_deref());
    for (name, value) in &head.workload.options {
        label(&mut labels, &format!("option_{}", name.replace('-', "_")), Some(value));
    }
    label(&mut labels, "tag", identity.tag.as_deref());
    labels
}

fn with(labels: &Labels, name: &str, value: &str) -> Labels {
    let mut labels = labels.clone();
    label(&mut labels, name, Some(value));
    labels
}

fn of_run(metrics: &mut Metrics, labels: &Labels, run: &RunRecord) {
    throughput(metrics, labels, run.end.throughput_per_s);
    outcomes(metrics, labels, &run.end.outcomes);
    let main = run.main_transaction();
    let response = main.and_then(|main| main.response_ns.or(main.service_ns));
    if let Some(times) = response {
        let times = [
            ("0.5", Some(times.p50)),
            ("0.9", Some(times.p90)),
            ("0.99", Some(times.p99)),
            ("0.999", Some(times.p999)),
            ("1", Some(times.max)),
        ];
        response_times(metrics, labels, &times);
    }
    per_commit(metrics, labels, &run.end.per_commit);
    line(metrics, labels, &run.end.sync_line);
    for check in &run.end.checks {
        metrics.set(
            "syncline_check_held",
            "1 if a check after the run held, 0 if it found a violation",
            &with(labels, "check", &check.name),
            match check.outcome.as_str() {
                "held" => Some(1.0),
                "violated" => Some(0.0),
                _ => None,
            },
        );
    }
}

fn throughput(metrics: &mut Metrics, labels: &Labels, per_s: f64) {
    metrics.set(
        "syncline_commits_per_second",
        "Commits acknowledged per second at the durability of the store",
        labels,
        Some(per_s),
    );
}

fn response_times(metrics: &mut Metrics, labels: &Labels, times: &[(&str, Option<u64>)]) {
    for (quantile, ns) in times {
        metrics.set(
            "syncline_response_seconds",
            "Time from the moment a transaction was due to its acknowledgement, at a quantile",
            &with(labels, "quantile", quantile),
            ns.map(|ns| ns as f64 / 1e9),
        );
    }
}

fn outcomes(metrics: &mut Metrics, labels: &Labels, outcomes: &Outcomes) {
    let counts = [
        ("committed", outcomes.committed),
        ("aborted", outcomes.aborted),
        ("conflicted", outcomes.conflicted),
        ("failed", outcomes.failed),
        ("unfinished", outcomes.unfinished),
    ];
    for (outcome, count) in counts {
        metrics.set(
            "syncline_transactions",
            "Transactions of the measured time by outcome",
            &with(labels, "outcome", outcome),
            Some(count as f64),
        );
    }
}

fn per_commit(metrics: &mut Metrics, labels: &Labels, costs: &PerCommit) {
    let seconds = |ns: Option<f64>| ns.map(|ns| ns / 1e9);
    let rows = [
        ("syncline_syncs_per_commit", "Sync system calls per commit", costs.syncs.value),
        (
            "syncline_device_writes_per_commit",
            "Writes of the device per commit",
            costs.device_writes.value,
        ),
        (
            "syncline_device_bytes_per_commit",
            "Bytes written by the device per commit",
            costs.device_bytes.value,
        ),
        ("syncline_system_calls_per_commit", "System calls per commit", costs.system_calls.value),
        (
            "syncline_store_cpu_seconds_per_commit",
            "Processor time of the store per commit",
            seconds(costs.target_cpu_ns.value),
        ),
        (
            "syncline_client_cpu_seconds_per_commit",
            "Processor time of the load generator per commit",
            seconds(costs.client_cpu_ns.value),
        ),
    ];
    for (name, help, value) in rows {
        metrics.set(name, help, labels, value);
    }
}

fn line(metrics: &mut Metrics, labels: &Labels, line: &SyncLine) {
    for (outstanding, rate) in [("1", line.line_1), ("best", line.line_max)] {
        metrics.set(
            "syncline_disk_syncs_per_second",
            "Syncs per second of the disk below the log, one at a time and best in parallel",
            &with(labels, "outstanding", outstanding),
            rate,
        );
    }
}

fn of_probe(metrics: &mut Metrics, labels: &Labels, probe: &ProbeRecord) {
    line(metrics, labels, &probe.body.sync_line);
    if let Some(times) = &probe.body.sync_line.latency_ns {
        for (quantile, ns) in
            [("0.5", times.p50), ("0.99", times.p99), ("0.999", times.p999), ("1", times.max)]
        {
            sync_seconds(metrics, &with(labels, "load", "probe"), quantile, Some(ns));
        }
    }
    if let Some(over_time) = &probe.body.over_time {
        for phase in &over_time.phases {
            let labels = with(labels, "load", &phase.name);
            for (quantile, ns) in quantiles(&phase.latency_ns) {
                sync_seconds(metrics, &labels, quantile, ns);
            }
        }
        metrics.set(STALLS.0, STALLS.1, labels, Some(over_time.stalls_total as f64));
    }
    for fitness in &probe.body.fitness {
        verdict(metrics, labels, fitness);
    }
}

fn sync_seconds(metrics: &mut Metrics, labels: &Labels, quantile: &str, ns: Option<u64>) {
    metrics.set(
        "syncline_sync_seconds",
        "Time of a synced write, at a quantile",
        &with(labels, "quantile", quantile),
        ns.map(|ns| ns as f64 / 1e9),
    );
}

fn verdict(metrics: &mut Metrics, labels: &Labels, fitness: &Fitness) {
    metrics.set(
        "syncline_fit",
        "1 if the directory is fit for the product, 0 if it is unfit; no line if that is not known",
        &with(labels, "product", &fitness.product),
        match fitness.word.as_str() {
            "fit" => Some(1.0),
            "unfit" => Some(0.0),
            _ => None,
        },
    );
}

fn of_observation(metrics: &mut Metrics, labels: &Labels, observation: &ObservationRecord) {
    let body = &observation.body;
    metrics.set(OBSERVED_COMMITS.0, OBSERVED_COMMITS.1, labels, body.commits_per_s);
    metrics.set(
        "syncline_observed_writing_commits_per_second",
        "The same, of transactions that may have written",
        labels,
        body.writing_commits_per_s.as_ref().and_then(|rate| rate.value),
    );
    metrics.set(
        "syncline_observed_commits_per_sync",
        "Commits that may have written for each sync of the log",
        labels,
        body.commits_per_sync.value,
    );
    metrics.set(
        "syncline_observed_log_bytes_per_commit",
        "Bytes added to the log for each commit that may have written",
        labels,
        body.log_bytes_per_commit.value,
    );
    metrics.set(
        "syncline_observed_sync_seconds",
        "Mean time of a sync of the log, by the store's own clock",
        labels,
        body.sync_ns.value.map(|ns| ns / 1e9),
    );
    line(metrics, labels, &body.sync_line);
}

fn of_verification(metrics: &mut Metrics, labels: &Labels, verification: &VerificationRecord) {
    metrics.set(
        "syncline_promise_held",
        "1 if the verified promise held, 0 if it was broken; no line if that is not known",
        labels,
        match verification.body.outcome.as_str() {
            "held" => Some(1.0),
            "broken" => Some(0.0),
            _ => None,
        },
    );
}
