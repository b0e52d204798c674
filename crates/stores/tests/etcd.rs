//! etcd, on real servers that the tests start: the suite, durability as reported, no damage to
//! unmanaged keys, lost connections.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "shared/certificates.rs"]
mod certificates;
#[path = "shared/rows_by_id.rs"]
mod rows_by_id;

use certificates::Certificates;
use rows_by_id::{INSERT, commit_conflicts, commit_is_lost, in_session, open, plan};
use std::io::{Read, Write as _};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use syncline_contract::conformance::{block_on, conforms};
use syncline_contract::{
    AccessPattern, Durability, FailureKind, LogLocation, Meaning, Session, Stop, StoreProcess,
    Target, Value,
};
use syncline_launcher::{LaunchSpec, PrivateServer, Product};
use syncline_testkit::url_option;

fn server() -> PrivateServer {
    PrivateServer::start(&LaunchSpec::new(Product::Etcd)).unwrap()
}

/// The server's address, with no option but its socket.
fn place(server: &PrivateServer) -> String {
    format!("etcd://?socket={}", socket(server))
}

fn socket(server: &PrivateServer) -> &str {
    url_option(server.url(), "socket").unwrap()
}

/// Sends a request to the gateway as any client could, with keys and values that need no encoding.
fn ask(server: &PrivateServer, path: &str, question: &str) -> String {
    let mut stream = UnixStream::connect(socket(server)).unwrap();
    let length = question.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{question}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The number of keys.
fn keys(server: &PrivateServer) -> String {
    // From the byte 0 to the byte 255.
    let all = r#"{"key": "AA==", "range_end": "/w==", "count_only": true}"#;
    let answer = ask(server, "/v3/kv/range", all);
    let count = answer.split("\"count\":\"").nth(1).unwrap_or("0\"");
    count.split('"').next().unwrap().to_owned()
}

#[test]
fn etcd_conforms_in_all_but_indexes_and_joins() {
    let server = server();
    let url = server.url();
    let outcome = conforms(|| open(url));
    assert!(outcome.findings.is_empty(), "{outcome}");
    for case in ["no update is lost", "scans by key", "batches are loaded"] {
        assert!(outcome.tested.contains(&case), "{outcome:?}");
    }
    assert_eq!(keys(&server), "0", "nothing is left");
}

#[test]
fn its_own_count_shows_that_it_syncs() {
    let server = server();
    let target = open(&place(&server));
    block_on(&(), target.preflight()).unwrap();
    assert_eq!(target.process(), StoreProcess::Other(server.pid()));
    let log = target.log_location();
    assert!(
        matches!(&log, LogLocation::Directory(place) if place.ends_with("member/wal")),
        "{log:?}"
    );
    block_on(&(), target.create(&plan())).unwrap();
    let reported = block_on(&(), target.reported_settings()).unwrap();
    assert_eq!(reported.durability, Durability::Data);
    assert!(reported.durability_evidence.contains("3 consecutive commits"), "{reported:?}");
    assert!(reported.version.starts_with("3."), "{reported:?}");
    block_on(&(), target.remove()).unwrap();
    let weaker = open(&format!("{}&durability=os", place(&server)));
    let refused = block_on(&(), weaker.create(&plan())).unwrap_err();
    assert!(refused.what.contains("sets durability=os"), "{refused}");
    assert_eq!(keys(&server), "0", "a refusal leaves nothing");
}

#[test]
fn a_commit_over_a_row_that_another_process_changed_conflicts() {
    let server = server();
    let target = open(&place(&server));
    in_session(&target, async |session| {
        let remove_all =
            || drop(ask(&server, "/v3/kv/deleterange", r#"{"key": "AA==", "range_end": "/w=="}"#));
        commit_conflicts(session, remove_all).await;
    });
    block_on(&(), target.remove()).unwrap();
}

#[test]
fn a_transaction_that_is_too_large_is_a_limit_and_a_load_is_split() {
    let server = server();
    let target = open(&place(&server));
    in_session(&target, async |session| {
        session.begin(AccessPattern::Several);
        for id in 0..200 {
            session.send(INSERT, &[Value::Int(id), Value::Int(id)]).unwrap();
        }
        let stopped = session.commit().await.unwrap_err();
        assert!(
            matches!(&stopped, Stop::Failed(failure) if failure.kind == FailureKind::Limit
                && failure.what.contains("too many operations")),
            "{stopped:?}"
        );
        session.abort().await;
        assert_eq!(keys(&server), "2", "the mark and the lease's key");
        let mut batch = syncline_contract::Rows::new(2);
        (0..200).for_each(|id| batch.push_row(&[Value::Int(id), Value::Int(id)]));
        session.load(syncline_contract::TableId(0), &batch).await.unwrap();
        assert_eq!(keys(&server), "202");
    });
    block_on(&(), target.remove()).unwrap();
}

#[test]
fn unmanaged_keys_stay_and_a_server_in_use_is_not_disturbed() {
    let server = server();
    // The keys "mine" and "syncline_y/mark", of value "precious".
    for key in ["bWluZQ==", "c3luY2xpbmVfeS9tYXJr"] {
        let put = format!(r#"{{"key": "{key}", "value": "cHJlY2lvdXM="}}"#);
        ask(&server, "/v3/kv/put", &put);
    }
    let target = open(&place(&server));
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let server = &server;
        let works = scope.spawn(move || {
            while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                ask(server, "/v3/kv/range", r#"{"key": "bWluZQ=="}"#);
            }
        });
        let refused = block_on(&(), target.preflight()).unwrap_err();
        assert!(refused.what.contains("live=yes"), "{refused}");
        drop(stop);
        works.join().unwrap();
    });
    block_on(&(), target.preflight()).unwrap();
    block_on(&(), target.create(&plan())).unwrap();
    assert_eq!(keys(&server), "4", "two managed ones: the mark and the lease's key");
    let kept = block_on(&(), open(&place(&server)).clean()).unwrap();
    assert!(kept.len() == 1 && kept[0].starts_with("kept"), "a run uses them: {kept:?}");
    assert_eq!(keys(&server), "4");
    drop(target);
    let cleaned = block_on(&(), open(&place(&server)).clean()).unwrap();
    assert!(cleaned.len() == 1 && cleaned[0].contains("keys of prefix"), "{cleaned:?}");
    assert_eq!(keys(&server), "2", "unmanaged keys stay");
}

#[test]
fn counters_grow_and_missing_ones_have_a_reason() {
    let server = server();
    let target = open(&place(&server));
    let before = block_on(&(), target.counters()).unwrap();
    block_on(&(), target.create(&plan())).unwrap();
    let after = block_on(&(), target.counters()).unwrap();
    let grown = |meaning: Meaning| {
        let find = |all: &[syncline_contract::Counter]| {
            all.iter().find(|one| one.meaning == meaning).unwrap().clone()
        };
        find(&after).grown_since(&find(&before))
    };
    // The mark, three trials and their removal.
    assert!(grown(Meaning::Commits).unwrap() >= 5);
    assert!(grown(Meaning::LogSyncs).unwrap() >= 5);
    assert!(grown(Meaning::SyncTime).unwrap() > 0);
    assert!(grown(Meaning::LogBytes).is_err());
    // B.F19
    assert!(grown(Meaning::DataCommits).is_ok() && grown(Meaning::DataCommitTime).is_ok());
    for name in ["wal_fsync", "backend_commit"] {
        let last = format!("etcd_disk_{name}_duration_seconds_bucket{{le=\"+Inf\"}}");
        let found = after.iter().find(|one| one.name == last);
        assert!(found.is_some_and(|one| one.value.is_ok()), "{last}");
    }
    let seen = block_on(&(), target.observe()).unwrap();
    let names: Vec<_> = seen.settings.iter().map(|one| &one.name).collect();
    assert_eq!(names, ["dbSize", "raftTerm"], "each is reported once");
    for meaning in Meaning::ALL {
        assert!(seen.counter(meaning).is_some(), "{meaning:?} is listed, available or not");
    }
    assert_eq!(seen.replication, Ok(Vec::new()));
    assert!(block_on(&(), target.round_trip_ns()).unwrap().unwrap() > 0);
    block_on(&(), target.remove()).unwrap();
}

#[test]
fn a_server_that_stops_is_a_lost_connection_and_not_a_hang() {
    let server = server();
    let target = open(&place(&server));
    in_session(&target, async |session| commit_is_lost(session, || drop(server)).await);
    assert!(block_on(&(), target.remove()).is_err());
}

/// Debian's unprivileged user, which a server runs as if the test is root.
const NOBODY: u32 = 65_534;

/// A server that accepts encrypted connections only; stopped when it is dropped.
struct Encrypted {
    process: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Encrypted {
    fn start(with: &Certificates) -> Encrypted {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        }
        let free = || {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        };
        let (port, peers) = (free(), format!("http://127.0.0.1:{}", free()));
        let clients = format!("https://127.0.0.1:{port}");
        let process = command
            .args(["etcd", "--name=encrypted", "--data-dir"])
            .arg(folder.path().join("data"))
            .arg("--cert-file")
            .arg(with.certificate())
            .arg("--key-file")
            .arg(with.key())
            .args(["--listen-client-urls", &clients])
            .args(["--advertise-client-urls", &clients])
            .args(["--listen-peer-urls", &peers])
            .args(["--initial-advertise-peer-urls", &peers])
            .args(["--initial-cluster", &format!("encrypted={peers}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("etcd, of Debian's package etcd-server, and setpriv");
        Encrypted { process, port, folder }
    }

    /// The URL with those options, once it answers.
    fn ready(&mut self, options: &str) -> String {
        let url = format!("etcds://127.0.0.1:{}?{options}", self.port);
        let target = open(&url);
        let mut last = None;
        for _ in 0..1_000 {
            assert!(self.process.try_wait().unwrap().is_none(), "etcd ended");
            match block_on(&(), target.preflight()) {
                Ok(()) => return url,
                Err(failure) => last = Some(failure),
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("{} is never ready: {last:?}", self.folder.path().display());
    }
}

impl Drop for Encrypted {
    fn drop(&mut self) {
        // One that has ended already is gone.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[test]
fn an_encrypted_server_conforms_and_is_verified_by_its_certificate() {
    let made = Certificates::new();
    let mut server = Encrypted::start(&made);
    let roots = made.root().display().to_string();
    let url = server.ready(&format!("tls_roots={roots}"));
    let outcome = conforms(|| open(&url));
    assert!(outcome.findings.is_empty(), "{outcome}");
    let other = Certificates::new();
    let other_root = other.root().display().to_string();
    for (url, why) in [
        (
            url.replace(&roots, &other_root),
            "its certificate is not signed by the key of the trusted root",
        ),
        (url.replace("etcds:", "etcd:").replace(&format!("tls_roots={roots}"), "live=yes"), ""),
    ] {
        let failure = block_on(&(), open(&url).preflight()).unwrap_err();
        assert!(failure.what.contains(why), "{url}: {failure}");
    }
    let any = url.replace(&format!("tls_roots={roots}"), "tls=require");
    block_on(&(), open(&any).preflight()).unwrap();
}
