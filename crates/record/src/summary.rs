//! The summary of a record: one flat row of its setting and its main figures, for lists, trends and tables of
//! other programs.
//!
//! 1. Every value is copied from the record, none is computed anew; an unknown one is null.
//! 2. A column's name ends in its unit. [`SUMMARY_COLUMNS`] gives names, types and meanings, in the order in
//!    which they are printed; columns are only ever added at the end.
//! 3. A summary can be written as a row of values and read back from it.

use super::any_record::Record;
use super::environment::{Machine, SyncLine};
use super::figures::{Latency, Range};
use super::run::RunRecord;
use serde_json::{Map, Value};

/// A value of a summary, as a table of another program holds it.
#[derive(Clone, Debug, PartialEq)]
pub enum SummaryValue {
    /// Unknown, or without meaning for a record of this kind.
    Null,
    /// A count, or a time in whole units.
    Integer(i64),
    /// A rate, or an amount per commit.
    Real(f64),
    /// A name or a text.
    Text(String),
}

/// A column of a summary.
#[derive(Clone, Copy, Debug)]
pub struct SummaryColumn {
    /// The name, with the unit last.
    pub name: &'static str,
    /// The type, in SQL's words: `TEXT`, `INTEGER` or `REAL`.
    pub kind: &'static str,
    /// What it means.
    pub about: &'static str,
}

/// A type of a summary's fields.
trait Field: Sized {
    const KIND: &'static str;

    fn value(&self) -> SummaryValue;

    /// Back from a value; `None` if it has another type.
    fn from_value(value: SummaryValue) -> Option<Self>;
}

impl Field for String {
    const KIND: &'static str = "TEXT";

    fn value(&self) -> SummaryValue {
        SummaryValue::Text(self.clone())
    }

