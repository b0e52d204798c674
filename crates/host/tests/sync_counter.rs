//! Checks the counter of sync system calls against a known number of syncs.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]

use parking_lot::Mutex;
use rustix::fs::{fdatasync, fsync};
use std::fs::File;
use std::io::Write;
use std::process::Command;
use std::thread;
use syncline_host::{Process, SyncCounter};

/// Held by every test: they count the syncs of this process, including those of each other.
static ALONE: Mutex<()> = Mutex::new(());

fn counter(watched: Process) -> Option<SyncCounter> {
    match SyncCounter::open(watched) {
        Ok(counter) => Some(counter),
        Err(why) => {
            // Written past the test harness's capture, so that the skip is visible.
            let skipped = format!("SKIPPED: system calls cannot be counted here: {why}\n");
            std::io::stderr().write_all(skipped.as_bytes()).unwrap();
            None
        }
    }
}

#[test]
fn every_sync_of_every_thread_is_counted_once() {
    let _alone = ALONE.lock();
    let Some(counter) = counter(Process::Own) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let before = counter.read().unwrap();
    // The threads start after the counter was opened; one has ended before the count is read.
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
fn another_process_and_its_children_are_counted_but_not_this_one() {
    let _alone = ALONE.lock();
    // `sync FILE` calls fsync once, `sync -d FILE` calls fdatasync; the shell waits for a line, so that
    // counting begins before them.
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
fn a_missing_process_is_an_error() {
    let why = SyncCounter::open(Process::Other(u32::MAX)).unwrap_err();
    assert!(!why.is_empty() && !why.contains('\n'), "{why}");
}
