//! A workload's load, run and check, and the damage that is done to its store meanwhile.

use crate::checked_run::{CLIENTS, CheckedRun};
use syncline_contract::conformance::block_on;
use syncline_contract::{
    CheckOutcome, Client, Ending, RequestTracker, Session, Stop, Transaction, Workload,
};
use syncline_stores::AnySession;

/// What is done to a store between a load and its check.
struct Scenario<'s> {
    /// The damage after the load, as SQL.
    loaded: &'s str,
    /// The damage after the run.
    ended: &'s str,
    /// What each client is told of its last transaction, which was committed.
    told: Ending,
}

/// Loads a workload and runs its clients in turn, each of whose transactions is committed unless it
/// aborts itself, and answers which checks found what was done meanwhile.
fn finds_in(name: &str, options: &[(&str, &str)], story: &Scenario<'_>) -> Vec<String> {
    let run = CheckedRun::new("client=threads", name, options);
    run.harm(story.loaded);
    let tallies = block_on(&run.worker, async {
        let mut session = run.connect().await;
        let mut tallies = Vec::new();
        for number in 0..CLIENTS {
            let mut client = run.workload.client(number, CLIENTS, 42);
            for round in 0..200 {
                let last = (round == 199).then_some(story.told);
                one(&mut session, &mut client, last).await;
            }
            tallies.push(client.tally());
        }
        tallies
    });
    run.harm(story.ended);
    let checks = run.check(tallies);
    let names: Vec<_> = checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(names, run.workload.check_names(), "{name} {options:?}");
    let violated = |outcome: &CheckOutcome| matches!(outcome, CheckOutcome::Violated(_));
    let found = checks.into_iter().filter(|check| violated(&check.outcome));
    found.map(|check| check.name).collect()
}

/// The damage is done after the run.
pub(crate) fn finds(name: &str, options: &[(&str, &str)], damage: &str) -> Vec<String> {
    finds_when_told(name, options, damage, Ending::Committed)
}

/// The damage is done after the run, whose clients are told that of their last transaction.
pub(crate) fn finds_when_told(
    name: &str,
    options: &[(&str, &str)],
    damage: &str,
    told: Ending,
) -> Vec<String> {
    let story = Scenario { loaded: "", ended: damage, told };
    finds_in(name, options, &story)
}

/// The damage is done before the run.
pub(crate) fn finds_while_running(
    name: &str,
    options: &[(&str, &str)],
    damage: &str,
) -> Vec<String> {
    let story = Scenario { loaded: damage, ended: "", told: Ending::Committed };
    finds_in(name, options, &story)
}

/// Performs a transaction, commits it, and tells its client how it ended, or something else.
async fn one<C: Client>(session: &mut AnySession, client: &mut C, told: Option<Ending>) {
    let kind = client.draw();
    let mut asked = RequestTracker::default();
    session.begin(client.shape(kind));
    let performed = client.perform(kind, &mut Transaction::new(session, &mut asked)).await;
    let ending = match performed {
        Ok(()) => {
            session.commit().await.unwrap();
            told.unwrap_or(Ending::Committed)
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
