//! The record of an observation: converted, written, read, shown, shared, withheld.

use crate::closed_schema;
use crate::fixture;
use std::path::PathBuf;
use syncline_record::DroppedSyncs;
use syncline_record::{Identity, ObservationRecord, Record, SyncLine, Writer, read, share};
use syncline_report::{html, table};
use syncline_runner::record::{ObservationInputs, from_observation};
use syncline_runner::{
    CounterUnit, LogLocation, Machine, Meaning, Observation, ObservedInterval, Setting,
    StoreCounter, StoreObservation, StoreProcess,
};

fn counter(meaning: Meaning, unit: CounterUnit, grown: Result<u64, String>) -> StoreCounter {
    StoreCounter {
        meaning,
        name: format!("pg_stat.{}", meaning.name()),
        unit,
        said_by: "SELECT".to_owned(),
        before: grown.is_ok().then_some(7),
        after: grown.as_ref().ok().map(|grown| grown + 7),
        grown,
    }
}

fn observed() -> Observation {
    Observation {
        last: StoreObservation {
            product: "PostgreSQL".to_owned(),
            version: "15.18".to_owned(),
            log_location: LogLocation::Directory(PathBuf::from("/home/ann/data/pg_wal")),
            process: StoreProcess::Other(4_711),
            unseen_syncs: None,
            counters: Vec::new(),
            own_commits: 20,
            settings: vec![Setting {
                name: "fsync".to_owned(),
                value: "on".to_owned(),
                source: "pg_settings".to_owned(),
            }],
            replication: Ok(Vec::new()),
        },
        span_ns: 10_000_000_000,
        counters: vec![
            counter(Meaning::Commits, CounterUnit::Count, Ok(1_020)),
            counter(Meaning::LogSyncs, CounterUnit::Count, Ok(250)),
            counter(Meaning::LogBytes, CounterUnit::Bytes, Ok(512_000)),
            counter(Meaning::SyncTime, CounterUnit::Nanoseconds, Err("not timed".to_owned())),
        ],
        own_commits: 20,
        intervals: vec![ObservedInterval {
            start_ns: 0,
            end_ns: 10_000_000_000,
            commits: Some(1_000),
            log_syncs: Some(250),
            log_bytes: None,
        }],
        sync_calls: Ok(200),
        flushes: None,
        device: Err("no single disk".to_owned()),
        machine: Machine {
            cores: 2,
            smt: None,
            governor: None,
            kernel: None,
            cpu_model: None,
            memory_bytes: None,
            hypervisor: None,
        },
    }
}

pub(crate) fn record(alias: Option<&str>) -> ObservationRecord {
    from_observation(&observed(), &inputs(alias))
}

fn inputs(alias: Option<&str>) -> ObservationInputs {
    ObservationInputs {
        identity: Identity::new("observation", fixture::STARTED_NS, 9),
        name: "postgres".to_owned(),
        url: Some("postgres://ann@db.example/app".to_owned()),
        alias: alias.map(str::to_owned),
        dropped_syncs: None,
        host: Some("buildhost7".to_owned()),
        sync_line: fixture::line(),
    }
}

#[test]
fn an_observation_becomes_figures_with_their_sources() {
    let record = record(None);
    let body = &record.body;
    assert_eq!(body.commits_per_s, Some(100.0));
    assert_eq!(body.commits_per_sync.value, Some(4.0));
    assert_eq!(body.commits_per_sync_call.value, Some(5.0));
    assert_eq!(body.log_bytes_per_commit.value, Some(512.0));
    assert_eq!(body.sync_ns.value, None);
    assert_eq!(body.flushes_per_s.value, None);
    closed_schema::check(&[Record::from(record)]);
}

