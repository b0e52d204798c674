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
        let evidence = target.evidence().await.unwrap();
        assert_eq!(target.log_place(), LogLocation::Directory(folder.path().to_owned()));
        target.remove().await.unwrap();
        evidence
    })
}

fn setting<'e>(evidence: &'e ReportedSettings, name: &str) -> (&'e str, &'e str) {
    let found = evidence.settings.iter().find(|setting| setting.name == name);
    let found = found.unwrap_or_else(|| panic!("the reported settings include {name}"));
    (&found.value, &found.said_by)
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
        let evidence = evidence_of(options);
        assert_eq!(evidence.durability, durability, "{options}");
        assert_eq!(setting(&evidence, "synchronous"), (synchronous, "PRAGMA synchronous"));
        assert_eq!(setting(&evidence, "journal_mode"), (journal, "PRAGMA journal_mode"));
        let evidence_text = format!("synchronous={synchronous} ");
        assert!(
            evidence.durability_evidence.contains(&evidence_text),
            "{}",
            evidence.durability_evidence
        );
    }
}

#[test]
fn other_settings_are_read_back_too() {
    let evidence = evidence_of("page_bytes=8192&cache_kib=512&checkpoint_pages=77&wait=even");
    assert_eq!(setting(&evidence, "page_size").0, "8192");
    assert_eq!(setting(&evidence, "cache_size").0, "-512");
    assert_eq!(setting(&evidence, "wal_autocheckpoint").0, "77");
    assert!(setting(&evidence, "waiting for locks").0.contains("millisecond"));
    assert!(setting(&evidence, "compile_options").0.contains("THREADSAFE=1"));
    assert_eq!(evidence.version, rusqlite::version());
    let evidence = evidence_of("client=queue&locking_mode=exclusive");
    assert_eq!(setting(&evidence, "locking_mode").0, "exclusive");
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
