//! The index against the records themselves.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]
#![allow(
    clippy::assigning_clones,
    reason = "texts are set once per test; plain assignments read better"
)]

#[allow(dead_code, reason = "other suites use the rest")]
#[path = "../../../record/tests/shared/fixture.rs"]
mod fixture;

use fixture::{ENGINE, SQLITE};
use std::fs::{self, File, FileTimes};
use std::path::Path;
use syncline_record::{Record, SUMMARY_COLUMNS, Summary, json};
use syncline_record_index::{FILE_NAME, Filter, RecordIndex};
use tempfile::TempDir;

/// A probe, a verification, and runs on two stores with 1, 8 and 64 clients.
fn records() -> Vec<Record> {
    let mut records = vec![Record::from(fixture::probe())];
    for (store, per_client, tag) in [(SQLITE, 1_000.0, Some("v1.2-rc1")), (ENGINE, 1_100.0, None)] {
        for clients in [1, 8, 64] {
            let mut run = fixture::run(store, clients, per_client * clients as f64, 1.0);
            run.identity.tag = tag.map(str::to_owned);
            records.push(Record::from(run));
        }
    }
    records
}

fn file_of(record: &Record) -> String {
    format!("{}-{}.jsonl", record.identity().started_wall_ns, record.identity().id)
}

fn folder(records: &[Record]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for record in records {
        let text = json(std::slice::from_ref(record));
        fs::write(folder.path().join(file_of(record)), text).unwrap();
    }
    folder
}

fn listed(folder: &Path, filter: &Filter) -> Vec<Summary> {
    let listing = RecordIndex::open(folder).unwrap().list(filter).unwrap();
    assert_eq!(listing.refused, Vec::<String>::new());
    listing.records
}

fn all(folder: &Path) -> Vec<Summary> {
    listed(folder, &Filter::default())
}

fn summaries(records: &[Record]) -> Vec<Summary> {
    let mut all: Vec<&Record> = records.iter().collect();
    all.sort_by_key(|record| (record.identity().started_wall_ns, file_of(record)));
    all.into_iter().map(Record::summary).collect()
}

#[test]
fn the_index_returns_the_summaries_of_the_records() {
    let records = records();
    let folder = folder(&records);
    assert_eq!(all(folder.path()), summaries(&records));
    assert_eq!(all(folder.path()), summaries(&records), "again, from the index");
}

#[test]
fn records_that_come_change_or_go_are_seen() {
    let mut records = records();
    let folder = folder(&records);
    all(folder.path());
    let gone = records.remove(0);
    fs::remove_file(folder.path().join(file_of(&gone))).unwrap();
    let mut changed = fixture::run(ENGINE, 1, 1_100.0, 1.0);
    changed.identity.tag = Some("a longer text than before".to_owned());
    let place = records.iter().position(|one| file_of(one) == file_of(&changed.clone().into()));
    records[place.unwrap()] = changed.into();
    records.push(fixture::run(ENGINE, 2, 3_000.0, 1.0).into());
    for record in &records {
        let text = json(std::slice::from_ref(record));
        fs::write(folder.path().join(file_of(record)), text).unwrap();
    }
    assert_eq!(all(folder.path()), summaries(&records));
}

#[test]
fn a_record_with_the_same_size_and_time_is_not_read_again() {
    let records = records();
    let folder = folder(&records);
    all(folder.path());
    let path = folder.path().join(file_of(&records[0]));
    let about = fs::metadata(&path).unwrap();
    fs::write(&path, vec![b'x'; usize::try_from(about.len()).unwrap()]).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    file.set_times(FileTimes::new().set_modified(about.modified().unwrap())).unwrap();
    assert_eq!(all(folder.path()), summaries(&records));
}

