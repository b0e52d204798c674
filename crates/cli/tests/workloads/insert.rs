//! The insert workload in miniature.

use crate::run_on::{runs_everywhere, workload};

#[test]
fn rows_are_inserted_and_found_whoever_chooses_their_keys() {
    for keys in ["ascending", "random", "server"] {
        let load = workload("insert", &[("keys", keys), ("commit_every", "3")]);
        runs_everywhere(&load, 4, 200);
    }
}
