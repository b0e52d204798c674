//! Tests of the programs in the kernel, with processes and threads whose work is known.
//!
//! Only root may load them. For other users, each test checks the refusal and its advice.

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

/// A lock if the user may load programs; otherwise checks the refusal and returns none. Tests run one at a
/// time: all of them observe the threads of this process, and scaled calls and the stacks of waits at equal
/// depths are only known in total.
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

/// A shell that waits, and runs a line when it receives input.
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
        // It now only has to fall asleep in reading its input.
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

/// The counts of a process during an action, and its duration.
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
    counts.add_sleepers(programs.sampled());
    (counts, until - since)
}

/// The profile of the same, by the collector.
fn profiled(watched: Process, act: impl FnOnce()) -> Profile {
    let mut collector = open(&Subject::of(watched), &ProfilerOptions::default()).unwrap();
    collector.prepare().unwrap();
    collector.start().unwrap();
    collector.tick(&|| 0).unwrap();
    act();
    collector.end(&|| 0).unwrap();
    collector.stop().unwrap();
    let mut profile = ProfileBuilder::default();
    collector.hand_over(&mut profile);
    profile.finish(1)
}

/// A profile without unknown returns. A kernel may hide one of its threads, behind which another returns; how
/// long that one was off is then unknown, its account says so, and the measurement is repeated.
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
    // dd writes byte by byte; it is forked after counting has begun.
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
    let (counts, _) = counted(Process::Own, || {
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
fn values_that_are_not_frame_pointers_create_no_sites() {
    let Some(_alone) = may_load() else {
        return;
    };
    let mut number = 0;
    let (counts, _) = counted(Process::Own, || {
        let calling = thread::spawn(|| {
            // Values of any size, like sequence numbers and addresses of objects.
            (0..3000)
                .for_each(|at| super::clobbered_frame_pointer::call_with_frame(at << (at % 32)));
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

/// Makes a system call at each of `depth` depths of the stack, each of which is a site.
#[inline(never)]
fn calls_at_depths(depth: u32) {
    assert!(getppid().is_some());
    if depth > 0 {
        calls_at_depths(depth - 1);
    }
    std::hint::black_box(depth);
}

/// More sites at once than the ring holds copies: none is lost, and refused copies are taken later.
#[test]
fn first_copies_of_many_sites_are_all_taken() {
    let Some(_alone) = may_load() else {
        return;
    };
    let profile = profiled(Process::Own, || {
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
fn all_of_many_calls_are_counted_although_one_in_16_is_sampled() {
    let Some(_alone) = may_load() else {
        return;
    };
    let times = 60_000;
    let line = format!("dd if=/dev/zero of=/dev/null bs=1 count={times} status=none");
    let watched = Waiting::shell(&line);
    let (counts, _) = counted(watched.watched(), || watched.go());
    let all = count(&counts, |kind| matches!(kind, Kind::Call(_)));
    // Starting dd makes calls too.
    assert!((2 * times..2 * times + 1000).contains(&all), "{all}");
    assert!(!counts.all_calls && counts.losses.calls == 0, "{counts:?}");
    let sums = counts.sums.iter();
    let samples = sums.filter(|(key, _)| matches!(key.kind, Kind::Call(_)));
    let samples: u64 = samples.map(|(_, sum)| sum.amount).sum();
    assert!((all / 20..all / 4).contains(&samples), "{samples} of {all}");
    // One in 16 of 120,000, half of which are writes: the standard deviation is 0.6 points.
    let writes = count(&counts, |kind| kind == Kind::Call(calls().0));
    let apart = writes.abs_diff(times) as f64 / times as f64;
    assert!(apart < 0.06, "{writes} of {times}");
}

/// Syncs a pipe, which fails, at each of `depth` depths of the stack.
#[inline(never)]
fn syncs_at_depths(file: &PipeWriter, depth: u32) {
    assert!(fdatasync(file).is_err(), "a pipe cannot be synced");
    if depth > 0 {
        syncs_at_depths(file, depth - 1);
    }
    std::hint::black_box(depth);
}

/// Every sync is sampled at its site. With more sites than fit, the others are counted without a site.
#[test]
fn no_event_is_lost_when_sites_do_not_fit() {
    let Some(_alone) = may_load() else {
        return;
    };
    let profile = profiled(Process::Own, || {
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
    // Another counter of the same calls also receives each of them.
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
    // Other load on this machine may delay waking up and falling asleep.
    assert!((450_000_000..20_000_000_000).contains(&off), "{off} ns");
    assert!(weight(&profile, Metric::VoluntarySwitches, of_sleep) >= 2);
    let lengths = &profile.histograms()[0].counts;
    let long: u64 = lengths.iter().skip(27).sum();
    assert!(long >= 2, "two of at least 2^27 ns: {lengths:?}");
}

#[test]
fn a_process_has_the_name_it_had_at_its_end() {
    let Some(_alone) = may_load() else {
        return;
    };
    // It is observed while it is a waiting shell, and has ended before its name is read again.
    let profile = profiled_whole(|| {
        let watched = Waiting::shell("(sleep 0.05; sleep 0.05; exec true)");
        profiled(watched.watched(), || watched.go())
    });
    let of_true = |sample: &Sample| profile.thread(sample.thread).name == "true";
    let off = weight(&profile, Metric::OffCpu, of_true);
    assert!(off >= 90_000_000, "{off} ns");
}

#[test]
fn a_thread_that_sleeps_through_the_window_is_off_for_exactly_that_time() {
    let Some(_alone) = may_load() else {
        return;
    };
    let watched = Waiting::shell("true");
    let (counts, window) = counted(watched.watched(), || {
        thread::sleep(Duration::from_millis(50));
    });
    // Requests of other processes are in the counts too.
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
    // Keeps the call from becoming a tail call, which would leave no frame.
    std::hint::black_box(());
}

#[test]
fn a_wait_inside_the_c_library_is_charged_to_its_caller() {
    let Some(_alone) = may_load() else {
        return;
    };
    let profile = profiled_whole(|| {
        profiled(Process::Own, || {
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
    // A sleep begins before the thread leaves its processor; if it is over by then, there is no switch.
    assert!(off >= 18 * 5_000_000, "{off} of {all}: {accounts:?}");
    assert!(of_it(Metric::VoluntarySwitches) >= 18);
    let calls = of_it(Metric::SystemCalls);
    assert!(calls >= 20, "{calls}");
}

/// Waits once at each of `depth` depths of the stack, each of which is a site.
#[inline(never)]
fn waits_at_depths(depth: u32) {
    thread::sleep(Duration::from_micros(200));
    if depth > 0 {
        waits_at_depths(depth - 1);
    }
    std::hint::black_box(depth);
}

/// A thread waits at more sites than its slot has: no switch is lost between the slot and the map.
#[test]
fn every_switch_of_a_thread_that_waits_at_many_places_is_counted() {
    let Some(_alone) = may_load() else {
        return;
    };
    let mut voluntary = 0;
    let profile = profiled(Process::Own, || {
        let builder = thread::Builder::new().name("many places".to_owned());
        let waiting = builder.spawn(|| {
            (0..20).for_each(|_| waits_at_depths(40));
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let mut lines = status.lines();
            let own = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            own.unwrap().trim().parse::<u64>().unwrap()
        });
        voluntary = waiting.unwrap().join().unwrap();
    });
    // A sleep that is over before the thread has left its processor is not a switch.
    assert!(voluntary > 20 * 41 * 9 / 10, "{voluntary}");
    let own = |sample: &Sample| profile.thread(sample.thread).name == "many places";
    let counted = weight(&profile, Metric::VoluntarySwitches, own);
    // The end of the thread is a switch too, possibly after the window.
    assert!((voluntary..=voluntary + 1).contains(&counted), "{counted}, {voluntary} by the kernel");
    let deep = |sample: &Sample| own(sample) && profile.stack(sample.stack).count() > 30;
    assert!(weight(&profile, Metric::VoluntarySwitches, deep) > voluntary / 10);
}

#[test]
fn without_the_capability_the_error_says_how_to_permit_it() {
    // Capabilities belong to a thread.
    let without = thread::spawn(|| {
        let none = CapabilitySets {
            effective: CapabilitySet::empty(),
            permitted: CapabilitySet::empty(),
            inheritable: CapabilitySet::empty(),
        };
        set_capabilities(None, none).unwrap();
        assert_refused();
        let subject = Subject::of(Process::Own);
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
fn a_missing_process_is_an_error() {
    let Some(_alone) = may_load() else {
        return;
    };
    let mut programs = Programs::load().unwrap();
    let why = process_tree::enter(&mut programs, Process::Other(u32::MAX)).unwrap_err();
    assert!(why.contains("no threads"), "{why}");
}
