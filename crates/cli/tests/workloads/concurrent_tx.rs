//! Small runs of concurrent transactions, on disjoint keys and on few keys.

use crate::run_on::{STORES, plan, run_on, runs_everywhere, workload};

#[test]
fn every_row_may_be_the_last_one_written() {
    for (key_len, nops) in [("4", "20"), ("1", "5"), ("16", "1")] {
        let options = [("key_len", key_len), ("nops", nops)];
        runs_everywhere(&workload("concurrent-tx", &options), 6, 300);
    }
}

#[test]
fn intended_aborts_are_neither_committed_nor_failed() {
    let load = workload("concurrent-tx", &[("aborts", "50"), ("nops", "2")]);
    let result = run_on(STORES[0], &load, &plan(4, 2_000));
    let outcomes = result.outcomes;
    assert_eq!(outcomes.committed + outcomes.aborted, 2_000, "{outcomes:?}");
    assert!((850..=1_150).contains(&outcomes.aborted), "{outcomes:?}");
}
