//! Tests what a transaction sees of other transactions and of itself: refused writes, rollbacks, conflicts.

use super::lifecycle::{ADD, ALL, DELETE, INSERT, all, engine, plan};
use crate::engine::Engine;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use syncline_contract::conformance::block_on;
use syncline_contract::{
    AccessPattern, Cause, FailureKind, OperationId, Session, Stop, Target, Value,
};
use syncline_vfs::RealDisk;

type Client = crate::engine::EngineSession<RealDisk>;
type Rows = BTreeMap<i64, (i64, String)>;

fn insert(session: &mut Client, id: i64, balance: i64) -> Result<(), Stop> {
    let body = format!("body {id}");
    let row = [Value::Int(id), Value::Int(balance), Value::Text(&body)];
    session.send(INSERT, &row)
}

fn add(session: &mut Client, id: i64, sum: i64) -> Result<(), Stop> {
    session.send(ADD, &[Value::Int(id), Value::Int(sum)])
}

fn delete(session: &mut Client, id: i64) -> Result<(), Stop> {
    session.send(DELETE, &[Value::Int(id)])
}

fn row(id: i64, balance: i64) -> (i64, (i64, String)) {
    (id, (balance, format!("body {id}")))
}

/// The rows as the current transaction sees them.
async fn rows_seen(session: &mut Client) -> Result<Rows, Stop> {
    session.send(ALL, &[])?;
    let rows = session.receive().await?;
    let rows = rows.iter().map(|row| match (row.value(0), row.value(1), row.value(2)) {
        (Value::Int(id), Value::Int(balance), Value::Text(body)) => {
            (id, (balance, body.to_owned()))
        }
        other => panic!("wrong kinds: {other:?}"),
    });
    Ok(rows.collect())
}

/// It failed as a wrong statement, and names the wrong operation.
fn is_statement(outcome: Result<(), Stop>, operation: OperationId) {
    let named = is_refused(outcome);
    assert_eq!(named, Some(operation));
}

/// It failed as a wrong statement; returns the operation that it names, if only one can be wrong.
fn is_refused(outcome: Result<(), Stop>) -> Option<OperationId> {
    match outcome {
        Err(Stop::Failed(failure)) => {
            assert_eq!(failure.kind, FailureKind::Statement, "{failure}");
            failure.operation
        }
        other => panic!("it ended as {other:?}"),
    }
}

fn created(directory: &Path) -> Engine {
    let target = engine(directory, "durability=none");
    block_on(&(), target.create(&plan())).unwrap();
    target
}

async fn client(target: &Engine) -> Client {
    let worker = target.worker().unwrap();
    target.connect(&plan(), &worker).await.unwrap()
}

/// Closes the store and reads its log again.
fn replayed(target: Engine, directory: &Path) -> Rows {
    drop(target);
    let again = engine(directory, "durability=none");
    assert!(block_on(&(), again.reopen(&plan())).unwrap());
    block_on(&(), async { all(&mut client(&again).await).await })
}

#[test]
fn a_refused_single_write_names_its_operation_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("log");
    let target = created(&directory);
    let expected = Rows::from([row(1, 10), row(2, i64::MAX)]);
    block_on(&(), async {
        let mut session = client(&target).await;
        for pattern in [AccessPattern::Single, AccessPattern::Several] {
            for (id, balance) in [(1, 10), (2, i64::MAX)] {
                session.begin(pattern);
                insert(&mut session, id, balance).unwrap();
                session.commit().await.unwrap();
            }
            for (operation, id) in [(INSERT, 1), (ADD, 3), (ADD, 2), (DELETE, 3)] {
                session.begin(pattern);
                let sent = match operation {
                    INSERT => insert(&mut session, id, 99),
                    ADD => add(&mut session, id, 1),
                    _ => delete(&mut session, id),
                };
                let outcome = match sent {
                    Ok(()) => session.commit().await,
                    refused => refused,
                };
                is_statement(outcome, operation);
                session.abort().await;
                assert_eq!(all(&mut session).await, expected);
            }
            for id in [1, 2] {
                session.begin(pattern);
                delete(&mut session, id).unwrap();
                session.commit().await.unwrap();
            }
            assert_eq!(all(&mut session).await, Rows::new());
        }
        for (id, balance) in [(1, 10), (2, i64::MAX)] {
            session.begin(AccessPattern::Single);
            insert(&mut session, id, balance).unwrap();
            session.commit().await.unwrap();
        }
    });
    assert_eq!(replayed(target, &directory), expected);
}

