//! RocksDB's own properties: the settings that it reports, the reuse of old logs, and the recovery of
//! every acknowledged commit from a reused log.

#![cfg(feature = "rocksdb")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use rocksdb::{DB, DBRecoveryMode, Options};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use syncline_contract::conformance::block_on;
use syncline_contract::key_value::{Change, KeyValue};
use syncline_contract::{Durability, Order, Plan, ReportedSettings, Target};
use syncline_stores::AnyTarget;
use syncline_stores::rocksdb::RocksdbTarget;

const MIB: u64 = 1 << 20;

fn made(place: &Path, options: &str) -> RocksdbTarget {
    let url = format!("rocksdb:{}?write_buffer_mib=1{options}", place.display());
    let AnyTarget::Rocksdb(target) = AnyTarget::open(&url).unwrap() else {
        panic!("{url} opens a different target");
    };
    block_on(&(), target.create(&Plan::new())).unwrap();
    target
}

fn reported_settings(target: &RocksdbTarget) -> ReportedSettings {
    block_on(&(), target.reported_settings()).unwrap()
}

fn value(reported: &ReportedSettings, name: &str) -> String {
    let setting = reported.settings.iter().find(|one| one.name == name);
    let setting = setting.unwrap_or_else(|| panic!("{name} is not shown"));
    assert!(!setting.source.is_empty());
    setting.value.clone()
}

/// The store's logs: their paths, lengths and inodes.
fn logs(place: &Path) -> Vec<(PathBuf, u64, u64)> {
    let entries = fs::read_dir(place.join("database")).unwrap();
    let mut logs: Vec<_> = entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "log"))
        .map(|entry| {
            let about = entry.metadata().unwrap();
            (entry.path(), about.len(), about.ino())
        })
        .collect();
    logs.sort();
    logs
}

fn row(number: u64) -> Change {
    let key = [&[1], number.to_be_bytes().as_slice()].concat();
    let value = Some(number.to_le_bytes().repeat(12));
    Change { key, value }
}

#[test]
fn reported_settings_are_those_that_rocksdb_wrote_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    for (word, durability, counted, fsync) in [
        (
            "none",
            Durability::None,
            "counted 0 in rocksdb.write.wal and 0 in rocksdb.wal.synced",
            "false",
        ),
        (
            "os",
            Durability::Os,
            "counted 1 in rocksdb.write.wal and 0 in rocksdb.wal.synced",
            "false",
        ),
        (
            "data",
            Durability::Data,
            "counted 1 in rocksdb.write.wal and 1 in rocksdb.wal.synced",
            "false",
        ),
        (
            "full",
            Durability::Full,
            "counted 1 in rocksdb.write.wal and 1 in rocksdb.wal.synced",
            "true",
        ),
    ] {
        let target = made(&folder.path().join(word), &format!("&durability={word}"));
        let reported = reported_settings(&target);
        assert_eq!(reported.durability, durability);
        assert!(reported.durability_evidence.contains(counted), "{reported:?}");
        assert_eq!(value(&reported, "use_fsync"), fsync);
        assert_eq!(value(&reported, "write_buffer_size"), MIB.to_string());
        assert_eq!(value(&reported, "compression"), "kNoCompression");
        assert!(value(&reported, "cache_bytes").parse::<u64>().unwrap() > 0);
        let parts = reported.version.split('.').map(str::parse::<u32>);
        assert_eq!(parts.flatten().count(), 3, "{}", reported.version);
        block_on(&(), target.remove()).unwrap();
    }
}

#[test]
fn the_trial_and_the_filling_leave_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let target = made(&folder.path().join("store"), "&wal=recycled");
    let all = target.store().scan(&[], &[0xff; 32], Order::Ascending, 9);
    assert_eq!(all.unwrap(), Vec::new());
    block_on(&(), target.remove()).unwrap();
}

#[test]
fn a_recycled_log_is_written_over_and_a_fresh_one_grows() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("recycled");
    let target = made(&place, "&wal=recycled");
    assert_eq!(value(&reported_settings(&target), "recycle_log_file_num"), "2");
    let before = logs(&place);
    assert!(before.iter().all(|(_, bytes, _)| *bytes > MIB * 5 / 4), "{before:?}");
    for number in 0..20_000 {
        target.store().commit(&[row(number)]).unwrap();
    }
    let inodes = |logs: &[(PathBuf, u64, u64)]| -> BTreeSet<u64> {
        logs.iter().map(|(_, _, inode)| *inode).collect()
    };
    let after = logs(&place);
    let names = |logs: &[(PathBuf, u64, u64)]| logs.last().unwrap().0.clone();
    assert_ne!(names(&before), names(&after), "several logs were filled");
    assert!(inodes(&before).intersection(&inodes(&after)).next().is_some());
    block_on(&(), target.remove()).unwrap();

    let place = folder.path().join("fresh");
    let target = made(&place, "&wal=fresh");
    let reported = reported_settings(&target);
    assert_eq!(value(&reported, "recycle_log_file_num"), "0");
    assert_eq!(value(&reported, "wal_recovery_mode"), "kPointInTimeRecovery");
    assert!(logs(&place).iter().all(|(_, bytes, _)| *bytes == 0));
    target.store().commit(&[row(1)]).unwrap();
    assert!(logs(&place).iter().any(|(_, bytes, _)| (1..1000).contains(bytes)));
    block_on(&(), target.remove()).unwrap();
}

#[test]
fn a_log_is_not_recycled_where_there_is_none() {
    let refused = AnyTarget::open("rocksdb?durability=none&wal=recycled").unwrap_err();
    let reported = refused.to_string();
    assert!(
        reported.ends_with("wal=recycled with durability=none: no log is written"),
        "{reported}"
    );
    let folder = tempfile::tempdir().unwrap();
    let target = made(&folder.path().join("store"), "&durability=none");
    assert_eq!(value(&reported_settings(&target), "recycle_log_file_num"), "0");
    block_on(&(), target.remove()).unwrap();
}

/// The files as after a kill of the process, recovered in RocksDB's default mode: older commits after
/// the last record of a reused log must neither return nor hide newer ones.
#[test]
fn acknowledged_commits_survive_the_recovery_of_a_recycled_log() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("store");
    let target = made(&place, "&durability=os&wal=recycled");
    let rows = 30_000;
    for number in 0..rows {
        target.store().commit(&[row(number)]).unwrap();
    }
    // The newest value of a row that is in an older log, and a row that was deleted.
    target.store().commit(&[Change { value: Some(b"new".to_vec()), ..row(7) }]).unwrap();
    target.store().commit(&[Change { value: None, ..row(8) }]).unwrap();
    let copy = folder.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(place.join("database")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    block_on(&(), target.remove()).unwrap();
    let mut options = Options::default();
    options.set_wal_recovery_mode(DBRecoveryMode::PointInTime);
    let recovered = DB::open(&options, &copy).unwrap();
    assert_eq!(recovered.get(row(7).key).unwrap().unwrap(), b"new");
    assert_eq!(recovered.get(row(8).key).unwrap(), None);
    for number in (0..rows).filter(|number| ![7, 8].contains(number)) {
        let Change { key, value } = row(number);
        assert_eq!(recovered.get(key).unwrap(), value, "row {number}");
    }
}
