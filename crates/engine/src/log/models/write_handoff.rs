//! The whole log under loom, as small as possible: a thread that publishes and finds another one writing may
//! sleep, because the writer checks again; this includes the order in which memory shows the two checks.
//!
//! loom treats sequentially consistent loads and stores as weaker than they are, so this result rests only on
//! fences and read-modify-writes.

use crate::DatabaseId;
use crate::log::{Log, Options, Threads};
use crate::planted_bug::PlantedBug;
use crate::sync::explore::{Bound, Fault, find, find_weak, hold};
use loom::thread;
use std::path::Path;
use std::sync::Arc;
use syncline_vfs::SimulatedDisk;
use syncline_vfs::simulated::Metadata;

fn log() -> Arc<Log<SimulatedDisk>> {
    let options = Options { ring_records: 8, ..Options::tiny() };
    let disk = SimulatedDisk::new(1, Metadata::Strict);
    let id = DatabaseId([7; 16]);
    let log = Log::create_with(&disk, Path::new("log"), id, options, Threads::None);
    Arc::new(log.unwrap())
}

fn commit(log: &Log<SimulatedDisk>) {
    let permit = log.reserve(3).unwrap();
    let ticket = permit.take().publish(&mut b"one".to_vec());
    log.wait(ticket).unwrap();
    assert!(log.durable_lsn() >= ticket.csn, "complete is stable");
}

/// Two threads commit and block: one writes, and the other may find it writing.
fn two() {
    let log = log();
    let other = {
        let log = Arc::clone(&log);
        thread::spawn(move || commit(&log))
    };
    commit(&log);
    other.join().unwrap();
}

#[test]
fn two_concurrent_commits_both_complete() {
    hold("driving: two", Bound(2), two);
    let planted = Fault::Planted(PlantedBug::CheckOnce);
    find("driving: two", planted, Bound(2), two);
    for source in [
        ("log/driver.rs", include_str!("../driver.rs")),
        ("log/commit.rs", include_str!("../commit.rs")),
    ] {
        let found = find_weak("driving: two", source, Bound(2), two);
        let is_fence = |line: &String| line.contains("fence(Ordering::SeqCst)");
        assert!(found.iter().any(is_fence), "the fence of {} is needed", source.0);
    }
}
