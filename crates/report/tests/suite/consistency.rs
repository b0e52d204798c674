//! Consistency of the figures of every record in these tests, and the runner's warning of one that is
//! inconsistent.

use crate::fixture::{self, ENGINE, SQLITE};
use crate::{conversion, cost_fixture, published_fixture};
use syncline_record::violations;
use syncline_record::{Record, RunRecord};
use syncline_runner::record::from_run;

/// Item 4: the records behind all golden files, and those made from the runner's results.
#[test]
fn every_record_of_these_tests_is_consistent() {
    let surveyed = fixture::survey();
    let mut runs: Vec<RunRecord> = surveyed.iter().filter_map(Record::as_run).cloned().collect();
    runs.extend(published_fixture::commit_every().iter().filter_map(Record::as_run).cloned());
    runs.extend(vec![
        fixture::overloaded(),
        fixture::starving(fixture::run(SQLITE, 64, 9_000.0, 1.0)),
        cost_fixture::metered(fixture::run(ENGINE, 8, 60_000.0, 5.0)),
        published_fixture::tpcc(),
        published_fixture::tpcc_elsewhere(),
        published_fixture::ycsb(),
        published_fixture::concurrent_tx(),
        published_fixture::mrow(),
        published_fixture::mrmw(),
        published_fixture::select(),
        published_fixture::update(),
        from_run(
            &[conversion::result(1_000, Some(0.5)), conversion::result(900, None)],
            &conversion::run_inputs(),
        ),
    ]);
    assert!(runs.len() > 15);
    let found = runs.iter().flat_map(|run| {
        let found = violations(run).into_iter();
        found.map(|what| format!("{} ({}): {what}\n", run.title(), run.identity.id))
    });
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "{}", found.concat());
}

/// Item 4: the runner warns of an inconsistent record.
#[test]
fn an_inconsistent_record_has_a_warning() {
    let mut run = conversion::result(1_000, Some(0.5));
    assert!(!warned(&run).contains("inconsistent"));
    run.throughput_per_s *= 1.8;
    assert!(warned(&run).contains("inconsistent: repetition 1: the rate times"));
}

fn warned(run: &syncline_runner::RunResult) -> String {
    let record = from_run(std::slice::from_ref(run), &conversion::run_inputs());
    let named = |one: &syncline_record::Warning| format!("{}: {}", one.name, one.what);
    let warnings: Vec<String> = record.end.warnings.iter().map(named).collect();
    warnings.join("\n")
}
