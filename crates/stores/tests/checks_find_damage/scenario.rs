//! Load, run and check of a workload, with damage to its store in between.

use crate::checked_run::{CLIENTS, CheckedRun};
use syncline_contract::conformance::block_on;
use syncline_contract::{
    CheckOutcome, Client, Ending, RequestTracker, Session, Stop, Transaction, Workload,
};
use syncline_stores::AnySession;

/// The damage to a store between a load and its check.
struct Scenario<'s> {
    /// The damage after the load, as SQL.
    loaded: &'s str,
    /// The damage after the run.
    ended: &'s str,
    /// The outcome that each client gets for its last transaction, which was committed.
    outcome: Ending,
}

/// Loads a workload and runs its clients in turn, each of whose transactions is committed unless it
/// aborts itself; returns the checks that found the damage.
fn finds_in(name: &str, options: &[(&str, &str)], story: &Scenario<'_>) -> Vec<String> {
    let run = CheckedRun::new("client=threads", name, options);
    run.damage_store(story.loaded);
    let tallies = block_on(&run.worker, async {
        let mut session = run.connect().await;
        let mut tallies = Vec::new();
        for number in 0..CLIENTS {
            let mut client = run.workload.client(number, CLIENTS, 42);
            for round in 0..200 {
                let last = (round == 199).then_some(story.outcome);
                one(&mut session, &mut client, last).await;
            }
            tallies.push(client.tally());
        }
        tallies
    });
    run.damage_store(story.ended);
    let checks = run.check(tallies);
    let names: Vec<_> = checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, run.workload.check_names(), "{name} {options:?}");
    let violated = |outcome: &CheckOutcome| matches!(outcome, CheckOutcome::Violated(_));
    let found = checks.into_iter().filter(|check| violated(&check.outcome));
    found.map(|check| check.name).collect()
}

/// With damage after the run.
pub(crate) fn finds(name: &str, options: &[(&str, &str)], damage: &str) -> Vec<String> {
    finds_with_outcome(name, options, damage, Ending::Committed)
}

/// With damage after the run, whose clients get that outcome for their last transaction.
pub(crate) fn finds_with_outcome(
    name: &str,
    options: &[(&str, &str)],
    damage: &str,
    outcome: Ending,
) -> Vec<String> {
    let story = Scenario { loaded: "", ended: damage, outcome };
    finds_in(name, options, &story)
}

/// With damage before the run.
pub(crate) fn finds_while_running(
    name: &str,
    options: &[(&str, &str)],
    damage: &str,
) -> Vec<String> {
    let story = Scenario { loaded: damage, ended: "", outcome: Ending::Committed };
    finds_in(name, options, &story)
}

/// Performs a transaction, commits it, and gives its client the outcome, or another one.
async fn one<C: Client>(session: &mut AnySession, client: &mut C, outcome: Option<Ending>) {
    let kind = client.draw();
    let mut asked = RequestTracker::default();
    session.begin(client.access_pattern(kind));
    let performed = client.perform(kind, &mut Transaction::new(session, &mut asked)).await;
    let ending = match performed {
        Ok(()) => {
            session.commit().await.unwrap();
            outcome.unwrap_or(Ending::Committed)
        }
        Err(Stop::Abort) => {
            session.abort().await;
            Ending::Undone
        }
        Err(other) => panic!("{other:?}"),
    };
    client.ended(kind, ending);
}

pub(crate) const NO_CHECK: [&str; 0] = [];
