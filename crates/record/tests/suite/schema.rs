//! The published schema: generated from the declarations, and checked against real records.

use crate::closed_schema::check;
use crate::fitness_fixture::{fitness_probe, probe_over_time};
use crate::fixture::{self, SQLITE};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use syncline_record::{Record, schema};

#[test]
fn the_published_file_equals_the_generated_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/record.schema.json");
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap();
    let differs = published.lines().zip(text.lines()).find(|(one, other)| one != other);
    assert!(published == text, "UPDATE=1 rewrites the published schema; it differs in {differs:?}");
}

#[test]
fn one_or_several_records_match_the_schema() {
    check(&fixture::survey());
    check(&[Record::from(fixture::overloaded())]);
    check(&[Record::from(fixture::probe())]);
    check(&[Record::from(fitness_probe())]);
    check(&[Record::from(probe_over_time())]);
    let mut run = fixture::run(SQLITE, 1, 9_000.0, 1.0);
    run.end = syncline_record::RunEnd::from_intervals(&run.intervals, "it has no end: cut short");
    check(&[Record::from(run)]);
}

#[test]
fn broken_records_are_rejected() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let whole = Record::from(fixture::run(SQLITE, 8, 9_120.0, 1.0)).to_value();
    assert!(validator.is_valid(&whole));
    let breaks: [(&str, Value); 8] = [
        ("/kind", json!("walk")),
        ("/format/version", json!(2)),
        ("/outcomes/committed", json!(-1)),
        ("/outcomes/committed", json!(null)),
        ("/throughput_per_s", json!("fast")),
        ("/target/durability", json!("very")),
        ("/checks/0/outcome", json!("fine")),
        ("/intervals/0/end_ns", json!(1.5)),
    ];
    for (pointer, value) in breaks {
        let mut broken = whole.clone();
        *broken.pointer_mut(pointer).unwrap() = value.clone();
        assert!(!validator.is_valid(&broken), "{pointer} = {value} passes");
    }
    for field in ["outcomes", "sync_line", "per_commit", "id", "intervals", "cost"] {
        let mut broken = whole.clone();
        broken.as_object_mut().unwrap().remove(field);
        assert!(!validator.is_valid(&broken), "a record without {field} passes");
    }
}

/// The names that other programs read, as in DESIGN.
#[test]
fn agreed_names_exist() {
    let run = Record::from(fixture::overloaded()).to_value();
    for pointer in [
        "/outcomes/attempted",
        "/outcomes/committed",
        "/outcomes/aborted",
        "/outcomes/conflicted",
        "/outcomes/failed",
        "/outcomes/unfinished",
        "/throughput_per_s",
        "/throughput_range",
        "/repetitions/0",
        "/arrivals/offered",
        "/arrivals/started",
        "/arrivals/late",
        "/arrivals/abandoned",
        "/transactions/0/name",
        "/transactions/0/count",
        "/transactions/0/service_ns/p50",
        "/transactions/0/service_ns/p90",
        "/transactions/0/service_ns/p99",
        "/transactions/0/response_ns/p999",
        "/transactions/0/response_ns/max",
        "/transactions/0/response_ns/mean",
        "/per_commit/syncs",
        "/per_commit/device_writes",
        "/per_commit/device_bytes",
        "/per_commit/flushes",
        "/per_commit/system_calls",
        "/per_commit/client_cpu_ns",
        "/per_commit/target_cpu_ns",
        "/per_commit/page_faults",
        "/sync_line/directory",
        "/sync_line/device",
        "/sync_line/method",
        "/sync_line/file_state",
        "/sync_line/line_1",
        "/sync_line/line_max",
        "/sync_line/before",
        "/sync_line/after",
        "/sync_line/round_trip_ns",
        "/sync_line/verdict",
        "/client/model",
        "/client/workers",
        "/client/cpu_ns_per_transaction",
        "/saturation/thresholds",
        "/target/name",
        "/target/version",
        "/target/durability",
        "/target/isolation",
        "/target/settings",
        "/target/evidence",
        "/machine/cores",
        "/machine/smt",
        "/machine/governor",
        "/machine/steal",
        "/machine/kernel",
        "/device/model",
        "/device/queue_length",
        "/workload/name",
        "/workload/options",
        "/workload/seed",
        "/workload/notice",
        "/intervals/0/queue_length",
        "/fairness",
        "/cost",
        "/checks/0/name",
        "/checks/0/outcome",
        "/warnings/0/advice",
    ] {
        assert!(run.pointer(pointer).is_some(), "{pointer} is missing");
    }
}
