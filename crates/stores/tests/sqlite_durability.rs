//! The sync that a commit waits for is read back from the store, and the durability follows from it.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use syncline_contract::conformance::block_on;
use syncline_contract::{Durability, LogLocation, Plan, ReportedSettings, Table, Target};
use syncline_stores::AnyTarget;

fn evidence_of(options: &str) -> ReportedSettings {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let file = folder.path().join("store.db");
    let target = AnyTarget::open(&format!("sqlite:{}?{options}", file.display())).unwrap();
    let mut plan = Plan::new();
    plan.table(Table::new("t").column("id", syncline_contract::Kind::Int).key(&["id"]));
    block_on(&(), async {
        target.create(&plan).await.unwrap();
        let reported = target.reported_settings().await.unwrap();
        assert_eq!(target.log_location(), LogLocation::Directory(folder.path().to_owned()));
        target.remove().await.unwrap();
        reported
    })
}

fn setting<'e>(reported: &'e ReportedSettings, name: &str) -> (&'e str, &'e str) {
    let found = reported.settings.iter().find(|setting| setting.name == name);
    let found = found.unwrap_or_else(|| panic!("the reported settings include {name}"));
    (&found.value, &found.source)
}

#[test]
fn each_durability_sets_a_level_that_sqlite_reports() {
    for (options, durability, synchronous, journal) in [
        ("durability=os", Durability::Os, "0", "wal"),
        ("durability=os&synchronous=normal", Durability::Os, "1", "wal"),
        ("durability=data", Durability::Data, "2", "wal"),
        ("durability=full", Durability::Full, "3", "wal"),
        ("durability=data&journal=delete", Durability::Data, "2", "delete"),
        ("durability=full&journal=truncate&client=queue", Durability::Full, "3", "truncate"),
        // B.Smaller: SQLite's own words, in capitals too, and others that users try.
        ("synchronous=NORMAL", Durability::Os, "1", "wal"),
        ("synchronous=EXTRA", Durability::Full, "3", "wal"),
        ("synchronous=off&journal=DELETE", Durability::Os, "0", "delete"),
        ("journal=memory", Durability::None, "2", "memory"),
        ("durability=none&journal=memory&synchronous=off", Durability::None, "0", "memory"),
        ("client=queue&locking_mode=EXCLUSIVE", Durability::Data, "2", "wal"),
        ("durability=os&journal=persist", Durability::Os, "0", "persist"),
    ] {
        let reported = evidence_of(options);
        assert_eq!(reported.durability, durability, "{options}");
        assert_eq!(setting(&reported, "synchronous"), (synchronous, "PRAGMA synchronous"));
        assert_eq!(setting(&reported, "journal_mode"), (journal, "PRAGMA journal_mode"));
        let evidence_text = format!("synchronous={synchronous} ");
        assert!(
            reported.durability_evidence.contains(&evidence_text),
            "{}",
            reported.durability_evidence
        );
    }
}

#[test]
fn other_settings_are_read_back_too() {
    let reported = evidence_of("page_bytes=8192&cache_kib=512&checkpoint_pages=77&wait=even");
    assert_eq!(setting(&reported, "page_size").0, "8192");
    assert_eq!(setting(&reported, "cache_size").0, "-512");
    assert_eq!(setting(&reported, "wal_autocheckpoint").0, "77");
    assert!(setting(&reported, "waiting for locks").0.contains("millisecond"));
    assert!(setting(&reported, "compile_options").0.contains("THREADSAFE=1"));
    assert_eq!(reported.version, rusqlite::version());
    let reported = evidence_of("client=queue&locking_mode=exclusive");
    assert_eq!(setting(&reported, "locking_mode").0, "exclusive");
}

#[test]
fn the_unsynced_unlink_of_a_delete_journal_is_reported() {
    let evidence_text = evidence_of("durability=data&journal=delete").durability_evidence;
    assert!(evidence_text.contains("is not synced"), "{evidence_text}");
    // B.Smaller: advice for the setting that was used.
    assert!(
        evidence_text.contains("durability=full (EXTRA)") && evidence_text.contains("journal=wal"),
        "{evidence_text}"
    );
    let full = evidence_of("durability=full&journal=delete").durability_evidence;
    assert!(!full.contains("is not synced"), "{full}");
}
