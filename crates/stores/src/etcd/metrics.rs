//! The metrics of etcd as text, the counters in them, and one observation.

use super::gateway::{Gateway, number};
use super::reported_settings::ServerInfo;
use serde_json::{Value, json};
use std::io;
use syncline_contract::{Counter, Meaning, Setting, StoreObservation};

const SOURCE: &str = "/metrics";

/// The number of syncs of the log, and their total time.
pub(super) const SYNCS: &str = "etcd_disk_wal_fsync_duration_seconds_count";
const SYNC_SECONDS: &str = "etcd_disk_wal_fsync_duration_seconds_sum";
/// The total time of commits of the data file.
const DATA_SECONDS: &str = "etcd_disk_backend_commit_duration_seconds_sum";

/// Histograms of times, by their buckets.
const HISTOGRAMS: [&str; 2] = [
    "etcd_disk_wal_fsync_duration_seconds_bucket",
    "etcd_disk_backend_commit_duration_seconds_bucket",
];
/// The maximum number of buckets of a histogram: etcd has fifteen.
const BUCKETS_MAX: usize = 64;

/// Integer counters, with their meanings.
const COUNTED: [(Meaning, &str); 8] = [
    // A transaction of several puts is one proposal; elections and leases are proposals too.
    (Meaning::Commits, "etcd_server_proposals_committed_total"),
    (Meaning::Aborts, "etcd_server_proposals_failed_total"),
    (Meaning::LogSyncs, SYNCS),
    (Meaning::Other, "etcd_server_proposals_applied_total"),
    (Meaning::DataCommits, "etcd_disk_backend_commit_duration_seconds_count"),
    (Meaning::Other, "etcd_server_slow_apply_total"),
    (Meaning::Other, "etcd_server_heartbeat_send_failures_total"),
    (Meaning::Other, "etcd_server_leader_changes_seen_total"),
];

/// The metrics at one time.
#[derive(Debug)]
pub(super) struct Metrics(String);

impl Metrics {
    /// Requests the metrics.
    pub(super) fn ask(gateway: &Gateway) -> io::Result<Metrics> {
        gateway.page("/metrics").map(Metrics)
    }

    /// The value of a metric without labels.
    pub(super) fn get(&self, name: &str) -> Option<f64> {
        let value = |line: &str| {
            let value = line.strip_prefix(name)?.strip_prefix(' ')?;
            value.trim().parse().ok()
        };
        self.0.lines().find_map(value)
    }

    /// The sum of a metric over all its labels; zero if it has none yet.
    pub(super) fn sum(&self, name: &str) -> f64 {
        let value = |line: &str| -> Option<f64> {
            let rest = line.strip_prefix(name)?;
            rest.starts_with([' ', '{']).then_some(())?;
            rest.rsplit(' ').next()?.parse().ok()
        };
        self.0.lines().filter_map(value).sum()
    }

    /// The buckets of a histogram, each named with its bound.
    fn buckets(&self, name: &str) -> impl Iterator<Item = Counter> {
        let bucket = move |line: &str| {
            let bound = line.strip_prefix(name)?;
            let (bound, count) = bound.strip_prefix("{le=\"")?.split_once("\"} ")?;
            let count: f64 = count.trim().parse().ok()?;
            let name = format!("{name}{{le=\"{bound}\"}}");
            Some(Counter::read(Meaning::Other, name, count as u64, SOURCE))
        };
        self.0.lines().filter_map(bucket).take(BUCKETS_MAX)
    }

