//! Redis, on real servers that the tests start: the suite, durability as reported, no damage to
//! unmanaged keys, lost connections.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "shared/certificates.rs"]
mod certificates;
#[path = "shared/rows_by_id.rs"]
mod rows_by_id;

use certificates::Certificates;
use rows_by_id::{INSERT, commit_conflicts, commit_is_lost, in_session, insert_row, open, plan};
use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpStream;
use syncline_contract::conformance::{block_on, conforms};
use syncline_contract::{
    AccessPattern, Durability, FailureKind, LogLocation, Meaning, Session, Stop, StoreProcess,
    Target, Value,
};
use syncline_launcher::{LaunchSpec, PrivateServer, Product};
use syncline_stores::AnyTarget;
use syncline_testkit::password_of;

fn server(durability: Durability) -> PrivateServer {
    let spec = LaunchSpec { durability, ..LaunchSpec::new(Product::Redis) };
    PrivateServer::start(&spec).unwrap()
}

/// The server's address with its password and no other options.
fn place(server: &PrivateServer) -> String {
    let place = server.url().split('?').next().unwrap();
    format!("{place}?password={}", password_of(server.url()))
}

/// A plain connection of another client.
struct Other(BufReader<TcpStream>);

impl Other {
    fn of(server: &PrivateServer) -> Other {
        let place = server.url().split('?').next().unwrap();
        let place = place.trim_start_matches("redis://");
        let socket = TcpStream::connect(place.trim_end_matches('/')).unwrap();
        let mut other = Other(BufReader::new(socket));
        assert_eq!(other.ask(&format!("AUTH {}", password_of(server.url()))), "+OK");
        other
    }

    /// Sends a command without spaces in its parts, and returns the first line of the reply.
    fn ask(&mut self, command: &str) -> String {
        self.0.get_mut().write_all(format!("{command}\r\n").as_bytes()).unwrap();
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        if line.starts_with('$') && line.trim() != "$-1" {
            line.clear();
            self.0.read_line(&mut line).unwrap();
        }
        line.trim().to_owned()
    }
}

#[test]
fn redis_conforms_in_all_but_indexes_and_joins() {
    let server = server(Durability::Data);
    let url = server.url();
    let outcome = conforms(|| open(url));
    assert!(outcome.findings.is_empty(), "{outcome}");
    assert!(outcome.tested.contains(&"no update is lost"), "{outcome:?}");
    assert!(outcome.tested.contains(&"scans by key"), "{outcome:?}");
    assert!(
        outcome.skipped.iter().all(|(_, why)| {
            ["it has no secondary indexes", "it cannot join", "it cannot scan by index"]
                .contains(why)
        }),
        "{outcome:?}"
    );
    assert_eq!(Other::of(&server).ask("DBSIZE"), ":0", "nothing is left");
}

#[test]
fn redis_without_scans_conforms_in_the_rest() {
    let server = server(Durability::None);
    let url = format!("{}&scans=no", place(&server));
    let outcome = conforms(|| open(&url));
    assert!(outcome.findings.is_empty(), "{outcome}");
    assert!(outcome.tested.contains(&"no update is lost"), "{outcome:?}");
    assert_eq!(Other::of(&server).ask("DBSIZE"), ":0", "nothing is left");
}

#[test]
fn durability_is_read_back_and_another_one_is_refused() {
    for (durability, words) in [
        (Durability::None, "aof_enabled:0"),
        (Durability::Os, "appendfsync=no"),
        (Durability::Data, "appendfsync=always"),
    ] {
        let server = server(durability);
        let target = open(&place(&server));
        block_on(&(), target.preflight()).unwrap();
        assert_eq!(target.process(), StoreProcess::Other(server.pid()));
        let here = matches!(target.log_location(), LogLocation::Directory(place) if place.is_dir());
        assert_eq!(here, durability != Durability::None, "{:?}", target.log_location());
        block_on(&(), target.create(&plan())).unwrap();
        let reported = block_on(&(), target.reported_settings()).unwrap();
        assert_eq!(reported.durability, durability);
        assert!(reported.durability_evidence.contains(words), "{reported:?}");
        assert!(reported.version.starts_with(|first: char| first.is_ascii_digit()));
        block_on(&(), target.remove()).unwrap();
        drop(target);
        for other in [Durability::None, Durability::Os, Durability::Data] {
            let target = open(&format!("{}&durability={}", place(&server), other.word()));
            let preflight = block_on(&(), target.preflight());
            assert_eq!(preflight.is_ok(), other == durability, "{preflight:?}");
        }
    }
}

