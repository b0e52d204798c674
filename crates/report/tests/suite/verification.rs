//! The record of a verification: written, read, listed, shown, shared; older findings are refused.

use crate::fixture;
use crate::schema;
use serde_json::json;
use std::fs;
use syncline_record::{
    Identity, Listed, Record, VerificationBody, VerificationRecord, Writer, list, read, share,
};
use syncline_report::{html, table};

pub(crate) fn record() -> VerificationRecord {
    VerificationRecord {
        identity: Identity::new("verification", fixture::STARTED_NS, 11),
        body: VerificationBody {
            verified: "durability".to_owned(),
            subject: "sqlite?durability=os".to_owned(),
            machine: fixture::machine(),
            outcome: "broken".to_owned(),
            sentences: vec![
                "sqlite: not durable: 3 of 20 images lost a commit.".to_owned(),
                "a table\n  of two lines".to_owned(),
            ],
            finding: json!({ "format": 2, "store": "sqlite", "verdict": { "not_durable": "3" } }),
        },
    }
}

// D10
#[test]
fn a_verification_is_written_read_listed_and_shown_like_any_record() {
    let folder = tempfile::tempdir().unwrap();
    let record = record();
    let path = Writer::write_verification(folder.path(), &record).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let id = &record.identity.id.clone();
    assert!(name.ends_with(&format!("-verified-durability-sqlite-{id}.jsonl")), "{name}");
    let whole = Record::from(record);
    assert_eq!(read(&path).unwrap(), whole);
    schema::check(std::slice::from_ref(&whole));
    let lines = fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["line"], &lines[1]["line"]), (&json!("head"), &json!("end")));
    assert_eq!(lines[0]["kind"], "verification");
    let listed = table::list(&list(folder.path()).unwrap());
    assert!(
        listed.contains("durability of sqlite?durability=os: broken") && listed.contains(id),
        "{listed}"
    );
    let text = table::show(std::slice::from_ref(&whole));
    for words in ["not durable: 3 of 20", "  of two lines", "Example Xeon", "broken", id] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // A head without an end was cut short.
    fs::write(&path, format!("{}\n", lines[0])).unwrap();
    let why = read(&path).unwrap_err().to_string();
    assert!(why.contains("the verification was cut short"), "{why}");
}

// D10
#[test]
fn the_page_of_a_verification_shows_its_finding_and_escapes_it() {
    let mut hostile = record();
    let markup = "</pre><script>alert(1)</script>";
    hostile.body.subject = markup.to_owned();
    hostile.body.outcome = markup.to_owned();
    hostile.body.sentences.push(markup.to_owned());
    hostile.body.sentences.push(format!("{markup}\n"));
    hostile.body.finding = json!({ markup: markup });
    for (record, title) in [
        (record(), "<title>Syncline verification: durability of sqlite?durability=os</title>"),
        (hostile, "<title>Syncline verification: durability of &lt;/pre&gt;"),
    ] {
        let page = html::report(&[Record::from(record)], &[]);
        let (shown, _folded) = page.split_once("<details").unwrap();
        assert!(shown.contains(title) && shown.contains("3 of 20 images"), "{shown}");
        assert!(!page.contains("<script>alert"), "{page}");
    }
}

// D10
#[test]
fn a_shared_verification_has_no_names() {
    let mut record = record();
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
    let text = serde_json::to_string_pretty(&record().body.finding).unwrap();
    fs::write(&path, text).unwrap();
    fs::write(folder.path().join("other.json"), "{}").unwrap();
    let why = read(&path).unwrap_err().to_string();
    assert!(why.contains("finding of verify of an older version"), "{why}");
    let found = list(folder.path()).unwrap();
    let [Listed { record: Err(error), .. }] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!(error.to_string(), why);
}
