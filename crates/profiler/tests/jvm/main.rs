//! A Java virtual machine is metered: a program that does known amounts of known things.
//!
//! It needs a JDK, and async-profiler where `scripts/fetch-async-profiler` puts it; without them these
//! tests fail, and say so. The tests run one after another: they measure.

#![allow(clippy::unwrap_used, reason = "in a test an unwrap is a finding")]
#![allow(clippy::print_stdout, reason = "what was seen is shown when a test fails")]

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
/// Where there is none.
const NOWHERE: &str = "/nowhere/libasyncProfiler.so";
/// Its collector has threads of its own.
const PARALLEL: [&str; 2] = ["-XX:+UseParallelGC", "-Xmx64m"];

/// Each method is compiled once, and waited for. Code that the second compiler replaces takes its name with
/// it, and on a busy machine that compiler comes when it may.
const COMPILED_ONCE: [&str; 4] =
    ["-XX:+UseParallelGC", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-Xbatch"];

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn a_program_is_seen_doing_what_it_does() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut known = JavaProgram::start(&PARALLEL);
    let seen = JvmProfile::of(&mut known, 150);
    let sum = |metric, thread, method| seen.sum(metric, thread, method);
    println!("{:#?}\n{:?}", seen.profile.accounts(), seen.done);

    // Twice as much work in one method as in the other, whatever the processors gave.
    let (twice, once) = (
        sum(Metric::CpuUser, "spinner", Some("twice")),
        sum(Metric::CpuUser, "spinner", Some("once")),
    );
    println!("twice {twice}, once {once}");
    assert!(is_about(twice, 2 * once, 25), "{twice} and {once}");

    // A thread that has the kernel copy zeros is in the kernel, one that multiplies is not.
    let parts = |thread| {
        let (user, kernel) = (Metric::CpuUser, Metric::CpuKernel);
        (sum(user, thread, None), sum(kernel, thread, None))
    };
    let ((user, kernel), (spun, spun_kernel)) = (parts("reader"), parts("spinner"));
    println!("reader {user} + {kernel}, spinner {spun} + {spun_kernel}");
    assert!(kernel > 9 * user, "{user} + {kernel}");
    assert!(spun > 20 * spun_kernel, "{spun} + {spun_kernel}");

    // Together the looks are all that the process used, by the kernel's own count.
    for metric in [Metric::CpuUser, Metric::CpuKernel] {
        let account = seen.account(metric);
        assert!(matches!(account.how, Precision::Sampled(_)), "{account:?}");
        let (looked, total) = (sum(metric, "", None), account.total.as_ref().unwrap().amount);
        println!("{metric:?}: {looked} of {total}, lost {}", account.lost);
        assert!(is_about(looked, total, 20), "{metric:?}: {looked} of {total}");
    }

    // The window is a little longer than what the program counted in.
    let bytes = sum(Metric::AllocatedBytes, "allocator", Some("allocate"));
    let objects = sum(Metric::AllocatedObjects, "allocator", Some("allocate"));
    println!("{bytes} bytes, {objects} objects");
    assert!(is_about(bytes, seen.done.bytes, 25), "{bytes}");
    assert!(is_about(objects, seen.done.objects, 25), "{objects}");

    let waits = sum(Metric::Contentions, "waiter", Some("enter"));
    let waited = sum(Metric::ContentionWait, "waiter", Some("enter"));
    println!("{waits} waits, {waited} ns");
    assert!(is_about(waits, seen.done.waits, 15), "{waits}");
    assert!(is_about(waited, seen.done.waited_ns, 15), "{waited}");

    // All threads live through the whole window. On a busy machine rounds over them come late, and are fewer.
    let wall = |thread| sum(Metric::Wall, thread, None);
    let (held, spun, window) = (wall("holder"), wall("spinner"), seen.profile.window_ns());
    println!("wall {held} and {spun} of {window}");
    assert!(is_about(held, spun, 10), "{held} and {spun}");
    assert!((window / 2..window * 11 / 10).contains(&held), "{held} of {window}");

    assert!(sum(Metric::GarbageCollection, "", None) > 0);
    assert_eq!(seen.account(Metric::GarbageCollection).how, Precision::Exact);
    assert!(seen.refusal(Metric::Sleeps).contains("recorder"));
}

