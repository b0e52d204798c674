//! An embedded database that is kept, reopened and checked; the names of its clients' threads in the
//! JVM.

use crate::support::{derby_jars, jars, open};
use std::process::Command;
use std::thread;
use syncline_contract::conformance::block_on;
use syncline_contract::{Int, Kind, Lock, Plan, Read, Table, Target};

fn plan(name: &'static str) -> Plan {
    let mut plan = Plan::new();
    let table = plan.table(Table::new(name).column("id", Kind::Int).key(&["id"]));
    let _row: Read<(Int,), (Int,)> = plan.get("row", table, &["id"], Lock::None);
    plan
}

#[test]
fn a_kept_database_is_reopened_and_can_be_removed() {
    for (product, jars, checks) in [
        ("derby", derby_jars(), true),
        ("h2", jars(&["h2"]), false),
        ("hsqldb", jars(&["hsqldb"]), false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("db");
        let url = format!("jdbc:{product}:{}?driver={jars}", place.display());
        let (mine, other) = (plan("mine"), plan("other"));
        let target = open(&url);
        assert!(target.capabilities().reopens, "{product}");
        assert!(!block_on(&(), target.reopen(&mine)).unwrap(), "{product}: there is no database");
        block_on(&(), target.create(&mine)).unwrap();
        block_on(&(), target.keep()).unwrap();
        drop(target);
        assert!(place.is_dir(), "{product}: a kept database stays");

        let target = open(&url);
        assert!(block_on(&(), target.reopen(&mine)).unwrap(), "{product}");
        let found = block_on(&(), target.self_check()).unwrap();
        assert_eq!(found, checks.then(Vec::new), "{product}");
        // Dropped without keep or remove it stays, closed.
        drop(target);
        let target = open(&url);
        let why = block_on(&(), target.reopen(&other)).unwrap_err();
        assert!(!why.what.is_empty());
        drop(target);

        let target = open(&url);
        assert!(block_on(&(), target.reopen(&mine)).unwrap(), "{product}");
        block_on(&(), target.remove()).unwrap();
        // The directory was there before that target, so it stays.
        let left = std::fs::read_dir(&place).unwrap().count();
        assert_eq!(left, 0, "{product}: a removed database is gone");
    }
}

#[test]
fn threads_have_their_names_in_the_jvm() {
    let url = format!("jdbc:h2:mem:names?driver={}", jars(&["h2"]));
    let worker = thread::Builder::new().name("worker 77".to_owned());
    let seen = worker.spawn(move || {
        block_on(&(), open(&url).preflight()).unwrap();
        // While this thread runs, it is listed from outside, as a profiler does.
        let own = std::process::id().to_string();
        let output = Command::new("jcmd").args([&own, "Thread.print"]).output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    });
    let seen = seen.unwrap().join().unwrap();
    assert!(seen.contains("\"worker 77\""), "{seen}");
}
