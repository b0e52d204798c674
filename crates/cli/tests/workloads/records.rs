//! Small runs of many readers with one writer and with many.

use crate::run_on::{plan, run_on, runs_everywhere, workload};

#[test]
fn readers_of_one_writer_find_every_byte() {
    for per_commit in ["1", "7"] {
        let options = [
            ("prewritten", "50"),
            ("records", "300"),
            ("records_per_commit", per_commit),
            ("write_wait_us", "0"),
        ];
        runs_everywhere(&workload("mrow", &options), 4, 600);
    }
}

#[test]
fn the_one_writer_pauses() {
    let options = [("write_wait_us", "20000"), ("prewritten", "100")];
    let result = run_on("null", &workload("mrow", &options), &plan(2, 400_000));
    let writes = result.transactions[1].outcomes.committed;
    let spans = result.measured_ns / 20_000_000;
    assert!(writes >= 1 && writes <= spans + 1, "{writes} writes in {spans} pauses");
}

#[test]
fn tasks_and_record_reads_are_both_reported() {
    let load = workload("mrow", &[("reads_per_task", "25"), ("write_wait_us", "0")]);
    let figures = run_on("null", &load, &plan(3, 2_000)).figures;
    let (tasks, reads) = (figures[0], figures[1]);
    assert!(tasks.name.starts_with("tasks a second") && tasks.value > 0.0);
    assert_eq!(reads.name, "record reads a second");
    assert!((reads.value / tasks.value - 25.0).abs() < 1e-6);
}

#[test]
fn readers_of_many_writers_find_every_byte_of_the_newest_too() {
    for (readers, newest) in [("80", "4"), ("50", "100"), ("0", "4"), ("100", "4")] {
        let options = [
            ("readers", readers),
            ("newest", newest),
            ("prewritten", "40"),
            ("records_max", "2000"),
            ("writes_per_task", "9"),
        ];
        runs_everywhere(&workload("mrmw", &options), 4, 400);
    }
}