#[test]
fn a_collector_in_the_vm_thread_is_said_to_be_one_and_a_jvm_can_be_metered_twice() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut known = JavaProgram::start(&["-XX:+UseSerialGC", "-Xmx64m"]);
    for _ in 0..2 {
        let seen = JvmProfile::of(&mut known, 20);
        assert!(seen.refusal(Metric::GarbageCollection).contains("VM thread"));
        let waits = seen.sum(Metric::Contentions, "waiter", Some("enter"));
        assert!(waits >= seen.done.waits, "{waits} of {}", seen.done.waits);
        assert!(seen.sum(Metric::CpuUser, "spinner", None) > 0);
    }
    let left = std::fs::read_dir("/tmp").unwrap().flatten();
    let ours = format!("syncline-jvm-{}-", std::process::id());
    let mut left = left.map(|entry| entry.file_name().into_string().unwrap());
    assert!(!left.any(|name| name.starts_with(&ours)));
}

#[test]
fn a_jvm_that_leaves_signals_alone_is_seen_and_one_that_refuses_is_spared_and_the_reason_told() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut known = JavaProgram::start(&["-Xrs"]);
    let seen = JvmProfile::of(&mut known, 20);
    assert!(seen.sum(Metric::CpuUser, "spinner", None) > 0);
    drop(known);
    let mut known = JavaProgram::start(&["-Xrs", "-XX:+DisableAttachMechanism"]);
    let seen = JvmProfile::of(&mut known, 1);
    assert!(seen.refusal(Metric::Wall).contains("DisableAttachMechanism"));
}

/// What a program can be told by the environment alone is told to another process of this test.
#[test]
fn without_the_profiler_the_jvms_own_recorder_is_asked() {
    if env::var(VARIABLE).is_ok_and(|named| named == NOWHERE) {
        return recorder_alone();
    }
    let _alone = ONE_AT_A_TIME.lock();
    let name = "without_the_profiler_the_jvms_own_recorder_is_asked";
    let run = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(VARIABLE, NOWHERE)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    println!("{said}\n{}", String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && said.contains("1 passed"));
}

fn recorder_alone() {
    let mut known = JavaProgram::start(&COMPILED_ONCE);
    let seen = JvmProfile::of(&mut known, 150);
    let sum = |metric, thread, method| seen.sum(metric, thread, method);
    println!("{:#?}\n{:?}", seen.profile.accounts(), seen.done);
    let bytes = sum(Metric::AllocatedBytes, "allocator", Some("allocate"));
    println!("{bytes} bytes");
    assert!(is_about(bytes, seen.done.bytes, 25), "{bytes}");
    let waits = sum(Metric::Contentions, "waiter", Some("enter"));
    let waited = sum(Metric::ContentionWait, "waiter", Some("enter"));
    println!("{waits} waits, {waited} ns");
    assert!(is_about(waits, seen.done.waits, 15), "{waits}");
    assert!(is_about(waited, seen.done.waited_ns, 15), "{waited}");
    let sleeps = sum(Metric::Sleeps, "", None);
    println!("{sleeps} sleeps");
    assert!(is_about(sleeps, seen.done.sleeps, 15), "{sleeps}");
    assert_eq!(seen.account(Metric::Sleeps).how, Precision::Exact);

    // Looks from outside take the processors' time, since the JVM says what its code is called.
    let account = seen.account(Metric::CpuUser);
    assert_eq!(account.collector, "cpu by perf events", "{account:?}");
    let spun = sum(Metric::CpuUser, "spinner", None);
    let named: u64 = ["work", "twice", "once"]
        .map(|method| sum(Metric::CpuUser, "spinner", Some(method)))
        .iter()
        .sum();
    println!("{named} of {spun} named");
    assert!(spun > 0 && named * 10 > spun * 9, "{named} of {spun}");

    let all = [Metric::Wall, Metric::AllocatedObjects];
    assert!(all.iter().all(|metric| !seen.refusal(*metric).is_empty()));
}
