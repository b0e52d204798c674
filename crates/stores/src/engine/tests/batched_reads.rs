//! Tests many clients of a worker whose reads by key are prefetched together: each must get its own
//! answers.

use super::lifecycle::engine;
use crate::engine::EngineSession;
use syncline_contract::conformance::block_on;
use syncline_contract::{
    AccessPattern, Aggregate, By, FailureKind, Int, Kind, Limit, Lock, OperationId, Order, Path,
    Plan, Range, Rows, Scan, Session, Stop, Table, Target, Text, Value,
};
use syncline_vfs::RealDisk;

type Client = EngineSession<RealDisk>;

const INSERT: OperationId = OperationId(0);
const GET: OperationId = OperationId(1);
const ALL: OperationId = OperationId(2);

/// Notes with two texts by their number: insert 0, get both texts 1, all numbers 2.
fn plan() -> Plan {
    let mut plan = Plan::new();
    let notes = Table::new("notes").column("id", Kind::Int);
    let notes = plan.table(notes.text("one", 60).text("other", 60).key(&["id"]));
    let _ = plan.insert::<(Int, Text, Text)>("insert", notes);
    let _ = plan.get::<(Int,), (Text, Text)>("get", notes, &["one", "other"], Lock::None);
    let path = Path { table: notes, by: By::Key, equal: 0, range: Range::All };
    let (columns, limit, lock) = (&["id"], Limit::None, Lock::None);
    let scan = Scan { path, order: Order::Ascending, limit, columns, lock };
    let _ = plan.scan::<(), (Int,)>("all", scan);
    plan
}

fn texts(id: i64) -> [String; 2] {
    [format!("søk {id}"), "x".repeat(id as usize % 50)]
}

fn ask(client: &mut Client, id: i64) {
    client.send(GET, &[Value::Int(id)]).unwrap();
}

fn is_note(rows: &Rows, id: i64) {
    let [one, other] = texts(id);
    assert_eq!(rows.len(), 1, "note {id}");
    let found: Vec<Value<'_>> = rows.row(0).values().collect();
    assert_eq!(found, [Value::Text(&one), Value::Text(&other)]);
}

/// Runs `body` with `count` clients of one worker, over notes with the numbers below 500.
fn with_clients(count: usize, body: impl AsyncFnOnce(&mut [Client])) {
    let folder = tempfile::tempdir().unwrap();
    let target = engine(&folder.path().join("store"), "client=futures&durability=none&page_kib=4");
    block_on(&(), target.create(&plan())).unwrap();
    let worker = target.worker().unwrap();
    block_on(&worker, async {
        let plan = plan();
        let mut clients = Vec::new();
        for _ in 0..count {
            clients.push(target.connect(&plan, &worker).await.unwrap());
        }
        clients[0].begin(AccessPattern::Several);
        for id in 0..500 {
            let [one, other] = texts(id);
            let row = [Value::Int(id), Value::Text(&one), Value::Text(&other)];
            clients[0].send(INSERT, &row).unwrap();
        }
        clients[0].commit().await.unwrap();
        body(&mut clients).await;
    });
}

#[test]
fn each_client_gets_its_own_answers_alone_and_among_many() {
    for count in [1, 3, 4, 40] {
        with_clients(count, async |clients| {
            for round in 0..20 {
                for (place, client) in clients.iter_mut().enumerate() {
                    client.begin(AccessPattern::Single);
                    ask(client, (place as i64 * 31 + round) % 500);
                }
                for (place, client) in clients.iter_mut().enumerate() {
                    let rows = client.receive().await.unwrap();
                    is_note(rows, (place as i64 * 31 + round) % 500);
                    client.commit().await.unwrap();
                }
            }
        });
    }
}

#[test]
fn answers_come_in_the_order_of_the_requests() {
    with_clients(5, async |clients| {
        let client = &mut clients[4];
        client.begin(AccessPattern::ReadOnly);
        ask(client, 7);
        ask(client, 499);
        client.send(ALL, &[]).unwrap();
        ask(client, 500);
        is_note(client.receive().await.unwrap(), 7);
        is_note(client.receive().await.unwrap(), 499);
        assert_eq!(client.receive().await.unwrap().len(), 500);
        ask(client, 8);
        assert!(client.receive().await.unwrap().is_empty(), "there is no note 500");
        is_note(client.receive().await.unwrap(), 8);
        client.commit().await.unwrap();
        assert!(client.receive().await.is_err(), "everything was answered");
    });
}

