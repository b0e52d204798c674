//! Small runs of YCSB: every letter, profile and option that changes its work.

use crate::run_on::{plan, run_on, runs_everywhere, workload};
use syncline_contract::CheckOutcome;

#[test]
fn every_letter_runs_and_its_checks_hold() {
    for letter in ["core", "a", "b", "c", "d", "e", "f"] {
        let load = workload("ycsb", &[("workload", letter), ("records", "700"), ("verify", "row")]);
        runs_everywhere(&load, 4, 400);
    }
}

#[test]
fn every_distribution_finds_its_rows() {
    for distribution in
        ["uniform", "zipfian", "scrambled", "latest", "hotspot", "sequential", "exponential"]
    {
        let options = [
            ("distribution", distribution),
            ("records", "300"),
            ("insert", "0.2"),
            ("insert_order", "ordered"),
        ];
        runs_everywhere(&workload("ycsb", &options), 3, 300);
    }
}

#[test]
fn transactions_of_several_operations_hold_with_deletes_too() {
    for profile in ["ycsb", "k2"] {
        let options = [
            ("profile", profile),
            ("records", "200"),
            ("read", "30"),
            ("update", "20"),
            ("insert", "20"),
            ("scan", "10"),
            ("read_modify_write", "10"),
            ("delete", "10"),
            ("scan_rows_max", "5"),
            ("ops_per_txn", "4"),
            ("verify", "row"),
        ];
        runs_everywhere(&workload("ycsb", &options), 4, 300);
    }
}

#[test]
fn fields_are_read_and_written_singly_or_all_in_any_length() {
    for (read_all, write_all, lengths, padding) in [
        ("no", "no", "uniform", "12"),
        ("no", "yes", "zipfian", "1"),
        ("yes", "yes", "constant", "30"),
    ] {
        let options = [
            ("records", "150"),
            ("read", "1"),
            ("update", "1"),
            ("scan", "1"),
            ("read_modify_write", "1"),
            ("insert", "1"),
            ("scan_lengths", "zipfian"),
            ("scan_rows_max", "20"),
            ("read_all_fields", read_all),
            ("write_all_fields", write_all),
            ("field_lengths", lengths),
            ("zero_padding", padding),
            ("verify", "row"),
            ("table", "things"),
            ("field_prefix", "column_"),
        ];
        runs_everywhere(&workload("ycsb", &options), 3, 300);
    }
}

#[test]
fn k2_s_own_mix_runs() {
    runs_everywhere(&workload("ycsb", &[("profile", "k2")]), 3, 300);
}

#[test]
fn operations_are_counted_where_transactions_hold_several() {
    let load = workload("ycsb", &[("records", "50"), ("ops_per_txn", "3")]);
    let result = run_on("null", &load, &plan(2, 1_000));
    let figure = result.figures.first().expect("a figure");
    assert_eq!(figure.name, "operations a second");
    let share = figure.value / result.throughput_per_s;
    assert!((share - 3.0).abs() < 1e-6, "{share}");
    let applied = |outcome: &CheckOutcome| !matches!(outcome, CheckOutcome::NotApplicable(_));
    assert!(!result.checks.iter().any(|check| applied(&check.outcome)));
}