#[test]
fn a_file_that_is_no_record_is_listed_with_the_reason_until_it_is_gone() {
    let records = records();
    let folder = folder(&records);
    let path = folder.path().join("2026-x.jsonl");
    fs::write(&path, "no record").unwrap();
    for _ in 0..2 {
        let listing = RecordIndex::open(folder.path()).unwrap().list(&Filter::default()).unwrap();
        assert_eq!(listing.records, summaries(&records));
        assert!(listing.refused.len() == 1 && listing.refused[0].contains("2026-x.jsonl"));
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(all(folder.path()), summaries(&records));
}

#[test]
fn a_damaged_or_deleted_index_is_made_again() {
    let records = records();
    let folder = folder(&records);
    let index = folder.path().join(FILE_NAME);
    all(folder.path());
    fs::write(
        &index,
        "not a database, but longer than the header of one, which has 100 bytes".repeat(9),
    )
    .unwrap();
    assert_eq!(all(folder.path()), summaries(&records));
    // A table of this name, but of another program.
    let connection = rusqlite::Connection::open(&index).unwrap();
    connection.execute_batch("DROP TABLE records; CREATE TABLE records (other TEXT);").unwrap();
    drop(connection);
    assert_eq!(all(folder.path()), summaries(&records));
    fs::remove_file(&index).unwrap();
    assert_eq!(all(folder.path()), summaries(&records));
    assert!(index.exists());
}

#[test]
fn without_a_place_for_the_index_it_lives_in_memory() {
    let records = records();
    let folder = folder(&records);
    fs::create_dir(folder.path().join(FILE_NAME)).unwrap();
    assert_eq!(all(folder.path()), summaries(&records));
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("runs");
    let error = RecordIndex::open(&missing).unwrap_err().to_string();
    assert!(error.contains("runs"), "{error}");
    assert!(!missing.exists());
}

type Meets = Box<dyn Fn(&Summary) -> bool>;

#[test]
fn each_filter_returns_the_records_that_meet_it() {
    let records = records();
    let folder = folder(&records);
    let every = summaries(&records);
    let some = every[3].started_wall_ns;
    let text = |text: &str| Some(text.to_owned());
    let cases: [(Filter, Meets); 9] = [
        (Filter { kind: text("probe"), ..Filter::default() }, Box::new(|one| one.kind == "probe")),
        (
            Filter { workload: text("insert"), ..Filter::default() },
            Box::new(|one| one.workload.as_deref() == Some("insert")),
        ),
        (
            Filter { target: text("SQLite"), ..Filter::default() },
            Box::new(|one| one.target.as_deref() == Some("sqlite")),
        ),
        (
            Filter { target: text("3.50"), ..Filter::default() },
            Box::new(|one| one.target.as_deref() == Some("sqlite")),
        ),
        (Filter { tag: text("v1.2-*"), ..Filter::default() }, Box::new(|one| one.tag.is_some())),
        (Filter { tag: text("v1.2"), ..Filter::default() }, Box::new(|_| false)),
        (Filter { clients: Some(8), ..Filter::default() }, Box::new(|one| one.clients == Some(8))),
        (
            Filter { since_wall_ns: Some(some), ..Filter::default() },
            Box::new(move |one| one.started_wall_ns >= some),
        ),
        (
            Filter { until_wall_ns: Some(some), ..Filter::default() },
            Box::new(move |one| one.started_wall_ns < some),
        ),
    ];
    for (filter, meets) in cases {
        let expected: Vec<Summary> = every.iter().filter(|one| meets(one)).cloned().collect();
        assert_eq!(listed(folder.path(), &filter), expected, "{filter:?}");
    }
    let newest = Filter { last: Some(2), kind: text("run"), ..Filter::default() };
    assert_eq!(listed(folder.path(), &newest), every[every.len() - 2..]);
}

#[test]
fn other_programs_read_the_columns_by_their_names() {
    let records = records();
    let folder = folder(&records);
    all(folder.path());
    let connection = rusqlite::Connection::open(folder.path().join(FILE_NAME)).unwrap();
    let count: i64 = connection
        .query_row(
            "SELECT count(*) FROM records WHERE workload = 'insert' AND clients = 8 AND per_second > 7999",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(count, 2);
    let mut statement =
        connection.prepare("SELECT name FROM pragma_table_info('records')").unwrap();
    let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let names: Vec<String> = names.map(Result::unwrap).collect();
    let expected = std::iter::once("file").chain(SUMMARY_COLUMNS.iter().map(|column| column.name));
    assert_eq!(names, expected.collect::<Vec<_>>());
}
