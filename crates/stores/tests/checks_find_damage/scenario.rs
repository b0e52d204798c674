//! A workload's load, run and check, and the damage that is done to its store meanwhile.

use rusqlite::Connection;
use syncline_contract::conformance::block_on;
use syncline_contract::{
    CheckOutcome, Client, Ending, RequestTracker, Rows, Session, Stop, Target, Transaction,
    Workload,
};
use syncline_stores::{AnySession, AnyTarget};
use syncline_workloads::AnyWorkload;

const CLIENTS: usize = 3;
/// Rows of a load's batch.
const BATCH_ROWS: u64 = 500;

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
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let url = format!("sqlite:{}?durability=os&client=threads", file.display());
    let target = AnyTarget::open(&url).unwrap();
    let pairs = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let workload = AnyWorkload::parse(name, &pairs.collect::<Vec<_>>()).unwrap();
    workload.run_begins(0);
    block_on(&(), target.create(workload.plan())).unwrap();
    let worker = target.worker().unwrap();
    block_on(&worker, async {
        let mut session = target.connect(workload.plan(), &worker).await.unwrap();
        load(&workload, &mut session).await;
        harm(&file, story.loaded);
        let mut tallies = Vec::new();
        for number in 0..CLIENTS {
            let mut client = workload.client(number, CLIENTS, 42);
            for round in 0..200 {
                let last = (round == 199).then_some(story.told);
                one(&mut session, &mut client, last).await;
            }
            tallies.push(client.tally());
        }
        harm(&file, story.ended);
        let checks = workload.check(tallies, &mut session).await.unwrap();
        let names: Vec<_> = checks.iter().map(|check| check.name.as_str()).collect();
        assert_eq!(names, workload.check_names(), "{name} {options:?}");
        let violated = |outcome: &CheckOutcome| matches!(outcome, CheckOutcome::Violated(_));
        let found = checks.into_iter().filter(|check| violated(&check.outcome));
        found.map(|check| check.name).collect()
    })
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

fn harm(file: &std::path::Path, sql: &str) {
    if !sql.is_empty() {
        let harmed = Connection::open(file).unwrap().execute_batch(sql);
        harmed.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

async fn load(workload: &AnyWorkload, session: &mut AnySession) {
    for load in workload.loads() {
        let width = workload.plan().tables()[load.table.0].columns.len();
        let mut batch = Rows::new(width);
        for unit in 0..load.units {
            workload.load_unit(load.table, unit, &mut batch);
            if unit % BATCH_ROWS == BATCH_ROWS - 1 || unit + 1 == load.units {
                session.load(load.table, &batch).await.unwrap();
                batch.reset(width);
            }
        }
    }
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
