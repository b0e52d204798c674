//! The queue's group commit: when each client gets which result, step by step.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use rusqlite::Connection;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use syncline_contract::conformance::block_on;
use syncline_contract::{
    AccessPattern, Cause, Int, Kind, Plan, RequestTracker, Session, Stop, Table, Target,
    Transaction, Worker, Write,
};
use syncline_stores::{AnySession, AnyTarget, AnyWorker};

/// Counts how often it is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Fixture {
    folder: tempfile::TempDir,
    target: AnyTarget,
    worker: AnyWorker,
    plan: Plan,
    insert: Write<(Int,)>,
    woken: Arc<Woken>,
}

impl Fixture {
    fn new(options: &str) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        let url = format!("sqlite:{}?client=queue&durability=os&{options}", file.display());
        let target = AnyTarget::open(&url).unwrap();
        let mut plan = Plan::new();
        let table = plan.table(Table::new("t").column("id", Kind::Int).key(&["id"]));
        let insert = plan.insert("insert", table);
        block_on(&(), target.create(&plan)).unwrap();
        let worker = target.worker().unwrap();
        Fixture { folder, target, worker, plan, insert, woken: Arc::default() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    fn session(&self) -> AnySession {
        block_on(&(), self.target.connect(&self.plan, &self.worker)).unwrap()
    }

    /// Begins a transaction and inserts one row in it.
    fn insert(
        &self,
        session: &mut AnySession,
        pattern: AccessPattern,
        id: i64,
    ) -> Result<(), Stop> {
        session.begin(pattern);
        Transaction::new(session, &mut RequestTracker::default()).write(&self.insert, (id,))
    }

    fn poll<F: Future>(&self, future: Pin<&mut F>) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(&self.woken));
        future.poll(&mut Context::from_waker(&waker))
    }

    /// The rows that another connection sees.
    fn visible_rows(&self) -> Vec<i64> {
        let connection = Connection::open(self.path()).unwrap();
        let mut statement = connection.prepare("SELECT id FROM t ORDER BY id").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    fn woken(&self) -> usize {
        self.woken.0.load(Ordering::Relaxed)
    }
}

#[test]
fn a_group_commits_at_the_end_of_the_pass_and_not_before() {
    let fixture = Fixture::new("journal=wal");
    let mut sessions: Vec<_> = (0..10).map(|_| fixture.session()).collect();
    fixture.worker.pass_started();
    for (id, session) in (0..).zip(&mut sessions) {
        let pattern = if id % 2 == 0 { AccessPattern::Single } else { AccessPattern::Several };
        fixture.insert(session, pattern, id).unwrap();
        // Released into the group, not committed: the future is polled again below.
        assert!(fixture.poll(pin!(session.commit())).is_pending());
    }
    assert!(fixture.visible_rows().is_empty());
    assert_eq!(fixture.woken(), 0);
    fixture.worker.pass_ended();
    assert_eq!(fixture.visible_rows(), (0..10).collect::<Vec<_>>());
    assert_eq!(fixture.woken(), 10);
}

#[test]
fn waiting_clients_complete_with_the_commit() {
    let fixture = Fixture::new("journal=wal");
    let mut session = fixture.session();
    fixture.insert(&mut session, AccessPattern::Several, 1).unwrap();
    let mut commit = pin!(session.commit());
    assert!(fixture.poll(commit.as_mut()).is_pending());
    assert!(fixture.poll(commit.as_mut()).is_pending(), "polling again changes nothing");
    fixture.worker.pass_ended();
    assert!(matches!(fixture.poll(commit.as_mut()), Poll::Ready(Ok(()))));
}

#[test]
fn a_second_transaction_during_a_running_one_is_a_conflict() {
    let fixture = Fixture::new("journal=wal");
    let (mut one, mut other) = (fixture.session(), fixture.session());
    fixture.insert(&mut one, AccessPattern::Several, 1).unwrap();
    let refused = fixture.insert(&mut other, AccessPattern::Several, 2);
    assert!(matches!(refused, Err(Stop::Conflict(Cause::Locked))));
    block_on(&fixture.worker, other.abort());
    block_on(&fixture.worker, one.commit()).unwrap();
    fixture.insert(&mut other, AccessPattern::Several, 2).unwrap();
    block_on(&fixture.worker, other.commit()).unwrap();
    assert_eq!(fixture.visible_rows(), [1, 2]);
}

