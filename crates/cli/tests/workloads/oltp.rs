//! Small runs of sysbench's OLTP tests: all nine, and every option that changes their work.

use crate::run_on::{plan, run_on, runs_everywhere, runs_everywhere_but, workload};
use syncline_contract::CheckOutcome;

const TESTS: [&str; 9] = [
    "point_select",
    "read_only",
    "read_write",
    "write_only",
    "insert",
    "delete",
    "update_index",
    "update_non_index",
    "bulk_insert",
];

#[test]
fn every_test_runs_and_its_checks_hold() {
    for test in TESTS {
        let options = [("test", test), ("tables", "3"), ("table_size", "200"), ("bulk_rows", "7")];
        runs_everywhere(&workload("oltp", &options), 4, 300);
    }
}

#[test]
fn statements_that_are_transactions_of_their_own_hold_too() {
    for test in ["read_only", "read_write", "write_only"] {
        let options = [
            ("test", test),
            ("table_size", "800"),
            ("rand_type", "uniform"),
            ("skip_trx", "on"),
            ("delete_inserts", "3"),
            ("point_selects", "2"),
        ];
        runs_everywhere(&workload("oltp", &options), 4, 1_500);
    }
}

#[test]
fn rows_are_found_by_a_secondary_index_or_without_one_on_k() {
    for test in ["point_select", "read_write", "delete", "update_index"] {
        for (secondary, create_secondary) in [("on", "on"), ("off", "off"), ("on", "off")] {
            let options = [
                ("test", test),
                ("table_size", "100"),
                ("secondary", secondary),
                ("create_secondary", create_secondary),
            ];
            runs_everywhere(&workload("oltp", &options), 3, 200);
        }
    }
}

#[test]
fn ids_are_counted_up_by_the_store_or_drawn_once_each() {
    for auto_inc in ["on", "off"] {
        let options =
            [("test", "insert"), ("tables", "2"), ("table_size", "60"), ("auto_inc", auto_inc)];
        runs_everywhere(&workload("oltp", &options), 3, 400);
    }
}

#[test]
fn every_distribution_finds_its_rows() {
    for rand_type in ["uniform", "gaussian", "special", "pareto", "zipfian"] {
        let options = [("table_size", "80"), ("rand_type", rand_type)];
        runs_everywhere(&workload("oltp", &options), 3, 150);
    }
}

#[test]
fn a_table_of_one_row_holds_too() {
    let options = [("table_size", "1"), ("range_size", "5")];
    // Every event replaces the only row, and with it what was added to it.
    let unknown = ["every k has grown by the index updates"];
    runs_everywhere_but(&workload("oltp", &options), 4, 200, &unknown);
}

#[test]
fn queries_and_events_are_reported_with_the_throughput() {
    let figure = |options: &[(&str, &str)]| {
        let result = run_on("null", &workload("oltp", options), &plan(2, 1_000));
        let figure = result.figures.first().copied().expect("a figure");
        let applied = |outcome: &CheckOutcome| !matches!(outcome, CheckOutcome::NotApplicable(_));
        assert!(!result.checks.iter().any(|check| applied(&check.outcome)));
        (figure.name, figure.value / result.throughput_per_s)
    };
    let (name, queries) = figure(&[("test", "read_write")]);
    assert_eq!(name, "queries a second");
    assert!((queries - 20.0).abs() < 1e-6, "{queries}");
    let (name, events) = figure(&[("test", "read_only"), ("skip_trx", "on")]);
    assert_eq!(name, "events a second");
    assert!((events - 1.0 / 14.0).abs() < 1e-9, "{events}");
}
