//! Tests the collectors with a process whose work is known: this program again, with a load.

#![allow(clippy::unwrap_used, reason = "a test may fail by an unwrap anywhere")]
#![allow(clippy::print_stdout, reason = "the load reports to its test on standard output")]

use std::fs;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write, pipe};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use syncline_host::Process;
use syncline_instrument::clock;
use syncline_profile::{Account, Metric, Name, Precision, Profile, Sample, Space};
use syncline_profiler::{Profiler, ProfilerOptions, Subject};

/// The load that this process runs, if it is one.
const LOAD: &str = "SYNCLINE_TEST_LOAD";
/// The processor time of a load.
const BURN_NS: u64 = 400_000_000;
const SAMPLES_PER_S: u32 = 999;
const NOBODY: u32 = 65534;

#[inline(never)]
fn burn_in_a_known_function(until: u64) -> u64 {
    let mut sum = 1_u64;
    while clock::thread_cpu() < until {
        for _ in 0..20_000 {
            sum = black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
    }
    sum
}

#[inline(never)]
fn descend_and_burn(depth: u32) -> u64 {
    if depth == 0 {
        return burn_in_a_known_function(clock::thread_cpu() + BURN_NS);
    }
    let room = black_box([u64::from(depth); 8]);
    descend_and_burn(depth - 1) + room[3]
}

/// Passes a byte back and forth between two threads.
#[inline(never)]
fn wait_for_a_byte(mut from: impl Read, mut to: impl Write, until: u64) {
    let mut byte = [1];
    while clock::thread_cpu() < until {
        to.write_all(&byte).unwrap();
        from.read_exact(&mut byte).unwrap();
    }
}

#[inline(never)]
fn answer_bytes(mut from: impl Read, mut to: impl Write) {
    let mut byte = [1];
    while from.read(&mut byte).unwrap() > 0 {
        to.write_all(&byte).unwrap();
    }
}

/// The result keeps the other thread running: an ended thread takes its counts with it.
fn exchange() -> impl Write {
    let (here, there) = (pipe().unwrap(), pipe().unwrap());
    let kept = here.1.try_clone().unwrap();
    let other = thread::Builder::new().name("answering".to_owned());
    other.spawn(|| answer_bytes(here.0, there.1)).unwrap();
    wait_for_a_byte(there.0, here.1, clock::thread_cpu() + BURN_NS / 2);
    kept
}

/// Not a test by itself: the load of the other tests, which waits for a line before it begins, and for the
/// end of its input before it ends.
#[test]
fn the_load_reports_when_it_is_ready_and_done() {
    let Ok(load) = std::env::var(LOAD) else {
        let mut load = Load::start("none", None);
        assert!(load.run() < BURN_NS);
        return;
    };
    println!("\nready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let mut kept = None;
    match load.as_str() {
        "burn" => {
            black_box(burn_in_a_known_function(clock::thread_cpu() + BURN_NS));
        }
        "descend" => {
            black_box(descend_and_burn(300));
        }
        "exchange" => kept = Some(exchange()),
        // A child of the load, which starts during the profile.
        "fork" => {
            let mut child = Load::start("burn", None);
            child.run();
        }
        _ => {}
    }
    println!("\ndone {}", clock::process_cpu());
    std::io::stdin().read_line(&mut line).unwrap();
    drop(kept);
}

struct Load {
    child: Child,
    input: Option<ChildStdin>,
    output: Box<dyn BufRead>,
}

impl Load {
    /// Starts a load and waits until it is ready.
    fn start(load: &str, user: Option<u32>) -> Load {
        let mut command = test_process("the_load_reports_when_it_is_ready_and_done", user);
        let mut child =
            command.env(LOAD, load).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut load = Load { child, input, output: Box::new(output) };
        load.wait_for("ready");
        load
    }

    /// Lets it work, and returns the processor time it has used in total.
    fn run(&mut self) -> u64 {
        self.input.as_ref().unwrap().write_all(b"go\n").unwrap();
        self.wait_for("done").trim().parse().unwrap()
    }

    fn wait_for(&mut self, word: &str) -> String {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if let Some(rest) = line.strip_prefix(word) {
                return rest.to_owned();
            }
            line.clear();
        }
        panic!("the load ended without saying {word}");
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        drop(self.input.take());
        let ended = self.child.wait();
        assert!(ended.is_ok_and(|status| status.success()) || thread::panicking());
    }
}

/// This program again, running one of its tests.
fn test_process(test: &str, user: Option<u32>) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    command
}

fn metered(load: &str) -> (Profile, u64) {
    let mut load = Load::start(load, None);
    let options = ProfilerOptions { samples_per_s: SAMPLES_PER_S };
    let subject = Subject::of(Process::Other(load.child.id()));
    let mut meter = Profiler::open(&subject, &options);
    meter.prepare();
    meter.start(&|| 0);
    let used = load.run();
    meter.stop(&|| 0);
    (meter.finish(), used)
}

