//! The counts of a measured window with sampling windows.

use super::{calls, may_load, weight};
use crate::bpf::collector::{monotonic, open};
use crate::bpf::counts::Counts;
use crate::bpf::map_types::{Actor, Key, Kind};
use crate::bpf::process_tree;
use crate::bpf::programs::Programs;
use crate::profiler::ProfilerOptions;
use crate::subject::Subject;
use rustix::fs::fdatasync;
use rustix::process::getppid;
use rustix::thread::gettid;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use syncline_host::Process;
use syncline_profile::{Metric, Precision, ProfileBuilder, Sample};

/// A thread that makes `calls` system calls, syncs five times, and ends; returns its number.
fn calls_and_syncs(calls: u32) -> u32 {
    let work = thread::spawn(move || {
        let (_reader, writer) = std::io::pipe().unwrap();
        (0..calls).for_each(|_| assert!(getppid().is_some()));
        (0..5).for_each(|_| assert!(fdatasync(&writer).is_err()));
        gettid().as_raw_nonzero().get().unsigned_abs()
    });
    work.join().unwrap()
}

#[test]
fn between_windows_syncs_are_counted_and_calls_are_not_and_sleepers_are_off_in_all() {
    let Some(_alone) = may_load() else {
        return;
    };
    let mut programs = Programs::load().unwrap();
    programs.attach().unwrap();
    if !programs.can_pause() {
        return; // Linux before 5.18, or without tracepoints of single calls: all events are counted.
    }
    process_tree::enter(&mut programs, Process::Own).unwrap();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let (sender, receiver) = std::sync::mpsc::channel();
    let sleeper = thread::spawn(move || {
        sender.send(gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
        assert!(ended.recv().is_err());
    });
    let sleeper_number = receiver.recv().unwrap();
    while !process_tree::sleeps(std::process::id(), sleeper_number) {
        thread::yield_now();
    }
    programs.count_since(monotonic()).unwrap();
    let first = calls_and_syncs(1000);
    programs.pause(monotonic()).unwrap();
    let between = calls_and_syncs(777);
    thread::sleep(Duration::from_millis(30));
    programs.resume().unwrap();
    programs.start_window(monotonic()).unwrap();
    let second = calls_and_syncs(500);
    programs.count_until(monotonic()).unwrap();
    programs.detach().unwrap();
    drop(end);
    sleeper.join().unwrap();
    let mut counts = Counts::read(&mut programs).unwrap();
    let sampled_ns = programs.sampled();
    counts.add_sleepers(sampled_ns);
    let of = |number, wanted: Kind| -> u64 {
        let of = counts.sums.iter();
        let of = of.filter(|(key, _)| key.doer == Actor::Thread(number) && key.kind == wanted);
        of.map(|(_, sum)| sum.count).sum()
    };
    for (number, calls_made) in [(first, 1000), (between, 0), (second, 500)] {
        assert_eq!(of(number, Kind::Call(calls().1)), calls_made);
        assert_eq!(of(number, Kind::Sync), 5);
    }
    let placed = |key: &Key| key.doer == Actor::Thread(between) && key.site.is_some();
    assert!(counts.sums.keys().any(placed), "it is known where it synced");
    assert!(!counts.threads.contains_key(&between), "it has ended");
    let off = counts.sums.iter();
    let off = off.filter(|(key, _)| key.doer == Actor::Thread(sleeper_number));
    assert_eq!(off.map(|(_, sum)| sum.amount).sum::<u64>(), sampled_ns);
}

/// The number of system calls that a thread here counts as a commit.
const CALLS: u64 = 100;

/// A thread that only makes system calls is too expensive to be sampled all the time.
#[test]
fn expensive_events_are_sampled_in_windows_and_scaled_to_the_total() {
    let Some(_alone) = may_load() else {
        return;
    };
    let (done, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let commits = || done.load(Ordering::Relaxed);
    let mut collector = open(&Subject::of(Process::Own), &ProfilerOptions::default()).unwrap();
    collector.prepare().unwrap();
    let mut all = 0;
    let profile = thread::scope(|scope| {
        let builder = thread::Builder::new().name("always calls".to_owned());
        let calling = builder.spawn_scoped(scope, || {
            while !over.load(Ordering::Relaxed) {
                (0..CALLS).for_each(|_| assert!(getppid().is_some()));
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
        collector.start().unwrap();
        let before = commits();
        collector.tick(&commits).unwrap();
        for _ in 0..100 {
            thread::sleep(Duration::from_millis(20));
            collector.tick(&commits).unwrap();
        }
        collector.end(&commits).unwrap();
        all = (commits() - before) * CALLS;
        collector.stop().unwrap();
        over.store(true, Ordering::Relaxed);
        calling.unwrap().join().unwrap();
        let timed = collector.programs().unwrap();
        assert!(timed.attached_ns < 1_500_000_000, "{timed:?}");
        let mut profile = ProfileBuilder::default();
        collector.hand_over(&mut profile);
        profile.finish(1)
    });
    let of = |sample: &Sample| profile.thread(sample.thread).name == "always calls";
    let calls = weight(&profile, Metric::SystemCalls, of);
    let mut accounts = profile.accounts().iter();
    let account = accounts.find(|account| account.metric == Metric::SystemCalls);
    let account = account.unwrap();
    assert!(calls.abs_diff(all) * 20 < all, "{calls} of {all}: {account:?}");
    let Precision::Sampled(how) = &account.how else { panic!("{account:?}") };
    assert!(how.contains("windows") && how.contains("(95 %)"), "{how}");
}
