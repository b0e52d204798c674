//! Tests the state after a checkpoint and reopening: rows, index entries in both directions, assigned
//! keys.

use super::lifecycle::engine;
use syncline_contract::conformance::block_on;
use syncline_contract::{
    AccessPattern, By, IndexId, Int, Kind, Limit, Lock, OperationId, Order, Path, Plan, Range,
    Scan, Session, Table, Target, Text, Value,
};

const INSERT_NOTE: OperationId = OperationId(0);
const NOTES: OperationId = OperationId(1);
const NOTES_BACKWARDS: OperationId = OperationId(2);
const INSERT_EVENT: OperationId = OperationId(3);
const EVENTS: OperationId = OperationId(4);

/// Notes, whose key the store assigns, with an index by their text; events, which have no key.
fn plan() -> Plan {
    let mut plan = Plan::new();
    let notes = Table::new("notes")
        .column("id", Kind::Int)
        .text("text", 20)
        .key_by_server("id")
        .index("notes_by_text", &["text"], false);
    let notes = plan.table(notes);
    let events = plan.table(Table::new("events").column("number", Kind::Int));
    let _ = plan.insert::<(Text,)>("insert note", notes);
    for (name, order) in [("notes", Order::Ascending), ("notes backwards", Order::Descending)] {
        let path =
            Path { table: notes, by: By::Index(IndexId(0)), equal: 0, range: Range::Between };
        let (columns, limit, lock) = (&["id"], Limit::None, Lock::None);
        let scan = Scan { path, order, limit, columns, lock };
        let _ = plan.scan::<(Text, Text), (Int,)>(name, scan);
    }
    let _ = plan.insert::<(Int,)>("insert event", events);
    let path = Path { table: events, by: By::Key, equal: 0, range: Range::All };
    let (order, limit, lock) = (Order::Ascending, Limit::None, Lock::None);
    let scan = Scan { path, order, limit, columns: &["number"], lock };
    let _ = plan.scan::<(), (Int,)>("events", scan);
    plan
}

async fn numbers(
    session: &mut impl Session,
    operation: OperationId,
    values: &[Value<'_>],
) -> Vec<i64> {
    session.begin(AccessPattern::Single);
    session.send(operation, values).unwrap();
    let rows = session.receive().await.unwrap();
    let number = |value| match value {
        Value::Int(number) => number,
        other => panic!("not a number: {other:?}"),
    };
    let numbers = rows.iter().map(|row| number(row.value(0))).collect();
    session.commit().await.unwrap();
    numbers
}

/// Each opening adds three notes and two equal events, with and without a checkpoint in the middle.
#[test]
fn rows_indexes_and_assigned_keys_survive_a_checkpoint_and_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("store");
    let plan = plan();
    for opening in 0..4_i64 {
        let target = engine(&directory, "durability=data");
        match opening {
            0 => block_on(&(), target.create(&plan)).unwrap(),
            _ => assert!(block_on(&(), target.reopen(&plan)).unwrap()),
        }
        let worker = target.worker().unwrap();
        block_on(&worker, async {
            let mut session = target.connect(&plan, &worker).await.unwrap();
            for text in ["c", "a", "b"] {
                session.begin(AccessPattern::Single);
                session.send(INSERT_NOTE, &[Value::Text(text)]).unwrap();
                session.commit().await.unwrap();
                if opening % 2 == 0 {
                    target.checkpoint().unwrap();
                }
            }
            for _ in 0..2 {
                session.begin(AccessPattern::Single);
                session.send(INSERT_EVENT, &[Value::Int(opening)]).unwrap();
                session.commit().await.unwrap();
            }
            // Keys continue without a gap: the notes of opening n are 3 n + 1 (c), + 2 (a), + 3 (b).
            let of = |offset: i64| (0..=opening).map(move |opening| 3 * opening + offset);
            let between = [Value::Text("a"), Value::Text("b")];
            let expected: Vec<i64> = of(2).chain(of(3)).collect();
            assert_eq!(numbers(&mut session, NOTES, &between).await, expected);
            let backwards: Vec<i64> = expected.into_iter().rev().collect();
            assert_eq!(numbers(&mut session, NOTES_BACKWARDS, &between).await, backwards);
            let events: Vec<i64> = (0..=opening).flat_map(|opening| [opening, opening]).collect();
            assert_eq!(numbers(&mut session, EVENTS, &[]).await, events);
        });
        let stats = target.stats().unwrap();
        assert_eq!(stats.checkpoints.unwrap().finished, if opening % 2 == 0 { 3 } else { 0 });
    }
}

#[test]
fn a_database_of_other_tables_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("store");
    let target = engine(&directory, "durability=none");
    block_on(&(), target.create(&plan())).unwrap();
    drop(target);
    let mut less = Plan::new();
    less.table(Table::new("events").column("number", Kind::Int));
    let mut different = Plan::new();
    different.table(Table::new("events").column("number", Kind::Float));
    different.table(Table::new("notes").column("id", Kind::Int).key(&["id"]));
    for other in [less, different] {
        let again = engine(&directory, "durability=none");
        let refusal = block_on(&(), again.reopen(&other)).unwrap_err();
        assert!(refusal.what.contains("other tables"), "{refusal}");
    }
    let again = engine(&directory, "durability=none");
    assert!(block_on(&(), again.reopen(&plan())).unwrap());
}