// B.F5
#[test]
fn a_log_on_a_disk_that_drops_syncs_is_reported() {
    let dropped = DroppedSyncs {
        evidence: "ext4 at /data is mounted with nobarrier, so no flush is sent".to_owned(),
        remedy: Some("mount -o remount,barrier /data".to_owned()),
    };
    let inputs =
        |alias| ObservationInputs { dropped_syncs: Some(dropped.clone()), ..inputs(alias) };
    let record = from_observation(&observed(), &inputs(None));
    let text = table::observation(&record).replace("\n  ", " ");
    for words in [
        "keeps nothing over a power cut, whatever the store syncs: ext4 at /data is mounted with nobarrier",
        "to change it: mount -o remount,barrier /data",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let page = html::report(&[Record::from(record.clone())], &[]);
    assert!(page.contains("nobarrier"), "{page}");
    closed_schema::check(&[Record::from(record)]);
    let withheld = from_observation(&observed(), &inputs(Some("A")));
    let text = table::observation(&withheld);
    assert!(
        text.contains("keeps nothing over a power cut") && !text.contains("nobarrier"),
        "{text}"
    );
}

#[test]
fn transactions_that_only_read_are_not_commits_of_the_log() {
    let mut observed = observed();
    // A hundred of the thousand wrote.
    let ids = counter(Meaning::TransactionIds, CounterUnit::Count, Ok(100));
    observed.counters.push(ids);
    let record = from_observation(&observed, &inputs(None));
    let body = &record.body;
    assert_eq!(body.commits_per_s, Some(100.0), "all commits");
    assert_eq!(body.writing_commits_per_s.as_ref().unwrap().value, Some(10.0));
    assert_eq!(body.commits_per_sync.value, Some(0.4));
    assert_eq!(body.commits_per_sync_call.value, Some(0.5));
    assert_eq!(body.log_bytes_per_commit.value, Some(5_120.0));
    let text = table::observation(&record);
    for words in [
        "100 commits/s (10 of them writes), observed for 10.0 s",
        "20 of them by this observation",
        "commits that wrote",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    closed_schema::check(&[Record::from(record)]);
    // If no transaction wrote, or that is not known, there is no ratio to the line.
    for grown in [Ok(0), Err("a replica".to_owned())] {
        *observed.counters.last_mut().unwrap() =
            counter(Meaning::TransactionIds, CounterUnit::Count, grown);
        let body = from_observation(&observed, &inputs(None)).body;
        assert_eq!(body.commits_per_s, Some(100.0));
        assert_eq!(body.commits_per_sync.value, None);
        assert_eq!(body.commits_per_sync_call.value, None);
        assert_eq!(body.log_bytes_per_commit.value, None);
    }
}

#[test]
fn a_written_observation_is_read_back_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let record = record(None);
    let writer = Writer::create_observation(folder.path(), &record.identity, "postgres").unwrap();
    let path = writer.finish_observation(&record).unwrap();
    assert_eq!(read(&path).unwrap(), Record::from(record.clone()));
    let text = table::observation(&record);
    for words in [
        "100 commits/s, observed for 10.0 s",
        "Commits share syncs (4.00 commits per sync): group commit is at work.",
        "not available: not timed",
        "no replicas",
        "fsync = on",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let writer = Writer::create_observation(folder.path(), &record.identity, "cut").unwrap();
    let why = read(writer.path()).unwrap_err().to_string();
    assert!(why.contains("cut short"), "{why}");
}

#[test]
fn a_shared_or_withheld_observation_has_no_names() {
    let shared = share(&Record::from(record(None)));
    let text = shared.to_value().to_string();
    for name in ["buildhost7", "ann", "db.example", "/home"] {
        assert!(!text.contains(name), "{name}: {text}");
    }
    let withheld = Record::from(record(Some("Store A"))).to_value().to_string();
    for name in ["PostgreSQL", "postgres", "pg_", "15.18", "fsync"] {
        assert!(!withheld.contains(name), "{name}: {withheld}");
    }
    assert!(withheld.contains("Store A"));
    closed_schema::check(&[Record::from(record(Some("Store A")))]);
    // Not even in a reason from the store's own message.
    let why = "PostgreSQL: permission denied to examine \"data_directory\"";
    let mut observed = observed();
    observed.last.log_location = LogLocation::Nowhere(why.to_owned());
    observed.device = Err(why.to_owned());
    let flushes = from_observation(&observed, &inputs(None)).body.flushes_per_s;
    assert!(flushes.source.contains("directory of the log is unknown"), "{flushes:?}");
    let mut given = inputs(Some("Store A"));
    given.sync_line = SyncLine::unknown(None, why);
    let withheld = Record::from(from_observation(&observed, &given)).to_value().to_string();
    assert!(!withheld.contains("PostgreSQL"), "{withheld}");
}

// D9
#[test]
fn a_page_of_an_observation_shows_what_was_observed_and_cannot_be_given_markup() {
    let mut record = record(None);
    record.body.target.settings[0].value = "<script>alert(1)</script>".to_owned();
    let page = html::report(&[Record::from(record.clone())], &[]);
    assert!(!page.contains("no records"), "{page}");
    assert!(page.contains("<title>Syncline: observed postgres</title>"));
    let (shown, _folded) = page.split_once("<details").unwrap();
    for words in [
        "100/s",
        "commits per sync",
        "not timed",
        "fsync",
        "pg_settings",
        "Replication",
        "no replicas",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!page.contains("<script>alert"));
    // It is also shown next to a run.
    let run = Record::from(fixture::run(fixture::SQLITE, 8, 9_120.0, 1.0));
    let page = html::report(&[run, Record::from(record)], &[]);
    let (shown, _folded) = page.split_once("<details").unwrap();
    assert!(shown.contains("Observed postgres"), "{shown}");
}

// D17
#[test]
fn wide_parts_of_a_page_have_a_hint_that_they_scroll_and_print_keeps_headings_with_their_parts() {
    let page = html::report(&fixture::survey(), &[]);
    assert!(page.contains("Scroll sideways"), "a hint on narrow screens");
    let (_, print) = page.split_once("@media print").unwrap();
    for rule in ["h1, h2, h3, .legend, thead { break-after: avoid; }", "1fr 1fr"] {
        assert!(print.contains(rule), "{rule}");
    }
    for table in page.split("<table").skip(1).zip(page.split("<table")) {
        assert!(table.1.trim_end().ends_with("tabindex=\"0\">"), "a table that cannot scroll");
    }
}