    fn from_value(value: SummaryValue) -> Option<String> {
        match value {
            SummaryValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Field for u64 {
    const KIND: &'static str = "INTEGER";

    fn value(&self) -> SummaryValue {
        SummaryValue::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
    }

    fn from_value(value: SummaryValue) -> Option<u64> {
        match value {
            SummaryValue::Integer(number) => u64::try_from(number).ok(),
            _ => None,
        }
    }
}

impl Field for f64 {
    const KIND: &'static str = "REAL";

    fn value(&self) -> SummaryValue {
        // A text or a table has no sign for "not a number".
        if self.is_finite() { SummaryValue::Real(*self) } else { SummaryValue::Null }
    }

    fn from_value(value: SummaryValue) -> Option<f64> {
        match value {
            SummaryValue::Real(number) => Some(number),
            SummaryValue::Integer(number) => Some(number as f64),
            _ => None,
        }
    }
}

impl<T: Field> Field for Option<T> {
    const KIND: &'static str = T::KIND;

    fn value(&self) -> SummaryValue {
        self.as_ref().map_or(SummaryValue::Null, Field::value)
    }

    fn from_value(value: SummaryValue) -> Option<Option<T>> {
        match value {
            SummaryValue::Null => Some(None),
            other => T::from_value(other).map(Some),
        }
    }
}

/// Declares the summary, its columns, and how it becomes a row and is read back.
macro_rules! summary {
    ($($(#[doc = $about:literal])* $field:ident: $kind:ty,)*) => {
        /// One row for a record; see the head of this file.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Summary {
            $($(#[doc = $about])* pub $field: $kind,)*
        }

        /// The columns of a summary, in their order.
        pub const SUMMARY_COLUMNS: &[SummaryColumn] = &[$(SummaryColumn {
            name: stringify!($field),
            kind: <$kind as Field>::KIND,
            about: concat!($($about),*),
        }),*];

        impl Summary {
            /// The values, in the order of [`SUMMARY_COLUMNS`].
            pub fn values(&self) -> Vec<SummaryValue> {
                vec![$(self.$field.value()),*]
            }

            /// The summary of these values; `None` if one is missing or has another type than its column.
            pub fn from_values(values: impl IntoIterator<Item = SummaryValue>) -> Option<Summary> {
                let mut values = values.into_iter();
                Some(Summary { $($field: Field::from_value(values.next()?)?,)* })
            }
        }
    };
}

summary! {
    /// The record's id.
    id: String,
    /// The id of its survey.
    survey: Option<String>,
    /// run, probe, observation or verification.
    kind: String,
    /// When it began, UTC, RFC 3339.
    started: String,
    /// The same in nanoseconds since 1970.
    started_wall_ns: u64,
    /// The version of the program that measured.
    syncline: String,
    /// The tag that the user gave it, such as a commit.
    tag: Option<String>,
    /// The command that made it.
    command: Option<String>,
    /// The record in a few words.
    title: String,
    /// The machine: processors, memory, kernel.
    machine: String,
    /// The workload of a run.
    workload: Option<String>,
    /// Options of the workload and swept values of the plan, as a JSON object of texts.
    options: Option<String>,
    /// The store, as lists name it.
    target: Option<String>,
    /// The product.
    product: Option<String>,
    /// Its version.
    version: Option<String>,
    /// none, os, data or full, as the store reports it.
    durability: Option<String>,
    /// The isolation in force.
    isolation: Option<String>,
    /// Clients of a run.
    clients: Option<u64>,
    /// closed, fixed or poisson.
    arrival: Option<String>,
    /// Arrivals per second of an open loop.
    offered_per_s: Option<f64>,
    /// Measured phases.
    repetitions: Option<u64>,
    /// The measured time of all phases.
    measured_ns: Option<u64>,
    /// Commits per second of a run or an observation, syncs per second, one at a time, of a probe.
    per_second: Option<f64>,
    /// The least of the repetitions.
    per_second_least: Option<f64>,
    /// The most of the repetitions.
    per_second_most: Option<f64>,
    /// Committed transactions.
    committed: Option<u64>,
    /// Transactions that the workload's own rule rolled back.
    aborted: Option<u64>,
    /// Transactions given up because of others.
    conflicted: Option<u64>,
    /// Failed transactions.
    failed: Option<u64>,
    /// Transactions of unknown outcome.
    unfinished: Option<u64>,
    /// Service time of the main kind of transaction, or of a sync of a probe: half were no longer.
    p50_ns: Option<u64>,
    /// 90 % were no longer.
    p90_ns: Option<u64>,
    /// 99 % were no longer.
    p99_ns: Option<u64>,
    /// 99.9 % were no longer.
    p999_ns: Option<u64>,
    /// The longest.
    max_ns: Option<u64>,
    /// Response time, from the moment a transaction was due: half were no longer.
    response_p50_ns: Option<u64>,
    /// 99 % were no longer.
    response_p99_ns: Option<u64>,
    /// Sync system calls per commit.
    syncs_per_commit: Option<f64>,
    /// Writes of the device per commit.
    device_writes_per_commit: Option<f64>,
    /// Bytes written by the device per commit.
    device_bytes_per_commit: Option<f64>,
    /// System calls per commit.
    system_calls_per_commit: Option<f64>,
    /// Processor time of the store's process per commit.
    target_cpu_ns_per_commit: Option<f64>,
    /// Processor time of the load generator per commit.
    client_cpu_ns_per_commit: Option<f64>,
    /// Page faults per commit.
    page_faults_per_commit: Option<f64>,
    /// The disk's syncs per second, one at a time.
    line_1_per_s: Option<f64>,
    /// The same, best in parallel.
    line_max_per_s: Option<f64>,
    /// The limiting resource of a run.
    bottleneck: Option<String>,
    /// The outcome of a verification.
    outcome: Option<String>,
    /// Why the record ended before its plan.
    cut_short: Option<String>,
}

/// The names of the plan's values that a sweep may vary, besides options of the workload and clients.
pub const PLAN_OPTIONS: [&str; 3] = ["pipeline", "rate", "retries"];

impl Record {
    /// Its summary.
    pub fn summary(&self) -> Summary {
        let identity = self.identity();
        let about = Summary {
            id: identity.id.clone(),
            survey: identity.survey.clone(),
            kind: identity.kind.clone(),
            started: identity.started.clone(),
            started_wall_ns: identity.started_wall_ns,
            syncline: identity.syncline.clone(),
            tag: identity.tag.clone(),
            command: identity.command.clone(),
            title: self.title(),
            ..Summary::default()
        };
        match self {
            Record::Run(run) => of_run(run, about),
            Record::Probe(probe) => {
                let body = &probe.body;
                let about = about.on(&body.machine).beside(&body.sync_line);
                let rate = about.line_1_per_s;
                Summary { per_second: rate, ..about }.timed(body.sync_line.latency_ns.as_ref())
            }
            Record::Observation(observation) => {
                let body = &observation.body;
                Summary {
                    target: Some(body.target.name.clone()),
                    product: Some(body.target.product.clone()),
                    version: body.target.version.clone(),
                    measured_ns: Some(body.span_ns),
                    per_second: body.commits_per_s,
                    ..about.on(&body.machine).beside(&body.sync_line)
                }
            }
            Record::Verification(verification) => Summary {
                outcome: Some(verification.body.outcome.clone()),
                ..about.on(&verification.body.machine)
            },
        }
    }
}

fn of_run(run: &RunRecord, about: Summary) -> Summary {
    let (head, end) = (&run.head, &run.end);
    let range = end.throughput_range;
    let response = run.main_transaction().and_then(|main| main.response_ns);
    let saturation = end.saturation.as_ref();
    Summary {
        workload: Some(head.workload.name.clone()),
        options: Some(options(run).to_string()),
        target: Some(head.target.name.clone()),
        product: head.target.product.clone(),
        version: head.target.version.clone(),
        durability: head.target.durability.clone(),
        isolation: head.target.isolation.clone(),
        clients: Some(head.plan.clients),
        arrival: Some(head.plan.arrival.clone()),
        offered_per_s: head.plan.rate_per_s,
        repetitions: Some(end.repetitions.len() as u64),
        measured_ns: Some(end.measured_ns),
        per_second: Some(end.throughput_per_s),
        per_second_least: range.map(|Range { least, .. }| least),
        per_second_most: range.map(|Range { most, .. }| most),
        committed: Some(end.outcomes.committed),
        aborted: Some(end.outcomes.aborted),
        conflicted: Some(end.outcomes.conflicted),
        failed: Some(end.outcomes.failed),
        unfinished: Some(end.outcomes.unfinished),
        response_p50_ns: response.map(|times| times.p50),
        response_p99_ns: response.map(|times| times.p99),
        syncs_per_commit: end.per_commit.syncs.value,
        device_writes_per_commit: end.per_commit.device_writes.value,
        device_bytes_per_commit: end.per_commit.device_bytes.value,
        system_calls_per_commit: end.per_commit.system_calls.value,
        target_cpu_ns_per_commit: end.per_commit.target_cpu_ns.value,
        client_cpu_ns_per_commit: end.per_commit.client_cpu_ns.value,
        page_faults_per_commit: end.per_commit.page_faults.value,
        bottleneck: saturation.map(|found| found.bottleneck().to_owned()),
        cut_short: end.cut_short.clone(),
        ..about.on(&head.machine).beside(&end.sync_line).timed(run.service_ns())
    }
}

/// The options of the workload, and the values of the plan that a sweep may vary.
fn options(run: &RunRecord) -> Value {
    let plan = &run.head.plan;
    let text = |value: String| Value::String(value);
    let mut all = Map::new();
    for (name, value) in &run.head.workload.options {
        all.insert(name.clone(), text(value.clone()));
    }
    let of_plan = [
        plan.pipeline.map(|whether| whether.to_string()),
        plan.rate_per_s.map(|rate| rate.to_string()),
        Some(plan.retries.to_string()),
    ];
    for (name, value) in PLAN_OPTIONS.iter().zip(of_plan) {
        all.extend(value.map(|value| ((*name).to_owned(), text(value))));
    }
    Value::Object(all)
}

/// Summaries as a JSON array of objects with the names of [`SUMMARY_COLUMNS`], as indented text without a
/// final newline.
pub fn json_of_summaries(summaries: &[Summary]) -> String {
    let object = |summary: &Summary| {
        let named = SUMMARY_COLUMNS.iter().zip(summary.values());
        named.map(|(column, value)| (column.name.to_owned(), value.into())).collect::<Map<_, _>>()
    };
    let all: Vec<Map<String, Value>> = summaries.iter().map(object).collect();
    serde_json::to_string_pretty(&all).expect("the keys are text")
}

impl From<SummaryValue> for Value {
    fn from(value: SummaryValue) -> Value {
        match value {
            SummaryValue::Null => Value::Null,
            SummaryValue::Integer(number) => number.into(),
            SummaryValue::Real(number) => number.into(),
            SummaryValue::Text(text) => text.into(),
        }
    }
}

impl Summary {
    fn on(self, machine: &Machine) -> Summary {
        Summary { machine: machine.in_words(), ..self }
    }

    fn beside(self, line: &SyncLine) -> Summary {
        Summary { line_1_per_s: line.line_1, line_max_per_s: line.line_max, ..self }
    }

    fn timed(self, times: Option<&Latency>) -> Summary {
        Summary {
            p50_ns: times.map(|times| times.p50),
            p90_ns: times.map(|times| times.p90),
            p99_ns: times.map(|times| times.p99),
            p999_ns: times.map(|times| times.p999),
            max_ns: times.map(|times| times.max),
            ..self
        }
    }

    /// The options of a run's workload and the swept values of its plan, by name.
    pub fn options(&self) -> Map<String, Value> {
        let parsed = self.options.as_deref().map(serde_json::from_str);
        parsed.and_then(Result::ok).unwrap_or_default()
    }
}
