//! The embedded stores lmdb, redb, fjall and rocksdb: each conforms at every durability that it offers,
//! reports the settings in force, touches only its own files, and passes the insert workload's check,
//! which finds damage.

#![cfg(any(feature = "lmdb", feature = "redb", feature = "fjall", feature = "rocksdb"))]
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use syncline_contract::conformance::{block_on, conforms, refuses_unmanaged};
use syncline_contract::key_value::{Change, KeyValue};
use syncline_contract::{
    AccessPattern, CheckOutcome, Client, Ending, FailureKind, Kind, LogLocation, Order, Plan,
    ReportedSettings, Session, Table, Target, Transaction, Workload,
};
use syncline_stores::AnyTarget;
use syncline_workloads::{AnyTally, AnyWorkload};

/// Each store that is built in, and the durabilities that it offers.
const PEERS: &[(&str, &[&str])] = &[
    #[cfg(feature = "lmdb")]
    ("lmdb", &["os", "data"]),
    #[cfg(feature = "redb")]
    ("redb", &["none", "data"]),
    #[cfg(feature = "fjall")]
    ("fjall", &["none", "os", "data", "full"]),
    #[cfg(feature = "rocksdb")]
    ("rocksdb", &["none", "os", "data", "full"]),
];

const WORDS: [&str; 4] = ["none", "os", "data", "full"];

/// RocksDB writes two whole logs when it is created: small ones here.
fn open(store: &str, path: &Path, options: &str) -> AnyTarget {
    let small = match store {
        "rocksdb" => "write_buffer_mib=1",
        _ => "",
    };
    let given = [options, small].into_iter().filter(|one| !one.is_empty());
    let given: Vec<_> = given.collect();
    let url = match given.join("&").as_str() {
        "" => format!("{store}:{}", path.display()),
        options => format!("{store}:{}?{options}", path.display()),
    };
    AnyTarget::open(&url).expect("a good URL")
}

fn key_value(target: &AnyTarget) -> &dyn KeyValue {
    match target {
        #[cfg(feature = "lmdb")]
        AnyTarget::Lmdb(target) => target.store(),
        #[cfg(feature = "redb")]
        AnyTarget::Redb(target) => target.store(),
        #[cfg(feature = "fjall")]
        AnyTarget::Fjall(target) => target.store(),
        #[cfg(feature = "rocksdb")]
        AnyTarget::Rocksdb(target) => target.store(),
        other => panic!("not a key-value store: {other:?}"),
    }
}

