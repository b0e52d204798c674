//! Comparisons: what is refused, what is called faster, what is a regression.

use crate::fixture::{self, ENGINE, SQLITE, SQLITE_QUEUE, Store};
use syncline_report::compare::{Verdict, compare};
use syncline_report::record::{Record, RunRecord};

fn record(run: RunRecord) -> Record {
    Record::from(run)
}

fn refusal(first: RunRecord, second: RunRecord) -> String {
    compare(&record(first), &record(second), false)
        .unwrap_err()
        .to_string()
}

#[test]
fn unlike_runs_are_refused_unless_asked_for() {
    let base = || fixture::run(SQLITE, 8, 9_000.0, 1.0);
    let os = fixture::run(
        Store {
            durability: "os",
            ..SQLITE
        },
        8,
        90_000.0,
        8.0,
    );
    let refused = refusal(base(), os.clone());
    assert!(
        refused.contains("durability data and os") && refused.contains("--unequal"),
        "{refused}"
    );
    let allowed = compare(&record(base()), &record(os), true).unwrap();
    assert_eq!(allowed.differences, ["durability data and os"]);

    let mut elsewhere = base();
    elsewhere.head.machine.cores = Some(64);
    assert!(refusal(base(), elsewhere).contains("machine (2 x Example"));
    let queue = fixture::run(SQLITE_QUEUE, 8, 9_000.0, 1.0);
    assert!(refusal(base(), queue).contains("client model threads and queue"));
    let mut other = base();
    other
        .head
        .workload
        .options
        .insert("commit-every".to_owned(), "100".to_owned());
    assert!(refusal(base(), other).contains("commit-every=100"));
    let mut empty = base();
    empty.end.outcomes.committed = 0;
    assert!(refusal(base(), empty).contains("nothing was committed"));
    let probe = Record::from(fixture::probe());
    let mixed = compare(&record(base()), &probe, true)
        .unwrap_err()
        .to_string();
    assert!(mixed.contains("cannot be compared with a probe"));
}

#[test]
fn faster_is_said_only_where_ranges_do_not_meet() {
    // Ranges reach from 0.98 to 1.03 of the median.
    let at = |rate| record(fixture::run(SQLITE, 8, rate, 1.0));
    let verdict = |second| {
        let comparison = compare(&at(10_000.0), &at(second), false).unwrap();
        (comparison.rows[0].verdict, comparison.regression)
    };
    assert_eq!(verdict(10_400.0), (Verdict::NoDifferenceShown, false));
    assert_eq!(verdict(10_600.0), (Verdict::Faster, false));
    assert_eq!(verdict(9_600.0), (Verdict::NoDifferenceShown, false));
    assert_eq!(verdict(9_400.0), (Verdict::Slower, true));
}

#[test]
fn another_store_with_the_same_model_may_be_compared() {
    let engine = Store {
        model: "threads",
        ..ENGINE
    };
    let comparison = compare(
        &record(fixture::run(SQLITE, 8, 9_000.0, 1.0)),
        &record(fixture::run(engine, 8, 60_000.0, 5.0)),
        false,
    );
    assert!(!comparison.unwrap().regression);
}

#[test]
fn one_run_a_side_is_judged_by_its_intervals_and_says_so() {
    let once = |rate| {
        let mut run = fixture::run(SQLITE, 8, rate, 1.0);
        run.end.repetitions.truncate(1);
        record(run)
    };
    let comparison = compare(&once(10_000.0), &once(5_000.0), false).unwrap();
    assert!(
        comparison.basis.contains("--repeat 3"),
        "{}",
        comparison.basis
    );
    assert!(comparison.regression);
    let three = record(fixture::run(SQLITE, 8, 10_000.0, 1.0));
    let repeated = compare(&three, &three, false).unwrap();
    assert!(
        repeated.basis.contains("by chance once in 20"),
        "{}",
        repeated.basis
    );
    assert!(!repeated.regression);
}

#[test]
fn in_an_open_loop_response_time_decides() {
    let slow = |factor: u64| {
        let mut run = fixture::overloaded();
        for repetition in &mut run.end.repetitions {
            for one in &mut repetition.transactions {
                one.response_ns = Some(fixture::latency(1_000_000 * factor));
            }
        }
        record(run)
    };
    assert!(compare(&slow(1), &slow(3), false).unwrap().regression);
    assert!(!compare(&slow(3), &slow(1), false).unwrap().regression);
}

#[test]
fn probes_are_compared_by_their_lines() {
    let probe = |factor: f64| {
        let mut probe = fixture::probe();
        let line = &mut probe.body.sync_line;
        line.line_1 = line.line_1.map(|rate| rate * factor);
        line.before.iter_mut().for_each(|rate| *rate *= factor);
        Record::from(probe)
    };
    assert!(compare(&probe(1.0), &probe(0.5), false).unwrap().regression);
    assert!(
        !compare(&probe(1.0), &probe(1.005), false)
            .unwrap()
            .regression
    );
}
