//! Comma-separated values: the first line names the columns, an unknown value is an empty field.

use csv::Writer;
use syncline_record::{Interval, Record, SUMMARY_COLUMNS, Summary, SummaryValue};

/// A row for each record, in the columns of [`SUMMARY_COLUMNS`].
pub fn summaries(records: &[Summary]) -> String {
    let mut table = Writer::from_writer(Vec::new());
    let names = SUMMARY_COLUMNS.iter().map(|column| column.name.to_owned());
    row(&mut table, names);
    for record in records {
        row(&mut table, record.values().into_iter().map(field));
    }
    text(table)
}

/// A row for each interval of the runs: what identifies the run, then the fields of the interval.
pub fn intervals(records: &[Record]) -> String {
    let mut table = Writer::from_writer(Vec::new());
    let names = IDENTITY.iter().chain(INTERVAL.iter().map(|(name, _)| name));
    row(&mut table, names.map(|&name| name.to_owned()));
    for run in records.iter().filter_map(Record::as_run) {
        let plan = &run.head.plan;
        let identity = [
            run.identity.id.clone(),
            run.identity.tag.clone().unwrap_or_default(),
            run.head.workload.name.clone(),
            run.head.target.name.clone(),
            plan.clients.to_string(),
        ];
        for interval in &run.intervals {
            let figures = INTERVAL.iter().map(|(_, value)| field(value(interval)));
            row(&mut table, identity.iter().cloned().chain(figures));
        }
    }
    text(table)
}

/// What identifies the run of an interval.
const IDENTITY: [&str; 5] = ["id", "tag", "workload", "target", "clients"];

type OfInterval = fn(&Interval) -> SummaryValue;

/// The fields of an interval, by the names that they have in the record. The histogram is left out: it is no
/// figure.
const INTERVAL: &[(&str, OfInterval)] = &[
    ("repetition", |one| count(Some(one.repetition))),
    ("start_ns", |one| count(Some(one.start_ns))),
    ("end_ns", |one| count(Some(one.end_ns))),
    ("committed", |one| count(Some(one.committed))),
    ("aborted", |one| count(Some(one.aborted))),
    ("conflicted", |one| count(Some(one.conflicted))),
    ("failed", |one| count(Some(one.failed))),
    ("unfinished", |one| count(Some(one.unfinished))),
    ("service_p50_ns", |one| count(one.service_p50_ns)),
    ("service_p99_ns", |one| count(one.service_p99_ns)),
    ("service_max_ns", |one| count(one.service_max_ns)),
    ("response_p50_ns", |one| count(one.response_p50_ns)),
    ("response_p99_ns", |one| count(one.response_p99_ns)),
    ("response_max_ns", |one| count(one.response_max_ns)),
    ("steal", |one| part(one.steal)),
    ("foreign_cpus", |one| part(one.foreign_cpus)),
    ("busy", |one| part(one.busy)),
    ("pressure_cpu", |one| part(one.pressure_cpu)),
    ("pressure_io", |one| part(one.pressure_io)),
    ("queue_length", |one| part(one.queue_length)),
    ("device_busy", |one| part(one.device_busy)),
    ("page_faults", |one| count(one.page_faults)),
];

fn count(value: Option<u64>) -> SummaryValue {
    let integer = |value| SummaryValue::Integer(i64::try_from(value).unwrap_or(i64::MAX));
    value.map_or(SummaryValue::Null, integer)
}

fn part(value: Option<f64>) -> SummaryValue {
    value.map_or(SummaryValue::Null, SummaryValue::Real)
}

fn field(value: SummaryValue) -> String {
    match value {
        SummaryValue::Null => String::new(),
        SummaryValue::Integer(number) => number.to_string(),
        SummaryValue::Real(number) => number.to_string(),
        SummaryValue::Text(text) => text,
    }
}

fn row(table: &mut Writer<Vec<u8>>, fields: impl Iterator<Item = String>) {
    table.write_record(fields).expect("all rows have as many fields, and memory takes them");
}

fn text(table: Writer<Vec<u8>>) -> String {
    let bytes = table.into_inner().expect("memory takes every byte");
    String::from_utf8(bytes).expect("every field is text")
}
