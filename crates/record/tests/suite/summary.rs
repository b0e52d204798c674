//! The summary of a record.

use crate::fixture::{self, SQLITE};
use syncline_record::{Record, SUMMARY_COLUMNS, Summary, SummaryValue, json_of_summaries};

fn records() -> Vec<Record> {
    let mut records = fixture::survey();
    records.push(fixture::verification().into());
    records
}

#[test]
fn a_summary_is_read_back_from_its_values() {
    for record in records() {
        let summary = record.summary();
        let values = summary.values();
        assert_eq!(values.len(), SUMMARY_COLUMNS.len());
        for (value, column) in values.iter().zip(SUMMARY_COLUMNS) {
            let kind = match value {
                SummaryValue::Null => column.kind,
                SummaryValue::Integer(_) => "INTEGER",
                SummaryValue::Real(_) => "REAL",
                SummaryValue::Text(_) => "TEXT",
            };
            assert_eq!(kind, column.kind, "{}", column.name);
        }
        assert_eq!(Summary::from_values(values.clone()), Some(summary));
        assert_eq!(Summary::from_values(values[1..].to_vec()), None, "one value is missing");
    }
}

#[test]
fn a_summary_holds_the_figures_of_the_record() {
    let run = fixture::run(SQLITE, 8, 9_120.0, 1.0);
    let times = run.service_ns().copied().unwrap();
    let summary = Record::from(run.clone()).summary();
    assert_eq!((summary.kind.as_str(), summary.clients), ("run", Some(8)));
    assert_eq!(
        (summary.workload.as_deref(), summary.target.as_deref()),
        (Some("insert"), Some("sqlite"))
    );
    assert_eq!(summary.per_second, Some(run.end.throughput_per_s));
    assert_eq!((summary.p50_ns, summary.p99_ns), (Some(times.p50), Some(times.p99)));
    assert_eq!(summary.syncs_per_commit, run.end.per_commit.syncs.value);
    assert_eq!(summary.committed, Some(run.end.outcomes.committed));
    assert_eq!(summary.line_1_per_s, run.end.sync_line.line_1);
    let options = summary.options();
    for (name, value) in &run.head.workload.options {
        assert_eq!(options[name], *value);
    }
    assert_eq!(options["retries"], run.head.plan.retries.to_string());
    let verification = Record::from(fixture::verification()).summary();
    assert_eq!((verification.per_second, verification.p50_ns), (None, None), "it measures no rate");
    assert!(verification.outcome.is_some());
}

#[test]
fn json_has_every_column_by_name_and_null_for_what_is_unknown() {
    let summaries: Vec<Summary> = records().iter().map(Record::summary).collect();
    let parsed: serde_json::Value = serde_json::from_str(&json_of_summaries(&summaries)).unwrap();
    let rows = parsed.as_array().unwrap();
    assert_eq!(rows.len(), summaries.len());
    for (row, summary) in rows.iter().zip(&summaries) {
        assert_eq!(row.as_object().unwrap().len(), SUMMARY_COLUMNS.len());
        assert_eq!(row["id"], summary.id);
        assert_eq!(row["per_second"].as_f64(), summary.per_second);
        assert_eq!(row["tag"].as_str(), summary.tag.as_deref());
    }
}
