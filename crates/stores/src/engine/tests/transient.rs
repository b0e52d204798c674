//! Tests the engine in memory only: the suite, and that nothing is written to the disk.

use crate::engine::{OpenedEngine, TransientEngine, open};
use crate::url::Url;
use syncline_contract::conformance::{block_on, conforms};
use syncline_contract::{LogLocation, Target};

fn transient(options: &str) -> TransientEngine {
    let url = format!("engine?mode=transient&{options}");
    match open(&Url::parse(&url).unwrap()).unwrap() {
        OpenedEngine::Transient(engine) => engine,
        other @ OpenedEngine::OnDisk(_) => panic!("not the transient engine: {other:?}"),
    }
}

#[test]
fn it_conforms_and_keeps_nothing_on_disk() {
    let here = std::env::current_dir().unwrap();
    let names = || {
        let prefix = format!(".syncline-engine-{}-", std::process::id());
        let names = std::fs::read_dir(&here).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with(&prefix)).count()
    };
    for options in ["client=futures", "client=threads", "client=futures&isolation=snapshot"] {
        let outcome = conforms(|| transient(options));
        assert!(outcome.findings.is_empty(), "{options}: {outcome}");
        assert!(outcome.skipped.is_empty(), "{options}: {outcome:?}");
        assert_eq!(names(), 0);
    }
}

#[test]
fn it_reports_that_nothing_is_stored() {
    let target = transient("durability=none");
    assert!(block_on(&(), target.reported_settings()).is_err(), "it was not created");
    block_on(&(), target.create(&super::lifecycle::plan())).unwrap();
    let reported = block_on(&(), target.reported_settings()).unwrap();
    assert_eq!(reported.durability.word(), "none");
    assert_eq!(reported.isolation.words(), "serializable");
    let mode = reported.settings.iter().find(|setting| setting.name == "mode");
    assert_eq!(mode.unwrap().value, "transient");
    assert!(matches!(target.log_location(), LogLocation::Nowhere(_)));
    assert_eq!(target.name(), "engine (transient)");
    assert_eq!(target.synced_writes(), None);
}
