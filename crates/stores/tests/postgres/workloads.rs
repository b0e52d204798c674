//! Workloads in miniature through the runner, with their checks; many clients; a server that is killed
//! during a run.

use crate::relay::Relay;
use crate::server::Server;
use rustix::process::{Pid, Signal, kill_process};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use syncline_contract::{CheckOutcome, Durability, FailureKind, Meaning};
use syncline_runner::{Event, Observer, RunPlan, RunResult, RunWarning, StopReason, run};
use syncline_stores::AnyTarget;
use syncline_workloads::AnyWorkload;

fn workload(name: &str, options: &[(&str, &str)]) -> AnyWorkload {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let pairs: Vec<_> = options.iter().map(owned).collect();
    AnyWorkload::parse(name, &pairs).unwrap()
}

fn plan(clients: usize, transactions: u64) -> RunPlan {
    RunPlan {
        clients,
        workers: Some(clients.min(2)),
        duration: None,
        transactions: Some(transactions),
        warm_up: Duration::ZERO,
        retries: 1_000,
        ..RunPlan::default()
    }
}

fn ran(server: &Server, options: &str, workload: &AnyWorkload, plan: &RunPlan) -> RunResult {
    let target = server.target(options);
    run(&target, workload, plan, &AtomicBool::new(false), &()).unwrap()
}

fn holds(result: &RunResult) {
    let name = &result.head.workload.name;
    assert!(
        !matches!(result.stopped_by, StopReason::Failure { .. }),
        "{name}: {:?}",
        result.stopped_by
    );
    for check in &result.checks {
        assert!(!matches!(check.outcome, CheckOutcome::Violated(_)), "{name}: {check:?}");
    }
    assert!(result.outcomes.committed > 0);
}

#[test]
fn workloads_run_and_their_checks_hold() {
    let server = Server::start(Durability::Data);
    for (name, options, transactions) in [
        ("insert", &[][..], 500),
        ("debit-credit", &[("accounts", "1000")], 400),
        ("debit-credit", &[("profile", "pgbench"), ("accounts", "1000")], 200),
        ("tpcc", &[("items", "1000"), ("customers", "100")], 200),
        ("select", &[("rows", "1000")], 500),
        ("ycsb", &[], 400),
        ("mrow", &[], 100),
        ("join", &[], 20),
        ("tatp", &[], 300),
        ("smallbank", &[], 300),
        ("transfer", &[("accounts", "1000")], 300),
        ("script", &[], 200),
    ] {
        let workload = workload(name, options);
        let result = ran(&server, "", &workload, &plan(8, transactions));
        holds(&result);
        assert_eq!(server.schemas(), [""; 0], "{name}");
    }
}

/// Statements in addition to the clients' transactions count as commits too: there must be only a few
/// for each client, however many statements they prepare.
#[test]
fn the_server_counts_hardly_more_commits_than_its_clients() {
    let server = Server::start(Durability::Os);
    let tpcc = workload("tpcc", &[("items", "1000"), ("customers", "100")]);
    let clients = 24;
    let result = ran(&server, "", &tpcc, &plan(clients, 600));
    holds(&result);
    let mut counters = result.counters.iter();
    let commits = counters.find(|counter| counter.meaning == Meaning::Commits);
    let counted = commits.unwrap().grown.clone().unwrap();
    let reported = result.commits_in_whole;
    // In addition, the tables' statistics are created, once.
    let maximum = reported + 4 * clients as u64 + 60;
    assert!((reported / 2..maximum).contains(&counted), "{counted}, reported {reported}");
}

#[test]
fn two_hundred_and_fifty_six_clients_are_served_by_two_threads() {
    let server = Server::start(Durability::Os);
    let result = ran(&server, "", &workload("insert", &[]), &plan(256, 20_000));
    holds(&result);
    assert_eq!(result.outcomes.committed, 20_000);
    assert_eq!(result.reconnects, 0);
}

