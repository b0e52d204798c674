//! No damage to others: other sessions, other schemas, leftovers.

use crate::server::{Numbers, Server};
use std::process::{Child, Command, Stdio};
use syncline_contract::conformance::block_on;
use syncline_contract::{AccessPattern, Durability, FailureKind, Session, Target};

/// A session of another program that holds a transaction open.
fn other_session(server: &Server) -> Child {
    let mut child = Command::new("/usr/lib/postgresql/15/bin/psql")
        .args(["-h", "127.0.0.1", "-U", "postgres", "-d", "postgres", "-p"])
        .arg(server.port().to_string())
        .env("PGPASSWORD", server.password())
        .args(["-c", "SELECT pg_sleep(600)"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let there = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> \
                 pg_backend_pid()";
    while server.run(there) != ["1"] {
        assert!(child.try_wait().unwrap().is_none(), "psql ended early");
        std::thread::yield_now();
    }
    child
}

#[test]
fn a_run_is_refused_while_others_are_active_unless_allowed() {
    let server = Server::start(Durability::Os);
    block_on(&(), server.target("").preflight()).unwrap();
    let mut child = other_session(&server);
    let refused = block_on(&(), server.target("").preflight()).unwrap_err();
    assert!(
        refused.what.contains("1 other session active on") && refused.what.contains("--live"),
        "{refused}"
    );
    assert_eq!(refused.kind, FailureKind::Limit);
    let live = server.target("live=yes");
    block_on(&(), live.preflight()).unwrap();
    // 300 connections: 3 are reserved for superusers, one is used by psql, one by the query; those of
    // earlier queries end soon.
    while live.capabilities().clients_max != Some(300 - 3 - 1 - 1) {
        block_on(&(), live.preflight()).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn only_leftovers_of_ended_processes_are_cleaned() {
    let server = Server::start(Durability::Os);
    let numbers = Numbers::new();
    server.run("CREATE SCHEMA syncline_theirs");
    let left = server.target("");
    block_on(&(), left.create(&numbers.plan)).unwrap();
    drop(left);
    assert_eq!(server.schemas().len(), 2);
    let removed = block_on(&(), server.target("").clean()).unwrap();
    assert_eq!(removed.len(), 1);
    assert!(removed[0].starts_with("schema syncline_"), "{removed:?}");
    assert_eq!(server.schemas(), ["syncline_theirs"]);
    // A schema that neither --reuse nor clean would touch is not suggested for cleaning.
    let theirs = server.target("schema=theirs");
    let made = block_on(&(), theirs.create(&numbers.plan)).unwrap_err();
    let reopened = block_on(&(), theirs.reopen(&numbers.plan)).unwrap_err();
    for refused in [made, reopened] {
        assert!(
            refused.what.contains("not made by syncline") && !refused.what.contains("clean"),
            "{refused}"
        );
    }
}

#[test]
fn only_the_statements_of_the_dry_run_are_executed() {
    let server = Server::start(Durability::Os);
    let numbers = Numbers::new();
    let target = server.target("schema=said");
    let dry_run = target.dry_run(&numbers.plan, 4).unwrap();
    assert_eq!(server.schemas(), [""; 0], "a dry run changes nothing");
    assert_eq!(dry_run.connections, Some(5));
    assert_eq!(dry_run.operations.len(), numbers.plan.operations().len());
    assert!(dry_run.makes[0].contains("CREATE SCHEMA \"syncline_said\""));
    let makes = dry_run.makes.join("\n");
    assert_eq!(makes.matches("CREATE TABLE").count(), 1, "stated once: {makes}");
    block_on(&(), target.create(&numbers.plan)).unwrap();
    let made = server.run(
        "SELECT table_schema || '.' || table_name FROM information_schema.tables WHERE table_schema NOT IN \
         ('pg_catalog', 'information_schema')",
    );
    assert_eq!(made, ["syncline_said.numbers"]);
    block_on(&(), target.remove()).unwrap();
    assert_eq!(server.schemas(), [""; 0]);
}

#[test]
fn kept_rows_are_reopened_and_other_tables_are_refused() {
    let server = Server::start(Durability::Os);
    let numbers = Numbers::new();
    let first = server.target("schema=kept");
    assert!(!block_on(&(), first.reopen(&numbers.plan)).unwrap());
    block_on(&(), first.create(&numbers.plan)).unwrap();
    let worker = first.worker().unwrap();
    block_on(&worker, async {
        let mut session = first.connect(&numbers.plan, &worker).await.unwrap();
        numbers.fill(&mut session).await.unwrap();
    });
    block_on(&(), first.keep()).unwrap();
    block_on(&(), first.remove()).unwrap();
    let again = server.target("schema=kept");
    assert!(block_on(&(), again.reopen(&numbers.plan)).unwrap());
    let worker = again.worker().unwrap();
    block_on(&worker, async {
        let mut session = again.connect(&numbers.plan, &worker).await.unwrap();
        session.begin(AccessPattern::Single);
        let mut asked = syncline_contract::RequestTracker::new(false);
        let mut tx = syncline_contract::Transaction::new(&mut session, &mut asked);
        assert_eq!(tx.read(&numbers.get, (100,)).await.unwrap(), (0,));
        session.commit().await.unwrap();
    });
    let mut other = syncline_contract::Plan::new();
    other.table(syncline_contract::Table::new("other").column("x", syncline_contract::Kind::Int));
    let refused = block_on(&(), server.target("schema=kept").reopen(&other)).unwrap_err();
    assert!(refused.what.contains("other tables"), "{refused}");
}
