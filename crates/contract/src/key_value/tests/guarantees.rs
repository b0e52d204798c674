//! Guarantees of the adapter beyond the suite: merged scans over several pages, deadlocks, unknown outcomes,
//! and how often the store is created and removed.

use super::memory::{Fault, Memory};
use crate::conformance::block_on;
use crate::key_value::scan::PAGE_PAIRS;
use crate::key_value::{KeyValueSession, KeyValueTarget};
use crate::operation::{Aggregate, By, Limit, Lock, OperationId, Order, Path, Range, Set};
use crate::outcome::{Cause, FailureKind, Stop};
use crate::plan::{Plan, Read, Scan, Write};
use crate::rows::Rows;
use crate::schema::{ColumnId, Table, TableId};
use crate::session::{AccessPattern, Session};
use crate::target::Target;
use crate::transaction::{RequestTracker, Transaction};
use crate::value::{Kind, Value};
use crate::{Int, Nullable};
use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

type Client = KeyValueSession<Memory>;

/// A table of numbered values, and its operations.
struct Scene {
    plan: Plan,
    table: TableId,
    insert: Write<(Int, Int)>,
    set: Write<(Int, Int)>,
    add: Write<(Int, Int)>,
    delete: Write<(Int,)>,
    lock: Read<(Int,), (Int,)>,
    forwards: Read<(Int, Int, Int), (Int, Int)>,
    backwards: Read<(Int, Int, Int), (Int, Int)>,
    lock_from: Read<(Int, Int), (Int, Int)>,
    sum: Read<(Int, Int), (Nullable<Int>,)>,
    least: Read<(Int, Int), (Nullable<Int>,)>,
    most: Read<(Int, Int), (Nullable<Int>,)>,
}

impl Scene {
    fn new() -> Scene {
        let mut plan = Plan::new();
        let table = Table::new("numbers").column("id", Kind::Int);
        let table = plan.table(table.column("value", Kind::Int).key(&["id"]));
        let path = |range| Path { table, by: By::Key, equal: 0, range };
        let scan = |range, order, lock| Scan {
            path: path(range),
            order,
            limit: Limit::Parameter,
            columns: &["id", "value"],
            lock,
        };
        let between = |order| scan(Range::Between, order, Lock::None);
        let lock_from = scan(Range::From, Order::Ascending, Lock::Update);
        let (of_range, value) = (path(Range::Between), ColumnId(1));
        Scene {
            table,
            insert: plan.insert("insert", table),
            set: plan.update("set", table, &[("value", Set::To)]),
            add: plan.update("add", table, &[("value", Set::Add)]),
            delete: plan.delete("delete", table),
            lock: plan.get("lock", table, &["value"], Lock::Update),
            forwards: plan.scan("forwards", between(Order::Ascending)),
            backwards: plan.scan("backwards", between(Order::Descending)),
            lock_from: plan.scan("lock from", lock_from),
            sum: plan.aggregate("sum", of_range, Aggregate::Sum(value)),
            least: plan.aggregate("least", of_range, Aggregate::Min(value)),
            most: plan.aggregate("most", of_range, Aggregate::Max(value)),
            plan,
        }
    }

    fn target(&self, fault: Fault) -> KeyValueTarget<Memory> {
        let target = KeyValueTarget::new(Memory::new(true, fault));
        block_on(&(), target.create(&self.plan)).unwrap();
        target
    }

    fn client(&self, target: &KeyValueTarget<Memory>) -> Client {
        block_on(&(), target.connect(&self.plan, &())).unwrap()
    }
}