#[test]
fn deferred_reads_see_the_state_before_a_later_write() {
    with_clients(1, async |clients| {
        let client = &mut clients[0];
        client.begin(AccessPattern::Several);
        // More than one batched prefetch, one row twice, and one that is written before it is received.
        let asked: Vec<i64> = (0..50).map(|place| place * 37 % 500).chain([500, 37]).collect();
        for id in &asked {
            ask(client, *id);
        }
        let [one, other] = texts(500);
        let row = [Value::Int(500), Value::Text(&one), Value::Text(&other)];
        client.send(INSERT, &row).unwrap();
        ask(client, 500);
        for id in asked {
            let rows = client.receive().await.unwrap();
            if id == 500 {
                assert!(rows.is_empty(), "it was requested before it was written");
            } else {
                is_note(rows, id);
            }
        }
        is_note(client.receive().await.unwrap(), 500);
        client.commit().await.unwrap();
        assert!(client.receive().await.is_err(), "everything was answered");
    });
}

#[test]
fn unreceived_answers_end_with_their_transaction() {
    with_clients(5, async |clients| {
        let client = &mut clients[0];
        for commits in [true, false] {
            client.begin(AccessPattern::ReadOnly);
            ask(client, 1);
            if commits {
                client.commit().await.unwrap();
            } else {
                client.abort().await;
            }
            client.begin(AccessPattern::Single);
            ask(client, 2);
            is_note(client.receive().await.unwrap(), 2);
            client.commit().await.unwrap();
        }
    });
}

#[test]
fn a_key_of_another_kind_is_refused_by_its_operation() {
    with_clients(5, async |clients| {
        clients[1].begin(AccessPattern::Single);
        match clients[1].send(GET, &[Value::Text("7")]) {
            Err(Stop::Failed(failure)) => {
                assert_eq!(failure.kind, FailureKind::Statement, "{failure}");
                assert_eq!(failure.operation, Some(GET));
            }
            other => panic!("it ended as {other:?}"),
        }
        clients[1].abort().await;
        clients[1].begin(AccessPattern::Single);
        ask(&mut clients[1], 7);
        is_note(clients[1].receive().await.unwrap(), 7);
    });
}

/// Texts without a key, whose rows the store numbers. Insert 0, count 1.
fn unnumbered() -> Plan {
    let mut plan = Plan::new();
    let notes = plan.table(Table::new("notes").text("one", 60));
    let _ = plan.insert::<(Text,)>("insert", notes);
    let path = Path { table: notes, by: By::Key, equal: 0, range: Range::All };
    let _ = plan.aggregate::<(), (Int,)>("count", path, Aggregate::Count);
    plan
}

#[test]
fn rows_numbered_by_different_workers_are_complete() {
    let folder = tempfile::tempdir().unwrap();
    let target = engine(&folder.path().join("store"), "client=futures&durability=none");
    block_on(&(), target.create(&unnumbered())).unwrap();
    // More rows for each worker than a block has numbers, with alternating workers.
    let rounds = 1_500;
    let workers = [(); 2].map(|()| target.worker().unwrap());
    let plan = unnumbered();
    let mut clients: Vec<Client> = workers
        .iter()
        .flat_map(|worker| [worker, worker])
        .map(|worker| block_on(worker, target.connect(&plan, worker)).unwrap())
        .collect();
    for round in 0..rounds {
        for (place, client) in clients.iter_mut().enumerate() {
            let worker = &workers[place / 2];
            block_on(worker, async {
                client.begin(AccessPattern::Single);
                let note = format!("{place} {round}");
                client.send(INSERT, &[Value::Text(&note)]).unwrap();
                client.commit().await.unwrap();
            });
        }
    }
    block_on(&workers[0], async {
        let client = &mut clients[0];
        client.begin(AccessPattern::ReadOnly);
        client.send(GET, &[]).unwrap();
        let rows = client.receive().await.unwrap();
        assert_eq!(rows.row(0).value(0), Value::Int(4 * rounds));
    });
}
