//! Each product passes the contract's suite, and leaves nothing behind.

use crate::support::{DerbyServer, NativeServer, derby_jars, jars, open};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use syncline_contract::conformance::conforms;
use syncline_launcher::Product;

/// The number of cases for a target with all capabilities except queues.
const CASES: usize = 32;

fn conforms_at(url: impl Fn(&str) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let number = AtomicUsize::new(0);
    let outcome = conforms(|| {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let place = folder.path().join(number.to_string());
        open(&url(place.to_str().unwrap()))
    });
    assert!(outcome.findings.is_empty(), "{outcome}");
    assert_eq!((outcome.tested.len(), outcome.skipped.len()), (CASES, 0), "{outcome:?}");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "it leaves {left:?}");
}

#[test]
fn derby_embedded() {
    let jars = derby_jars();
    conforms_at(|place| format!("jdbc:derby:{place};create=true?driver={jars}"));
}

#[test]
fn derby_embedded_without_syncs() {
    let jars = derby_jars();
    conforms_at(|place| format!("jdbc:derby:{place}?driver={jars}&durability=none"));
}

#[test]
fn derby_server() {
    let server = DerbyServer::start();
    conforms_at(|_| server.url(""));
}

#[test]
fn h2() {
    let jars = jars(&["h2"]);
    conforms_at(|place| format!("jdbc:h2:file:{place}?driver={jars}"));
}

#[test]
fn h2_with_a_checkpoint_after_each_commit() {
    let jars = jars(&["h2"]);
    conforms_at(|place| format!("jdbc:h2:{place}?driver={jars}&durability=data"));
}

#[test]
fn h2_in_memory() {
    let jars = jars(&["h2"]);
    conforms_at(|place| {
        let name = place.rsplit('/').next().unwrap();
        format!("jdbc:h2:mem:conforms{name};DB_CLOSE_DELAY=-1?driver={jars}")
    });
}

#[test]
fn hsqldb() {
    let jars = jars(&["hsqldb"]);
    conforms_at(|place| format!("jdbc:hsqldb:file:{place}?driver={jars}"));
}

#[test]
fn hsqldb_that_syncs() {
    let jars = jars(&["hsqldb"]);
    conforms_at(|place| format!("jdbc:hsqldb:file:{place}?driver={jars}&durability=data"));
}

#[test]
fn postgresql_server() {
    let server = NativeServer::start(Product::Postgres);
    conforms_at(|_| server.url(""));
}

#[test]
fn postgresql_server_at_serializable() {
    let server = NativeServer::start(Product::Postgres);
    conforms_at(|_| server.url("&isolation=serializable"));
}

#[test]
fn mariadb_server() {
    let server = NativeServer::start(Product::Mariadb);
    conforms_at(|_| server.url(""));
}
