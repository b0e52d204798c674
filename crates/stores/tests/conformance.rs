//! SQLite passes the contract's suite in every mode, with threads and with the queue.

use std::sync::atomic::{AtomicUsize, Ordering};
use syncline_contract::conformance::conforms;
use syncline_stores::AnyTarget;

/// The number of cases for a target with all capabilities.
const CASES: usize = 32;

fn conforms_with(options: &str) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let number = AtomicUsize::new(0);
    let outcome = conforms(|| {
        let file = folder.path().join(format!("{}.db", number.fetch_add(1, Ordering::Relaxed)));
        AnyTarget::open(&format!("sqlite:{}?{options}", file.display())).expect("a good URL")
    });
    assert!(outcome.findings.is_empty(), "{options}: {outcome}");
    assert_eq!((outcome.tested.len(), outcome.skipped.len()), (CASES, 0), "{outcome:?}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").collect();
    assert!(left.is_empty(), "{options} leaves {left:?}");
}

macro_rules! modes {
    ($($name:ident: $options:literal;)*) => {
        $(#[test]
        fn $name() {
            conforms_with(concat!($options, "&client=threads"));
            conforms_with(concat!($options, "&client=queue"));
        })*
    };
}

modes! {
    wal_os: "journal=wal&durability=os";
    wal_os_normal: "journal=wal&durability=os&synchronous=normal";
    wal_data: "journal=wal&durability=data";
    wal_full: "journal=wal&durability=full";
    delete_os: "journal=delete&durability=os";
    delete_data: "journal=delete&durability=data";
    delete_full: "journal=delete&durability=full";
    truncate_data: "journal=truncate&durability=data";
    persist_data: "journal=persist&durability=data";
    memory_none: "journal=memory&durability=none";
    even_waiting: "wait=even&page_bytes=512&cache_kib=64&checkpoint_pages=10";
}
