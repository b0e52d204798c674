//! The programs in the kernel, held against processes and threads that do known things.
//!
//! Only root may load them. As anybody else each test checks that this is said, and how it is opened.

mod object;
mod sampling_windows;

use super::collector::{monotonic, open};
use super::counts::Counts;
use super::map_types::{Actor, Key, Kind};
use super::process_tree;
use super::programs::Programs;
use crate::profiler::ProfilerOptions;
use crate::subject::Subject;
use parking_lot::{Mutex, MutexGuard};
use rustix::fs::fdatasync;
use rustix::process::{geteuid, getppid};
use rustix::thread::{CapabilitySet, CapabilitySets, gettid, set_capabilities};
use std::io::{PipeWriter, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use syncline_host::{Process, SyncCounter};
use syncline_profile::{Metric, Name, Precision, Profile, ProfileBuilder, Sample};

/// None for who may not load programs, which is then said with the way out. One test at a time: all look at
/// this process's threads, which are those of all tests, and calls beyond the first thousands, and stacks of
/// those who wait at one depth, are known of all together.
fn may_load() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    if geteuid().is_root() {
        return Some(ALONE.lock());
    }
    assert_refused();
    None
}

fn assert_refused() {
    let why = Programs::load().unwrap_err();
    assert!(why.contains("setcap cap_bpf,cap_perfmon"), "{why}");
}

/// A shell that waits, and runs a line when it is told to.
struct Waiting(Child);

