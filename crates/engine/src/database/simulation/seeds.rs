//! The search over many seeds, on as many threads as requested.

use super::harness::Tally;
use super::search::search;
use crate::buffer::pin;
use crate::seeds::{asked_seeds, asked_threads, search_seeds};
use std::sync::mpsc;
use std::thread;
use syncline_instrument::clock;

/// Seeds that are the same each time. What they exercise is checked, and only a change of the code changes
/// it.
const FIXED: u64 = 600;

/// Seeds that differ each time.
const FRESH: u64 = 60;

#[test]
fn no_seed_breaks_a_promise() {
    let fixed: Vec<u64> = (0..FIXED).collect();
    let seeds = asked_seeds(|| fixed.clone());
    let tally = search_all(&seeds);
    if seeds.len() >= fixed.len() {
        assert_exercised(&tally);
    }
    if seeds == fixed {
        let first = clock::wall();
        search_all(&(0..FRESH).map(|seed| first.wrapping_add(seed)).collect::<Vec<_>>());
    }
}

/// Searches all seeds and prints what they did; panics with the first that finds a fault.
fn search_all(seeds: &[u64]) -> Tally {
    let threads = asked_threads();
    let began = clock::now();
    let (tally, broken) = search_seeds((seeds, threads), search, Tally::add);
    let seconds = (clock::now() - began) as f64 / 1e9;
    println!("seeds {} to {}, {tally:?}", seeds[0], seeds[seeds.len() - 1]);
    println!("{:.0} cycles/s on {threads} threads", tally.cycles as f64 / seconds);
    if let Some(why) = broken {
        panic!("{why}");
    }
    tally
}

/// Waits that ended only when another thread let go of freed pages used to run other steps meanwhile.
#[test]
fn a_seed_is_the_same_each_time_however_late_memory_is_freed() {
    for seed in 0..60 {
        let one = tally(seed);
        let other = with_held_epoch(|| tally(seed));
        assert_eq!(one, other, "seed {seed}");
    }
}

fn tally(seed: u64) -> Result<Tally, String> {
    let mut tally = Tally::default();
    search(seed, &mut tally).map(|()| tally)
}

/// Runs `body` while another thread has pinned the epoch, so that no page which leaves meanwhile is freed.
fn with_held_epoch<R>(body: impl FnOnce() -> R) -> R {
    let (pinned, is_pinned) = mpsc::channel();
    let (release, is_released) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let _held = pin();
            pinned.send(()).expect("the test waits for it");
            // An error: the test has dropped the sender.
            is_released.recv().expect_err("nothing is sent");
        });
        is_pinned.recv().expect("the thread pins the epoch");
        let result = body();
        drop(release);
        result
    })
}

/// A search that lost nothing, or held nothing unacknowledged, has tested nothing.
fn assert_exercised(tally: &Tally) {
    assert!(tally.lost > tally.cycles / 50, "no image lost a commit: {tally:?}");
    assert!(
        tally.unacknowledged > tally.cycles / 50,
        "no image holds an unacknowledged commit: {tally:?}"
    );
    assert!(tally.whole > tally.cycles / 10, "no image holds everything: {tally:?}");
    assert!(tally.interrupted > tally.cycles / 20 && tally.redone > tally.cycles / 20, "{tally:?}");
    assert!(tally.faults > 20 && tally.conflicts > 100 && tally.refused > 100, "{tally:?}");
    assert!(tally.checkpoints > 100 && tally.unfinished > 20 && tally.full > 10, "{tally:?}");
    assert!(tally.failed_builds > 3 && tally.made_later > 20 && tally.long > 10, "{tally:?}");
    assert!(tally.evicted > 1_000 && tally.read_only > 100 && tally.backups > 30, "{tally:?}");
    assert!(tally.background_loads > 100, "{tally:?}");
    assert!(tally.archived > 100 && tally.restores > 30 && tally.cuts > 10, "{tally:?}");
}