fn plan() -> Plan {
    let mut plan = Plan::new();
    plan.table(Table::new("t").column("id", Kind::Int).key(&["id"]));
    plan
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn put(key: &[u8], value: &[u8]) -> Change {
    Change { key: key.to_vec(), value: Some(value.to_vec()) }
}

#[test]
fn each_conforms_at_every_durability_that_it_offers() {
    let folder = tempfile::tempdir().unwrap();
    let number = AtomicUsize::new(0);
    for (store, words) in PEERS {
        for word in *words {
            let outcome = conforms(|| {
                let name = number.fetch_add(1, Ordering::Relaxed).to_string();
                let options = format!("durability={word}");
                open(store, &folder.path().join(name), &options)
            });
            assert!(outcome.findings.is_empty(), "{store} {word}: {outcome}");
            let tested = outcome.tested.len();
            assert!(tested >= 22, "{store} {word}: {tested} of {outcome:?}");
        }
    }
    assert!(names_in(folder.path()).is_empty());
}

fn evidence_of(store: &str, word: &str) -> ReportedSettings {
    let folder = tempfile::tempdir().unwrap();
    let options = format!("durability={word}");
    let target = open(store, &folder.path().join("store"), &options);
    block_on(&(), async {
        target.create(&plan()).await.unwrap();
        let reported = target.reported_settings().await.unwrap();
        target.remove().await.unwrap();
        reported
    })
}

#[test]
fn each_word_is_in_force_or_refused_in_one_sentence() {
    for (store, words) in PEERS {
        for word in WORDS {
            if words.contains(&word) {
                let reported = evidence_of(store, word);
                assert_eq!(reported.durability.word(), word, "{store}");
                let message = reported.durability_evidence;
                let says_who = [
                    "mdb_env_get_flags returns",
                    "no call that reads it back",
                    "RocksDB's statistics counted",
                ];
                assert!(says_who.iter().any(|who| message.contains(who)), "{message}");
                continue;
            }
            let refused = AnyTarget::open(&format!("{store}?durability={word}"));
            let refused = refused.unwrap_err().to_string();
            let begins = format!("target {store} cannot honour durability={word}: ");
            assert!(refused.starts_with(&begins), "{refused}");
        }
    }
}

#[cfg(feature = "lmdb")]
#[test]
fn the_flags_of_lmdb_are_those_in_force() {
    let flags = |word| {
        let reported = evidence_of("lmdb", word);
        let flags = reported.settings.iter().find(|one| one.name == "flags");
        let flags = flags.expect("its flags are among its settings");
        assert_eq!(flags.source, "mdb_env_get_flags");
        u32::from_str_radix(flags.value.trim_start_matches("0x"), 16).unwrap()
    };
    let (no_sync, no_meta_sync) = (0x1_0000, 0x4_0000);
    assert_eq!(flags("os") & (no_sync | no_meta_sync), no_sync);
    assert_eq!(flags("data") & (no_sync | no_meta_sync), 0);
}

#[cfg(feature = "lmdb")]
#[test]
fn lmdb_counts_its_synced_meta_pages_and_says_that_its_map_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let target = open("lmdb", &folder.path().join("store"), "map_mib=1");
    assert_eq!(target.synced_writes(), None, "before it is created");
    block_on(&(), target.create(&plan())).unwrap();
    let (store, before) = (key_value(&target), target.synced_writes().unwrap());
    for number in 0..5_u8 {
        store.commit(&[put(&[1, number], b"x")]).unwrap();
    }
    assert_eq!(target.synced_writes().unwrap() - before, 5);
    let full = (0..200_u8).find_map(|number| {
        let change = put(&[2, number], &[number; 10_000]);
        store.commit(&[change]).err()
    });
    let full = full.expect("2 MB do not go into 1 MiB");
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    assert!(full.to_string().contains("larger map_mib"), "{full}");
    assert_eq!(store.get(&[1, 4]).unwrap(), Some(b"x".to_vec()));
    block_on(&(), target.remove()).unwrap();
}

#[test]
fn a_key_that_is_too_long_is_refused_before_anything_is_done() {
    let bytes = [("lmdb", 512), ("fjall", 65_536)];
    let folder = tempfile::tempdir().unwrap();
    for (store, _) in PEERS {
        let Some((_, bytes)) = bytes.iter().find(|(name, _)| name == store) else {
            continue;
        };
        let target = open(store, &folder.path().join(store), "");
        block_on(&(), target.create(&plan())).unwrap();
        let changes = [put(b"a", b"1"), put(&vec![7; *bytes], b"2")];
        let refused = key_value(&target).commit(&changes).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput, "{refused}");
        assert_eq!(key_value(&target).get(b"a").unwrap(), None, "{store}");
        block_on(&(), target.remove()).unwrap();
    }
}

#[test]
fn a_scan_keeps_its_bounds_and_its_limit_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    for (store, _) in PEERS {
        let target = open(store, &folder.path().join(store), "");
        block_on(&(), target.create(&plan())).unwrap();
        let store = key_value(&target);
        let changes: Vec<_> = (0..100_u8).map(|key| put(&[key], &[key, key])).collect();
        store.commit(&changes).unwrap();
        let keys = |order, limit| -> Vec<u8> {
            let pairs = store.scan(&[10], &[20], order, limit).unwrap();
            assert!(pairs.iter().all(|(key, value)| value == &[key[0], key[0]]));
            pairs.iter().map(|(key, _)| key[0]).collect()
        };
        assert_eq!(keys(Order::Ascending, 3), [10, 11, 12]);
        assert_eq!(keys(Order::Descending, 3), [19, 18, 17]);
        assert_eq!(keys(Order::Ascending, 99).len(), 10);
        assert_eq!(keys(Order::Descending, 99).len(), 10);
        block_on(&(), target.remove()).unwrap();
    }
}

