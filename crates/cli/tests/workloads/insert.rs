//! Small runs of the insert workload.

use crate::run_on::{runs_everywhere, workload};

#[test]
fn rows_are_inserted_and_found_with_keys_of_client_or_store() {
    for keys in ["ascending", "random", "server"] {
        let load = workload("insert", &[("keys", keys), ("commit_every", "3")]);
        runs_everywhere(&load, 4, 200);
    }
}