impl Waiting {
    fn shell(line: &str) -> Waiting {
        let mut child = Command::new("sh")
            .args(["-c", &format!("echo ready; read go; {line}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        assert_eq!(&ready, b"ready\n");
        // All that it does now is to go to sleep over its input.
        while !process_tree::sleeps(child.id(), child.id()) {
            thread::yield_now();
        }
        Waiting(child)
    }

    fn watched(&self) -> Process {
        Process::Other(self.0.id())
    }

    fn go(mut self) {
        let mut input = self.0.stdin.take().unwrap();
        input.write_all(b"go\n").unwrap();
        drop(input);
        assert!(self.0.wait().unwrap().success());
    }
}

/// What is counted of a process while something is done, and for how long it was.
fn counted(watched: Process, act: impl FnOnce()) -> (Counts, u64) {
    let mut programs = Programs::load().unwrap();
    programs.attach().unwrap();
    process_tree::enter(&mut programs, watched).unwrap();
    let since = monotonic();
    programs.count_since(since).unwrap();
    act();
    let until = monotonic();
    programs.count_until(until).unwrap();
    programs.detach().unwrap();
    let mut counts = Counts::read(&mut programs).unwrap();
    counts.add_sleepers(programs.looked());
    (counts, until - since)
}

/// The same by the collector, as a profile.
fn profiled(watched: Process, act: impl FnOnce()) -> Profile {
    let mut collector = open(&Subject::of(watched), &ProfilerOptions::default()).unwrap();
    collector.prepare().unwrap();
    collector.start().unwrap();
    collector.go_on(&|| 0).unwrap();
    act();
    collector.end(&|| 0).unwrap();
    collector.stop().unwrap();
    let mut profile = ProfileBuilder::default();
    collector.hand_over(&mut profile);
    profile.finish(1)
}

/// The same with every return told. Where a kernel hides a thread of its own behind whom another comes back,
/// how long that one was off may not be known, which its account says: it is watched anew.
fn profiled_whole(watch: impl Fn() -> Profile) -> Profile {
    let is_whole = |profile: &Profile| {
        let mut accounts = profile.accounts().iter();
        let of_off = accounts.find(|account| account.metric == Metric::OffCpu);
        of_off.unwrap().lost == 0
    };
    let mut watches = std::iter::repeat_with(watch).take(20);
    watches.find(is_whole).expect("one of twenty is whole")
}

fn count(counts: &Counts, wanted: impl Fn(Kind) -> bool) -> u64 {
    let of_kind = counts.sums.iter().filter(|(key, _)| wanted(key.kind));
    of_kind.map(|(_, sum)| sum.count).sum()
}

fn weight(profile: &Profile, metric: Metric, wanted: impl Fn(&Sample) -> bool) -> u64 {
    let samples = profile.samples().iter();
    let samples = samples.filter(|sample| sample.metric == metric && wanted(sample));
    samples.map(|sample| sample.weight).sum()
}

/// The number of `write` and of `getppid`.
fn calls() -> (u16, u16) {
    if cfg!(target_arch = "x86_64") { (1, 110) } else { (64, 173) }
}

#[test]
fn every_call_of_a_child_is_counted_and_none_of_other_processes() {
    let Some(_alone) = may_load() else {
        return;
    };
    // dd writes byte by byte; it is forked after the counting has begun.
    let copy = |times: u32| {
        Waiting::shell(&format!("dd if=/dev/zero of=/dev/null bs=1 count={times} status=none"))
    };
    let (watched, other) = (copy(1234), copy(777));
    let (counts, _) = counted(watched.watched(), || {
        other.go();
        watched.go();
    });
    assert_eq!(count(&counts, |kind| kind == Kind::Call(calls().0)), 1234);
    let all = count(&counts, |kind| matches!(kind, Kind::Call(_)));
    assert!(all > 2 * 1234, "dd reads as often as it writes: {all}");
    let losses = counts.losses;
    assert_eq!((losses.calls, losses.switches, losses.threads), (0, 0, 0));
    let mut ended = counts.ended.values();
    assert!(ended.any(|ended| ended.name == "dd" && ended.executed));
}

#[test]
fn every_call_of_threads_that_were_there_and_of_later_ones_is_counted() {
    let Some(_alone) = may_load() else {
        return;
    };
    let work = |times: u32| {
        for _ in 0..times {
            assert!(getppid().is_some());
        }
        gettid().as_raw_nonzero().get().unsigned_abs()
    };
    let mut numbers = (0, 0);
    let (counts, _) = counted(Process::Ours, || {
        let later = thread::spawn(move || work(1000));
        numbers = (work(777), later.join().unwrap());
    });
    for (number, times) in [(numbers.0, 777), (numbers.1, 1000)] {
        let mine = counts.sums.iter().filter(|(key, _)| {
            key.doer == Actor::Thread(number) && key.kind == Kind::Call(calls().1)
        });
        assert_eq!(mine.map(|(_, sum)| sum.count).sum::<u64>(), times);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn what_is_no_frame_pointer_makes_no_site() {
    let Some(_alone) = may_load() else {
        return;
    };
    let mut number = 0;
    let (counts, _) = counted(Process::Ours, || {
        let calling = thread::spawn(|| {
            // Of any size, as sequence numbers and addresses of objects are.
            (0..3000).for_each(|at| super::foreign_frame_pointer::call_with_frame(at << (at % 32)));
            gettid().as_raw_nonzero().get().unsigned_abs()
        });
        number = calling.join().unwrap();
    });
    let sums = counts.sums.iter();
    let own = |key: &Key| key.doer == Actor::Thread(number) && key.kind == Kind::Call(calls().1);
    let own: Vec<u64> = sums.filter_map(|(key, sum)| own(key).then_some(sum.count)).collect();
    assert_eq!(own.iter().sum::<u64>(), 3000);
    assert!(own.len() < 10, "one place, {} sites", own.len());
}

/// Calls the system once at so many depths of the stack, each of which is a site.
#[inline(never)]
fn calls_at_depths(depth: u32) {
    assert!(getppid().is_some());
    if depth > 0 {
        calls_at_depths(depth - 1);
    }
    std::hint::black_box(depth);
}

/// More sites at once than the ring holds copies: none is lost, and whoever was refused comes later.
#[test]
fn first_copies_of_many_sites_wait_for_their_turn() {
    let Some(_alone) = may_load() else {
        return;
    };
    let profile = profiled(Process::Ours, || {
        let builder = thread::Builder::new().name("many sites".to_owned());
        let calling = builder.spawn(|| {
            calls_at_depths(4000);
            for _ in 0..100 {
                calls_at_depths(600);
                thread::sleep(Duration::from_millis(10));
            }
        });
        calling.unwrap().join().unwrap();
    });
    let accounts = profile.accounts().iter();
    let mut of_calls = accounts.filter(|account| account.metric == Metric::SystemCalls);
    let collector = &of_calls.next().unwrap().collector;
    assert!(collector.ends_with(", 0 lost)"), "{collector}");
    let own = |sample: &Sample| profile.thread(sample.thread).name == "many sites";
    let all = weight(&profile, Metric::SystemCalls, own);
    assert!(all >= 4001 + 100 * 601, "{all}");
    let shown = |sample: &Sample| own(sample) && profile.stack(sample.stack).count() > 0;
    let shown = weight(&profile, Metric::SystemCalls, shown);
    assert!(shown > all / 10 * 9, "{shown} of {all}");
}

#[test]
fn many_calls_are_all_counted_though_one_in_16_is_looked_at() {
    let Some(_alone) = may_load() else {
        return;
    };
    let times = 60_000;
    let line = format!("dd if=/dev/zero of=/dev/null bs=1 count={times} status=none");
    let watched = Waiting::shell(&line);
    let (counts, _) = counted(watched.watched(), || watched.go());
    let all = count(&counts, |kind| matches!(kind, Kind::Call(_)));
    // What starting dd takes is counted too.
    assert!((2 * times..2 * times + 1000).contains(&all), "{all}");
    assert!(!counts.all_calls && counts.losses.calls == 0, "{counts:?}");
    let sums = counts.sums.iter();
    let looks = sums.filter(|(key, _)| matches!(key.kind, Kind::Call(_)));
    let looks: u64 = looks.map(|(_, sum)| sum.amount).sum();
    assert!((all / 20..all / 4).contains(&looks), "{looks} of {all}");
    // One in 16 of 120,000, of which half are writes: a deviation is 0.6 points.
    let writes = count(&counts, |kind| kind == Kind::Call(calls().0));
    let apart = writes.abs_diff(times) as f64 / times as f64;
    assert!(apart < 0.06, "{writes} of {times}");
}

/// Syncs nothing at so many depths of the stack.
#[inline(never)]
fn syncs_at_depths(file: &PipeWriter, depth: u32) {
    assert!(fdatasync(file).is_err(), "a pipe cannot be synced");
    if depth > 0 {
        syncs_at_depths(file, depth - 1);
    }
    std::hint::black_box(depth);
}

/// Every sync is looked at where it is made. More places than there is room for: what has none is counted
/// without its place.
#[test]
fn nothing_is_lost_where_there_is_no_room_for_more_sites() {
    let Some(_alone) = may_load() else {
        return;
    };
    let profile = profiled(Process::Ours, || {
        let builder = thread::Builder::new().stack_size(256 << 20);
        let named = builder.name("too many sites".to_owned());
        let (_reader, writer) = std::io::pipe().unwrap();
        let syncing = named.spawn(move || syncs_at_depths(&writer, 70_000));
        syncing.unwrap().join().unwrap();
    });
    let own = |sample: &Sample| profile.thread(sample.thread).name == "too many sites";
    assert_eq!(weight(&profile, Metric::SyncCalls, own), 70_001);
    let mut accounts = profile.accounts().iter();
    let of_syncs = accounts.find(|account| account.metric == Metric::SyncCalls);
    assert_eq!(of_syncs.unwrap().lost, 0);
}

#[test]
fn every_sync_is_a_sync_call_and_a_system_call() {
    let Some(_alone) = may_load() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "bytes").unwrap();
    let line = format!("for i in 1 2 3 4 5 6 7; do sync {}; done", file.display());
    let watched = Waiting::shell(&line);
    // Whoever counts them beside the meter is told of each as well.
    let beside = SyncCounter::open(watched.watched()).unwrap();
    let before = beside.read().unwrap().syncs;
    let profile = profiled(watched.watched(), || watched.go());
    assert_eq!(beside.read().unwrap().syncs - before, 7);
    assert_eq!(weight(&profile, Metric::SyncCalls, |_| true), 7);
    let of_sync = |sample: &Sample| profile.thread(sample.thread).name == "sync";
    assert_eq!(weight(&profile, Metric::SyncCalls, of_sync), 7);
    assert!(weight(&profile, Metric::SystemCalls, of_sync) > 7);
    let accounts = profile.accounts();
    let of_syncs = accounts.iter().find(|account| account.metric == Metric::SyncCalls);
    let of_syncs = of_syncs.unwrap();
    assert_eq!((&of_syncs.how, of_syncs.lost), (&Precision::Exact, 0));
    let metrics: Vec<_> = accounts.iter().map(|account| account.metric).collect();
    assert_eq!(metrics, super::profile_output::METRICS, "each has its account");
}

#[test]
fn sleep_is_time_off_the_processor_and_a_voluntary_switch() {
    let Some(_alone) = may_load() else {
        return;
    };
    let profile = profiled_whole(|| {
        let watched = Waiting::shell("sleep 0.2; sleep 0.3");
        profiled(watched.watched(), || watched.go())
    });
    let of_sleep = |sample: &Sample| profile.thread(sample.thread).name == "sleep";
    let off = weight(&profile, Metric::OffCpu, of_sleep);
    // Whoever else works on this machine may make waking up take its time, and falling asleep.
    assert!((450_000_000..20_000_000_000).contains(&off), "{off} ns");
    assert!(weight(&profile, Metric::VoluntarySwitches, of_sleep) >= 2);
    let lengths = &profile.histograms()[0].counts;
    let long: u64 = lengths.iter().skip(27).sum();
    assert!(long >= 2, "two of at least 2^27 ns: {lengths:?}");
}

#[test]
fn a_process_is_called_what_it_was_called_at_its_end() {
    let Some(_alone) = may_load() else {
        return;
    };
    // It is looked at while it is a shell that waits, and gone before anybody asks again.
    let profile = profiled_whole(|| {
        let watched = Waiting::shell("(sleep 0.05; sleep 0.05; exec true)");
        profiled(watched.watched(), || watched.go())
    });
    let of_true = |sample: &Sample| profile.thread(sample.thread).name == "true";
    let off = weight(&profile, Metric::OffCpu, of_true);
    assert!(off >= 90_000_000, "{off} ns");
}

#[test]
fn who_sleeps_all_the_window_long_was_off_for_exactly_that() {
    let Some(_alone) = may_load() else {
        return;
    };
    let watched = Waiting::shell("true");
    let (counts, window) = counted(watched.watched(), || {
        thread::sleep(Duration::from_millis(50));
    });
    // Requests of others on this machine stand there too.
    let own = counts.sums.iter().filter(|(key, _)| matches!(key.doer, Actor::Thread(_)));
    let own: Vec<_> = own.map(|(_, sum)| (sum.count, sum.amount)).collect();
    assert_eq!(own, [(0, window)], "it did nothing but sleep");
    watched.go();
}

#[inline(never)]
fn waits_here() {
    for _ in 0..20 {
        thread::sleep(Duration::from_millis(5));
    }
    // A last call that nothing follows is a jump, and leaves no frame.
    std::hint::black_box(());
}

#[test]
fn a_wait_inside_the_c_library_is_seen_to_come_from_its_caller() {
    let Some(_alone) = may_load() else {
        return;
    };
    let profile = profiled_whole(|| {
        profiled(Process::Ours, || {
            let waiting = thread::Builder::new().name("waiting".to_owned());
            waiting.spawn(waits_here).unwrap().join().unwrap();
        })
    });
    let of_waiting = |sample: &Sample| profile.thread(sample.thread).name == "waiting";
    let from_there = |sample: &Sample| {
        let mut frames = profile.stack(sample.stack);
        let is_it =
            |name: &Name| matches!(name, Name::Function(name) if name.contains("waits_here"));
        of_waiting(sample) && frames.any(|frame| is_it(&frame.name))
    };
    let of_it = |metric| weight(&profile, metric, from_there);
    let off = of_it(Metric::OffCpu);
    let all = weight(&profile, Metric::OffCpu, of_waiting);
    let accounts = profile.accounts();
    // A sleep begins before the processor is given up; if it is over by then, it is no switch.
    assert!(off >= 18 * 5_000_000, "{off} of {all}: {accounts:?}");
    assert!(of_it(Metric::VoluntarySwitches) >= 18);
    let calls = of_it(Metric::SystemCalls);
    assert!(calls >= 20, "{calls}");
}

/// Waits once at so many depths of the stack, each of which is a site.
#[inline(never)]
fn waits_at_depths(depth: u32) {
    thread::sleep(Duration::from_micros(200));
    if depth > 0 {
        waits_at_depths(depth - 1);
    }
    std::hint::black_box(depth);
}

/// A thread's seats are fewer than the places where it waits: none of its switches is lost between seats and
/// the map.
#[test]
fn every_switch_of_a_thread_that_waits_at_many_places_is_counted() {
    let Some(_alone) = may_load() else {
        return;
    };
    let mut told = 0;
    let profile = profiled(Process::Ours, || {
        let builder = thread::Builder::new().name("many places".to_owned());
        let waiting = builder.spawn(|| {
            (0..20).for_each(|_| waits_at_depths(40));
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let mut lines = status.lines();
            let own = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            own.unwrap().trim().parse::<u64>().unwrap()
        });
        told = waiting.unwrap().join().unwrap();
    });
    // A sleep that is over before the thread has given its processor up is no switch.
    assert!(told > 20 * 41 * 9 / 10, "{told}");
    let own = |sample: &Sample| profile.thread(sample.thread).name == "many places";
    let counted = weight(&profile, Metric::VoluntarySwitches, own);
    // Ending is a switch too, which may come behind the window.
    assert!((told..=told + 1).contains(&counted), "{counted}, {told} told");
    let deep = |sample: &Sample| own(sample) && profile.stack(sample.stack).count() > 30;
    assert!(weight(&profile, Metric::VoluntarySwitches, deep) > told / 10);
}

#[test]
fn without_the_capability_it_is_said_what_opens_the_way() {
    // Capabilities are a thread's own.
    let without = thread::spawn(|| {
        let none = CapabilitySets {
            effective: CapabilitySet::empty(),
            permitted: CapabilitySet::empty(),
            inheritable: CapabilitySet::empty(),
        };
        set_capabilities(None, none).unwrap();
        assert_refused();
        let subject = Subject::of(Process::Ours);
        let accounts = open(&subject, &ProfilerOptions::default()).unwrap_err();
        let is_refused =
            |how: &Precision| matches!(how, Precision::NotAttributable(why) if !why.is_empty());
        assert!(accounts.iter().all(|account| is_refused(&account.how)));
        assert_eq!(accounts.len(), super::profile_output::METRICS.len());
    });
    without.join().unwrap();
}

#[test]
fn switches_need_no_record_on_this_kernel() {
    let Some(_alone) = may_load() else {
        return;
    };
    let mut programs = Programs::load().unwrap();
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let attached = programs.attach_switches();
    assert_eq!(attached.is_ok(), version >= (5, 18), "{release}: {attached:?}");
}

#[test]
fn a_process_that_is_not_there_is_refused_in_words() {
    let Some(_alone) = may_load() else {
        return;
    };
    let mut programs = Programs::load().unwrap();
    let why = process_tree::enter(&mut programs, Process::Other(u32::MAX)).unwrap_err();
    assert!(why.contains("no threads"), "{why}");
}
