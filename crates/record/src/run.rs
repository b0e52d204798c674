//! The record of one run: one target, one setting, one number of clients.
//!
//! The head is known before the first transaction, the end after the last. A record without an end was cut
//! short: [`RunEnd::from_intervals`] replaces it with the sums of the intervals.

use super::assessment::{Check, Fairness, Saturation, Warning};
use super::configuration::{Client, Plan, Target, Workload};
use super::cost::Cost;
use super::environment::{Device, Machine, SyncLine};
use super::figures::{
    Arrivals, CommitPathFigures, CounterFigures, InternalFigures, Latency, OperationFigures,
    Outcomes, OwnFigure, PerCommit, Range, Repetition, TransactionFigures,
};
use super::identity::Identity;
use super::interval::Interval;
use super::schema_macro::{Described, described};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

described! {
    /// The start of a run's record, known before the first transaction.
    pub struct RunHead {
        /// The plan of the load.
        pub plan: Plan,
        /// The workload.
        pub workload: Workload,
        /// The store under test.
        pub target: Target,
        /// The machine that ran the load.
        pub machine: Machine,
    }

    /// The end of a run's record.
    pub struct RunEnd {
        /// What ended the run: "duration", "transactions", "asked to stop" or "failure"; null if the
        /// record was cut short.
        pub stopped_by: Option<String>,
        /// Why the run, or its record, ended before its plan; null if it is whole.
        pub cut_short: Option<String>,
        /// How long all measured phases took together.
        pub measured_ns: u64,
        /// The same, each phase up to the end of the last transaction that started in it; null in older
        /// records.
        pub to_last_end_ns: Option<u64>,
        /// Commits that make up the throughput of all phases; null in older records.
        pub commits_in_span: Option<u64>,
        /// Committed transactions of `outcomes` that were acknowledged after their measured phase, so that
        /// they are in no rate; null in older records.
        pub commits_late: Option<u64>,
        /// How the transactions of all measured phases ended.
        pub outcomes: Outcomes,
        /// Commits acknowledged in the measured phase per second of it; the median of the repetitions.
        pub throughput_per_s: f64,
        /// The least and the most of the repetitions; null if there was only one.
        pub throughput_range: Option<Range>,
        /// Each measured phase.
        pub repetitions: Vec<Repetition>,
        /// The schedule of an open loop; null in a closed loop.
        pub arrivals: Option<Arrivals>,
        /// Figures by kind of transaction, of the repetition with the median throughput.
        pub transactions: Vec<TransactionFigures>,
        /// Figures by operation, of the same repetition; null unless they were requested.
        pub operations: Option<Vec<OperationFigures>>,
        /// Figures that are specific to the workload; null if it has none.
        pub figures: Option<Vec<OwnFigure>>,
        /// Counts and times that the store took of its own parts, in the repetition with the median
        /// throughput; null if it takes none.
        pub internals: Option<Vec<InternalFigures>>,
        /// The path of commits through the store, in the repetition with the median throughput; null if the
        /// store does not time it.
        pub commit_path: Option<CommitPathFigures>,
        /// The store's own counters around the repetition with the median throughput; null if it keeps
        /// none.
        pub counters: Option<Vec<CounterFigures>>,
        /// Commits per sync of the log, by those counters; null if they do not count both.
        pub commits_per_sync_by_store: Option<f64>,
        /// The cost of one commit.
        pub per_commit: PerCommit,
        /// The disk's sync rate in the log directory.
        pub sync_line: SyncLine,
        /// The load generator; null if the record was cut short.
        pub client: Option<Client>,
        /// The bottleneck; null if the record was cut short.
        pub saturation: Option<Saturation>,
        /// The disk below the store's log.
        pub device: Device,
        /// How evenly commits were spread; null if the record was cut short.
        pub fairness: Option<Fairness>,
        /// The resources that a transaction used, by module of the store, in the repetition with the median
        /// throughput; null unless the run was profiled.
        pub cost: Option<Cost>,
        /// Connections that were lost and made again.
        pub reconnects: u64,
        /// The checks made after the run.
        pub checks: Vec<Check>,
        /// Conditions that may distort the result.
        pub warnings: Vec<Warning>,
    }
}

