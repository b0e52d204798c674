//! The queue's group commit: who is told what and when, step by step.

#![allow(clippy::unwrap_used, reason = "in a test an unwrap is a finding")]

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

struct Scene {
    folder: tempfile::TempDir,
    target: AnyTarget,
    worker: AnyWorker,
    plan: Plan,
    insert: Write<(Int,)>,
    woken: Arc<Woken>,
}

impl Scene {
    fn new(options: &str) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        let url = format!("sqlite:{}?client=queue&durability=os&{options}", file.display());
        let target = AnyTarget::open(&url).unwrap();
        let mut plan = Plan::new();
        let table = plan.table(Table::new("t").column("id", Kind::Int).key(&["id"]));
        let insert = plan.insert("insert", table);
        block_on(&(), target.create(&plan)).unwrap();
        let worker = target.worker().unwrap();
        Scene { folder, target, worker, plan, insert, woken: Arc::default() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }

    fn session(&self) -> AnySession {
        block_on(&(), self.target.connect(&self.plan, &self.worker)).unwrap()
    }

    /// Begins a transaction and inserts one row in it.
    fn insert(&self, session: &mut AnySession, shape: AccessPattern, id: i64) -> Result<(), Stop> {
        session.begin(shape);
        Transaction::new(session, &mut RequestTracker::default()).write(&self.insert, (id,))
    }

    fn poll<F: Future>(&self, future: Pin<&mut F>) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(&self.woken));
        future.poll(&mut Context::from_waker(&waker))
    }

    /// The rows that another program sees.
    fn seen(&self) -> Vec<i64> {
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
    let scene = Scene::new("journal=wal");
    let mut sessions: Vec<_> = (0..10).map(|_| scene.session()).collect();
    scene.worker.pass_started();
    for (id, session) in (0..).zip(&mut sessions) {
        let shape = if id % 2 == 0 { AccessPattern::Single } else { AccessPattern::Several };
        scene.insert(session, shape, id).unwrap();
        // Released into the group, not committed: the future is asked again below.
        assert!(scene.poll(pin!(session.commit())).is_pending());
    }
    assert!(scene.seen().is_empty());
    assert_eq!(scene.woken(), 0);
    scene.worker.pass_ended();
    assert_eq!(scene.seen(), (0..10).collect::<Vec<_>>());
    assert_eq!(scene.woken(), 10);
}

#[test]
fn who_waits_is_told_by_the_commit() {
    let scene = Scene::new("journal=wal");
    let mut session = scene.session();
    scene.insert(&mut session, AccessPattern::Several, 1).unwrap();
    let mut commit = pin!(session.commit());
    assert!(scene.poll(commit.as_mut()).is_pending());
    assert!(scene.poll(commit.as_mut()).is_pending(), "asking again changes nothing");
    scene.worker.pass_ended();
    assert!(matches!(scene.poll(commit.as_mut()), Poll::Ready(Ok(()))));
}

#[test]
fn a_second_transaction_beside_a_running_one_is_a_conflict() {
    let scene = Scene::new("journal=wal");
    let (mut one, mut other) = (scene.session(), scene.session());
    scene.insert(&mut one, AccessPattern::Several, 1).unwrap();
    let refused = scene.insert(&mut other, AccessPattern::Several, 2);
    assert!(matches!(refused, Err(Stop::Conflict(Cause::Locked))));
    block_on(&scene.worker, other.abort());
    block_on(&scene.worker, one.commit()).unwrap();
    scene.insert(&mut other, AccessPattern::Several, 2).unwrap();
    block_on(&scene.worker, other.commit()).unwrap();
    assert_eq!(scene.seen(), [1, 2]);
}

