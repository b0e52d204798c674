//! The conformance suite: a correct store passes, and each planted fault is found.

use super::memory::{Fault, Memory};
use crate::conformance::{Conformance, conforms};
use crate::key_value::KeyValueTarget;
use std::thread;

fn outcome_of(scans: bool, fault: Fault) -> Conformance {
    conforms(|| KeyValueTarget::new(Memory::new(scans, fault)))
}

#[test]
fn a_store_that_scans_conforms_except_for_indexes_and_joins() {
    let outcome = outcome_of(true, Fault::None);
    assert!(outcome.findings.is_empty(), "{outcome}");
    for case in ["scans by key", "aggregates", "no update is lost"] {
        assert!(outcome.tested.contains(&case), "{case} must be tested");
    }
    let lacks = |why: &str| why.contains("index") || why.contains("join");
    assert!(outcome.skipped.iter().all(|(_, why)| lacks(why)), "{outcome:?}");
}

#[test]
fn a_store_without_scans_conforms_in_its_abilities() {
    let outcome = outcome_of(false, Fault::None);
    assert!(outcome.findings.is_empty(), "{outcome}");
    let skipped = |case| outcome.skipped.iter().any(|(name, _)| *name == case);
    assert!(skipped("scans by key") && skipped("aggregates"));
    let clear = "keys given by the store keep clear of loaded ones";
    assert!(outcome.tested.contains(&clear), "it generates keys without scans too");
}

const FAULTS: [(Fault, &str); 13] = [
    (Fault::LosesLastChange, "values come back as written"),
    (Fault::AppliesOnlyFirstChange, "a commit is visible"),
    (Fault::KeepsDeleted, "delete frees the key"),
    (Fault::AnswersOldValues, "a duplicate key is refused"),
    (Fault::CutsValues, "values come back as written"),
    (Fault::ScansBackwards, "scans by key"),
    (Fault::ScansBeyondEnd, "scans by key"),
    (Fault::SkipsInScan, "scans by key"),
    (Fault::IgnoresLimit, "scans by key"),
    (Fault::KeepsRemoved, "remove and create again"),
    (Fault::ReportsNothing, "settings are reported"),
    (Fault::FailsCommits, "get hits and misses"),
    (Fault::FailsCreate, "get hits and misses"),
];

#[test]
fn every_planted_fault_is_found() {
    // Concurrently, because some cases wait for a client that a fault has stopped.
    thread::scope(|scope| {
        for (fault, case) in FAULTS {
            scope.spawn(move || {
                let outcome = outcome_of(true, fault);
                let found = outcome.findings.iter().any(|finding| finding.case == case);
                assert!(found, "{fault:?} in \"{case}\": {outcome}");
            });
        }
    });
}
