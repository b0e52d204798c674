//! Ctrl-C: the program ends cleanly with its results so far, and leaves nothing behind.

use crate::support::{ProgramOutput, folder, interrupt, left_behind, records, start, syncline};
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Waits until the directory contains a name with `part` in it.
fn wait_for(folder: &Path, part: &str) {
    while !left_behind(folder).iter().any(|name| name.contains(part)) {
        std::thread::yield_now();
    }
}

/// Starts the program, and interrupts it once the directory contains a name with `part` in it.
fn interrupted(folder: &Path, line: &str, part: &str) -> ProgramOutput {
    let child = start(folder, line);
    wait_for(folder, part);
    interrupt(&child);
    ProgramOutput::after(child)
}

#[test]
fn a_probe_that_is_stopped_removes_its_files_and_keeps_its_record() {
    let folder = folder();
    let result = interrupted(folder.path(), "probe .", ".syncline-probe");
    assert_eq!(result.code, 2, "{result:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
    let files = records(folder.path());
    assert_eq!(files.len(), 1);
    assert_eq!(syncline(folder.path(), &format!("show {}", files[0].display())).code, 0);
}

#[test]
fn a_stopped_run_reports_its_results_so_far() {
    let folder = folder();
    let line = "run insert --on sqlite --duration 60s --warm-up 0 --line none --json";
    let child = start(folder.path(), line);
    // The head of the record is written when the clients start.
    while records(folder.path()).is_empty() {
        std::thread::yield_now();
    }
    let first_interval = || {
        let text = std::fs::read_to_string(&records(folder.path())[0]).unwrap_or_default();
        text.lines().count() > 1
    };
    while !first_interval() {
        std::thread::yield_now();
    }
    interrupt(&child);
    let result = ProgramOutput::after(child);
    let record = result.json();
    assert_eq!(record["stopped_by"], "asked to stop", "{record}");
    assert!(record["outcomes"]["committed"].as_u64().unwrap() > 0);
    assert!(record["checks"].as_array().unwrap().iter().all(|check| check["outcome"] == "held"));
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
    assert_eq!(result.code, 2, "the run was not completed: {result:?}");
}

#[test]
fn a_run_stopped_before_its_load_reports_it() {
    let folder = folder();
    let result =
        interrupted(folder.path(), "run insert --on sqlite --duration 60s", ".syncline-probe");
    assert_eq!((result.code, result.out.as_str()), (2, ""), "{result:?}");
    assert!(result.err.contains("stopped before the measurement"), "{result:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
    assert_eq!(records(folder.path()).len(), 0);
}

#[test]
fn stopped_schedules_leave_no_store_behind() {
    let folder = folder();
    let result = interrupted(folder.path(), "verify isolation sqlite", ".syncline-sqlite");
    assert_eq!((result.code, result.out.as_str()), (2, ""), "{result:?}");
    assert!(result.err.contains("stopped before"), "{result:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

#[test]
fn a_second_signal_ends_at_once_and_still_removes_the_probe_s_files() {
    let folder = folder();
    let child = start(folder.path(), "probe .");
    wait_for(folder.path(), ".syncline-probe");
    interrupt(&child);
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success());
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

#[test]
fn the_next_run_refuses_a_killed_load_with_advice() {
    let folder = folder();
    let run = |rows: u64| {
        format!(
            "run select --on sqlite:kept.db?durability=os --reuse --rows {rows} --transactions 5 --warm-up 0 \
             --line none"
        )
    };
    let mut child = start(folder.path(), &run(2_000_000));
    let log = folder.path().join("kept.db-wal");
    // Until tables exist and rows arrive.
    while std::fs::metadata(&log).map_or(0, |log| log.len()) < 1 << 20 {
        assert!(child.try_wait().unwrap().is_none(), "it loads for long");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    for _ in 0..2 {
        let result = syncline(folder.path(), &run(2_000_000));
        assert_eq!(result.code, 2, "{result:?}");
        let why = "its rows were not loaded to the end; remove it";
        assert!(result.err.contains(why), "{result:?}");
    }
    for name in left_behind(folder.path()) {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    assert_eq!(syncline(folder.path(), &run(100)).code, 0, "the place is free");
}

/// f16: a killed load of a part leaves rows that no run uses.
#[test]
fn a_partially_loaded_part_is_refused() {
    let folder = folder();
    let load = |first: u64, count: u64| {
        format!(
            "ycsb load -p recordcount=2000000 -p fieldcount=1 -p insertstart={first} -p insertcount={count} \
             --on sqlite:kept.db?durability=os"
        )
    };
    let result = syncline(folder.path(), &load(0, 100));
    assert_eq!(result.code, 0, "{result:?}");
    let mut child = start(folder.path(), &load(100, 1_900_000));
    let log = folder.path().join("kept.db-wal");
    while std::fs::metadata(&log).map_or(0, |log| log.len()) < 1 << 20 {
        assert!(child.try_wait().unwrap().is_none(), "it loads for long");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let run = "ycsb run -p recordcount=2000000 -p fieldcount=1 -p operationcount=1 --line none \
               --on sqlite:kept.db?durability=os";
    for line in [&load(100, 1_900_000), &load(0, 100), run] {
        let result = syncline(folder.path(), line);
        assert_eq!(result.code, 2, "{line}: {result:?}");
        assert!(!result.out.contains("Return=OK"), "{line}: {result:?}");
    }
    let result = syncline(folder.path(), &load(100, 1_900_000));
    let why = "has not ended, so their content is unknown; remove it";
    assert!(result.err.contains(why), "{result:?}");
}

/// A port on which a server sends `words` to each connection and then nothing; the receiver counts
/// connections.
fn silent_server(words: &'static [u8]) -> (u16, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, accepted) = mpsc::channel();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.write_all(words).unwrap();
            kept.push(stream);
            if sender.send(()).is_err() {
                break;
            }
        }
    });
    (port, accepted)
}

/// How long the program may take to connect to the server: a JVM may have to start.
const CONNECTS_WITHIN: Duration = Duration::from_secs(30);
/// One Ctrl-C ends a wait within half a second, and the program within two. The limit allows for a busy
/// machine, but is far shorter than the waits themselves.
const ENDS_WITHIN: Duration = Duration::from_secs(4);

/// Starts the program on a server that sends `words` and then nothing, and ends it with one Ctrl-C.
fn ends_by_one_ctrl_c(folder: &Path, verb: &str, url: &str, words: &'static [u8]) {
    const POLL_INTERVAL: Duration = Duration::from_millis(5);
    let (port, accepted) = silent_server(words);
    let line = verb.replace("URL", &url.replace("PORT", &port.to_string()));
    let mut child = start(folder, &line);
    accepted.recv_timeout(CONNECTS_WITHIN).unwrap();
    interrupt(&child);
    for _ in 0..ENDS_WITHIN.as_millis() / POLL_INTERVAL.as_millis() {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    if child.try_wait().unwrap().is_none() {
        child.kill().unwrap();
        let result = ProgramOutput::after(child);
        panic!("{line} is there after {ENDS_WITHIN:?}: {result:?}");
    }
    let result = ProgramOutput::after(child);
    assert_eq!(result.code, 2, "{line}: {result:?}");
    let stopped = ["interrupted", "asked to stop"];
    assert!(stopped.iter().any(|one| result.err.contains(one)), "{line}: {result:?}");
}

// A.E6, B.F7
#[test]
fn one_ctrl_c_ends_a_wait_for_a_silent_server() {
    let folder = folder();
    // Ready for a query: a successful authentication, and ReadyForQuery.
    let ready: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    for (url, words) in [
        ("redis://127.0.0.1:PORT/?connect_timeout_ms=3600000", &b""[..]),
        ("etcd://127.0.0.1:PORT?connect_timeout_ms=3600000", b""),
        ("mysql://u@127.0.0.1:PORT?connect_timeout_ms=3600000", b""),
        ("postgres://u@127.0.0.1:PORT/d?connect_timeout_ms=3600000", b""),
        ("postgres://u@127.0.0.1:PORT/d?tls=disable&connect_timeout_ms=3600000", ready),
    ] {
        for verb in ["observe URL --for 1s", "clean URL", "run insert --line none --on URL"] {
            ends_by_one_ctrl_c(folder.path(), verb, url, words);
        }
    }
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}

/// A.E6: a JDBC driver's own sockets wait in a JVM, which this program cannot interrupt.
#[cfg(feature = "jdbc")]
#[test]
fn one_ctrl_c_ends_a_wait_for_a_silent_server_behind_jdbc() {
    let folder = folder();
    let drivers = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("jdbc-drivers");
    let jar = |name: &str| {
        let files = std::fs::read_dir(&drivers).into_iter().flatten().flatten();
        let found = files.map(|file| file.path()).find(|path| {
            let file = path.file_name().unwrap().to_string_lossy();
            file.starts_with(name)
        });
        let found = found.unwrap_or_else(|| panic!("no {name}: run scripts/fetch-jdbc-drivers"));
        found.display().to_string()
    };
    // Logged in, then waiting for an answer: the driver itself has no deadline.
    let ready: &[u8] = b"R\0\0\0\x08\0\0\0\0S\0\0\0\x19client_encoding\0UTF8\0\
        S\0\0\0\x18server_version\x0015.1\0Z\0\0\0\x05I";
    let postgres = format!(
        "jdbc:postgresql://127.0.0.1:PORT/d?user=u&password=p&driver={}&connect_timeout_ms=3600000\
         &property.sslmode=disable",
        jar("postgresql-")
    );
    let mariadb = format!(
        "jdbc:mariadb://127.0.0.1:PORT/?user=u&driver={}&connect_timeout_ms=3600000",
        jar("mariadb-java-client-")
    );
    for (url, words) in [(&postgres, &b""[..]), (&postgres, ready), (&mariadb, b"")] {
        for verb in ["clean URL", "run insert --line none --on URL"] {
            ends_by_one_ctrl_c(folder.path(), verb, url, words);
        }
    }
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}
