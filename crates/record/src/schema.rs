//! The JSON schema of a folded record, generated from the record's own declarations.
//!
//! It is published as `docs/record.schema.json`; tests check that the file equals the output of this function
//! and that real records match it. Unnamed fields are allowed, since a later program of the same format
//! version may add some.

use super::identity::{FORMAT_NAME, FORMAT_VERSION};
use super::observation::ObservationRecord;
use super::probe::ProbeRecord;
use super::run::RunRecord;
use super::schema_macro::Described;
use super::verification::VerificationRecord;
use serde_json::{Map, Value, json};

/// The schema of the output of `--json`: a record, or an array of records.
pub fn schema() -> Value {
    let mut parts = Map::new();
    let run = RunRecord::schema(&mut parts);
    let probe = ProbeRecord::schema(&mut parts);
    let observation = ObservationRecord::schema(&mut parts);
    let verification = VerificationRecord::schema(&mut parts);
    parts["Format"]["properties"]["name"]["const"] = json!(FORMAT_NAME);
    parts["Format"]["properties"]["version"]["const"] = json!(FORMAT_VERSION);
    parts["RunRecord"]["properties"]["kind"]["const"] = json!("run");
    parts["ProbeRecord"]["properties"]["kind"]["const"] = json!("probe");
    parts["ObservationRecord"]["properties"]["kind"]["const"] = json!("observation");
    parts["VerificationRecord"]["properties"]["kind"]["const"] = json!("verification");
    for (part, field, words) in WORDS {
        let property = &mut parts[*part]["properties"][*field];
        let kind = match property.get_mut("anyOf") {
            // The string's schema; the other choice is null.
            Some(choices) => &mut choices[0],
            None => property,
        };
        kind["enum"] = json!(words);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Syncline record, version 1",
        "description": "What the program measured: one record, or an array of records.",
        "oneOf": [
            { "$ref": "#/$defs/Record" },
            { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/Record" } },
        ],
        "$defs": with_record(parts, &[run, probe, observation, verification]),
    })
}

/// Fields that hold one of a few fixed words.
const WORDS: &[(&str, &str, &[&str])] = &[
    ("Plan", "arrival", &["closed", "fixed", "poisson"]),
    ("Target", "durability", &["none", "os", "data", "full"]),
    ("Client", "model", &["threads", "futures", "queue"]),
    ("Check", "outcome", &["held", "violated", "not applicable"]),
    (
        "RunRecord",
        "stopped_by",
        &["duration", "transactions", "asked to stop", "disk space", "failure"],
    ),
    ("MetricCost", "unit", &["ns", "count", "bytes"]),
    ("MetricCost", "how", &["exact", "sampled", "not attributable"]),
    ("CostRow", "threads", &["connection", "background", "runtime", "client", "unknown"]),
    ("Layer", "standing", &["passes on", "not known", "breaks"]),
    ("Cell", "file_state", &["overwrite", "unwritten extents", "append"]),
    ("Cell", "placement", &["walk", "same block"]),
    ("SequentialCell", "direction", &["read", "write"]),
    ("ProbeDevice", "write_cache", &["write back", "write through", "unknown"]),
    ("VerificationRecord", "verified", &["disk", "durability", "isolation", "crashes"]),
    ("VerificationRecord", "outcome", &["held", "broken", "promises nothing", "unknown"]),
    ("ProbeRecord", "label", &["burst", "steady"]),
    ("Verdict", "word", &["not durable", "implausible", "consistent with flushing", "unknown"]),
    ("Fitness", "word", &["fit", "unfit", "not known"]),
    ("SyncPhase", "name", &["alone", "beside", "over time"]),
    ("Stall", "phase", &["alone", "beside", "over time"]),
    ("FitnessThreshold", "word", &["fit", "unfit", "not known"]),
    ("FitnessThreshold", "statistic", &["p99", "mean", "rate"]),
    ("FitnessThreshold", "unit", &["ms", "us", "per second"]),
    ("FitnessShape", "file_state", &["overwrite", "unwritten extents", "append"]),
    (
        "Saturation",
        "verdict",
        &[
            "client-bound",
            "CPU-bound",
            "sync-bound",
            "read-bound",
            "network-bound",
            "lock-bound",
            "nothing saturated",
        ],
    ),
];

fn with_record(mut parts: Map<String, Value>, kinds: &[Value]) -> Value {
    let record = json!({ "description": "A run, a probe, an observation or a verification.", "oneOf": kinds });
    parts.insert("Record".to_owned(), record);
    Value::Object(parts)
}