fn of(profile: &Profile, metric: Metric) -> Vec<&Sample> {
    let samples = profile.samples().iter();
    samples.filter(|sample| sample.metric == metric).collect()
}

fn account<'a>(profile: &'a Profile, metric: Metric, collector: &str) -> &'a Account {
    let mut accounts = profile.accounts().iter();
    let found =
        accounts.find(|account| account.metric == metric && account.collector.contains(collector));
    found.unwrap_or_else(|| panic!("no account of {metric:?} by {collector}"))
}

fn total(profile: &Profile, metric: Metric) -> u64 {
    let account = account(profile, metric, "totals");
    account.total.as_ref().expect("the load's process is visible").amount
}

/// The weights of all samples, and of those with a function on the stack.
fn weights(profile: &Profile, metric: Metric, function: &str) -> (u64, u64) {
    let (mut all, mut inside) = (0, 0);
    for sample in of(profile, metric) {
        all += sample.weight;
        let mut frames = profile.stack(sample.stack);
        let is_it = |name: &Name| matches!(name, Name::Function(name) if name.ends_with(function));
        if frames.any(|frame| is_it(&frame.name)) {
            inside += sample.weight;
        }
    }
    (all, inside)
}

/// True if the metric can be sampled here; otherwise prints why, past the test harness.
fn can(profile: &Profile, metric: Metric, collector: &str) -> bool {
    let Precision::NotAttributable(why) = &account(profile, metric, collector).how else {
        return true;
    };
    let skipped = format!("SKIPPED: {metric:?} cannot be sampled here: {why}\n");
    std::io::stderr().write_all(skipped.as_bytes()).unwrap();
    assert!(why.contains("root"), "{why}");
    false
}

#[test]
fn work_is_charged_to_its_function_with_its_duration() {
    let (profile, used) = metered("burn");
    if !can(&profile, Metric::CpuUser, "perf") {
        return;
    }
    let (all, inside) = weights(&profile, Metric::CpuUser, "burn_in_a_known_function");
    let report = format!("{inside} of {all} ns sampled, {used} ns used");
    assert!(inside as f64 >= all as f64 * 0.95, "{report}");
    let (kernel, _) = weights(&profile, Metric::CpuKernel, "");
    let share = (all + kernel) as f64 / used as f64;
    assert!((0.6..1.4).contains(&share), "{report}, {kernel} ns in the kernel");
    let counted = total(&profile, Metric::CpuUser) + total(&profile, Metric::CpuKernel);
    assert!(counted >= BURN_NS * 9 / 10, "{counted} ns counted");
    assert_eq!(account(&profile, Metric::CpuUser, "perf").lost, 0);
}

#[test]
fn own_threads_are_sampled_except_the_sampler() {
    let options = ProfilerOptions { samples_per_s: SAMPLES_PER_S };
    let mut meter = Profiler::open(&Subject::of(Process::Own), &options);
    meter.prepare();
    meter.start(&|| 0);
    let burner = thread::Builder::new().name("burner".to_owned());
    let body = || burn_in_a_known_function(clock::thread_cpu() + BURN_NS / 2);
    burner.spawn(body).unwrap().join().unwrap();
    meter.stop(&|| 0);
    let profile = meter.finish();
    if !can(&profile, Metric::CpuUser, "perf") {
        return;
    }
    let samples = of(&profile, Metric::CpuUser).into_iter();
    let of_burner: u64 = samples
        .filter(|sample| profile.thread(sample.thread).name == "burner")
        .map(|sample| sample.weight)
        .sum();
    assert!(of_burner >= BURN_NS / 4, "{of_burner} ns");
    for metric in Metric::ALL {
        for sample in of(&profile, metric) {
            assert_ne!(profile.thread(sample.thread).name, "sampler", "{metric:?}");
        }
    }
}

#[test]
fn a_process_that_starts_later_is_sampled() {
    let (profile, _) = metered("fork");
    if !can(&profile, Metric::CpuUser, "perf") {
        return;
    }
    let (_, inside) = weights(&profile, Metric::CpuUser, "burn_in_a_known_function");
    assert!(inside >= BURN_NS / 2, "{inside} ns of at least {BURN_NS}");
}

#[test]
fn a_recursion_deeper_than_the_copied_stack_is_unwound_to_its_end() {
    let (profile, _) = metered("descend");
    if !can(&profile, Metric::CpuUser, "perf") {
        return;
    }
    let (all, inside) = weights(&profile, Metric::CpuUser, "descend_and_burn");
    assert!(inside as f64 >= all as f64 * 0.95, "{inside} of {all} ns");
    let deep = of(&profile, Metric::CpuUser).into_iter().filter(|sample| {
        let frames = profile.stack(sample.stack);
        let descends = |name: &Name| {
            matches!(name, Name::Function(name) if name.ends_with("descend_and_burn"))
        };
        frames.filter(|frame| descends(&frame.name)).count() >= 3
    });
    let deep: u64 = deep.map(|sample| sample.weight).sum();
    assert!(deep as f64 >= all as f64 * 0.95, "{deep} of {all} ns");
}

