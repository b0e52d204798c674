//! Profiles a Java virtual machine that runs a program with a known amount of work.
//!
//! The tests require a JDK, and async-profiler where `scripts/fetch-async-profiler` puts it; without them
//! they fail with a message. They run one after another, because they measure.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]
#![allow(clippy::print_stdout, reason = "the measurements are shown when a test fails")]

mod java_program;
mod jvm_profile;

use java_program::JavaProgram;
use jvm_profile::{JvmProfile, is_about};
use parking_lot::Mutex;
use std::env;
use std::process::Command;
use syncline_profile::{Metric, Precision};

/// Names the profiler's library to the program.
const VARIABLE: &str = "SYNCLINE_ASYNC_PROFILER";
/// A path without a library.
const NOWHERE: &str = "/nowhere/libasyncProfiler.so";
/// With this collector, garbage collection has its own threads.
const PARALLEL: [&str; 2] = ["-XX:+UseParallelGC", "-Xmx64m"];

/// Each method is compiled once, and the compilation is awaited. A method that the second compiler replaces
/// loses its name, and on a busy machine that compiler may run late.
const COMPILED_ONCE: [&str; 4] =
    ["-XX:+UseParallelGC", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-Xbatch"];

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn the_profile_matches_the_program_s_work() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut known = JavaProgram::start(&PARALLEL);
    let measured = JvmProfile::of(&mut known, 150);
    let sum = |metric, thread, method| measured.sum(metric, thread, method);
    println!("{:#?}\n{:?}", measured.profile.accounts(), measured.done);

    // One method does twice as much work as the other, however much processor time there was.
    let (twice, once) = (
        sum(Metric::CpuUser, "spinner", Some("twice")),
        sum(Metric::CpuUser, "spinner", Some("once")),
    );
    println!("twice {twice}, once {once}");
    assert!(is_about(twice, 2 * once, 25), "{twice} and {once}");

    // A thread that makes the kernel copy zeros is in the kernel, one that multiplies is not.
    let parts = |thread| {
        let (user, kernel) = (Metric::CpuUser, Metric::CpuKernel);
        (sum(user, thread, None), sum(kernel, thread, None))
    };
    let ((user, kernel), (spun, spun_kernel)) = (parts("reader"), parts("spinner"));
    println!("reader {user} + {kernel}, spinner {spun} + {spun_kernel}");
    assert!(kernel > 9 * user, "{user} + {kernel}");
    assert!(spun > 20 * spun_kernel, "{spun} + {spun_kernel}");

    // Together the samples are the time that the process used, by the kernel's own count.
    for metric in [Metric::CpuUser, Metric::CpuKernel] {
        let account = measured.account(metric);
        assert!(matches!(account.how, Precision::Sampled(_)), "{account:?}");
        let (sampled, total) = (sum(metric, "", None), account.total.as_ref().unwrap().amount);
        println!("{metric:?}: {sampled} of {total}, lost {}", account.lost);
        assert!(is_about(sampled, total, 20), "{metric:?}: {sampled} of {total}");
    }

    // The window is a little longer than the program's own measurement.
    let bytes = sum(Metric::AllocatedBytes, "allocator", Some("allocate"));
    let objects = sum(Metric::AllocatedObjects, "allocator", Some("allocate"));
    println!("{bytes} bytes, {objects} objects");
    assert!(is_about(bytes, measured.done.bytes, 25), "{bytes}");
    assert!(is_about(objects, measured.done.objects, 25), "{objects}");

    let waits = sum(Metric::Contentions, "waiter", Some("enter"));
    let waited = sum(Metric::ContentionWait, "waiter", Some("enter"));
    println!("{waits} waits, {waited} ns");
    assert!(is_about(waits, measured.done.waits, 15), "{waits}");
    assert!(is_about(waited, measured.done.waited_ns, 15), "{waited}");

    // All threads exist for the whole window. On a busy machine, sampling rounds are late, and fewer.
    let wall = |thread| sum(Metric::Wall, thread, None);
    let (held, spun, window) = (wall("holder"), wall("spinner"), measured.profile.window_ns());
    println!("wall {held} and {spun} of {window}");
    assert!(is_about(held, spun, 10), "{held} and {spun}");
    assert!((window / 2..window * 11 / 10).contains(&held), "{held} of {window}");

    assert!(sum(Metric::GarbageCollection, "", None) > 0);
    assert_eq!(measured.account(Metric::GarbageCollection).how, Precision::Exact);
    assert!(measured.refusal(Metric::Sleeps).contains("recorder"));
}