#[test]
fn everysec_is_durability_os() {
    let server = server(Durability::Data);
    assert_eq!(Other::of(&server).ask("CONFIG SET appendfsync everysec"), "+OK");
    let target = open(&format!("{}&live=yes", place(&server)));
    block_on(&(), target.create(&plan())).unwrap();
    let reported = block_on(&(), target.reported_settings()).unwrap();
    assert_eq!(reported.durability, Durability::Os);
    assert!(reported.durability_evidence.contains("two seconds"), "{reported:?}");
    block_on(&(), target.remove()).unwrap();
}

#[test]
fn unmanaged_keys_stay_and_other_clients_are_not_disturbed() {
    let server = server(Durability::None);
    let mut other = Other::of(&server);
    for key in ["mine", "syncline_x:row:1", "syncline_y:mark"] {
        assert_eq!(other.ask(&format!("SET {key} precious")), "+OK");
    }
    let target = open(&place(&server));
    let refused = block_on(&(), target.preflight()).unwrap_err();
    assert!(refused.what.contains("live=yes"), "{refused}");
    assert_eq!(refused.kind, FailureKind::Limit);
    let target = open(&format!("{}&live=yes", place(&server)));
    block_on(&(), target.preflight()).unwrap();
    let plan = plan();
    block_on(&(), target.create(&plan)).unwrap();
    let worker = target.worker().unwrap();
    block_on(&worker, async {
        let mut session = target.connect(&plan, &worker).await.unwrap();
        insert_row(&mut session).await;
    });
    assert_eq!(other.ask("DBSIZE"), ":6", "three managed ones: mark, row, names of rows");
    // All keys of a run in progress stay.
    let cleans = || {
        let cleaner = open(&format!("{}&live=yes", place(&server)));
        block_on(&(), cleaner.clean()).unwrap()
    };
    let kept = cleans();
    assert!(kept.len() == 1 && kept[0].starts_with("kept"), "a run uses them: {kept:?}");
    assert_eq!(other.ask("DBSIZE"), ":6");
    // A run that was killed leaves its keys; cleaning removes only those.
    drop((worker, target));
    let cleaned = cleans();
    assert!(cleaned.len() == 1 && cleaned[0].contains("keys of prefix"), "{cleaned:?}");
    for key in ["mine", "syncline_x:row:1", "syncline_y:mark"] {
        assert_eq!(other.ask(&format!("GET {key}")), "precious");
    }
    assert_eq!(other.ask("DBSIZE"), ":3");
}

#[test]
fn a_commit_over_a_row_that_another_process_changed_conflicts() {
    let server = server(Durability::None);
    let target = open(&place(&server));
    in_session(&target, async |session| {
        let remove_all = || assert_eq!(Other::of(&server).ask("FLUSHALL"), "+OK");
        commit_conflicts(session, remove_all).await;
    });
    block_on(&(), target.remove()).unwrap();
}

