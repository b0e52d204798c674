//! What stands between a run and the server: a forwarded port, a pooler.

use crate::server::Server;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use syncline_contract::conformance::block_on;
use syncline_contract::{Durability, LogPlace, StoreProcess, Target};
use syncline_metering::clock;
use syncline_targets::AnyTarget;

/// Copies bytes both ways between a port of this process and another, as `ssh -L` and docker-proxy do.
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
fn what_forwards_a_port_is_not_taken_for_the_server() {
    let server = Server::start(Durability::Data);
    let direct = AnyTarget::open(&server.url(0, "")).unwrap();
    block_on(&(), direct.meet()).unwrap();
    assert!(matches!(direct.process(), StoreProcess::Other(_)));
    let url = at_port(&server, forward_to(server.port()));
    let forwarded = AnyTarget::open(&url).unwrap();
    block_on(&(), forwarded.meet()).unwrap();
    let StoreProcess::Unknown(why) = forwarded.process() else {
        panic!("taken for the server: {:?}", forwarded.process());
    };
    assert!(why.contains("a forwarder"), "{why}");
    assert!(matches!(forwarded.log_place(), LogPlace::Nowhere(_)));
}

/// A `PgBouncer` before a server; ended when this is dropped.
struct Pooler {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}

impl Pooler {
    /// In that mode; none if `PgBouncer` is not installed.
    fn start(server: &Server, mode: &str) -> Option<Pooler> {
        const PROGRAM: &str = "/usr/sbin/pgbouncer";
        if !Path::new(PROGRAM).exists() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = port.local_addr().unwrap().port();
        // PgBouncer refuses to be root; the server's user may enter the directory of its socket.
        let data = std::fs::metadata(server.data()).unwrap();
        let settings = folder.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host={} port={} user=postgres\n[pgbouncer]\nlisten_addr=127.0.0.1\n\
             listen_port={port}\nunix_socket_dir=\nauth_type=any\npool_mode={mode}\ndefault_pool_size=4\n",
            server.socket_directory(),
            server.port()
        );
        std::fs::write(&settings, text).unwrap();
        for path in [folder.path(), &settings] {
            chown(path, Some(data.uid()), Some(data.gid())).unwrap();
        }
        let child = Command::new(PROGRAM)
            .arg(&settings)
            .uid(data.uid())
            .gid(data.gid())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pooler = Pooler {
            child,
            port,
            _folder: folder,
        };
        let until = clock::now() + 10_000_000_000;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(clock::now() < until, "pgbouncer does not listen");
            std::thread::yield_now();
        }
        Some(pooler)
    }
}

// B.F1
#[test]
fn a_pooler_in_transaction_mode_is_refused_before_anything_is_set() {
    let server = Server::start(Durability::Os);
    for mode in ["transaction", "statement"] {
        let Some(pooler) = Pooler::start(&server, mode) else {
            return;
        };
        let target = AnyTarget::open(&at_port(&server, pooler.port)).unwrap();
        let refused = block_on(&(), target.meet()).unwrap_err();
        assert!(
            refused.what.contains("a pooler in transaction mode"),
            "{refused}"
        );
        drop(target);
        // The application that comes next finds its connection as the server makes it.
        let shown =
            "SELECT current_setting('search_path') || ' ' || current_setting('synchronous_commit')";
        let url = at_port(&server, pooler.port);
        let pooled = psql(&url_without_options(&url), shown);
        assert_eq!(pooled, psql(&direct(&server), shown));
        assert_eq!(server.schemas(), [""; 0]);
    }
}

// B.F1
#[test]
fn a_pooler_in_session_mode_is_taken_and_is_not_the_server() {
    let server = Server::start(Durability::Os);
    let Some(pooler) = Pooler::start(&server, "session") else {
        return;
    };
    let target = AnyTarget::open(&at_port(&server, pooler.port)).unwrap();
    block_on(&(), target.meet()).unwrap();
    assert!(matches!(target.process(), StoreProcess::Unknown(_)));
}

fn url_without_options(url: &str) -> String {
    url.split('?').next().unwrap().to_owned()
}

/// What psql, as an application would, is answered.
fn psql(url: &str, statement: &str) -> String {
    let ran = Command::new("/usr/lib/postgresql/15/bin/psql")
        .args(["-At", url, "-c", statement])
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

// B.F6
#[test]
fn commits_that_would_wait_for_a_standby_for_ever_are_refused() {
    let server = Server::start(Durability::Data);
    // A session of ours sets synchronous_commit itself, so another program sets and reads the server's.
    let url = direct(&server);
    let set = |name: &str, value: &str| {
        psql(&url, &format!("ALTER SYSTEM SET {name} = '{value}'"));
        psql(&url, "SELECT pg_reload_conf()");
        while psql(&url, &format!("SHOW {name}")) != value {
            std::thread::yield_now();
        }
    };
    set("synchronous_standby_names", "standby1");
    let refused = block_on(&(), server.target("").meet()).unwrap_err();
    assert!(
        refused.what.contains("no synchronous standby") && refused.what.contains("standby1"),
        "{refused}"
    );
    set("synchronous_commit", "local");
    block_on(&(), server.target("").meet()).unwrap();
}

/// The server over its socket, for libpq.
fn direct(server: &Server) -> String {
    let socket = server.socket_directory().replace('/', "%2F");
    format!("postgres://postgres@{socket}:{}/postgres", server.port())
}
