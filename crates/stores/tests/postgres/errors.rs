//! Effects of other sessions and of the server on a transaction: conflicts by cause, lost connections,
//! refused
//! statements, dropped clients.

use crate::server::{Numbers, Server};
use syncline_contract::conformance::block_on;
use syncline_contract::{
    AccessPattern, Cause, Durability, FailureKind, OperationId, Plan, RequestTracker, Session,
    Stop, Target, Transaction, Value,
};
use syncline_stores::{AnySession, AnyTarget, AnyWorker};

/// A filled table, and its worker.
struct Fixture {
    server: Server,
    numbers: Numbers,
    target: AnyTarget,
    worker: AnyWorker,
}

impl Fixture {
    fn new(options: &str, pipeline: bool) -> Fixture {
        let server = Server::start(Durability::Os);
        let mut numbers = Numbers::new();
        numbers.plan.pipeline = pipeline;
        let target = server.target(options);
        block_on(&(), target.create(&numbers.plan)).unwrap();
        let worker = target.worker().unwrap();
        let fixture = Fixture { server, numbers, target, worker };
        block_on(&fixture.worker, async {
            let mut session = fixture.session().await;
            fixture.numbers.fill(&mut session).await.unwrap();
        });
        fixture
    }

    async fn session(&self) -> AnySession {
        let connected = self.target.connect(&self.numbers.plan, &self.worker);
        connected.await.unwrap()
    }
}

async fn read(numbers: &Numbers, session: &mut AnySession, id: i64) -> Result<i64, Stop> {
    let mut asked = RequestTracker::new(false);
    let mut tx = Transaction::new(session, &mut asked);
    tx.read(&numbers.get, (id,)).await.map(|(number,)| number)
}

fn add(numbers: &Numbers, session: &mut AnySession, id: i64) -> Result<(), Stop> {
    let mut asked = RequestTracker::new(false);
    Transaction::new(session, &mut asked).write(&numbers.add, (id, 1))
}

#[test]
fn two_writers_of_one_row_conflict_by_serialization() {
    let fixture = Fixture::new("isolation=repeatable_read", true);
    let numbers = &fixture.numbers;
    block_on(&fixture.worker, async {
        let (mut one, mut other) = (fixture.session().await, fixture.session().await);
        one.begin(AccessPattern::Several);
        assert_eq!(read(numbers, &mut one, 1).await.unwrap(), 0);
        other.begin(AccessPattern::Several);
        add(numbers, &mut other, 1).unwrap();
        other.commit().await.unwrap();
        add(numbers, &mut one, 1).unwrap();
        let stop = one.commit().await.unwrap_err();
        assert!(matches!(stop, Stop::Conflict(Cause::Serialization)), "{stop:?}");
        one.abort().await;
        one.begin(AccessPattern::Single);
        assert_eq!(read(numbers, &mut one, 1).await.unwrap(), 1, "the session continues");
        one.commit().await.unwrap();
    });
}

#[test]
fn a_lock_timeout_is_a_conflict() {
    for pipeline in [true, false] {
        let fixture = Fixture::new("lock_timeout_ms=20", pipeline);
        let numbers = &fixture.numbers;
        block_on(&fixture.worker, async {
            let (mut one, mut other) = (fixture.session().await, fixture.session().await);
            one.begin(AccessPattern::Several);
            let mut asked = RequestTracker::new(false);
            let mut tx = Transaction::new(&mut one, &mut asked);
            tx.read(&numbers.get_for_update, (1,)).await.unwrap();
            other.begin(AccessPattern::Single);
            add(numbers, &mut other, 1).unwrap();
            let stop = other.commit().await.unwrap_err();
            assert!(matches!(stop, Stop::Conflict(Cause::Locked)), "{stop:?}");
            other.abort().await;
            one.abort().await;
            other.begin(AccessPattern::Single);
            add(numbers, &mut other, 1).unwrap();
            other.commit().await.unwrap();
        });
    }
}

#[test]
fn a_connection_that_the_server_ends_is_lost_and_a_new_one_works() {
    for pipeline in [true, false] {
        let fixture = Fixture::new("", pipeline);
        let numbers = &fixture.numbers;
        block_on(&fixture.worker, async {
            let mut session = fixture.session().await;
            session.begin(AccessPattern::Several);
            assert_eq!(read(numbers, &mut session, 1).await.unwrap(), 0);
            fixture.server.run(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = \
                 'client backend' AND pid <> pg_backend_pid()",
            );
            add(numbers, &mut session, 1).unwrap();
            let stop = session.commit().await.unwrap_err();
            let (Stop::Unknown(failure) | Stop::Failed(failure)) = stop else {
                panic!("{stop:?}");
            };
            assert_eq!(failure.kind, FailureKind::Connection, "{failure}");
            session.abort().await;
            session.begin(AccessPattern::Single);
            let stop = add(numbers, &mut session, 1).unwrap_err();
            assert!(
                matches!(stop, Stop::Failed(failure) if failure.kind == FailureKind::Connection)
            );
            let mut again = fixture.session().await;
            again.begin(AccessPattern::Single);
            assert_eq!(read(numbers, &mut again, 1).await.unwrap(), 0);
            again.commit().await.unwrap();
        });
    }
}