/// Checks that a target refuses a path with those contents and leaves every byte unchanged.
fn is_refused(store: &str, name: &str, contents: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store");
    fs::create_dir(&place).unwrap();
    fs::write(place.join(name), contents).unwrap();
    let target = open(store, &place, "");
    let findings = refuses_unmanaged(&target);
    assert!(findings.is_empty(), "{findings:?}");
    assert_eq!(fs::read(place.join(name)).unwrap(), contents);
    assert_eq!(names_in(&place), [name]);
    let refusal = block_on(&(), target.create(&plan())).unwrap_err();
    let message = refusal.to_string();
    assert!(message.contains(name), "{message}");
    assert!(message.contains("was not made by syncline"), "{message}");
    let preflight = block_on(&(), target.preflight()).unwrap_err().to_string();
    assert!(preflight.contains(name), "{preflight}");
}

#[test]
fn directories_of_others_are_refused_and_left_unchanged() {
    for (store, _) in PEERS {
        is_refused(store, "letter.txt", b"a letter");
        is_refused(store, "data.mdb", b"someone's");
        is_refused(store, "store.redb", b"someone's");
        is_refused(store, "syncline-store", b"a mark of another kind");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"a file").unwrap();
        let target = open(store, &file, "");
        assert!(refuses_unmanaged(&target).is_empty());
        assert_eq!(fs::read(&file).unwrap(), b"a file");
    }
}

#[test]
fn an_unmanaged_file_that_appears_later_stays_and_is_named() {
    for (store, _) in PEERS {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("store");
        let target = open(store, &place, "");
        block_on(&(), target.create(&plan())).unwrap();
        fs::write(place.join("letter.txt"), b"a letter").unwrap();
        block_on(&(), target.remove()).expect_err("the directory is not empty");
        assert_eq!(names_in(&place), ["letter.txt"]);
    }
}

#[test]
fn a_managed_store_that_was_left_behind_is_created_anew() {
    for (store, _) in PEERS {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("ours");
        let left = open(store, &place, "");
        block_on(&(), left.create(&plan())).unwrap();
        key_value(&left).commit(&[put(b"k", b"v")]).unwrap();
        drop(left);
        assert!(place.exists());
        let next = open(store, &place, "");
        block_on(&(), next.create(&plan())).unwrap();
        assert_eq!(key_value(&next).get(b"k").unwrap(), None);
        block_on(&(), next.remove()).unwrap();
        block_on(&(), next.remove()).unwrap();
        // The directory was not created by the target that removes it, so it stays.
        assert!(names_in(&place).is_empty());
    }
}

#[test]
fn two_runs_do_not_share_a_store() {
    for (store, _) in PEERS {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("ours");
        let (one, other) = (open(store, &place, ""), open(store, &place, ""));
        block_on(&(), one.create(&plan())).unwrap();
        let refusal = block_on(&(), other.create(&plan())).unwrap_err();
        assert_eq!(refusal.kind, FailureKind::Storage);
        let message = refusal.to_string();
        assert!(message.contains("in use by another run"), "{message}");
        block_on(&(), other.remove()).unwrap();
        key_value(&one).commit(&[put(b"k", b"v")]).unwrap();
        block_on(&(), one.remove()).unwrap();
        assert!(names_in(folder.path()).is_empty());
    }
}

#[test]
fn a_private_store_is_in_the_current_directory_and_is_removed() {
    let here = std::env::current_dir().unwrap();
    for (store, _) in PEERS {
        let ours = format!(".syncline-{store}-{}-", std::process::id());
        let private = || names_in(&here).into_iter().any(|name| name.starts_with(&ours));
        let target = AnyTarget::open(store).unwrap();
        assert!(!private(), "opening must not create files");
        assert_eq!(target.log_location(), LogLocation::Directory(here.clone()));
        block_on(&(), target.create(&plan())).unwrap();
        assert!(private());
        drop(target);
        assert!(!private(), "a private store is removed with its target");
    }
}

#[test]
fn bad_urls_get_one_clear_sentence() {
    for (store, _) in PEERS {
        for (rest, message) in [
            (":", "its path does not name a directory"),
            ("://store", "two slashes"),
            (":/", "does not name a separate directory"),
            (":/no/such/place", "directory /no/such does not exist"),
            ("?speed=high", "has no option \"speed\"; it has: durability"),
            ("?durability=maximal", "it takes "),
            ("?durability=data&durability=data", "given twice"),
        ] {
            let error = AnyTarget::open(&format!("{store}{rest}")).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(message), "{store}{rest}: {error}");
            assert!(!error.contains('\n') && !error.ends_with('.'), "{error}");
        }
    }
}