/// Performs and commits a transaction; aborts it if it stops.
fn commits<R>(
    client: &mut Client,
    perform: impl AsyncFnOnce(&mut Transaction<'_, Client>) -> Result<R, Stop>,
) -> Result<R, Stop> {
    block_on(&(), async {
        client.begin(AccessPattern::Several);
        let performed =
            perform(&mut Transaction::new(client, &mut RequestTracker::new(false))).await;
        let ended = match performed {
            Ok(done) => client.commit().await.map(|()| done),
            Err(stop) => Err(stop),
        };
        if ended.is_err() {
            client.abort().await;
        }
        ended
    })
}

async fn rows(
    tx: &mut Transaction<'_, Client>,
    read: &Read<(Int, Int, Int), (Int, Int)>,
    range: (i64, i64, i64),
) -> Vec<(i64, i64)> {
    tx.ask(read, range).unwrap();
    tx.answers(read).await.unwrap().map(Result::unwrap).collect()
}

#[test]
fn scans_over_pages_merge_own_writes_like_a_map() {
    let scene = Scene::new();
    let target = scene.target(Fault::None);
    let mut client = scene.client(&target);
    let last = 3 * PAGE_PAIRS as i64;
    let mut model: BTreeMap<i64, i64> = (0..=last).map(|id| (2 * id - last, id)).collect();
    let mut batch = Rows::new(2);
    for (id, value) in &model {
        batch.push_row(&[Value::Int(*id), Value::Int(*value)]);
    }
    block_on(&(), client.load(scene.table, &batch)).unwrap();
    let walked = commits(&mut client, async |tx| {
        for (id, value) in model.clone() {
            match id.rem_euclid(7) {
                0 => {
                    tx.write(&scene.set, (id, -value))?;
                    model.insert(id, -value);
                }
                1 | 2 if id > last / 2 => {
                    tx.write(&scene.delete, (id,))?;
                    model.remove(&id);
                }
                3 => {
                    tx.write(&scene.insert, (id + 1, 9))?;
                    model.insert(id + 1, 9);
                }
                _ => {}
            }
        }
        let ends = [i64::MIN, -last, -3, 0, 7, last / 2, last + 1, i64::MAX];
        for from in ends {
            for to in ends {
                let within = || {
                    let all = model.iter().map(|(id, value)| (*id, *value));
                    all.filter(move |(id, _)| (from..=to).contains(id))
                };
                for limit in [0, 1, PAGE_PAIRS as i64, PAGE_PAIRS as i64 + 1, i64::MAX] {
                    let expected: Vec<_> = within().take(limit as usize).collect();
                    let got = rows(tx, &scene.forwards, (from, to, limit)).await;
                    assert_eq!(got, expected, "{from} to {to}, {limit}");
                    let expected: Vec<_> = within().rev().take(limit as usize).collect();
                    let got = rows(tx, &scene.backwards, (from, to, limit)).await;
                    assert_eq!(got, expected, "{to} back to {from}, {limit}");
                }
                let values = || within().map(|(_, value)| value);
                let sum = values().reduce(|one, other| one + other);
                assert_eq!(tx.read(&scene.sum, (from, to)).await?, (sum,));
                assert_eq!(tx.read(&scene.least, (from, to)).await?, (values().min(),));
                assert_eq!(tx.read(&scene.most, (from, to)).await?, (values().max(),));
            }
        }
        Ok(())
    });
    walked.unwrap();
    let after = commits(&mut client, async |tx| {
        Ok(rows(tx, &scene.forwards, (i64::MIN, i64::MAX, i64::MAX)).await)
    });
    assert_eq!(after.unwrap(), model.into_iter().collect::<Vec<_>>());
}

#[test]
fn a_failed_commit_is_unknown_and_the_session_continues() {
    let scene = Scene::new();
    let target = scene.target(Fault::FailsCommits);
    let (mut client, mut other) = (scene.client(&target), scene.client(&target));
    let stop = commits(&mut client, async |tx| tx.write(&scene.insert, (1, 1))).unwrap_err();
    let Stop::Unknown(failure) = stop else {
        panic!("expected an unknown outcome: {stop:?}");
    };
    assert_eq!(failure.kind, FailureKind::Storage);
    assert_eq!(failure.what, "memory could not commit: the sync failed");
    // Its lock is free, and reads continue.
    for client in [&mut client, &mut other] {
        let seen = commits(client, async |tx| tx.read(&scene.lock, (1,)).await);
        assert_eq!(seen.unwrap(), (1,));
    }
}

#[test]
fn a_deadlock_fails_one_transaction_and_loses_no_addition() {
    let scene = Scene::new();
    let target = scene.target(Fault::None);
    let mut client = scene.client(&target);
    commits(&mut client, async |tx| {
        tx.write(&scene.insert, (0, 0))?;
        tx.write(&scene.insert, (1, 0))
    })
    .unwrap();
    let both_hold = Barrier::new(2);
    let cross = |first: i64| {
        let mut client = scene.client(&target);
        commits(&mut client, async |tx| {
            tx.write(&scene.add, (first, 1))?;
            both_hold.wait();
            tx.write(&scene.add, (1 - first, 1))
        })
    };
    let ended = thread::scope(|scope| {
        let threads = [0, 1].map(|first| scope.spawn(move || cross(first)));
        threads.map(|thread| thread.join().unwrap())
    });
    let committed = ended.iter().filter(|ended| ended.is_ok()).count();
    let deadlock =
        |ended: &&Result<(), Stop>| matches!(ended, Err(Stop::Conflict(Cause::Deadlock)));
    assert_eq!((committed, ended.iter().filter(deadlock).count()), (1, 1));
    let left = commits(&mut client, async |tx| Ok(rows(tx, &scene.forwards, (0, 1, 9)).await));
    assert_eq!(left.unwrap(), [(0, 1), (1, 1)]);
}

#[test]
fn a_scan_for_update_holds_its_rows() {
    let scene = Scene::new();
    let target = scene.target(Fault::None);
    let (mut scans, mut gets) = (scene.client(&target), scene.client(&target));
    commits(&mut scans, async |tx| (0..3).try_for_each(|id| tx.write(&scene.insert, (id, id))))
        .unwrap();
    // Each holds the row that the other needs next: if the scan held nothing, both would commit.
    let both_hold = Barrier::new(2);
    let (scanned, got) = thread::scope(|scope| {
        let got = scope.spawn(|| {
            commits(&mut gets, async |tx| {
                tx.read(&scene.lock, (0,)).await?;
                both_hold.wait();
                tx.write(&scene.set, (1, 10))
            })
        });
        let scanned = commits(&mut scans, async |tx| {
            tx.ask(&scene.lock_from, (1, 9))?;
            let rows = tx.answers(&scene.lock_from).await?;
            assert_eq!(rows.map(Result::unwrap).collect::<Vec<_>>(), [(1, 1), (2, 2)]);
            both_hold.wait();
            tx.write(&scene.set, (0, 20))
        });
        (scanned, got.join().unwrap())
    });
    assert_eq!((scanned.is_ok(), got.is_ok()), (got.is_err(), scanned.is_err()));
}

#[test]
fn a_transaction_that_wrote_nothing_commits_nothing() {
    let scene = Scene::new();
    let target = scene.target(Fault::None);
    let mut client = scene.client(&target);
    commits(&mut client, async |tx| tx.write(&scene.insert, (1, i64::MAX))).unwrap();
    let over = commits(&mut client, async |tx| tx.write(&scene.add, (1, 1)));
    let Err(Stop::Failed(failure)) = over else {
        panic!("expected an overflow to be refused: {over:?}");
    };
    assert_eq!(failure.operation, Some(OperationId(2)));
    assert_eq!(failure.what, "column value overflows");
    let kept = commits(&mut client, async |tx| tx.read(&scene.lock, (1,)).await);
    assert_eq!(kept.unwrap(), (i64::MAX,));
    assert_eq!(target.store().commits.load(SeqCst), 1, "only one of three transactions wrote");
}

#[test]
fn a_batch_with_one_key_twice_is_refused_whole() {
    let scene = Scene::new();
    let target = scene.target(Fault::None);
    let mut client = scene.client(&target);
    let mut batch = Rows::new(2);
    for id in [1, 2, 1] {
        batch.push_row(&[Value::Int(id), Value::Int(0)]);
    }
    assert!(block_on(&(), client.load(scene.table, &batch)).is_err());
    assert_eq!(target.store().commits.load(SeqCst), 0);
}

#[test]
fn the_store_is_removed_once_per_creation() {
    let scene = Scene::new();
    let target = scene.target(Fault::None);
    for _ in 0..2 {
        block_on(&(), target.remove()).unwrap();
    }
    assert_eq!(target.store().removals.load(SeqCst), 1);
    let unmade = KeyValueTarget::new(Memory::new(true, Fault::FailsCreate));
    let refused = block_on(&(), unmade.create(&scene.plan)).unwrap_err();
    assert_eq!(refused.kind, FailureKind::DiskFull);
    block_on(&(), unmade.remove()).unwrap();
    assert_eq!(unmade.store().removals.load(SeqCst), 0, "it was never created");
    let early = block_on(&(), unmade.connect(&scene.plan, &())).err().unwrap();
    assert!(early.what.contains("before its tables were created"));
}

#[test]
fn a_plan_that_changes_keys_is_refused() {
    let mut scene = Scene::new();
    let _: Write<(Int, Int)> = scene.plan.update("move row", scene.table, &[("id", Set::To)]);
    let target = scene.target(Fault::None);
    let refused = block_on(&(), target.connect(&scene.plan, &())).err().unwrap();
    assert!(refused.what.contains("\"move row\""), "{refused}");
}
