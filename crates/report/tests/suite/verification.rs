//! The record of a verification: written, read, listed and shown.

use crate::closed_schema;
use crate::fixture;
use serde_json::json;
use std::fs;
use syncline_record::{Record, Summary, Writer, list, read};
use syncline_report::{html, table};

// D10
#[test]
fn a_verification_is_written_read_listed_and_shown_like_any_record() {
    let folder = tempfile::tempdir().unwrap();
    let record = fixture::verification();
    let path = Writer::write_verification(folder.path(), &record).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let id = &record.identity.id.clone();
    assert!(name.ends_with(&format!("-verified-durability-sqlite-{id}.jsonl")), "{name}");
    let whole = Record::from(record);
    assert_eq!(read(&path).unwrap(), whole);
    closed_schema::check(std::slice::from_ref(&whole));
    let lines = fs::read_to_string(&path).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["line"], &lines[1]["line"]), (&json!("head"), &json!("end")));
    assert_eq!(lines[0]["kind"], "verification");
    let files = list(folder.path()).unwrap();
    let listed: Vec<Summary> =
        files.iter().map(|file| file.record.as_ref().unwrap().summary()).collect();
    let listed = table::list(&listed, &[]);
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
    let mut hostile = fixture::verification();
    let markup = "</pre><script>alert(1)</script>";
    hostile.body.subject = markup.to_owned();
    hostile.body.outcome = markup.to_owned();
    hostile.body.sentences.push(markup.to_owned());
    hostile.body.sentences.push(format!("{markup}\n"));
    hostile.body.finding = json!({ markup: markup });
    for (record, title) in [
        (
            fixture::verification(),
            "<title>Syncline verification: durability of sqlite?durability=os</title>",
        ),
        (hostile, "<title>Syncline verification: durability of &lt;/pre&gt;"),
    ] {
        let page = html::report(&[Record::from(record)], &[]);
        let (shown, _folded) = page.split_once("<details").unwrap();
        assert!(shown.contains(title) && shown.contains("3 of 20 images"), "{shown}");
        assert!(!page.contains("<script>alert"), "{page}");
    }
}