#[test]
fn versions_are_those_of_the_lock_file() {
    let lock = include_str!("../../../Cargo.lock");
    // These two report their version; for RocksDB the lock file only has the crate's.
    let asked = ["lmdb", "rocksdb"];
    for (store, _) in PEERS.iter().filter(|(store, _)| !asked.contains(store)) {
        let version = key_value(&AnyTarget::open(store).unwrap()).about().version;
        let built = format!("name = \"{store}\"\nversion = \"{version}\"\n");
        assert!(lock.contains(&built), "{store} is not at {version}");
    }
}

const CLIENTS: usize = 3;

/// Each client performs that many transactions of the workload; one in seven is aborted.
fn perform(target: &AnyTarget, workload: &AnyWorkload) -> Vec<AnyTally> {
    let worker = target.worker().unwrap();
    let clients = (0..CLIENTS).map(|number| {
        block_on(&worker, async {
            let mut session = target.connect(workload.plan(), &worker).await.unwrap();
            let mut client = workload.client(number, CLIENTS, 42);
            for round in 0..100 {
                let kind = client.draw();
                session.begin(AccessPattern::Several);
                let mut asked = syncline_contract::RequestTracker::default();
                let mut transaction = Transaction::new(&mut session, &mut asked);
                client.perform(kind, &mut transaction).await.unwrap();
                if round % 7 == 6 {
                    session.abort().await;
                    client.ended(0, Ending::Undone);
                } else {
                    session.commit().await.unwrap();
                    client.ended(0, Ending::Committed);
                }
            }
            client.tally()
        })
    });
    clients.collect()
}

/// The outcomes of the insert workload's check after damage to the store.
fn checked(
    store: &str,
    options: &[(&str, &str)],
    damage_store: fn(&dyn KeyValue),
) -> Vec<CheckOutcome> {
    let folder = tempfile::tempdir().unwrap();
    let target = open(store, &folder.path().join("store"), "");
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let options: Vec<_> = options.iter().map(owned).collect();
    let workload = AnyWorkload::parse("insert", &options).unwrap();
    block_on(&(), target.create(workload.plan())).unwrap();
    let tallies = perform(&target, &workload);
    damage_store(key_value(&target));
    let worker = target.worker().unwrap();
    let checks = block_on(&worker, async {
        let mut session = target.connect(workload.plan(), &worker).await.unwrap();
        workload.check(tallies, &mut session).await.unwrap()
    });
    block_on(&(), target.remove()).unwrap();
    checks.into_iter().map(|check| check.outcome).collect()
}

fn one_pair(store: &dyn KeyValue) -> (Vec<u8>, Vec<u8>) {
    let pairs = store.scan(&[0], &[0xff; 16], Order::Descending, 9).unwrap();
    pairs.into_iter().next_back().expect("rows were inserted")
}

fn lose_a_row(store: &dyn KeyValue) {
    let (key, _) = one_pair(store);
    store.commit(&[Change { key, value: None }]).unwrap();
}

fn alter_a_row(store: &dyn KeyValue) {
    let (key, mut value) = one_pair(store);
    *value.last_mut().unwrap() ^= 1;
    store.commit(&[put(&key, &value)]).unwrap();
}

#[test]
fn the_insert_workload_s_check_holds_and_finds_damage() {
    let violated = |outcomes: &[CheckOutcome]| {
        let is = |one: &&CheckOutcome| matches!(one, CheckOutcome::Violated(_));
        outcomes.iter().filter(is).count()
    };
    for (store, _) in PEERS {
        for keys in ["ascending", "random", "server"] {
            for every in ["1", "5"] {
                let options = [("keys", keys), ("commit_every", every)];
                let held = checked(store, &options, |_| {});
                let all = held.iter().all(|one| *one == CheckOutcome::Held);
                assert!(all && !held.is_empty(), "{store} {keys} {every}: {held:?}");
            }
            let options = [("keys", keys)];
            let lost = checked(store, &options, lose_a_row);
            assert!(violated(&lost) > 0, "{store} {keys}: {lost:?}");
            let altered = checked(store, &options, alter_a_row);
            assert!(violated(&altered) > 0, "{store} {keys}: {altered:?}");
        }
    }
}
