//! The record of one run: one target, one setting, one rung of clients.
//!
//! The head is known before the first transaction, the end after the last. A record without an end
//! was cut short: [`RunEnd::from_intervals`] takes its place, with what the intervals still tell.

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
    /// What a run's record opens with, known before the first transaction.
    pub struct RunHead {
        /// How the load was asked for.
        pub plan: Plan,
        /// What was asked of the store.
        pub workload: Workload,
        /// The store under test.
        pub target: Target,
        /// The machine that ran the load.
        pub machine: Machine,
    }

    /// What a run's record ends with.
    pub struct RunEnd {
        /// What ended the run: "duration", "transactions", "asked to stop" or "failure"; null if the
        /// record was cut short.
        pub stopped_by: Option<String>,
        /// Why the run, or its record, ended before its plan; null if it is whole.
        pub cut_short: Option<String>,
        /// How long all measured phases took together.
        pub measured_ns: u64,
        /// The same, each phase up to the end of the last transaction that started in it; null in records of
        /// old.
        pub to_last_end_ns: Option<u64>,
        /// Commits that the throughput of the phases is made of, together; null in records of old.
        pub commits_in_span: Option<u64>,
        /// Committed transactions of `outcomes` that were acknowledged after their measured phase, so that
        /// they are in no rate; null in records of old.
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
        /// Figures by operation, of the same repetition; null unless they were asked for.
        pub operations: Option<Vec<OperationFigures>>,
        /// Figures that the workload is known by; null if it has none.
        pub figures: Option<Vec<OwnFigure>>,
        /// What the store counted and timed inside itself, in the repetition with the median throughput;
        /// null if it does not.
        pub internals: Option<Vec<InternalFigures>>,
        /// The way of commits through the store, in the repetition with the median throughput; null if the
        /// store does not time it.
        pub commit_path: Option<CommitPathFigures>,
        /// The store's own counters around the repetition with the median throughput; null if it keeps
        /// none.
        pub counters: Option<Vec<CounterFigures>>,
        /// Commits that shared a sync of the log, by those counters; null where they do not tell.
        pub commits_per_sync_by_store: Option<f64>,
        /// What one commit cost.
        pub per_commit: PerCommit,
        /// What the log directory can durably complete.
        pub sync_line: SyncLine,
        /// The load generator; null if the record was cut short.
        pub client: Option<Client>,
        /// What was at its limit; null if the record was cut short.
        pub saturation: Option<Saturation>,
        /// The disk below the store's log.
        pub device: Device,
        /// How evenly commits were spread; null if the record was cut short.
        pub fairness: Option<Fairness>,
        /// What a transaction used up by module of the store, in the repetition with the median
        /// throughput; null unless metered.
        pub cost: Option<Cost>,
        /// Connections that were lost and made again.
        pub reconnects: u64,
        /// What was tested after the run.
        pub checks: Vec<Check>,
        /// What may spoil the result.
        pub warnings: Vec<Warning>,
    }
}

/// A run's record, folded into one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// What every record opens with.
    #[serde(flatten)]
    pub identity: Identity,
    /// What was known before.
    #[serde(flatten)]
    pub head: RunHead,
    /// What was known after.
    #[serde(flatten)]
    pub end: RunEnd,
    /// Every interval of every repetition, in order.
    pub intervals: Vec<Interval>,
}

impl RunEnd {
    /// The end of a record that has none of its own: sums of its intervals, the rest unknown.
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
    /// The time that all transactions which started in the measured phases took: the divisor of tools that
    /// also count those that ended after the deadline.
    pub fn elapsed_ns(&self) -> u64 {
        self.to_last_end_ns.map_or(self.measured_ns, |to_last| to_last.max(self.measured_ns))
    }
}

impl RunRecord {
    /// Where its figures stand in a list: "insert on sqlite, 8 clients".
    pub fn title(&self) -> String {
        let clients = self.head.plan.clients;
        let noun = if clients == 1 { "client" } else { "clients" };
        format!("{} on {}, {clients} {noun}", self.head.workload.name, self.head.target.name)
    }

    /// The kind of transaction that committed most; its percentiles stand for the run.
    pub fn main_transaction(&self) -> Option<&TransactionFigures> {
        self.end.transactions.iter().max_by_key(|one| one.count)
    }

    /// Service times of the main kind of transaction; `None` if none committed.
    pub fn service_ns(&self) -> Option<&Latency> {
        self.main_transaction()?.service_ns.as_ref()
    }

    /// The client model's word; "unknown" if the record was cut short.
    pub fn client_model(&self) -> &str {
        self.end.client.as_ref().map_or("unknown", |client| &client.model)
    }

    /// True if a promise failed.
    pub fn violated(&self) -> bool {
        self.end.checks.iter().any(|check| check.outcome == "violated")
    }
}

impl Described for RunRecord {
    fn schema(parts: &mut Map<String, Value>) -> Value {
        super::schema_macro::flat(
            parts,
            "RunRecord",
            "The record of one run: one target, one setting, one rung of clients.",
            &[Identity::schema, RunHead::schema, RunEnd::schema],
            &[(
                "intervals",
                "Every interval of every repetition, in order.",
                <Vec<Interval> as Described>::schema,
            )],
        )
    }
}