/// Records how many turns a relay had counted when the checks began.
struct UntilChecks<'r>(&'r Relay, AtomicUsize);

impl Observer for UntilChecks<'_> {
    fn event(&self, event: Event<'_>) {
        if matches!(event, Event::Checking) {
            self.1.store(self.0.turns(), Ordering::Relaxed);
        }
    }
}

/// Round trips of one transaction; connecting and creating tables cancel out in the difference.
fn round_trips(server: &Server, workload: &AnyWorkload, pipeline: Option<bool>) -> usize {
    let relay = Relay::to(server.port());
    let url = format!(
        "postgres://postgres:{}@127.0.0.1:{}/postgres?tls=disable&durability=os",
        server.password(),
        relay.port
    );
    let turns = |transactions| {
        let before = relay.turns();
        let plan = RunPlan { pipeline, ..plan(1, transactions) };
        let target = AnyTarget::open(&url).unwrap();
        let until = UntilChecks(&relay, AtomicUsize::new(0));
        let result = run(&target, workload, &plan, &AtomicBool::new(false), &until).unwrap();
        holds(&result);
        assert_eq!(result.outcomes.committed, transactions);
        until.1.into_inner() - before
    };
    let (few, more) = (turns(10), turns(110));
    // The queries around a run depend on time, so a few more or less remain.
    let (each, rest) = ((more - few + 50) / 100, (more - few + 50) % 100);
    assert!((30..70).contains(&rest), "{few} and {more}");
    each
}

#[test]
fn statements_share_round_trips_as_the_run_says_or_else_the_profile() {
    let server = Server::start(Durability::Os);
    let of = |profile: &str| {
        let options = [("profile", profile), ("accounts", "1000")];
        let load = workload("debit-credit", &options);
        [None, Some(true), Some(false)].map(|pipeline| round_trips(&server, &load, pipeline))
    };
    // Two together: up to the balance that is read, and the rest with COMMIT. Otherwise BEGIN, five
    // statements and COMMIT.
    assert_eq!(of("tpcb"), [2, 2, 7]);
    assert_eq!(of("pgbench"), [7, 2, 7]);
}

/// Kills a server when the measured span begins.
struct Killer {
    pid: u32,
}

impl Observer for Killer {
    fn event(&self, event: Event<'_>) {
        if let Event::Interval(_) = event {
            let pid = Pid::from_raw(self.pid.cast_signed()).unwrap();
            // It may be gone by the second interval.
            if kill_process(pid, Signal::QUIT).is_err() {}
        }
    }
}

#[test]
fn a_server_killed_during_a_run_leaves_a_result_that_reports_it() {
    let server = Server::start(Durability::Data);
    let target = server.target("");
    let plan = RunPlan {
        clients: 8,
        duration: Some(Duration::from_secs(2)),
        warm_up: Duration::ZERO,
        interval: Duration::from_millis(200),
        ..RunPlan::default()
    };
    let killer = Killer { pid: server.0.private.pid() };
    let load = workload("insert", &[]);
    let result = run(&target, &load, &plan, &AtomicBool::new(false), &killer).unwrap();
    assert!(result.outcomes.committed > 0);
    assert_eq!(FailureKind::ALL[0], FailureKind::Connection);
    let lost = result.outcomes.failed[0] + result.outcomes.unfinished;
    assert!(lost > 0, "{:?}", result.outcomes);
    assert!(
        matches!(&result.stopped_by, StopReason::Failure { kind: FailureKind::Connection, what, .. } if
            what.contains("cannot be reached")),
        "{:?}, {:?}, {:?}",
        result.stopped_by,
        result.outcomes,
        result.warnings
    );
    let warned = |of: fn(&RunWarning) -> bool| result.warnings.iter().any(of);
    assert!(warned(|warning| matches!(warning, RunWarning::ChecksNotMade { .. })));
    assert!(warned(|warning| matches!(warning, RunWarning::NotRemoved { .. })));
}
