//! The counter of sync system calls, held against a known number of syncs.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]

use parking_lot::Mutex;
use rustix::fs::{fdatasync, fsync};
use std::fs::File;
use std::io::Write;
use std::process::Command;
use std::thread;
use syncline_host::{Process, SyncCounter};

/// Held by every test: they count the syncs of this process, and so those of one another.
static ALONE: Mutex<()> = Mutex::new(());

fn counter(watched: Process) -> Option<SyncCounter> {
    match SyncCounter::open(watched) {
        Ok(counter) => Some(counter),
        Err(why) => {
            // Past the test harness's capture, so that a skip can be seen.
            let skipped = format!("SKIPPED: system calls cannot be counted here: {why}\n");
            std::io::stderr().write_all(skipped.as_bytes()).unwrap();
            None
        }
    }
}

#[test]
fn every_sync_of_every_thread_is_counted_once() {
    let _alone = ALONE.lock();
    let Some(counter) = counter(Process::Ours) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let before = counter.read().unwrap();
    // Threads that start after the counter was opened, one of which has ended when it is read.
    let work = |name: &str, data: u32, full: u32| {
        let mut file = File::create(folder.path().join(name)).unwrap();
        for _ in 0..data {
            file.write_all(b"some bytes").unwrap();
            fdatasync(&file).unwrap();
        }
        for _ in 0..full {
            fsync(&file).unwrap();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| work("a", 17, 3)).join().unwrap();
        scope.spawn(|| work("b", 5, 0));
    });
    work("c", 2, 1);
    let after = counter.read().unwrap();
    assert_eq!(after.syncs - before.syncs, 17 + 3 + 5 + 2 + 1);
    let all = after.system_calls.unwrap() - before.system_calls.unwrap();
    assert!(all >= 2 * 24 + 4, "each write and sync is a system call, {all} were counted");
}

#[test]
fn another_process_and_what_it_starts_is_counted_and_ours_is_not() {
    let _alone = ALONE.lock();
    // `sync FILE` calls fsync once, `sync -d FILE` fdatasync; the shell waits for a line, so that counting
    // can begin before.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    File::create(&path).unwrap();
    let mut child = Command::new("sh")
        .args(["-c", r#"read line; for i in 1 2 3; do sync "$0"; sync -d "$0"; done; read line"#])
        .arg(&path)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let counter = counter(Process::Other(child.id()));
    let mut input = child.stdin.take().unwrap();
    if let Some(counter) = counter {
        fsync(File::open(&path).unwrap()).unwrap();
        input.write_all(b"go\n").unwrap();
        let mut syncs = 0;
        while syncs < 6 && child.try_wait().unwrap().is_none() {
            syncs = counter.read().unwrap().syncs;
            thread::yield_now();
        }
        assert_eq!(syncs, 6);
    }
    drop(input);
    child.wait().unwrap();
}

#[test]
fn a_process_that_is_not_there_is_refused_in_words() {
    let why = SyncCounter::open(Process::Other(u32::MAX)).unwrap_err();
    assert!(!why.is_empty() && !why.contains('\n'), "{why}");
}
