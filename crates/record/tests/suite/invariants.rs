//! Detection of inconsistent records: each invariant can fail, and is named if it does.

use crate::cost_fixture;
use crate::fixture::{self, SQLITE};
use syncline_record::{ClientTime, PathFigures, RunRecord, violations};

/// A consistent record, to be damaged by the tests.
fn whole() -> RunRecord {
    let mut run = fixture::run(SQLITE, 8, 9_000.0, 1.0);
    for one in &mut run.end.repetitions {
        let served = one.transactions[0].service_ns.as_ref().unwrap().mean;
        let share = served * one.throughput_per_s / 8.0 / 1e9;
        one.client_time = Some(ClientTime { in_transactions: share, between: 1.0 - share });
    }
    run
}

fn violated(change: impl Fn(&mut RunRecord), named: &str) {
    let mut run = whole();
    assert_eq!(violations(&run), Vec::<String>::new());
    change(&mut run);
    let found = violations(&run).join("; ");
    assert!(found.contains(named), "{named}: {found}");
}

/// D1: seven of eight clients of SQLite waited through the whole span, and the record was called a bug.
#[test]
fn clients_that_waited_through_the_run_contradict_nothing() {
    let mut run = whole();
    run.end.repetitions.truncate(1);
    let starve = |run: &mut RunRecord, clients: u64| {
        let fairness = run.end.fairness.as_mut().unwrap();
        fairness.starved = (0..clients).collect();
        let one = &mut run.end.repetitions[0].client_time;
        *one = Some(ClientTime { in_transactions: 1.0, between: 0.0 });
        violations(run).iter().any(|what| what.contains("clients divided by the rate"))
    };
    let times = &mut run.end.repetitions[0].transactions[0];
    for times in [&mut times.service_ns, &mut times.response_ns] {
        times.as_mut().unwrap().mean /= 8.0;
    }
    assert!(starve(&mut run, 0) && starve(&mut run, 1));
    assert!(!starve(&mut run, 7));
}

/// Item 4: each invariant can fail, and is named if it does.
#[test]
fn an_inconsistent_record_names_the_violated_invariant() {
    violated(|run| run.end.outcomes.attempted += 1, "the outcomes of all");
    violated(
        |run| run.end.repetitions[0].transactions[0].outcomes = fixture::outcomes(1, 0),
        "do not add up",
    );
    // f01: a count of one span divided by the length of another.
    violated(|run| run.end.repetitions[1].throughput_per_s *= 1.8, "the rate times");
    violated(|run| run.end.commits_in_span = Some(3), "the repetitions' commits");
    violated(|run| run.end.repetitions[0].commits_late = Some(u64::MAX), "were late");
    violated(|run| run.end.repetitions[2].commits_per_sync = Some(2.0), "commits per sync times");
    violated(
        |run| {
            run.end.stopped_by = Some("transactions".to_owned());
            run.end.repetitions[0].outcomes.committed -= 1;
            run.end.repetitions[0].outcomes.unfinished += 1;
        },
        "a run that ends by count",
    );
    violated(
        |run| {
            let one = &mut run.end.repetitions[0].transactions[0];
            one.service_ns.as_mut().unwrap().p50 = u64::MAX;
            one.response_ns = one.service_ns;
        },
        "are not in order",
    );
    violated(
        |run| {
            let one = &mut run.end.repetitions[0].transactions[0];
            one.response_ns.as_mut().unwrap().p99 += 1;
        },
        "differ in a closed loop",
    );
    // D1: clients that waited through the run were in no figure.
    violated(
        |run| {
            let one = &mut run.end.repetitions[0].client_time;
            one.as_mut().unwrap().in_transactions -= 0.5;
        },
        "the clients' time",
    );
    violated(
        |run| {
            let one = &mut run.end.repetitions[0].transactions[0];
            for times in [&mut one.service_ns, &mut one.response_ns] {
                times.as_mut().unwrap().mean *= 0.5;
            }
        },
        "8 clients divided by the rate",
    );
    violated(
        |run| {
            let figures = &mut run.end.saturation.as_mut().unwrap().figures;
            figures.insert("read_share".to_owned(), Some(1.5));
        },
        "read_share",
    );
    violated(|run| run.intervals[0].start_ns = u64::MAX, "times of interval 1 are not");
    violated(|run| run.intervals[0].committed *= 3, "have more commits");
}

#[test]
fn shares_of_one_whole_must_add_up() {
    let metered = || cost_fixture::metered(whole());
    assert_eq!(violations(&metered()), Vec::<String>::new());
    let mut more = metered();
    let cost = more.end.cost.as_mut().unwrap();
    let row = cost
        .metrics
        .iter_mut()
        .flat_map(|metric| &mut metric.innermost)
        .find(|row| row.share.is_some())
        .unwrap();
    row.share = row.share.map(|share| share + 0.2);
    let found = violations(&more).join("; ");
    assert!(found.contains("add up to 1.2"), "{found}");
    let path = PathFigures {
        name: "mean".to_owned(),
        total_ns: 30.0,
        step_ns: vec![10.0, 15.0],
        mean_of: 9,
    };
    let mut split = whole();
    split.end.commit_path = Some(syncline_record::CommitPathFigures {
        steps: vec!["begin".to_owned(), "sync".to_owned()],
        timed: 9,
        timed_one_in: 64,
        rows: vec![path],
    });
    assert!(violations(&split).join("; ").contains("do not add up to its total"));
}