/// A run's record, folded into one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The identity that every record starts with.
    #[serde(flatten)]
    pub identity: Identity,
    /// The part that is known before the run.
    #[serde(flatten)]
    pub head: RunHead,
    /// The part that is known after the run.
    #[serde(flatten)]
    pub end: RunEnd,
    /// Every interval of every repetition, in order.
    pub intervals: Vec<Interval>,
}

impl RunEnd {
    /// The end of a record that was cut short: the sums of its intervals; all else is unknown.
    pub fn from_intervals(intervals: &[Interval], reason: &str) -> RunEnd {
        let mut outcomes = Outcomes::none();
        let mut measured_ns = 0;
        for interval in intervals {
            outcomes.add(&interval.outcomes());
            measured_ns += interval.end_ns.saturating_sub(interval.start_ns);
        }
        RunEnd {
            stopped_by: None,
            cut_short: Some(reason.to_owned()),
            measured_ns,
            to_last_end_ns: None,
            commits_in_span: Some(outcomes.committed),
            commits_late: None,
            throughput_per_s: outcomes.committed as f64 / (measured_ns.max(1) as f64 / 1e9),
            outcomes,
            throughput_range: None,
            repetitions: Vec::new(),
            arrivals: None,
            transactions: Vec::new(),
            operations: None,
            figures: None,
            internals: None,
            commit_path: None,
            counters: None,
            commits_per_sync_by_store: None,
            per_commit: PerCommit::unknown(reason),
            sync_line: SyncLine::unknown(None, reason),
            client: None,
            saturation: None,
            device: Device {
                name: None,
                model: None,
                queue_length: None,
                reason: Some(reason.to_owned()),
            },
            fairness: None,
            cost: None,
            reconnects: 0,
            checks: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl RunEnd {
    /// The time up to the end of the last transaction that started in the measured phases: the divisor of
    /// tools that also count transactions ending after the deadline.
    pub fn elapsed_ns(&self) -> u64 {
        self.to_last_end_ns.map_or(self.measured_ns, |to_last| to_last.max(self.measured_ns))
    }
}

impl RunRecord {
    /// A title for lists: "insert on sqlite, 8 clients".
    pub fn title(&self) -> String {
        let clients = self.head.plan.clients;
        let noun = if clients == 1 { "client" } else { "clients" };
        format!("{} on {}, {clients} {noun}", self.head.workload.name, self.head.target.name)
    }

    /// The kind of transaction that committed most; its percentiles are shown as the run's.
    pub fn main_transaction(&self) -> Option<&TransactionFigures> {
        self.end.transactions.iter().max_by_key(|one| one.count)
    }

    /// Service times of the main kind of transaction; `None` if none committed.
    pub fn service_ns(&self) -> Option<&Latency> {
        self.main_transaction()?.service_ns.as_ref()
    }

    /// The client model; "unknown" if the record was cut short.
    pub fn client_model(&self) -> &str {
        self.end.client.as_ref().map_or("unknown", |client| &client.model)
    }

    /// True if a check found a violated promise.
    pub fn violated(&self) -> bool {
        self.end.checks.iter().any(|check| check.outcome == "violated")
    }
}

impl Described for RunRecord {
    fn schema(parts: &mut Map<String, Value>) -> Value {
        super::schema_macro::flat(
            parts,
            "RunRecord",
            "The record of one run: one target, one setting, one number of clients.",
            &[Identity::schema, RunHead::schema, RunEnd::schema],
            &[(
                "intervals",
                "Every interval of every repetition, in order.",
                <Vec<Interval> as Described>::schema,
            )],
        )
    }
}
