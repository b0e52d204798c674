//! Small runs of short: reads and updates, with and without indexes, in one and several tables.

use crate::run_on::{runs_everywhere, workload};

#[test]
fn every_table_and_index_takes_part() {
    for does in ["read", "update"] {
        for (tables, indexes) in [("1", "0"), ("1", "2"), ("3", "0"), ("8", "1")] {
            let options = [("do", does), ("tables", tables), ("indexes", indexes), ("rows", "30")];
            runs_everywhere(&workload("short", &options), 4, 200);
        }
    }
}
