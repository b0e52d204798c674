//! Lost servers and connections: failures by their kind, at once, and sessions that can be opened
//! again.

use crate::account_fixture::{ADD, AccountFixture, BALANCE, LOCKED, OPEN, ask, now, send};
use crate::server::Server;
use syncline_contract::{AccessPattern, FailureKind, Session, Stop, Target};

/// Kills the sessions of a database with the server's KILL statement.
fn kill_sessions(server: &Server, database: &str) {
    let text = format!("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '{database}'");
    for id in server.query(&text).lines() {
        // It may have ended in the meantime.
        drop(server.try_query(&format!("KILL {id}")));
    }
}

#[test]
fn a_connection_that_is_lost_fails_its_transaction_and_a_new_one_goes_on() {
    let server = Server::shared();
    let fixture = AccountFixture::on(server, "").filled();
    let database = fixture.database();
    let mut session = fixture.session();
    fixture.run(async {
        session.begin(AccessPattern::Several);
        ask(&mut session, LOCKED, 1).await.unwrap();
        send(&mut session, ADD, &[1, 5]).unwrap();
        kill_sessions(server, &database);
        let stopped = ask(&mut session, BALANCE, 1).await;
        let Err(Stop::Failed(failure)) = stopped else {
            panic!("a killed session fails: {stopped:?}");
        };
        assert_eq!(failure.kind, FailureKind::Connection, "{failure}");
        session.abort().await;
        session.begin(AccessPattern::Single);
        let unusable = send(&mut session, ADD, &[1, 5]);
        assert!(
            matches!(&unusable, Err(Stop::Failed(failure)) if failure.kind == FailureKind::Connection),
            "{unusable:?}"
        );
    });
    assert_eq!(fixture.balance(1), 0, "a new session reads the remaining state");
}

#[test]
fn a_commit_whose_answer_never_comes_is_unknown_and_reads_are_not() {
    let server = Server::shared();
    let fixture = AccountFixture::on(server, "").filled();
    let database = fixture.database();
    let mut session = fixture.session();
    fixture.run(async {
        session.begin(AccessPattern::Single);
        send(&mut session, ADD, &[1, 5]).unwrap();
        kill_sessions(server, &database);
        let stopped = session.commit().await;
        assert!(matches!(stopped, Err(Stop::Unknown(_))), "{stopped:?}");
    });
    let mut session = fixture.session();
    fixture.run(async {
        session.begin(AccessPattern::Single);
        kill_sessions(server, &database);
        let stopped = ask(&mut session, BALANCE, 1).await;
        assert!(matches!(stopped, Err(Stop::Failed(_))), "{stopped:?}");
    });
}

#[test]
fn a_killed_server_is_reported_at_once_and_new_sessions_fail() {
    let mut server = Server::start(&[]);
    let fixture = AccountFixture::on(&server, "").filled();
    let mut session = fixture.session();
    fixture.run(async {
        session.begin(AccessPattern::Several);
        send(&mut session, ADD, &[1, 5]).unwrap();
        ask(&mut session, BALANCE, 1).await.unwrap();
        server.kill();
        let stopped = session.commit().await;
        assert!(
            matches!(&stopped, Err(Stop::Failed(failure) | Stop::Unknown(failure))
                if failure.kind == FailureKind::Connection),
            "{stopped:?}"
        );
        session.abort().await;
    });
    let again = fixture.run(fixture.target.connect(&fixture.plan, &fixture.worker));
    let failure = again.expect_err("there is no server");
    assert_eq!(failure.kind, FailureKind::Connection, "{failure}");
    assert!(now(fixture.target.remove()).is_err(), "a failed removal is reported");
}

#[test]
fn too_many_connections_are_a_limit_with_advice() {
    let server = Server::start(&["--max-connections=10"]);
    let fixture = AccountFixture::on(&server, "");
    let mut held = Vec::new();
    let failure = loop {
        match fixture.run(fixture.target.connect(&fixture.plan, &fixture.worker)) {
            Ok(session) => held.push(session),
            Err(failure) => break failure,
        }
        assert!(held.len() <= 12, "the server accepts ten");
    };
    assert_eq!(failure.kind, FailureKind::Limit, "{failure}");
    assert!(failure.what.contains("fewer clients"), "{failure}");
    drop(held);
}

#[test]
fn a_full_disk_is_named_as_one() {
    // The system tablespace holds the rows and may not grow.
    let server = Server::start(&[
        "--innodb-file-per-table=0",
        "--innodb-data-file-path=ibdata1:12M;ibdata2:1M",
    ]);
    let fixture = AccountFixture::on(&server, "");
    let mut session = fixture.session();
    let failure = fixture.run(async {
        for block in 0.. {
            session.begin(AccessPattern::Several);
            for id in block * 1_000..(block + 1) * 1_000 {
                send(&mut session, OPEN, &[id, 0]).unwrap();
            }
            match session.commit().await {
                Ok(()) => assert!(block < 2_000, "the disk never fills"),
                Err(stop) => {
                    session.abort().await;
                    return stop;
                }
            }
        }
        unreachable!("the loop has no end")
    });
    let Stop::Failed(failure) = failure else {
        panic!("a full disk fails: {failure:?}");
    };
    assert_eq!(failure.kind, FailureKind::DiskFull, "{failure}");
    assert!(failure.what.contains("open account"), "{failure}");
}
