//! File ownership: only our files are touched, all of them are removed, and every refusal is one clear
//! sentence.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::path::Path;
use syncline_contract::conformance::{block_on, refuses_unmanaged};
use syncline_contract::{Kind, LogLocation, Plan, Table, Target};
use syncline_stores::{AnyTarget, Error, listings};

fn plan() -> Plan {
    let mut plan = Plan::new();
    plan.table(Table::new("t").column("id", Kind::Int).key(&["id"]));
    plan
}

fn open(path: &Path) -> AnyTarget {
    AnyTarget::open(&format!("sqlite:{}", path.display())).expect("a good URL")
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Checks that a target refuses a path with those contents and leaves every byte unchanged.
fn is_refused(name: &str, contents: &[u8], database: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, contents).unwrap();
    let target = open(&folder.path().join(database));
    let findings = refuses_unmanaged(&target);
    assert!(findings.is_empty(), "{findings:?}");
    assert_eq!(fs::read(&path).unwrap(), contents, "{name} is left as it was");
    assert_eq!(names_in(folder.path()), [name]);
    let refusal = block_on(&(), target.create(&plan())).unwrap_err().to_string();
    assert!(refusal.contains(name) && refusal.contains("remove it yourself"), "{refusal}");
    let refusal_at_preflight = block_on(&(), target.preflight()).unwrap_err().to_string();
    assert_eq!(refusal_at_preflight, refusal);
}

#[test]
fn files_of_others_are_refused_and_left_unchanged() {
    is_refused("store.db", b"", "store.db");
    is_refused("store.db", b"a letter", "store.db");
    is_refused("store.db-journal", b"someone's journal", "store.db");
    is_refused("store.db-wal", b"someone's log", "store.db");
}

#[test]
fn a_database_of_another_program_is_refused_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs.db");
    let theirs = rusqlite::Connection::open(&path).unwrap();
    theirs.execute_batch("CREATE TABLE precious (n); INSERT INTO precious VALUES (1)").unwrap();
    drop(theirs);
    let before = fs::read(&path).unwrap();
    let target = open(&path);
    assert!(refuses_unmanaged(&target).is_empty());
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(names_in(folder.path()), ["theirs.db"]);
}

#[test]
fn a_managed_store_that_was_left_behind_is_created_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours.db");
    // A run that ended without removing: its lock is released, its files are left.
    block_on(&(), open(&path).create(&plan())).unwrap();
    assert!(path.exists());
    let next = open(&path);
    block_on(&(), next.create(&plan())).unwrap();
    block_on(&(), next.remove()).unwrap();
    block_on(&(), next.remove()).unwrap();
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn two_runs_do_not_share_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours.db");
    let (one, other) = (open(&path), open(&path));
    block_on(&(), one.create(&plan())).unwrap();
    let refusal = block_on(&(), other.create(&plan())).unwrap_err().to_string();
    assert!(refusal.contains("in use by another run"), "{refusal}");
    block_on(&(), other.remove()).unwrap();
    assert!(path.exists(), "the refused target removes nothing");
    block_on(&(), one.remove()).unwrap();
}

#[test]
fn a_private_store_is_in_the_current_directory_and_is_removed() {
    let here = std::env::current_dir().unwrap();
    let private = || -> Vec<String> {
        let ours = format!(".syncline-sqlite-{}-", std::process::id());
        names_in(&here).into_iter().filter(|name| name.starts_with(&ours)).collect()
    };
    let (one, other) = (AnyTarget::open("sqlite").unwrap(), AnyTarget::open("sqlite").unwrap());
    assert!(private().is_empty(), "opening must not create files");
    assert_eq!(one.log_location(), LogLocation::Directory(here.clone()));
    for target in [&one, &other] {
        block_on(&(), target.create(&plan())).unwrap();
    }
    assert_eq!(private().len(), 2);
    block_on(&(), one.remove()).unwrap();
    assert_eq!(private().len(), 1);
    drop(other);
    assert!(private().is_empty(), "a private store is removed with its target");
}

#[test]
fn bad_urls_get_one_clear_sentence() {
    for (url, expected) in [
        ("oracle", "there is no target \"oracle\"; there are: null, engine, sqlite"),
        ("", "does not name a target"),
        ("sqlite:", "its path is empty"),
        ("sqlite://store.db", "two slashes"),
        ("sqlite:store/", "does not name a file"),
        ("sqlite:/no/such/place/store.db", "directory /no/such/place does not exist"),
        ("sqlite:store.db?speed=high", "has no option \"speed\"; it has: durability, "),
        ("sqlite:store.db?durability", "an option has no value"),
        ("sqlite?durability=none", "use os, or none with"),
        ("sqlite?durability=maximal", "it takes os, data or full"),
        ("sqlite?durability=data&durability=os", "given twice"),
        (
            "sqlite?durability=data&synchronous=NORMAL",
            "synchronous=normal with journal=wal gives os",
        ),
        ("sqlite?durability=os&journal=delete&synchronous=normal", "journal=wal"),
        ("sqlite?locking_mode=exclusive", "locking_mode=exclusive without client=queue"),
        (
            "sqlite?durability=data&journal=memory",
            "synchronous=full with journal=memory gives none",
        ),
        ("sqlite?page_bytes=1000", "powers of two"),
        ("sqlite?page_bytes=many", "it takes a power of two"),
        ("sqlite?busy_timeout_ms=-1", "from 0 to 60000"),
        ("sqlite?client=futures", "it takes threads or queue"),
        ("null:somewhere", "has no path"),
        ("null?size=1", "has no option \"size\"; it has: delay_ns"),
    ] {
        let error = AnyTarget::open(url).unwrap_err().to_string();
        assert!(error.contains(expected), "{url}: {error}");
        assert!(!error.contains('\n') && !error.ends_with('.'), "{error}");
    }
    let absent = AnyTarget::open("sqlite:/no/such/place/store.db").unwrap_err();
    assert!(matches!(absent, Error::DirectoryAbsent { .. }));
}

#[test]
fn every_listed_target_opens_with_its_defaults() {
    for listing in listings() {
        match AnyTarget::open(listing.name) {
            Ok(target) => assert!(target.name().starts_with(listing.name)),
            // Where it is built in: there is no default driver.
            Err(error) => assert!(
                listing.name == "jdbc" && error.to_string().contains("name the jar files"),
                "{error}"
            ),
        }
        assert!(listing.options.iter().all(|option| !option.meaning.is_empty()));
    }
    let names: Vec<_> = listings().map(|listing| listing.name).collect();
    assert!(names.starts_with(&["null", "engine", "sqlite"]), "{names:?}");
}
