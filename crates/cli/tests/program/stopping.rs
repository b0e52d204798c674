//! Ctrl-C: ends cleanly with what was measured, and leaves nothing behind.

use crate::support::{Said, folder, left_behind, program, records, say};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

fn start(folder: &Path, line: &str) -> Child {
    program(folder, line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

/// Waits until something named like that stands in the folder.
fn wait_for(folder: &Path, part: &str) {
    while !left_behind(folder).iter().any(|name| name.contains(part)) {
        std::thread::yield_now();
    }
}

#[test]
fn a_probe_that_is_stopped_removes_its_files_and_keeps_its_record() {
    let folder = folder();
    let child = start(folder.path(), "probe .");
    wait_for(folder.path(), ".syncline-probe");
    interrupt(&child);
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!(said.code, 2, "{said:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
    let files = records(folder.path());
    assert_eq!(files.len(), 1);
    assert_eq!(
        say(folder.path(), &format!("show {}", files[0].display())).code,
        0
    );
}

#[test]
fn a_run_that_is_stopped_tells_what_it_measured() {
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
    let said = Said::of(child.wait_with_output().unwrap());
    let record = said.json();
    assert_eq!(record["stopped_by"], "asked to stop", "{record}");
    assert!(record["outcomes"]["committed"].as_u64().unwrap() > 0);
    assert!(
        record["checks"]
            .as_array()
            .unwrap()
            .iter()
            .all(|check| check["outcome"] == "held")
    );
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
    assert_eq!(
        said.code, 2,
        "not all that was asked for was done: {said:?}"
    );
}

#[test]
fn a_run_that_is_stopped_before_its_load_says_so() {
    let folder = folder();
    let child = start(folder.path(), "run insert --on sqlite --duration 60s");
    wait_for(folder.path(), ".syncline-probe");
    interrupt(&child);
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{said:?}");
    assert!(said.err.contains("stopped before anything"), "{said:?}");
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
    assert_eq!(records(folder.path()).len(), 0);
}

#[test]
fn schedules_that_are_stopped_leave_no_store_behind() {
    let folder = folder();
    let child = start(folder.path(), "verify isolation sqlite");
    wait_for(folder.path(), ".syncline-sqlite");
    interrupt(&child);
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{said:?}");
    assert!(said.err.contains("stopped before"), "{said:?}");
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
fn a_load_that_was_killed_is_refused_by_the_next_run_which_says_what_to_do() {
    let folder = folder();
    let run = |rows: u64| {
        format!(
            "run select --on sqlite:kept.db?durability=os --reuse --rows {rows} --transactions 5 --warm-up 0 \
             --line none"
        )
    };
    let mut child = start(folder.path(), &run(2_000_000));
    let log = folder.path().join("kept.db-wal");
    // Until tables are there and rows come.
    while std::fs::metadata(&log).map_or(0, |log| log.len()) < 1 << 20 {
        assert!(child.try_wait().unwrap().is_none(), "it loads for long");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    for _ in 0..2 {
        let said = say(folder.path(), &run(2_000_000));
        assert_eq!(said.code, 2, "{said:?}");
        let why = "its rows were not loaded to the end; remove it";
        assert!(said.err.contains(why), "{said:?}");
    }
    for name in left_behind(folder.path()) {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    assert_eq!(say(folder.path(), &run(100)).code, 0, "the place is free");
}

/// A port at which a server accepts and says `words` to each connection, then nothing; told of each one.
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

// A.E6, B.F7
#[test]
fn one_ctrl_c_ends_a_wait_for_a_server_that_is_silent() {
    /// Far beyond the half second that an answer under way is given: one that hangs is ended by this.
    const HANGS_AFTER: Duration = Duration::from_secs(30);
    const LOOKS_EVERY: Duration = Duration::from_millis(5);
    let folder = folder();
    // Ready for a question: an authentication that succeeds, and readiness.
    let ready: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    for (url, words) in [
        (
            "redis://127.0.0.1:PORT/?connect_timeout_ms=3600000",
            &b""[..],
        ),
        ("etcd://127.0.0.1:PORT?connect_timeout_ms=3600000", b""),
        ("mysql://u@127.0.0.1:PORT?connect_timeout_ms=3600000", b""),
        (
            "postgres://u@127.0.0.1:PORT/d?connect_timeout_ms=3600000",
            b"",
        ),
        (
            "postgres://u@127.0.0.1:PORT/d?tls=disable&connect_timeout_ms=3600000",
            ready,
        ),
    ] {
        for verb in [
            "observe URL --for 1s",
            "clean URL",
            "run insert --line none --on URL",
        ] {
            let (port, accepted) = silent_server(words);
            let line = verb.replace("URL", &url.replace("PORT", &port.to_string()));
            let mut child = start(folder.path(), &line);
            accepted.recv_timeout(HANGS_AFTER).unwrap();
            interrupt(&child);
            for _ in 0..HANGS_AFTER.as_millis() / LOOKS_EVERY.as_millis() {
                if child.try_wait().unwrap().is_some() {
                    break;
                }
                std::thread::sleep(LOOKS_EVERY);
            }
            if child.try_wait().unwrap().is_none() {
                child.kill().unwrap();
                panic!("{line} hangs");
            }
            let said = Said::of(child.wait_with_output().unwrap());
            assert_eq!(said.code, 2, "{line}: {said:?}");
            assert!(said.err.contains("interrupted"), "{line}: {said:?}");
        }
    }
    assert_eq!(left_behind(folder.path()), Vec::<String>::new());
}
