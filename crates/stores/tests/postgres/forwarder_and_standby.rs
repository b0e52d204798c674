//! Components between a run and a commit: a forwarded port, a missing standby.

use crate::server::Server;
use std::future::Future;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::task::{Context, Waker};
use syncline_contract::conformance::block_on;
use syncline_contract::{
    AccessPattern, Durability, Kind, LogLocation, OperationId, Plan, Session, StoreProcess, Table,
    Target, Value,
};
use syncline_stores::AnyTarget;

/// Copies bytes both ways between a port of this process and another, like `ssh -L` and docker-proxy.
fn forward_to(port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            copy(client.try_clone().unwrap(), server.try_clone().unwrap());
            copy(server, client);
        }
    });
    own
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            if to.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        let _ended = to.shutdown(Shutdown::Write);
    });
}

/// The URL of a server over TCP, at another port.
fn at_port(server: &Server, port: u16) -> String {
    let url = server.url(0, "");
    url.replace(&format!(":{}/", server.port()), &format!(":{port}/"))
}

// B.F2
#[test]
fn a_port_forwarder_is_not_mistaken_for_the_server() {
    let server = Server::start(Durability::Data);
    let direct = AnyTarget::open(&server.url(0, "")).unwrap();
    block_on(&(), direct.preflight()).unwrap();
    assert!(matches!(direct.process(), StoreProcess::Other(_)));
    let url = at_port(&server, forward_to(server.port()));
    let forwarded = AnyTarget::open(&url).unwrap();
    block_on(&(), forwarded.preflight()).unwrap();
    let StoreProcess::Unknown(why) = forwarded.process() else {
        panic!("mistaken for the server: {:?}", forwarded.process());
    };
    assert!(why.contains("a forwarder"), "{why}");
    assert!(matches!(forwarded.log_location(), LogLocation::Nowhere(_)));
}

