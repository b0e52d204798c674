//! Hostile and broken servers of each protocol: whatever they send, a client ends with one sentence,
//! within its deadline and in bounded memory.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod etcd;
#[cfg(feature = "jdbc")]
mod jdbc;
mod mysql;
mod postgres;
mod redis;
mod server;

use std::collections::BTreeSet;

// A.E6
#[test]
fn more_than_a_hundred_different_hostile_servers_are_tested() {
    let protocols = [
        postgres::cases(),
        postgres::encryption_cases(),
        mysql::cases(),
        redis::cases(),
        redis::encryption_cases(),
        etcd::cases(),
    ];
    for cases in &protocols {
        let names: BTreeSet<_> = cases.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), cases.len(), "two cases have the same name: {names:?}");
    }
    let all: usize = protocols.iter().map(Vec::len).sum();
    assert!(all > 100, "{all} hostile servers");
}