#[test]
fn a_write_that_changes_no_row_stops_the_run_and_names_its_operation() {
    for pipeline in [true, false] {
        let fixture = Fixture::new("", pipeline);
        block_on(&fixture.worker, async {
            let mut session = fixture.session().await;
            for pattern in [AccessPattern::Single, AccessPattern::Several] {
                session.begin(pattern);
                add(&fixture.numbers, &mut session, 4_711).unwrap();
                let stop = session.commit().await.unwrap_err();
                let Stop::Failed(failure) = stop else {
                    panic!("{stop:?}");
                };
                assert_eq!(failure.kind, FailureKind::Statement);
                assert!(failure.what.contains("\"add to number\" changed no row"), "{failure}");
                session.abort().await;
            }
        });
    }
}

#[test]
fn the_commit_of_a_failed_transaction_is_an_error() {
    let server = Server::start(Durability::Os);
    let mut plan = Plan::new();
    for text in ["BEGIN", "SELECT 1/0", "COMMIT", "SELECT 7"] {
        plan.statement(text, text.to_owned(), 0);
    }
    let target = server.target("");
    let worker = target.worker().unwrap();
    block_on(&worker, async {
        let mut session = target.connect(&plan, &worker).await.unwrap();
        session.begin(AccessPattern::AsWritten);
        for id in 0..3 {
            session.send(OperationId(id), &[]).unwrap();
        }
        let stop = session.commit().await.unwrap_err();
        assert!(
            matches!(&stop, Stop::Failed(failure) if failure.what.contains("22012")),
            "{stop:?}"
        );
        session.abort().await;
        // A transaction that was left open is refused and rolled back.
        session.begin(AccessPattern::AsWritten);
        session.send(OperationId(0), &[]).unwrap();
        let stop = session.commit().await.unwrap_err();
        assert!(
            matches!(&stop, Stop::Failed(failure) if failure.what.contains("left a transaction"))
        );
        session.abort().await;
        session.begin(AccessPattern::AsWritten);
        session.send(OperationId(3), &[]).unwrap();
        assert_eq!(session.receive().await.unwrap().row(0).value(0), Value::Int(7));
        session.commit().await.unwrap();
    });
}

#[test]
fn a_users_statement_may_be_prepared_late_and_returns_its_columns() {
    let server = Server::start(Durability::Os);
    let mut plan = Plan::new();
    plan.command("make", "CREATE TABLE mine (a int, b text, c numeric)".to_owned(), 0);
    plan.command("put", "INSERT INTO mine VALUES ($1, $2, $3)".to_owned(), 3);
    plan.statement("get", "SELECT a, b, c FROM mine WHERE a = $1".to_owned(), 1);
    plan.command("end", "DROP TABLE mine".to_owned(), 0);
    let target = server.target("");
    block_on(&(), target.create(&plan)).unwrap();
    let worker = target.worker().unwrap();
    block_on(&worker, async {
        let mut session = target.connect(&plan, &worker).await.unwrap();
        session.begin(AccessPattern::AsWritten);
        session.send(OperationId(0), &[]).unwrap();
        for a in 1..=3 {
            let values = [Value::Int(a), Value::Text("x"), Value::Float(0.5)];
            session.send(OperationId(1), &values).unwrap();
        }
        session.commit().await.unwrap();
        for _ in 0..3 {
            session.begin(AccessPattern::AsWritten);
            session.send(OperationId(2), &[Value::Int(2)]).unwrap();
            let row: Vec<_> = {
                let rows = session.receive().await.unwrap();
                assert_eq!(rows.len(), 1);
                rows.row(0).values().map(|value| format!("{value:?}")).collect()
            };
            assert_eq!(row, ["Int(2)", "Text(\"x\")", "Text(\"0.5\")"]);
            session.commit().await.unwrap();
        }
        assert_eq!(session.columns(OperationId(2)).unwrap(), ["a", "b", "c"]);
        session.begin(AccessPattern::AsWritten);
        session.send(OperationId(3), &[]).unwrap();
        session.commit().await.unwrap();
    });
    block_on(&(), target.remove()).unwrap();
}

// B.Smaller
#[test]
fn the_servers_reason_for_ending_an_idle_transaction_is_kept() {
    let fixture = Fixture::new("live=yes", true);
    let numbers = &fixture.numbers;
    let server = &fixture.server;
    server.run("ALTER ROLE postgres SET idle_in_transaction_session_timeout = '20ms'");
    // By TCP and by the socket, whose connections end differently.
    for number in [0, 1] {
        let url = format!("{}&schema=idle_{number}", server.url(number, "live=yes"));
        let target = AnyTarget::open(&url).unwrap();
        block_on(&(), target.create(&numbers.plan)).unwrap();
        let worker = target.worker().unwrap();
        let mut session = block_on(&worker, target.connect(&numbers.plan, &worker)).unwrap();
        block_on(&worker, async {
            numbers.fill(&mut session).await.unwrap();
            session.begin(AccessPattern::Several);
            assert_eq!(read(numbers, &mut session, 1).await.unwrap(), 0);
            let idle =
                "SELECT count(*)::text FROM pg_stat_activity WHERE state = 'idle in transaction'";
            while server.run(idle) != ["0"] {
                std::thread::yield_now();
            }
            let stop = read(numbers, &mut session, 1).await.unwrap_err();
            let Stop::Failed(failure) = stop else {
                panic!("{stop:?}");
            };
            assert!(failure.what.contains("25P03"), "{number}: {failure}");
            assert_eq!(failure.kind, FailureKind::Connection);
        });
        drop(session);
        block_on(&(), target.remove()).unwrap();
    }
}
