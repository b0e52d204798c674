//! Small runs of group commit.

use crate::run_on::{runs_everywhere, workload};

#[test]
fn tasks_are_complete() {
    for ninsert in ["1", "7", "1500"] {
        let load = workload("group-commit", &[("ninsert", ninsert)]);
        runs_everywhere(&load, 5, 40);
    }
}