#[test]
fn a_refused_write_among_several_undoes_those_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("log");
    let target = created(&directory);
    let expected: Rows = (0..50).map(|id| row(id, 0)).collect();
    block_on(&(), async {
        let mut session = client(&target).await;
        session.begin(AccessPattern::Several);
        for id in 0..50 {
            insert(&mut session, id, 0).unwrap();
        }
        session.commit().await.unwrap();
        for operation in [INSERT, ADD, DELETE] {
            session.begin(AccessPattern::Several);
            for id in 0..25 {
                add(&mut session, id, 5).unwrap();
                delete(&mut session, id + 25).unwrap();
                insert(&mut session, id + 25, 7).unwrap();
                insert(&mut session, id + 100, 1).unwrap();
                add(&mut session, id + 100, 1).unwrap();
                delete(&mut session, id).unwrap();
            }
            let outcome = match operation {
                // Inserted by the transaction itself.
                INSERT => insert(&mut session, 100, 1),
                // Deleted by the transaction itself.
                ADD => add(&mut session, 0, 1),
                _ => delete(&mut session, 999),
            };
            let outcome = match outcome {
                Ok(()) => session.commit().await,
                refused => refused,
            };
            // Rows were updated as well as deleted, so a commit cannot tell which of the two was wrong.
            let named = is_refused(outcome);
            assert_eq!(named, Some(operation).filter(|operation| *operation != DELETE));
            session.abort().await;
            assert_eq!(all(&mut session).await, expected);
        }
    });
    assert_eq!(replayed(target, &directory), expected);
}

#[test]
fn the_second_insert_of_a_key_fails_or_conflicts_after_a_read() {
    let folder = tempfile::tempdir().unwrap();
    let target = created(&folder.path().join("log"));
    block_on(&(), async {
        let (mut one, mut other) = (client(&target).await, client(&target).await);
        for (id, reads) in [(1, false), (2, true)] {
            for session in [&mut one, &mut other] {
                session.begin(AccessPattern::Several);
                if reads {
                    assert!(!rows_seen(session).await.unwrap().contains_key(&id));
                }
            }
            insert(&mut one, id, 1).unwrap();
            insert(&mut other, id, 2).unwrap();
            one.commit().await.unwrap();
            let outcome = other.commit().await;
            if reads {
                let conflicts = matches!(outcome, Err(Stop::Conflict(Cause::Serialization)));
                assert!(conflicts, "{outcome:?}");
            } else {
                is_statement(outcome, INSERT);
            }
            other.abort().await;
            assert_eq!(all(&mut other).await[&id], row(id, 1).1);
        }
    });
}

#[test]
fn earlier_writes_of_the_transaction_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let target = created(&folder.path().join("log"));
    block_on(&(), async {
        let (mut session, mut other) = (client(&target).await, client(&target).await);
        session.begin(AccessPattern::Single);
        insert(&mut session, 1, 10).unwrap();
        session.commit().await.unwrap();

        session.begin(AccessPattern::Several);
        add(&mut session, 1, 5).unwrap();
        insert(&mut session, 2, 20).unwrap();
        insert(&mut session, 3, 30).unwrap();
        delete(&mut session, 3).unwrap();
        assert_eq!(rows_seen(&mut session).await.unwrap(), Rows::from([row(1, 15), row(2, 20)]));
        assert_eq!(all(&mut other).await, Rows::from([row(1, 10)]));
        insert(&mut session, 3, 31).unwrap();
        delete(&mut session, 1).unwrap();
        let after = Rows::from([row(2, 20), row(3, 31)]);
        assert_eq!(rows_seen(&mut session).await.unwrap(), after);
        is_statement(add(&mut session, 1, 1), ADD);
        session.abort().await;
        assert_eq!(all(&mut session).await, Rows::from([row(1, 10)]));

        // An insert of an existing row is refused by the read that finds the row, or by the commit.
        session.begin(AccessPattern::Several);
        insert(&mut session, 1, 99).unwrap();
        is_statement(rows_seen(&mut session).await.map(drop), INSERT);
        session.abort().await;
        session.begin(AccessPattern::Several);
        insert(&mut session, 1, 99).unwrap();
        is_statement(session.commit().await, INSERT);
        session.abort().await;
        session.begin(AccessPattern::Several);
        add(&mut session, 1, 1).unwrap();
        assert_eq!(rows_seen(&mut session).await.unwrap(), Rows::from([row(1, 11)]));
        session.commit().await.unwrap();
        assert_eq!(all(&mut other).await, Rows::from([row(1, 11)]));
    });
}

/// The next pseudo-random number (xorshift).
fn draw(state: &mut u64, below: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state % below
}

/// Applies a write to a model of the table; false if it is invalid.
fn fits(model: &mut Rows, operation: OperationId, id: i64, sum: i64) -> bool {
    match (operation, model.contains_key(&id)) {
        (INSERT, false) => {
            let (id, fresh) = row(id, sum);
            model.insert(id, fresh);
        }
        (ADD, true) => {
            model.entry(id).and_modify(|row| row.0 += sum);
        }
        (DELETE, true) => {
            model.remove(&id);
        }
        _ => return false,
    }
    true
}

