//! Group commit in miniature.

use crate::run_on::{runs_everywhere, workload};

#[test]
fn tasks_are_there_whole() {
    for ninsert in ["1", "7", "1500"] {
        let load = workload("group-commit", &[("ninsert", ninsert)]);
        runs_everywhere(&load, 5, 40);
    }
}
