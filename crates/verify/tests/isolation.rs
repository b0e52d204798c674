//! Isolation of the stores in every build: schedules and histories show only the anomalies that each level
//! declares.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;
use syncline_contract::Isolation;
use syncline_launcher::PrivateServer;
use syncline_stores::{AnyTarget, launch_spec};
use syncline_verify::isolation::{
    Finding, Kind, Load, Row, hermitage, levels, load, table, with_fast_deadlock_detection,
};

fn open(url: &str) -> syncline_verify::Result<AnyTarget> {
    AnyTarget::open(url).map_err(|error| syncline_verify::Error::cannot(error.to_string()))
}

fn played(url: &str) -> Row {
    hermitage(url, || open(url), &|_| {}).unwrap()
}

/// The schedules that showed their anomaly.
fn seen(row: &Row) -> Vec<&str> {
    let seen = row.cells.iter().filter(|cell| cell.seen == Some(true));
    seen.map(|cell| &*cell.schedule).collect()
}

fn found(url: &str, transactions: usize) -> Finding {
    let target = open(url).unwrap();
    let (counts, never) = (RefCell::new(Vec::new()), AtomicBool::new(false));
    let begun = |count| counts.borrow_mut().push(count);
    let loaded = load(&target, of(transactions), &never, &begun).unwrap();
    let counts = counts.into_inner();
    assert!(!counts.is_empty() && counts.is_sorted(), "{counts:?}");
    assert!(counts.iter().all(|&count| count <= transactions), "{counts:?}");
    Finding::of(url, &loaded.product, loaded.claimed, &loaded.history)
}

fn of(transactions: usize) -> Load {
    Load { transactions, clients: 4, seed: 3 }
}

/// The table's row for a private server.
fn row_of_server(url: &str) -> String {
    let private = PrivateServer::start(&launch_spec(url).unwrap().unwrap()).unwrap();
    let row = played(private.url());
    let text = table(&[row]);
    let line = text.lines().nth(1).unwrap();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn postgresql_and_mariadb_match_hermitages_published_rows() {
    let rows = [
        ("postgres:private?isolation=read_committed", "read committed ok ok ok ok ok - - - - -"),
        ("postgres:private?isolation=repeatable_read", "snapshot ok ok ok ok ok ok ok ok - -"),
        ("postgres:private?isolation=serializable", "serializable ok ok ok ok ok ok ok ok ok ok"),
        (
            "mariadb:private?isolation=repeatable-read",
            "repeatable read ok ok ok ok ok R/O - R/O - -",
        ),
    ];
    for (url, row) in rows {
        assert_eq!(row_of_server(&with_fast_deadlock_detection(url)), row, "{url}");
    }
}

#[test]
fn a_targets_levels_are_those_that_it_lists() {
    assert_eq!(levels("sqlite?journal=wal"), ["sqlite?journal=wal"]);
    let engine = ["engine?isolation=serializable", "engine?isolation=snapshot"];
    assert_eq!(levels("engine"), engine);
    assert_eq!(levels("engine?isolation=snapshot"), ["engine?isolation=snapshot"]);
}

#[test]
fn the_engine_shows_only_the_anomalies_it_declares() {
    let rows: Vec<_> = levels("engine").iter().map(|url| played(url)).collect();
    let [serializable, snapshot] = &rows[..] else {
        panic!("expected two levels: {rows:?}");
    };
    assert_eq!(seen(serializable), [""; 0], "{}", table(&rows));
    assert_eq!(seen(snapshot), ["G2-item", "G2"], "{}", table(&rows));
    assert!(rows.iter().all(|row| row.forbidden.is_empty()));
    assert!(rows.iter().all(|row| row.cells.iter().all(|cell| cell.seen.is_some())));
}

#[test]
fn sqlite_shows_nothing_in_any_schedule() {
    let row = played("sqlite");
    assert_eq!(seen(&row), [""; 0], "{}", table(std::slice::from_ref(&row)));
    assert_eq!(row.claimed, "serializable");
}

#[test]
fn the_engine_is_serializable_under_load_and_its_snapshots_show_only_write_skew() {
    let serializable = found("engine?durability=none&isolation=serializable", 4000);
    assert!(serializable.forbidden.is_empty(), "{:#?}", serializable.forbidden);
    assert!(serializable.committed > 1000, "{}", serializable.committed);
    let snapshot = found("engine?durability=none&isolation=snapshot", 4000);
    assert!(snapshot.forbidden.is_empty(), "{:#?}", snapshot.forbidden);
    let kinds: Vec<_> = snapshot.allowed.iter().map(|one| one.kind).collect();
    assert!(kinds.iter().all(|kind| *kind == Kind::G2Item || *kind == Kind::GSingle), "{kinds:?}");
}

#[test]
fn sqlite_is_serializable_under_load() {
    let finding = found("sqlite?durability=os", 1500);
    assert!(finding.forbidden.is_empty(), "{:#?}", finding.forbidden);
    assert!(finding.committed > 500);
}

#[test]
fn a_store_that_claims_too_much_is_found_out() {
    // Snapshot isolation judged as serializable.
    let target = open("engine?durability=none&isolation=snapshot").unwrap();
    let is_skewed = |finding: &Finding| {
        let mut kinds = finding.forbidden.iter().map(|one| one.kind);
        kinds.any(|kind| kind == Kind::G2Item)
    };
    // About five per 6,000 transactions; fewer on a machine that runs one client at a time.
    let mut findings = (0..20).map(|seed| {
        let of = Load { seed, ..of(6000) };
        let loaded = load(&target, of, &AtomicBool::new(false), &|_| {}).unwrap();
        Finding::of("engine", &loaded.product, Isolation::Serializable, &loaded.history)
    });
    let finding = findings.find(is_skewed).expect("a write skew in 120,000 transactions");
    assert!(!finding.holds());
    let text = finding.sentences().join("\n");
    assert!(text.contains("not serializable: write skew (G2-item)"), "{text}");
    assert!(text.contains("came before"), "{text}");
}
