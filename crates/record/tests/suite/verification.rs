//! The record of a verification: shared, and older findings refused.

use crate::fixture;
use serde_json::json;
use std::fs;
use syncline_record::{Record, RecordFile, list, read, share};

// D10
#[test]
fn a_shared_verification_has_no_names() {
    let mut record = fixture::verification();
    record.body.subject = "buildhost7:/home/ann/disk".to_owned();
    record.body.sentences.push("buildhost7:/home/ann/disk: survived.".to_owned());
    record.body.finding["subject"] = json!("buildhost7:/home/ann/disk");
    let shared = share(&Record::from(record)).to_value().to_string();
    for name in ["buildhost7", "ann", "/home"] {
        assert!(!shared.contains(name), "{name}: {shared}");
    }
}

// D10
#[test]
fn an_older_finding_that_is_not_a_record_is_refused_with_that_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hfzim.json");
    let text = serde_json::to_string_pretty(&fixture::verification().body.finding).unwrap();
    fs::write(&path, text).unwrap();
    fs::write(folder.path().join("other.json"), "{}").unwrap();
    let why = read(&path).unwrap_err().to_string();
    assert!(why.contains("finding of verify of an older version"), "{why}");
    let found = list(folder.path()).unwrap();
    let [RecordFile { record: Err(error), .. }] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(error.to_string(), why);
}