#[test]
fn a_pass_that_ends_during_a_transaction_commits_with_its_end() {
    for aborts in [true, false] {
        let fixture = Fixture::new("journal=wal");
        let (mut waits, mut runs) = (fixture.session(), fixture.session());
        fixture.insert(&mut waits, AccessPattern::Several, 1).unwrap();
        let mut waiting = pin!(waits.commit());
        assert!(fixture.poll(waiting.as_mut()).is_pending());
        fixture.insert(&mut runs, AccessPattern::Several, 2).unwrap();
        fixture.worker.pass_ended();
        assert!(
            fixture.visible_rows().is_empty(),
            "the half of a transaction must not be committed"
        );
        assert!(fixture.poll(waiting.as_mut()).is_pending());
        if aborts {
            block_on(&(), runs.abort());
            assert_eq!(fixture.visible_rows(), [1]);
        } else {
            block_on(&(), runs.commit()).unwrap();
            assert_eq!(fixture.visible_rows(), [1, 2]);
        }
        assert!(matches!(fixture.poll(waiting.as_mut()), Poll::Ready(Ok(()))));
    }
}

#[test]
fn a_commit_that_fails_fails_every_member_and_leaves_nothing() {
    // With a rollback journal, a reader elsewhere keeps a commit from overwriting its pages.
    let fixture = Fixture::new("journal=delete&busy_timeout_ms=20");
    let reader = Connection::open(fixture.path()).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap();
    let mut sessions: Vec<_> = (0..5).map(|_| fixture.session()).collect();
    let mut commits = Vec::new();
    for (id, session) in (0..).zip(&mut sessions) {
        fixture.insert(session, AccessPattern::Several, id).unwrap();
        let mut commit = Box::pin(session.commit());
        assert!(fixture.poll(commit.as_mut()).is_pending());
        commits.push(commit);
    }
    fixture.worker.pass_ended();
    for mut commit in commits {
        let result = fixture.poll(commit.as_mut());
        assert!(matches!(result, Poll::Ready(Err(Stop::Conflict(Cause::Locked)))), "{result:?}");
    }
    reader.execute_batch("COMMIT").unwrap();
    assert!(fixture.visible_rows().is_empty());
    // The queue continues.
    for (id, session) in (0..).zip(&mut sessions) {
        block_on(&fixture.worker, session.abort());
        fixture.insert(session, AccessPattern::Several, id).unwrap();
        block_on(&fixture.worker, session.commit()).unwrap();
    }
    assert_eq!(fixture.visible_rows(), [0, 1, 2, 3, 4]);
}

#[test]
fn a_client_that_gives_up_waiting_disturbs_no_other() {
    let fixture = Fixture::new("journal=wal");
    let (mut gives_up, mut stays) = (fixture.session(), fixture.session());
    fixture.insert(&mut gives_up, AccessPattern::Several, 1).unwrap();
    assert!(fixture.poll(pin!(gives_up.commit())).is_pending());
    block_on(&(), gives_up.abort());
    fixture.insert(&mut gives_up, AccessPattern::Several, 2).unwrap();
    let mut again = pin!(gives_up.commit());
    assert!(fixture.poll(again.as_mut()).is_pending());
    fixture.insert(&mut stays, AccessPattern::Single, 3).unwrap();
    let mut staying = pin!(stays.commit());
    assert!(fixture.poll(staying.as_mut()).is_pending());
    fixture.worker.pass_ended();
    assert!(matches!(fixture.poll(again.as_mut()), Poll::Ready(Ok(()))));
    assert!(matches!(fixture.poll(staying.as_mut()), Poll::Ready(Ok(()))));
    // A transaction that was released and given up has an unknown outcome for its client; here it was
    // committed.
    assert_eq!(fixture.visible_rows(), [1, 2, 3]);
}

#[test]
fn an_aborted_member_leaves_the_others_of_its_group() {
    let fixture = Fixture::new("journal=wal");
    let (mut one, mut other) = (fixture.session(), fixture.session());
    fixture.insert(&mut one, AccessPattern::Several, 1).unwrap();
    let mut waiting = pin!(one.commit());
    assert!(fixture.poll(waiting.as_mut()).is_pending());
    fixture.insert(&mut other, AccessPattern::Several, 2).unwrap();
    block_on(&(), other.abort());
    let twice = fixture.insert(&mut other, AccessPattern::Several, 1);
    assert!(matches!(twice, Err(Stop::Failed(_))), "it sees the group's row: {twice:?}");
    drop(other);
    fixture.worker.pass_ended();
    assert!(matches!(fixture.poll(waiting.as_mut()), Poll::Ready(Ok(()))));
    assert_eq!(fixture.visible_rows(), [1]);
}