#[test]
fn a_pass_that_ends_in_mid_transaction_commits_with_its_end() {
    for aborts in [true, false] {
        let scene = Scene::new("journal=wal");
        let (mut waits, mut runs) = (scene.session(), scene.session());
        scene.insert(&mut waits, AccessPattern::Several, 1).unwrap();
        let mut waiting = pin!(waits.commit());
        assert!(scene.poll(waiting.as_mut()).is_pending());
        scene.insert(&mut runs, AccessPattern::Several, 2).unwrap();
        scene.worker.pass_ended();
        assert!(scene.seen().is_empty(), "the half of a transaction must not be committed");
        assert!(scene.poll(waiting.as_mut()).is_pending());
        if aborts {
            block_on(&(), runs.abort());
            assert_eq!(scene.seen(), [1]);
        } else {
            block_on(&(), runs.commit()).unwrap();
            assert_eq!(scene.seen(), [1, 2]);
        }
        assert!(matches!(scene.poll(waiting.as_mut()), Poll::Ready(Ok(()))));
    }
}

#[test]
fn a_commit_that_fails_fails_every_member_and_leaves_nothing() {
    // With a rollback journal, a reader elsewhere keeps a commit from overwriting its pages.
    let scene = Scene::new("journal=delete&busy_timeout_ms=20");
    let reader = Connection::open(scene.path()).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap();
    let mut sessions: Vec<_> = (0..5).map(|_| scene.session()).collect();
    let mut commits = Vec::new();
    for (id, session) in (0..).zip(&mut sessions) {
        scene.insert(session, AccessPattern::Several, id).unwrap();
        let mut commit = Box::pin(session.commit());
        assert!(scene.poll(commit.as_mut()).is_pending());
        commits.push(commit);
    }
    scene.worker.pass_ended();
    for mut commit in commits {
        let told = scene.poll(commit.as_mut());
        assert!(matches!(told, Poll::Ready(Err(Stop::Conflict(Cause::Locked)))), "{told:?}");
    }
    reader.execute_batch("COMMIT").unwrap();
    assert!(scene.seen().is_empty());
    // The queue goes on.
    for (id, session) in (0..).zip(&mut sessions) {
        block_on(&scene.worker, session.abort());
        scene.insert(session, AccessPattern::Several, id).unwrap();
        block_on(&scene.worker, session.commit()).unwrap();
    }
    assert_eq!(scene.seen(), [0, 1, 2, 3, 4]);
}

#[test]
fn one_that_gives_up_waiting_disturbs_nobody() {
    let scene = Scene::new("journal=wal");
    let (mut gives_up, mut stays) = (scene.session(), scene.session());
    scene.insert(&mut gives_up, AccessPattern::Several, 1).unwrap();
    assert!(scene.poll(pin!(gives_up.commit())).is_pending());
    block_on(&(), gives_up.abort());
    scene.insert(&mut gives_up, AccessPattern::Several, 2).unwrap();
    let mut again = pin!(gives_up.commit());
    assert!(scene.poll(again.as_mut()).is_pending());
    scene.insert(&mut stays, AccessPattern::Single, 3).unwrap();
    let mut staying = pin!(stays.commit());
    assert!(scene.poll(staying.as_mut()).is_pending());
    scene.worker.pass_ended();
    assert!(matches!(scene.poll(again.as_mut()), Poll::Ready(Ok(()))));
    assert!(matches!(scene.poll(staying.as_mut()), Poll::Ready(Ok(()))));
    // What was released before it was given up is of unknown outcome to its client; here it stayed.
    assert_eq!(scene.seen(), [1, 2, 3]);
}

#[test]
fn an_aborted_member_leaves_the_others_of_its_group() {
    let scene = Scene::new("journal=wal");
    let (mut one, mut other) = (scene.session(), scene.session());
    scene.insert(&mut one, AccessPattern::Several, 1).unwrap();
    let mut waiting = pin!(one.commit());
    assert!(scene.poll(waiting.as_mut()).is_pending());
    scene.insert(&mut other, AccessPattern::Several, 2).unwrap();
    block_on(&(), other.abort());
    let twice = scene.insert(&mut other, AccessPattern::Several, 1);
    assert!(matches!(twice, Err(Stop::Failed(_))), "it sees the group's row: {twice:?}");
    drop(other);
    scene.worker.pass_ended();
    assert!(matches!(scene.poll(waiting.as_mut()), Poll::Ready(Ok(()))));
    assert_eq!(scene.seen(), [1]);
}