#[test]
fn callers_of_system_calls_are_found_through_libc() {
    let (profile, _) = metered("exchange");
    if can(&profile, Metric::CpuKernel, "perf") {
        let (all, waiting) = weights(&profile, Metric::CpuKernel, "wait_for_a_byte");
        let (_, answering) = weights(&profile, Metric::CpuKernel, "answer_bytes");
        let found = (waiting + answering) as f64 / all as f64;
        assert!(found >= 0.9, "{waiting} and {answering} of {all} ns");
        let kernel_first = of(&profile, Metric::CpuKernel).into_iter().all(|sample| {
            let mut frames = profile.stack(sample.stack);
            frames.next().is_some_and(|frame| frame.space == Space::Kernel)
        });
        assert!(kernel_first);
        let names: Vec<_> = of(&profile, Metric::CpuKernel)
            .iter()
            .map(|sample| profile.thread(sample.thread).name.clone())
            .collect();
        assert!(names.iter().any(|name| name == "answering"), "{names:?}");
    }
}

#[test]
fn system_calls_and_switches_are_counted_and_have_their_callers() {
    let (profile, _) = metered("exchange");
    // Root's counts are exact, so they are only compared with those of /proc below.
    let collector = if is_root() { "bpf" } else { "tracepoints" };
    if !can(&profile, Metric::SystemCalls, collector) {
        return;
    }
    let (calls, _) = weights(&profile, Metric::SystemCalls, "");
    let counted = account(&profile, Metric::SystemCalls, collector);
    let counted = counted.total.as_ref().map_or(calls, |total| total.amount);
    assert!(calls.abs_diff(counted) <= counted / 100 + 50, "{calls} of {counted}");
    // Nearly all are reads and writes of a byte.
    let by_proc = total(&profile, Metric::SystemCalls);
    assert!(by_proc > 1000 && counted >= by_proc, "{counted}, {by_proc} by /proc");
    let share = |metric| {
        let (all, waiting) = weights(&profile, metric, "wait_for_a_byte");
        let (_, answering) = weights(&profile, metric, "answer_bytes");
        (waiting + answering) as f64 / all as f64
    };
    assert!(share(Metric::SystemCalls) >= 0.8, "{}", share(Metric::SystemCalls));
    let switches = weights(&profile, Metric::VoluntarySwitches, "").0;
    let by_proc = total(&profile, Metric::VoluntarySwitches);
    assert!(by_proc > 100, "{by_proc} by /proc");
    let ratio = switches as f64 / by_proc as f64;
    assert!((0.7..1.4).contains(&ratio), "{switches}, {by_proc} by /proc");
    assert!(share(Metric::VoluntarySwitches) >= 0.8);
}

#[test]
fn an_ordinary_user_can_profile_programs_and_learns_how_to_see_the_kernel() {
    let this = "an_ordinary_user_can_profile_programs_and_learns_how_to_see_the_kernel";
    if is_root() {
        // The user `nobody` may not have access to this program's directory.
        let folder = tempfile::tempdir().unwrap();
        let anybody = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), anybody.clone()).unwrap();
        let copy = folder.path().join("collect");
        fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
        fs::set_permissions(&copy, anybody).unwrap();
        let mut command = Command::new(&copy);
        command.args(["--exact", this, "--test-threads=1"]).uid(NOBODY).gid(NOBODY);
        let output = command.current_dir("/").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
        return;
    }
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    let paranoid: i32 = paranoid.trim().parse().unwrap();
    let (profile, used) = metered("burn");
    let why = |metric, collector| match &account(&profile, metric, collector).how {
        Precision::NotAttributable(why) => why.clone(),
        how => panic!("{metric:?} is {how:?}"),
    };
    if paranoid >= 2 {
        assert!(why(Metric::CpuKernel, "perf").contains("sysctl kernel.perf_event_paranoid="));
        assert!(why(Metric::SystemCalls, "tracepoints").contains("root"));
    }
    if paranoid <= 2 {
        let (all, inside) = weights(&profile, Metric::CpuUser, "burn_in_a_known_function");
        assert!(inside as f64 >= all as f64 * 0.95, "{inside} of {all} ns");
        assert!(all >= used / 2, "{all} of {used} ns");
    } else {
        assert!(why(Metric::CpuUser, "perf").contains("perf_event_paranoid"));
    }
    assert!(total(&profile, Metric::CpuUser) >= BURN_NS / 2);
    assert!(total(&profile, Metric::SystemCalls) > 0);
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("Uid:")).unwrap();
    line.split_whitespace().nth(2) == Some("0")
}
