//! A table of rows by number, and what every server's tests do with it: a conflict with another process, and
//! a connection that is lost.

use syncline_contract::conformance::block_on;
use syncline_contract::{
    AccessPattern, Cause, FailureKind, Int, Kind, OperationId, Plan, Session, Set, Stop, Table,
    Target, Value, Write,
};
use syncline_stores::{AnySession, AnyTarget};

pub(crate) const INSERT: OperationId = OperationId(0);
pub(crate) const SET: OperationId = OperationId(1);

pub(crate) fn open(url: &str) -> AnyTarget {
    AnyTarget::open(url).unwrap_or_else(|error| panic!("{url}: {error}"))
}

pub(crate) fn plan() -> Plan {
    let mut plan = Plan::new();
    let table = Table::new("rows").column("id", Kind::Int).column("n", Kind::Int);
    let table = plan.table(table.key(&["id"]));
    let _: Write<(Int, Int)> = plan.insert("insert row", table);
    let _: Write<(Int, Int)> = plan.update("set row", table, &[("n", Set::To)]);
    plan
}

/// Creates the table and runs `run` in a session.
pub(crate) fn in_session(target: &AnyTarget, run: impl AsyncFnOnce(&mut AnySession)) {
    let plan = plan();
    block_on(&(), target.create(&plan)).unwrap();
    let worker = target.worker().unwrap();
    block_on(&worker, async {
        let mut session = target.connect(&plan, &worker).await.unwrap();
        run(&mut session).await;
    });
}

/// Inserts row 1 in a transaction of its own.
pub(crate) async fn insert_row(session: &mut AnySession) {
    session.begin(AccessPattern::Single);
    session.send(INSERT, &[Value::Int(1), Value::Int(2)]).unwrap();
    session.commit().await.unwrap();
}

/// A commit of a change of row 1, which `remove_row` removes in the meantime, must conflict.
pub(crate) async fn commit_conflicts(session: &mut AnySession, remove_row: impl FnOnce()) {
    insert_row(session).await;
    session.begin(AccessPattern::Several);
    session.send(SET, &[Value::Int(1), Value::Int(3)]).unwrap();
    remove_row();
    let stopped = session.commit().await.unwrap_err();
    assert!(matches!(stopped, Stop::Conflict(Cause::Serialization)), "{stopped:?}");
    session.abort().await;
}

/// A commit on a server that `stop` has stopped must have an unknown outcome.
pub(crate) async fn commit_is_lost(session: &mut AnySession, stop: impl FnOnce()) {
    session.begin(AccessPattern::Single);
    session.send(INSERT, &[Value::Int(1), Value::Int(2)]).unwrap();
    stop();
    let lost = session.commit().await.unwrap_err();
    assert!(
        matches!(&lost, Stop::Unknown(failure) if failure.kind == FailureKind::Connection),
        "{lost:?}"
    );
    session.abort().await;
}
