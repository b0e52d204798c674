//! Tests conflicts of two clients: which are refused, and which are allowed by the isolation level.

use super::lifecycle::{ADD, ALL, INSERT, all, engine, plan};
use std::cell::Cell;
use syncline_contract::conformance::block_on;
use syncline_contract::{AccessPattern, Cause, Session, Stop, Target, Value};

/// Two clients that each read both of two rows and then subtract from one of them, so that each alone
/// keeps a rule which both together break. Returns how the second one ends, and the final sum.
fn write_skew(options: &str) -> (Result<(), Stop>, i64, String) {
    let folder = tempfile::tempdir().unwrap();
    let target = engine(&folder.path().join("store"), options);
    block_on(&(), target.create(&plan())).unwrap();
    let isolation = block_on(&(), target.reported_settings()).unwrap().isolation;
    let worker = target.worker().unwrap();
    let ended = Cell::new(Ok(()));
    let sum = block_on(&worker, async {
        let plan = plan();
        let mut one = target.connect(&plan, &worker).await.unwrap();
        let mut other = target.connect(&plan, &worker).await.unwrap();
        one.begin(AccessPattern::Several);
        for id in [1, 2] {
            let row = [Value::Int(id), Value::Int(5), Value::Text("")];
            one.send(INSERT, &row).unwrap();
        }
        one.commit().await.unwrap();
        for session in [&mut one, &mut other] {
            session.begin(AccessPattern::Several);
            session.send(ALL, &[]).unwrap();
            assert_eq!(session.receive().await.unwrap().len(), 2);
        }
        one.send(ADD, &[Value::Int(1), Value::Int(-10)]).unwrap();
        other.send(ADD, &[Value::Int(2), Value::Int(-10)]).unwrap();
        one.commit().await.unwrap();
        ended.set(other.commit().await);
        other.abort().await;
        all(&mut other).await.values().map(|row| row.0).sum()
    });
    (ended.into_inner(), sum, isolation.words().to_owned())
}

#[test]
fn write_skew_is_refused_under_serializable_and_allowed_under_snapshot() {
    for client in ["futures", "threads"] {
        let (ended, sum, isolation) = write_skew(&format!("client={client}"));
        let refused = matches!(ended, Err(Stop::Conflict(Cause::Serialization)));
        assert!(refused && sum == 0, "{ended:?} {sum}");
        assert_eq!(isolation, "serializable");
        let (ended, sum, isolation) = write_skew(&format!("client={client}&isolation=snapshot"));
        assert!(ended.is_ok() && sum == -10, "{ended:?} {sum}");
        assert_eq!(isolation, "snapshot");
    }
}

#[test]
fn the_second_read_modify_write_conflicts_under_both_levels() {
    for isolation in ["serializable", "snapshot"] {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("isolation={isolation}");
        let target = engine(&folder.path().join("store"), &options);
        block_on(&(), target.create(&plan())).unwrap();
        let worker = target.worker().unwrap();
        block_on(&worker, async {
            let plan = plan();
            let mut one = target.connect(&plan, &worker).await.unwrap();
            let mut other = target.connect(&plan, &worker).await.unwrap();
            one.begin(AccessPattern::Single);
            let row = [Value::Int(1), Value::Int(0), Value::Text("")];
            one.send(INSERT, &row).unwrap();
            one.commit().await.unwrap();
            for session in [&mut one, &mut other] {
                session.begin(AccessPattern::Several);
                session.send(ALL, &[]).unwrap();
                session.send(ADD, &[Value::Int(1), Value::Int(1)]).unwrap();
            }
            one.commit().await.unwrap();
            let ended = other.commit().await;
            assert!(matches!(ended, Err(Stop::Conflict(_))), "{isolation}: {ended:?}");
            other.abort().await;
            assert_eq!(all(&mut other).await[&1].0, 1);
        });
    }
}

#[test]
fn a_read_only_transaction_never_conflicts_and_keeps_its_snapshot() {
    for durability in ["none", "data"] {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("durability={durability}");
        let target = engine(&folder.path().join("store"), &options);
        block_on(&(), target.create(&plan())).unwrap();
        let worker = target.worker().unwrap();
        block_on(&worker, async {
            let plan = plan();
            let mut reader = target.connect(&plan, &worker).await.unwrap();
            let mut writer = target.connect(&plan, &worker).await.unwrap();
            reader.begin(AccessPattern::ReadOnly);
            for id in 0..50 {
                reader.send(ALL, &[]).unwrap();
                assert_eq!(reader.receive().await.unwrap().len(), 0);
                writer.begin(AccessPattern::Single);
                let row = [Value::Int(id), Value::Int(0), Value::Text("")];
                writer.send(INSERT, &row).unwrap();
                writer.commit().await.unwrap();
            }
            reader.commit().await.unwrap();
            assert_eq!(all(&mut reader).await.len(), 50);
            reader.begin(AccessPattern::ReadOnly);
            let written = reader.send(INSERT, &[Value::Int(99), Value::Int(0), Value::Text("")]);
            assert!(written.is_err(), "a read-only transaction does not write");
            reader.abort().await;
        });
    }
}
