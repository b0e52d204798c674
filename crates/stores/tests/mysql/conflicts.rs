//! Deliberate conflicts through the runner: counted by their cause, and retried as the plan requires.

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
fn a_cycle_of_waits_is_a_deadlock_and_is_retried() {
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
fn a_lock_timeout_is_counted_and_retried() {
    let locked = Cause::Locked as usize;
    let outcomes = crossed("&lock_wait_s=1", Way::Hold, 0).outcomes;
    assert_eq!(outcomes.conflicted[locked], PAIRS, "{outcomes:?}");
    assert_eq!((outcomes.attempted, outcomes.committed), (4, 2));
    let outcomes = crossed("&lock_wait_s=1", Way::Hold, 1_000).outcomes;
    // The holder may take longer to commit than the second attempt waits.
    assert!(outcomes.retried[locked] >= PAIRS, "{outcomes:?}");
    assert_eq!((outcomes.attempted, outcomes.committed), (4, 4));
    assert_eq!(outcomes.failed, [0; 5]);
}
