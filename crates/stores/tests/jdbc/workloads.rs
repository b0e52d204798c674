//! Classic loads in miniature, with two concurrent clients, each with its checks.

use crate::support::{DerbyServer, derby_jars, jars, open};
use std::thread;
use syncline_contract::conformance::block_on;
use syncline_contract::{
    CheckOutcome, Client, Ending, RequestTracker, Rows, Session, Stop, Target, Transaction,
    Workload,
};
use syncline_stores::{AnySession, AnyTarget};
use syncline_workloads::{AnyTally, AnyWorkload};

const CLIENTS: usize = 2;
const TRANSACTIONS: usize = 30;

fn workload(name: &str) -> AnyWorkload {
    let options: &[(&str, &str)] = match name {
        "debit-credit" => &[("accounts", "50")],
        "join" => &[("rows", "100"), ("joined", "20")],
        _ => &[("rows", "200")],
    };
    let pairs = options.iter();
    let pairs = pairs.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    AnyWorkload::parse(name, &pairs.collect::<Vec<_>>()).unwrap()
}

async fn connect(target: &AnyTarget, workload: &AnyWorkload) -> AnySession {
    let worker = target.worker().unwrap();
    target.connect(workload.plan(), &worker).await.unwrap()
}

async fn load(session: &mut AnySession, workload: &AnyWorkload) {
    for load in workload.loads() {
        let width = workload.plan().tables()[load.table.0].columns.len();
        let mut batch = Rows::new(width);
        for number in 0..load.units {
            workload.load_unit(load.table, number, &mut batch);
        }
        session.load(load.table, &batch).await.unwrap();
    }
}

/// One client's transactions, each retried until it commits.
async fn perform(session: &mut AnySession, mut client: impl Client<Tally = AnyTally>) -> AnyTally {
    for _ in 0..TRANSACTIONS {
        let kind = client.draw();
        loop {
            session.begin(client.access_pattern(kind));
            let mut asked = RequestTracker::default();
            let mut transaction = Transaction::new(session, &mut asked);
            let performed = client.perform(kind, &mut transaction).await;
            let ended = match performed {
                Ok(()) => session.commit().await,
                stopped => stopped,
            };
            match ended {
                Ok(()) => break,
                Err(Stop::Conflict(_)) => session.abort().await,
                Err(stop) => panic!("{stop:?}"),
            }
        }
        client.ended(kind, Ending::Committed);
    }
    client.tally()
}

fn holds(url: &str, name: &str) {
    let (target, workload) = (&open(url), &workload(name));
    block_on(&(), target.create(workload.plan())).unwrap();
    block_on(&(), async {
        load(&mut connect(target, workload).await, workload).await;
    });
    workload.run_begins(0);
    let tallies = thread::scope(|scope| {
        let clients = (0..CLIENTS).map(|number| {
            scope.spawn(move || {
                block_on(&(), async {
                    let mut session = connect(target, workload).await;
                    perform(&mut session, workload.client(number, CLIENTS, 7)).await
                })
            })
        });
        let clients: Vec<_> = clients.collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let checks = block_on(&(), async {
        let mut session = connect(target, workload).await;
        workload.check(tallies, &mut session).await.unwrap()
    });
    assert!(!checks.is_empty(), "{name} checks something");
    for check in checks {
        assert!(matches!(check.outcome, CheckOutcome::Held), "{url} {name}: {check:?}");
    }
    block_on(&(), target.remove()).unwrap();
}

const LOADS: [&str; 4] = ["debit-credit", "select", "update", "join"];

#[test]
fn on_a_derby_server() {
    let server = DerbyServer::start();
    for name in LOADS {
        holds(&server.url(""), name);
    }
}

#[test]
fn on_embedded_databases() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("db").display().to_string();
    for (product, jars) in
        [("derby", derby_jars()), ("h2", jars(&["h2"])), ("hsqldb", jars(&["hsqldb"]))]
    {
        let url = format!("jdbc:{product}:{place}?driver={jars}");
        for name in LOADS {
            holds(&url, name);
        }
    }
}