#[test]
fn counters_grow_and_missing_ones_have_a_reason() {
    let server = server(Durability::Data);
    let target = open(&place(&server));
    let before = block_on(&(), target.counters()).unwrap();
    block_on(&(), target.create(&plan())).unwrap();
    let after = block_on(&(), target.counters()).unwrap();
    let grown = |name: &str| {
        let find = |all: &[syncline_contract::Counter]| {
            all.iter().find(|one| one.name == name).unwrap().clone()
        };
        find(&after).grown_since(&find(&before))
    };
    assert!(grown("total_commands_processed").unwrap() > 0);
    assert!(grown("aof_current_size").unwrap() > 0);
    let seen = block_on(&(), target.observe()).unwrap();
    for meaning in Meaning::ALL {
        let counter = seen.counter(meaning);
        assert!(counter.is_some(), "{meaning:?} is listed, available or not");
    }
    // B.F19
    let delayed = seen.counter(Meaning::DelayedSyncs).unwrap();
    assert_eq!((delayed.name.as_str(), delayed.value.is_ok()), ("aof_delayed_fsync", true));
    let commits = seen.counter(Meaning::Commits).unwrap().value.clone();
    assert!(commits.unwrap_err().contains("not commits"));
    assert_eq!(seen.replication, Ok(Vec::new()));
    assert!(block_on(&(), target.round_trip_ns()).unwrap().unwrap() > 0);
    block_on(&(), target.remove()).unwrap();
}

#[test]
fn a_server_that_stops_is_a_lost_connection_and_not_a_hang() {
    let server = server(Durability::None);
    let target = open(&place(&server));
    in_session(&target, async |session| {
        commit_is_lost(session, || drop(server)).await;
        session.begin(AccessPattern::Single);
        let again = session.send(INSERT, &[Value::Int(2), Value::Int(2)]);
        assert!(
            matches!(&again, Err(Stop::Failed(failure)) if failure.kind == FailureKind::Connection),
            "{again:?}"
        );
    });
    let unreached = block_on(&(), target.remove()).unwrap_err();
    assert_eq!(unreached.kind, FailureKind::Connection, "{unreached}");
}

/// Configures the server to accept encrypted connections too; returns the port.
fn encrypts(server: &PrivateServer, with: &Certificates) -> u16 {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut other = Other::of(server);
    for (name, value) in [
        ("tls-cert-file", with.certificate().display().to_string()),
        ("tls-key-file", with.key().display().to_string()),
        ("tls-ca-cert-file", with.root().display().to_string()),
        ("tls-auth-clients", "no".to_owned()),
        ("tls-port", port.to_string()),
    ] {
        let reported = other.ask(&format!("CONFIG SET {name} {value}"));
        assert_eq!(reported, "+OK", "{name}");
    }
    port
}

#[test]
fn an_encrypted_server_conforms_and_is_verified_by_its_certificate() {
    let (server, made) = (server(Durability::Data), Certificates::new());
    let place = format!("rediss://127.0.0.1:{}", encrypts(&server, &made));
    let roots = made.root().display().to_string();
    let login = format!("password={}", password_of(server.url()));
    let url = format!("{place}/?tls_roots={roots}&durability=data&{login}");
    let outcome = conforms(|| open(&url));
    assert!(outcome.findings.is_empty(), "{outcome}");
    let target = open(&url);
    block_on(&(), target.preflight()).unwrap();
    assert_eq!(
        target.process(),
        StoreProcess::Other(server.pid()),
        "the process that owns the port"
    );
    // A server with an untrusted certificate, and one without encryption, are refused.
    let other = Certificates::new();
    let untrusted = other.root().display().to_string();
    let plain = url.replace(&place, server.url().split("/?").next().unwrap());
    for (url, why) in [
        (url.replace(&roots, &untrusted), "cannot be encrypted"),
        (plain.replace("redis:", "rediss:"), "cannot be encrypted"),
    ] {
        let target = open(&url);
        let failure = block_on(&(), target.preflight()).unwrap_err();
        assert!(failure.what.contains(why), "{url}: {failure}");
        assert_eq!(failure.kind, FailureKind::Connection);
    }
    let any = format!("{place}/?tls=require&live=yes&{login}");
    block_on(&(), open(&any).preflight()).unwrap();
    let unread = AnyTarget::open(&format!("{place}/?tls_roots=/nowhere")).unwrap_err();
    assert!(unread.to_string().contains("/nowhere"), "{unread}");
}
