//! `syncline verify isolation`: histories recorded, read, checked, and continued after crashes.

use crate::support::{folder, syncline};
use serde_json::Value;

#[test]
fn histories_are_recorded_written_read_and_checked() {
    let folder = folder();
    let result = syncline(
        folder.path(),
        "verify isolation sqlite?durability=os --no-schedules --transactions 400 --history h.jsonl",
    );
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.out.contains("no anomaly that serializable forbids"), "{result:?}");
    assert!(result.out.contains("Not known from a history"), "{result:?}");
    let result =
        syncline(folder.path(), "verify isolation --check h.jsonl --claimed serializable --json");
    assert_eq!(result.code, 0, "{result:?}");
    let record = result.json()["finding"].clone();
    assert!(record["committed"].as_u64() > Some(100), "{record}");
    assert_eq!(record["forbidden"], Value::Array(Vec::new()));
    assert!(record["check_cpu_ns"].as_u64() > Some(0), "{record}");
    assert!(record["memory_bytes_max"].as_u64() > Some(1 << 20), "{record}");
    let records = std::fs::read_dir(folder.path().join("syncline-runs")).unwrap();
    assert_eq!(records.count(), 2, "a record each");
}

/// Two transactions that each miss the other's write: write skew.
const SKEW: &str = r#"{"type":"invoke","process":0,"index":0,"f":"txn","value":[["r",1,null],["r",2,null],["append",1,1]]}
{"type":"invoke","process":1,"index":1,"f":"txn","value":[["r",1,null],["r",2,null],["append",2,2]]}
{"type":"ok","process":0,"index":2,"f":"txn","value":[["r",1,[]],["r",2,[]],["append",1,1]]}
{"type":"ok","process":1,"index":3,"f":"txn","value":[["r",1,[]],["r",2,[]],["append",2,2]]}
{"type":"invoke","process":2,"index":4,"f":"txn","value":[["r",1,null],["r",2,null]]}
{"type":"ok","process":2,"index":5,"f":"txn","value":[["r",1,[1]],["r",2,[2]]]}
"#;

#[test]
fn an_anomaly_is_forbidden_by_one_level_and_allowed_by_another() {
    let folder = folder();
    std::fs::write(folder.path().join("skew.jsonl"), SKEW).unwrap();
    let result =
        syncline(folder.path(), "verify isolation --check skew.jsonl --claimed serializable");
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains("not serializable: write skew (G2-item)"), "{result:?}");
    assert!(result.err.contains("found an anomaly that the level forbids"), "{result:?}");
    let result = syncline(folder.path(), "verify isolation --check skew.jsonl --claimed snapshot");
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.out.contains("Allowed: write skew (G2-item)"), "{result:?}");
}

#[test]
fn a_history_that_cannot_be_read_is_named_with_its_line() {
    let folder = folder();
    std::fs::write(folder.path().join("half.jsonl"), &SKEW[..SKEW.len() - 30]).unwrap();
    for (line, words) in [
        ("--check half.jsonl --claimed serializable", "line 6 of the history"),
        ("--check absent.jsonl --claimed serializable", "No such file"),
        ("--check half.jsonl", "--claimed"),
        ("nosuchstore", "nosuchstore"),
        ("sqlite --transactions 0", "at least 1"),
    ] {
        let result = syncline(folder.path(), &format!("verify isolation {line}"));
        assert_eq!(result.code, 2, "{line}: {result:?}");
        assert!(result.err.contains(words), "{line}: {result:?}");
    }
}

#[test]
fn a_history_continues_after_crashes() {
    let folder = folder();
    let result = syncline(folder.path(), "verify isolation sqlite --crashes 10 --json");
    let record = result.json()["finding"].clone();
    assert_eq!(record["kills"]["crashes"], 1, "{record}");
    assert_eq!(record["kills"]["lost"], 0, "{record}");
    // Without root and /dev/fuse only processes are killed, which the output reports.
    if record["no_cuts"].is_null() {
        assert_eq!(result.code, 0, "{result:?}");
        assert_eq!(record["cuts"]["crashes"], 10, "{record}");
        assert_eq!(record["cuts"]["lost"], 0, "{record}");
        assert!(record["cuts"]["committed"].as_u64() > Some(10), "{record}");
    } else {
        assert_eq!(result.code, 2, "{result:?}");
        assert!(result.err.contains("power loss was not simulated"), "{result:?}");
    }
    let live = syncline(folder.path(), "verify isolation sqlite:live.db --crashes 10");
    assert_eq!(live.code, 2, "{live:?}");
    assert!(live.err.contains("a temporary one"), "{live:?}");
}

// D10
#[test]
fn a_verification_is_listed_and_shown_by_its_id_like_any_record() {
    let folder = folder();
    std::fs::write(folder.path().join("skew.jsonl"), SKEW).unwrap();
    let line = "verify isolation --check skew.jsonl --claimed serializable --json";
    let result = syncline(folder.path(), line);
    assert_eq!(result.code, 1, "{result:?}");
    let record = result.json();
    for (field, value) in [
        ("kind", "verification"),
        ("verified", "isolation"),
        ("outcome", "broken"),
        ("subject", "skew.jsonl"),
    ] {
        assert_eq!(record[field], value, "{field}: {record}");
    }
    assert_eq!(record["format"]["name"], "syncline-record", "{record}");
    let id = record["id"].as_str().unwrap();
    let listed = syncline(folder.path(), "list runs");
    assert!(
        listed.out.contains("isolation of skew.jsonl: broken") && listed.out.contains(id),
        "{listed:?}"
    );
    let shown = syncline(folder.path(), &format!("show {id}"));
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(shown.out.contains("skew.jsonl: not serializable"), "{shown:?}");
    assert_eq!(syncline(folder.path(), &format!("show --json {id}")).json(), record);
    let page = syncline(folder.path(), &format!("show --html page.html {id}"));
    assert_eq!(page.code, 0, "{page:?}");
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("Syncline verification: isolation of skew.jsonl"), "{page}");
}