#[test]
fn a_collector_in_the_vm_thread_is_reported_and_a_jvm_can_be_profiled_twice() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut known = JavaProgram::start(&["-XX:+UseSerialGC", "-Xmx64m"]);
    for _ in 0..2 {
        let measured = JvmProfile::of(&mut known, 20);
        assert!(measured.refusal(Metric::GarbageCollection).contains("VM thread"));
        let waits = measured.sum(Metric::Contentions, "waiter", Some("enter"));
        assert!(waits >= measured.done.waits, "{waits} of {}", measured.done.waits);
        assert!(measured.sum(Metric::CpuUser, "spinner", None) > 0);
    }
    let left = std::fs::read_dir("/tmp").unwrap().flatten();
    let ours = format!("syncline-jvm-{}-", std::process::id());
    let mut left = left.map(|entry| entry.file_name().into_string().unwrap());
    assert!(!left.any(|name| name.starts_with(&ours)));
}

#[test]
fn a_jvm_without_signals_is_profiled_and_one_that_refuses_is_reported() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut known = JavaProgram::start(&["-Xrs"]);
    let measured = JvmProfile::of(&mut known, 20);
    assert!(measured.sum(Metric::CpuUser, "spinner", None) > 0);
    drop(known);
    let mut known = JavaProgram::start(&["-Xrs", "-XX:+DisableAttachMechanism"]);
    let measured = JvmProfile::of(&mut known, 1);
    assert!(measured.refusal(Metric::Wall).contains("DisableAttachMechanism"));
}

/// Runs in another test process, because only the environment disables the profiler.
#[test]
fn without_the_profiler_the_jvms_own_recorder_is_used() {
    if env::var(VARIABLE).is_ok_and(|named| named == NOWHERE) {
        return recorder_alone();
    }
    let _alone = ONE_AT_A_TIME.lock();
    let name = "without_the_profiler_the_jvms_own_recorder_is_used";
    let run = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(VARIABLE, NOWHERE)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&run.stdout);
    println!("{output}\n{}", String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && output.contains("1 passed"));
}

fn recorder_alone() {
    let mut known = JavaProgram::start(&COMPILED_ONCE);
    let measured = JvmProfile::of(&mut known, 150);
    let sum = |metric, thread, method| measured.sum(metric, thread, method);
    println!("{:#?}\n{:?}", measured.profile.accounts(), measured.done);
    let bytes = sum(Metric::AllocatedBytes, "allocator", Some("allocate"));
    println!("{bytes} bytes");
    assert!(is_about(bytes, measured.done.bytes, 25), "{bytes}");
    let waits = sum(Metric::Contentions, "waiter", Some("enter"));
    let waited = sum(Metric::ContentionWait, "waiter", Some("enter"));
    println!("{waits} waits, {waited} ns");
    assert!(is_about(waits, measured.done.waits, 15), "{waits}");
    assert!(is_about(waited, measured.done.waited_ns, 15), "{waited}");
    let sleeps = sum(Metric::Sleeps, "", None);
    println!("{sleeps} sleeps");
    assert!(is_about(sleeps, measured.done.sleeps, 15), "{sleeps}");
    assert_eq!(measured.account(Metric::Sleeps).how, Precision::Exact);

    // Samples from outside measure processor time, since the JVM names its code.
    let account = measured.account(Metric::CpuUser);
    assert_eq!(account.collector, "cpu by perf events", "{account:?}");
    let spun = sum(Metric::CpuUser, "spinner", None);
    let named: u64 = ["work", "twice", "once"]
        .map(|method| sum(Metric::CpuUser, "spinner", Some(method)))
        .iter()
        .sum();
    println!("{named} of {spun} named");
    assert!(spun > 0 && named * 10 > spun * 9, "{named} of {spun}");

    let all = [Metric::Wall, Metric::AllocatedObjects];
    assert!(all.iter().all(|metric| !measured.refusal(*metric).is_empty()));
}
