//! Small runs of join, by the primary key and by an index.

use crate::run_on::{runs_everywhere, workload};

#[test]
fn every_row_of_the_small_table_finds_its_partner() {
    for by in ["key", "index"] {
        let options = [("rows", "300"), ("joined", "40"), ("by", by)];
        runs_everywhere(&workload("join", &options), 3, 30);
    }
}