    /// All counters.
    pub(super) fn counters(&self) -> Vec<Counter> {
        let absent = "this version does not have this metric";
        let mut counters = Vec::new();
        for (meaning, name) in COUNTED {
            counters.push(match self.get(name) {
                Some(value) => Counter::read(meaning, name, value as u64, SOURCE),
                None => Counter::unavailable(meaning, name, absent, SOURCE),
            });
        }
        for (meaning, name) in
            [(Meaning::SyncTime, SYNC_SECONDS), (Meaning::DataCommitTime, DATA_SECONDS)]
        {
            counters.push(match self.get(name) {
                Some(seconds) => {
                    let ns = (seconds * 1e9) as u64;
                    Counter::read(meaning, name, ns, SOURCE)
                }
                None => Counter::unavailable(meaning, name, absent, SOURCE),
            });
        }
        counters.extend(HISTOGRAMS.iter().flat_map(|name| self.buckets(name)));
        // etcd_disk_wal_write_bytes_total is a gauge: the size of the last write.
        for (meaning, why) in [
            (Meaning::LogBytes, "etcd reports the size of its last write to the log, but no total"),
            (Meaning::LogWrites, "etcd does not count the writes to its log"),
            (Meaning::WriteTime, "etcd does not time the writes to its log"),
            (
                Meaning::LockWaitTime,
                "etcd has no locks to wait for: transactions compare revisions",
            ),
        ] {
            counters.push(Counter::unavailable(meaning, meaning.name(), why, SOURCE));
        }
        counters
    }
}

/// Takes one observation.
pub(super) fn observation(
    gateway: &Gateway,
    server_info: &ServerInfo,
) -> io::Result<StoreObservation> {
    let metrics = Metrics::ask(gateway)?;
    let status = gateway.ask("/v3/maintenance/status", &json!({}))?;
    let members = gateway.ask("/v3/cluster/member/list", &json!({}));
    // The current settings, not those of the preflight check.
    let settings = settings(&status);
    Ok(StoreObservation {
        product: "etcd".to_owned(),
        version: server_info.version.clone(),
        log_location: server_info.log_location.clone(),
        process: server_info.process,
        unseen_syncs: None,
        counters: metrics.counters(),
        own_commits: 0,
        settings,
        replication: members
            .map(|list| other_members(&list, &status, &metrics))
            .map_err(|error| error.to_string()),
    })
}

/// The size of the data and the leader's term, from the status.
pub(super) fn settings(status: &Value) -> Vec<Setting> {
    ["dbSize", "raftTerm"]
        .map(|name| setting(name, number(&status[name]).to_string(), "maintenance/status"))
        .to_vec()
}

/// The other members, each with the number of bytes that this one has sent.
fn other_members(list: &Value, status: &Value, metrics: &Metrics) -> Vec<Setting> {
    let own = status["header"]["member_id"].as_str().unwrap_or_default();
    let members = list["members"].as_array().into_iter().flatten();
    let others = members.filter(|member| member["ID"].as_str() != Some(own));
    let sent = metrics.sum("etcd_network_peer_sent_bytes_total");
    others
        .map(|member| {
            let name = member["name"].as_str().unwrap_or("a member without a name");
            let what = format!("{sent} bytes sent to all members");
            setting(name, what, "cluster/member/list, /metrics")
        })
        .collect()
}

fn setting(name: &str, value: String, source: &str) -> Setting {
    Setting { name: name.to_owned(), value, source: source.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{Meaning, Metrics, SYNCS};
    use syncline_contract::CounterUnit;

    const PAGE: &str = "# HELP x y\n\
        etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.001\"} 3\n\
        etcd_disk_wal_fsync_duration_seconds_sum 0.5\n\
        etcd_disk_wal_fsync_duration_seconds_count 7\n\
        etcd_server_proposals_committed_total 1.5e+01\n\
        grpc_server_started_total{grpc_method=\"Range\"} 4\n\
        grpc_server_started_total{grpc_method=\"Txn\"} 5\n";

    #[test]
    fn metrics_are_parsed_into_counters() {
        let metrics = Metrics(PAGE.to_owned());
        assert_eq!(metrics.get(SYNCS), Some(7.0));
        assert_eq!(metrics.sum("grpc_server_started_total") as u64, 9);
        let counters = metrics.counters();
        let of = |meaning| counters.iter().find(|one| one.meaning == meaning).unwrap();
        assert_eq!(of(Meaning::Commits).value, Ok(15));
        let time = of(Meaning::SyncTime);
        assert_eq!((&time.value, time.unit), (&Ok(500_000_000), CounterUnit::Nanoseconds));
        assert!(of(Meaning::LogBytes).value.is_err());
        assert!(
            counters.iter().any(|counter| {
                counter.name == "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.001\"}"
                    && counter.value == Ok(3)
            }),
            "B.F19: {counters:?}"
        );
        assert!(of(Meaning::Aborts).value.is_err(), "this page does not have this metric");
    }
}