/// The answer that psql, as an application, gets.
fn psql(url: &str, statement: &str) -> String {
    let ran = Command::new("/usr/lib/postgresql/15/bin/psql")
        .args(["-At", url, "-c", statement])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

// B.F6
#[test]
fn commits_that_would_wait_for_a_standby_for_ever_are_refused() {
    let server = Server::start(Durability::Data);
    let url = direct(&server);
    psql(&url, "ALTER SYSTEM SET synchronous_standby_names = 'standby1'");
    psql(&url, "SELECT pg_reload_conf()");
    while psql(&url, "SHOW synchronous_standby_names") != "standby1" {
        std::thread::yield_now();
    }
    let refused = block_on(&(), server.target("").preflight()).unwrap_err();
    assert!(
        refused.what.contains("no synchronous standby") && refused.what.contains("standby1"),
        "{refused}"
    );
    let local =
        "SET synchronous_commit = local; ALTER ROLE postgres SET synchronous_commit = local";
    psql(&url, local);
    block_on(&(), server.target("").preflight()).unwrap();
}

/// The server over its socket, for libpq.
fn direct(server: &Server) -> String {
    let socket = server.socket_directory().replace('/', "%2F");
    format!("postgres://postgres@{socket}:{}/postgres", server.port())
}

// B.F14
#[test]
fn a_read_only_server_is_detected_before_anything_is_created() {
    let server = Server::start(Durability::Data);
    let target = server.target("");
    block_on(&(), target.preflight()).unwrap();
    assert_eq!(target.read_only_reason(), None);
    let read_only = "ALTER ROLE postgres SET default_transaction_read_only = on";
    psql(&direct(&server), read_only);
    // The session of psql was present a moment ago.
    let target = server.target("live=yes");
    block_on(&(), target.preflight()).unwrap();
    let why = target.read_only_reason().unwrap();
    assert!(why.contains("default_transaction_read_only=on"), "{why}");
}

// B.F6
#[test]
fn a_commit_that_waits_for_a_lost_standby_is_reported_and_does_not_block_the_removal() {
    let server = Server::start(Durability::Data);
    let url = direct(&server);
    let target = server.target("");
    let mut plan = Plan::new();
    let table = Table::new("kept").column("id", Kind::Int).key(&["id"]);
    let table = plan.table(table);
    let _insert: syncline_contract::Write<(syncline_contract::Int,)> = plan.insert("insert", table);
    block_on(&(), target.preflight()).unwrap();
    block_on(&(), target.create(&plan)).unwrap();
    let worker = target.worker().unwrap();
    let mut session = block_on(&worker, target.connect(&plan, &worker)).unwrap();
    psql(&url, "ALTER SYSTEM SET synchronous_standby_names = 'standby1'");
    psql(&url, "SELECT pg_reload_conf()");
    while psql(&url, "SHOW synchronous_standby_names") != "standby1" {
        std::thread::yield_now();
    }
    session.begin(AccessPattern::Several);
    session.send(OperationId(0), &[Value::Int(1)]).unwrap();
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    {
        let mut commit = std::pin::pin!(session.commit());
        let mut context = Context::from_waker(Waker::noop());
        while psql(&url, waiting) != "1" {
            assert!(commit.as_mut().poll(&mut context).is_pending());
        }
    }
    drop(session);
    let why = block_on(&(), target.unfinished_wait()).unwrap().unwrap();
    assert!(why.contains("SyncRep") && why.contains("standby"), "{why}");
    block_on(&(), target.remove()).unwrap();
    assert_eq!(psql(&url, waiting), "0");
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'syncline%'";
    assert_eq!(psql(&url, schemas), "0");
}

// B.Smaller
#[test]
fn the_connection_limit_of_a_role_caps_the_clients_and_is_named() {
    let server = Server::start(Durability::Os);
    let url = direct(&server);
    psql(&url, "CREATE ROLE few LOGIN CONNECTION LIMIT 3 PASSWORD 'pw'");
    psql(&url, "GRANT CREATE ON DATABASE postgres TO few");
    let few =
        format!("postgres://few:pw@127.0.0.1:{}/postgres?live=yes&durability=os", server.port());
    let target = AnyTarget::open(&few).unwrap();
    block_on(&(), target.preflight()).unwrap();
    assert_eq!(target.capabilities().clients_max, Some(2));
    let why = target.clients_max_reason().unwrap();
    assert!(
        why.contains("role few has CONNECTION LIMIT 3, of which 1 are taken")
            && why.contains("ALTER ROLE few"),
        "{why}"
    );
}

// B.F9
#[test]
fn tablespaces_that_a_run_may_write_to_are_reported() {
    let server = Server::start(Durability::Os);
    let url = direct(&server);
    let elsewhere = server.data().parent().unwrap().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    server.own(&elsewhere);
    let made = format!("CREATE TABLESPACE elsewhere LOCATION '{}'", elsewhere.display());
    psql(&url, &made);
    let places = |server: &Server| {
        let target = server.target("live=yes");
        block_on(&(), target.preflight()).unwrap();
        target.other_locations()
    };
    assert_eq!(places(&server), [], "our tables are not stored there");
    psql(&url, "ALTER ROLE postgres SET default_tablespace = elsewhere");
    let place = LogLocation::Directory(elsewhere.canonicalize().unwrap());
    assert_eq!(places(&server), std::slice::from_ref(&place));
    psql(&url, "ALTER ROLE postgres RESET default_tablespace");
    psql(&url, "ALTER ROLE postgres SET temp_tablespaces = elsewhere");
    assert_eq!(places(&server), [place]);
}

// B.Smaller
#[test]
fn a_port_of_another_product_is_reported() {
    for (answer, words) in [
        (&b"-ERR unknown command\r\n"[..], "Redis listens there, not PostgreSQL"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "an HTTP server listens there"),
        (b"", "check that PostgreSQL listens there"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let speaks = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut question = [0; 8];
            client.read_exact(&mut question).unwrap();
            client.write_all(answer).unwrap();
        });
        let target = AnyTarget::open(&format!("postgres://u@127.0.0.1:{port}/d")).unwrap();
        let failure = block_on(&(), target.preflight()).unwrap_err();
        assert!(failure.what.contains(words), "{words}: {failure}");
        speaks.join().unwrap();
    }
}
