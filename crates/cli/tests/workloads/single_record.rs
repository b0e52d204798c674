//! Small runs of select and update: by key and by an index, and with hot rows.

use crate::run_on::{runs_everywhere, workload};

#[test]
fn rows_are_read_by_key_and_through_an_index() {
    for by in ["key", "index"] {
        let load = workload("select", &[("rows", "500"), ("by", by)]);
        runs_everywhere(&load, 4, 400);
    }
}

#[test]
fn rows_get_another_text_by_key_and_through_an_index() {
    for by in ["key", "index"] {
        let load = workload("update", &[("rows", "50"), ("by", by)]);
        runs_everywhere(&load, 4, 400);
    }
}

#[test]
fn hot_rows_have_their_own_tables() {
    for name in ["select", "update"] {
        let load = workload(name, &[("rows", "1"), ("tables", "32")]);
        runs_everywhere(&load, 4, 400);
    }
}
