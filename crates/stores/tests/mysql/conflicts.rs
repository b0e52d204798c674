//! Conflicts that are brought about, through the runner: counted by their cause, tried again as the plan
//! says.

use crate::crossing::{ConflictingClients, Way};
use crate::server::Server;
use std::sync::atomic::AtomicBool;
use syncline_contract::Cause;
use syncline_runner::{RunResult, run};
use syncline_stores::AnyTarget;

const PAIRS: u64 = 2;

fn crossed(options: &str, way: Way, retries: u32) -> RunResult {
    let url = Server::shared().by_socket(&format!("live=yes{options}"));
    let target = AnyTarget::open(&url).expect("a good URL");
    let plan = ConflictingClients::pairs(PAIRS, retries);
    let stop = AtomicBool::new(false);
    let result = run(&target, &ConflictingClients::new(way), &plan, &stop, &());
    let result = result.expect("a run");
    ConflictingClients::held(&result);
    result
}

#[test]
fn a_cycle_of_waits_is_a_deadlock_counted_and_tried_again() {
    let deadlock = Cause::Deadlock as usize;
    let outcomes = crossed("", Way::Cross, 0).outcomes;
    assert_eq!(outcomes.conflicted[deadlock], PAIRS, "{outcomes:?}");
    assert_eq!((outcomes.attempted, outcomes.committed), (4, 2));
    let outcomes = crossed("", Way::Cross, 5).outcomes;
    assert!(outcomes.retried[deadlock] >= PAIRS, "{outcomes:?}");
    assert_eq!((outcomes.attempted, outcomes.committed), (4, 4));
    assert!(outcomes.committed_after_retry >= PAIRS);
    assert_eq!(outcomes.failed, [0; 5]);
}

#[test]
fn a_lock_that_is_held_too_long_is_counted_as_such_and_tried_again() {
    let locked = Cause::Locked as usize;
    let outcomes = crossed("&lock_wait_s=1", Way::Hold, 0).outcomes;
    assert_eq!(outcomes.conflicted[locked], PAIRS, "{outcomes:?}");
    assert_eq!((outcomes.attempted, outcomes.committed), (4, 2));
    let outcomes = crossed("&lock_wait_s=1", Way::Hold, 1_000).outcomes;
    // Who holds it may take longer to commit than the second try waits.
    assert!(outcomes.retried[locked] >= PAIRS, "{outcomes:?}");
    assert_eq!((outcomes.attempted, outcomes.committed), (4, 4));
    assert_eq!(outcomes.failed, [0; 5]);
}