#[test]
fn random_transactions_match_a_map_and_replay_to_the_same_state() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("log");
    let target = created(&directory);
    let mut model = Rows::new();
    let (mut committed, mut refused) = (0, 0);
    block_on(&(), async {
        let mut session = client(&target).await;
        let mut state = 0x5eed;
        for _ in 0..4_000 {
            let writes = 1 + draw(&mut state, 6);
            let single = writes == 1 && draw(&mut state, 2) == 0;
            session.begin(if single { AccessPattern::Single } else { AccessPattern::Several });
            let mut view = model.clone();
            let mut wrong = Vec::new();
            let mut outcome = Ok(());
            for _ in 0..writes {
                if outcome.is_ok() && !single && draw(&mut state, 4) == 0 {
                    match rows_seen(&mut session).await {
                        // An invalid write may be visible until the commit.
                        Ok(rows) => assert!(!wrong.is_empty() || rows == view, "{rows:?}"),
                        Err(stop) => outcome = Err(stop),
                    }
                }
                if outcome.is_err() {
                    break;
                }
                let operation = [INSERT, INSERT, ADD, ADD, DELETE][draw(&mut state, 5) as usize];
                let (id, sum) = (draw(&mut state, 40) as i64, draw(&mut state, 100) as i64);
                if !fits(&mut view, operation, id, sum) {
                    wrong.push(operation);
                }
                outcome = match operation {
                    INSERT => insert(&mut session, id, sum),
                    ADD => add(&mut session, id, sum),
                    _ => delete(&mut session, id),
                };
            }
            if outcome.is_ok() && draw(&mut state, 8) == 0 {
                session.abort().await;
                continue;
            }
            if outcome.is_ok() {
                outcome = session.commit().await;
            }
            if wrong.is_empty() {
                outcome.unwrap();
                model = view;
                committed += 1;
            } else {
                // There is no other client, so even a transaction that has read does not conflict.
                let named = is_refused(outcome);
                assert!(named.is_none_or(|named| wrong.contains(&named)), "{named:?}");
                session.abort().await;
                refused += 1;
            }
            if (committed + refused) % 64 == 0 {
                assert_eq!(all(&mut session).await, model);
            }
        }
        assert_eq!(all(&mut session).await, model);
    });
    assert!(committed > 500 && refused > 500, "{committed} {refused}");
    assert_eq!(replayed(target, &directory), model);
}

/// Threads change the same few rows with single writes and with several at once. Each key is inserted
/// once, no addition is lost, and the log replays to the state in memory: rows are logged in the order
/// in which they were applied.
#[test]
fn contending_threads_lose_no_change_and_replay_to_the_same_state() {
    const THREADS: i64 = 4;
    const ROUNDS: i64 = 300;
    const HOT: i64 = 3;
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("log");
    let target = created(&directory);
    block_on(&(), async {
        let mut session = client(&target).await;
        session.begin(AccessPattern::Several);
        for id in 0..HOT {
            insert(&mut session, -1 - id, 0).unwrap();
        }
        session.commit().await.unwrap();
    });
    let inserted: i64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| block_on(&(), contend(&target, ROUNDS, HOT))))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(inserted, ROUNDS, "each key was inserted by one thread");
    let rows = block_on(&(), async { all(&mut client(&target).await).await });
    assert_eq!(rows.len() as i64, ROUNDS + HOT);
    let sum: i64 = rows.range(..0).map(|(_, row)| row.0).sum();
    assert_eq!(sum, THREADS * ROUNDS * (1 + HOT));
    assert_eq!(replayed(target, &directory), rows);
}

/// Each round: tries to insert a key that all threads insert, adds one to a hot row alone, then one to
/// every hot row in one transaction. Returns how many inserts succeeded.
async fn contend(target: &Engine, rounds: i64, hot: i64) -> i64 {
    let mut session = client(target).await;
    let mut inserted = 0;
    for round in 0..rounds {
        let ended = until_no_conflict(&mut session, async |session| {
            session.begin(AccessPattern::Single);
            insert(session, round, round).unwrap();
            session.commit().await
        });
        match ended.await {
            Ok(()) => inserted += 1,
            refused => is_statement(refused, INSERT),
        }
        let ended = until_no_conflict(&mut session, async |session| {
            session.begin(AccessPattern::Single);
            add(session, -1 - round % hot, 1).unwrap();
            session.commit().await
        });
        ended.await.unwrap();
        let ended = until_no_conflict(&mut session, async |session| {
            session.begin(AccessPattern::Several);
            for id in 0..hot {
                add(session, -1 - (id + round) % hot, 1).unwrap();
            }
            session.commit().await
        });
        ended.await.unwrap();
    }
    inserted
}

/// Retries while others hold the rows locked; additions conflict in no other way.
async fn until_no_conflict(
    session: &mut Client,
    attempt: impl AsyncFn(&mut Client) -> Result<(), Stop>,
) -> Result<(), Stop> {
    loop {
        let ended = attempt(session).await;
        if ended.is_err() {
            session.abort().await;
        }
        match ended {
            Err(Stop::Conflict(Cause::Locked)) => thread::yield_now(),
            ended => return ended,
        }
    }
}
