//! The collector by the JVM's own flight recorder, used if async-profiler is not available.
//!
//! It samples processors sparsely: a few threads at a time, and only those in Java code. Native code, the
//! kernel, the compiler and the garbage collector are missing, so the samples are not scaled to the time that
//! the process used. Its samples of native methods are not processor time and are ignored.
//!
//! It records from when it is opened: starting takes long, the longer the busier the machine is, and its
//! first allocation samples cover time before. Only events whose time is in the window count.

use super::accounts::{ALL, JvmCpuTime, OWN};
use super::attach_socket::AttachSocket;
use super::flight_recorder_allocation::{ThreadAllocations, Window};
use super::jfr::{Chunk, Event, checked_chunks};
use super::jfr_frames::Writer;
use super::profile_filler::{ProfileFiller, Weights};
use super::profiler_library::Shared;
use crate::account::{all_missing, measured, missing};
use crate::collector::{Collector, OpenResult};
use crate::profiler::ProfilerOptions;
use crate::subject::{Runtime, Subject};
use std::time::{SystemTime, UNIX_EPOCH};
use syncline_instrument::Nanos;
use syncline_profile::{Account, Metric, Precision, ProfileBuilder};

const NAME: &str = "the JVM's flight recorder";
const RECORDING: &str = "recording.jfr";
/// The sampling interval of a thread.
const EVERY_NS: Nanos = 10_000_000;
/// Shorter waits are not reported.
const SHORTEST_WAIT: &str = "1 ms";
/// The settings for JVMs that accept settings of single events, which 17 and later do.
const SETTINGS: &str = "jdk.ExecutionSample#period=10ms jdk.JavaMonitorEnter#threshold=1ms \
                        jdk.ThreadPark#threshold=1ms jdk.ThreadSleep#threshold=0ms";
const ALLOCATION: &str = "jdk.ObjectAllocationSample";
/// Parking on any other class means waiting for work.
const LOCKS: [&str; 2] = ["java.util.concurrent.locks.Reentrant", "java.util.concurrent.Semaphore"];

/// The events that are read.
const EVENTS: [&str; 6] = [
    "jdk.ExecutionSample",
    "jdk.ThreadStart",
    ALLOCATION,
    "jdk.ThreadSleep",
    "jdk.JavaMonitorEnter",
    "jdk.ThreadPark",
];

/// The flight recorder of a JVM.
#[derive(Debug)]
pub(crate) struct FlightRecorder {
    machine: AttachSocket,
    shared: Shared,
    recording: String,
    /// True if the JVM accepted the settings of single events.
    fine: bool,
    /// True if it also measures processor time.
    cpu: bool,
    cpu_time: JvmCpuTime,
    runs: bool,
    window: Window,
}

/// The contents of a recording.
#[derive(Default)]
struct RecordingContents {
    samples: u64,
    allocations: bool,
    sleeps: bool,
}

impl FlightRecorder {
    /// Attaches to a JVM for which no better collector was opened.
    pub(crate) fn open(subject: &Subject, _options: &ProfilerOptions) -> OpenResult {
        let better = subject.covered.has(Metric::AllocatedBytes);
        if subject.runtime != Runtime::Jvm || better {
            return Err(Vec::new());
        }
        let cpu = !subject.covered.has(Metric::CpuUser);
        match FlightRecorder::attach(subject.pid(), cpu) {
            Ok(flight) => Ok(Box::new(flight)),
            Err(why) => Err(all_missing(OWN, NAME, &why)),
        }
    }

    fn attach(pid: u32, cpu: bool) -> Result<FlightRecorder, String> {
        let machine = AttachSocket::to(pid)?;
        let shared = Shared::make(pid, machine.owner())?;
        let mut flight = FlightRecorder {
            machine,
            shared,
            recording: format!("syncline-{}", std::process::id()),
            fine: true,
            cpu,
            cpu_time: JvmCpuTime::default(),
            runs: false,
            window: Window::default(),
        };
        if flight.begin().is_err() {
            flight.fine = false;
            flight.begin()?;
        }
        Ok(flight)
    }

    fn begin(&mut self) -> Result<(), String> {
        let settings = if self.fine { SETTINGS } else { "" };
        let name = &self.recording;
        let line = format!("JFR.start name={name} settings=profile disk=true {settings}");
        self.ask(&line, "Started recording")?;
        self.runs = true;
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        self.runs = false;
        let file = self.shared.inside(RECORDING);
        let name = &self.recording;
        let line = format!("JFR.stop name={name} filename={}", file.display());
        self.ask(&line, "Stopped recording")
    }

    /// Sends a command. The recorder also replies to failures with text, so the reply must contain a phrase.
    fn ask(&self, line: &str, expected: &str) -> Result<(), String> {
        let reply = self.machine.command(line)?;
        if reply.contains(expected) {
            return Ok(());
        }
        let reply: Vec<&str> = reply.lines().filter(|line| !line.is_empty()).collect();
        Err(format!("{NAME} refuses: {}", reply.join(" | ")))
    }

    fn fill(&self, profile: &mut ProfileBuilder) -> Result<RecordingContents, String> {
        let bytes = self.shared.read(RECORDING)?;
        let chunks = checked_chunks(&bytes, &EVENTS)?;
        let knows = |name| chunks.iter().any(|chunk: &Chunk<'_>| chunk.knows(name));
        let mut known = RecordingContents {
            samples: 0,
            allocations: knows(ALLOCATION),
            sleeps: self.fine && knows("jdk.ThreadSleep"),
        };
        let allocated = ThreadAllocations::of(&chunks, ALLOCATION)?;
        let within = |event: &Event<'_>, weights: Weights| {
            if self.window.holds(event) { (weights, 1) } else { (Vec::new(), 0) }
        };
        for chunk in &chunks {
            let mut fill = ProfileFiller::new(profile, chunk, Writer::Jvm);
            if self.cpu {
                let one = vec![(Metric::CpuUser, EVERY_NS)];
                known.samples +=
                    fill.events("jdk.ExecutionSample", |event, _| within(event, one.clone()))?;
            }
            fill.events(ALLOCATION, |event, _| {
                let bytes = event.whole("weight").unwrap_or(0).max(0).cast_unsigned();
                match allocated.within(self.window, event, bytes) {
                    0 => (Vec::new(), 0),
                    bytes => (vec![(Metric::AllocatedBytes, bytes)], 1),
                }
            })?;
            if known.sleeps {
                let one = vec![(Metric::Sleeps, 1)];
                fill.events("jdk.ThreadSleep", |event, _| within(event, one.clone()))?;
            }
            fill.events("jdk.JavaMonitorEnter", |event, _| within(event, waited(event)))?;
            fill.events("jdk.ThreadPark", |event, _| {
                let waited = if is_lock(event) { waited(event) } else { Vec::new() };
                within(event, waited)
            })?;
        }
        Ok(known)
    }

    fn accounts(&self, known: &RecordingContents) -> Vec<Account> {
        let sampled = |metric, how: String| measured(metric, NAME, Precision::Sampled(how));
        let unless = |known: bool, account: Account, why: &str| {
            if known { account } else { missing(account.metric, NAME, why) }
        };
        let mut accounts = self.cpu_accounts(known.samples);
        accounts.push(missing(Metric::Wall, NAME, "it does not sample waiting threads"));
        accounts.push(unless(
            known.allocations,
            sampled(Metric::AllocatedBytes, "at most 150 samples/s".to_owned()),
            "this JVM's recorder does not sample allocations: those from 16 on do",
        ));
        let why = "it does not report the size of objects: async-profiler does";
        accounts.push(missing(Metric::AllocatedObjects, NAME, why));
        let shortest = if self.fine { SHORTEST_WAIT } else { "10 ms" };
        for metric in [Metric::Contentions, Metric::ContentionWait] {
            accounts.push(sampled(metric, format!("only waits of {shortest} or more")));
        }
        accounts.push(unless(
            known.sleeps,
            measured(Metric::Sleeps, NAME, Precision::Exact),
            "this JVM reports only long sleeps: 17 and later report all",
        ));
        accounts
    }

    fn cpu_accounts(&self, samples: u64) -> Vec<Account> {
        if !self.cpu {
            return Vec::new();
        }
        let how = format!(
            "thin: {samples} samples, every {} ms at a few threads, in Java code only; native code and the \
             JVM itself are not sampled",
            EVERY_NS / 1_000_000
        );
        let user = measured(Metric::CpuUser, NAME, Precision::Sampled(how));
        let why = "it does not sample threads in the kernel: install async-profiler";
        let kernel = missing(Metric::CpuKernel, NAME, why);
        let total =
            |account: Account| Account { total: self.cpu_time.total(account.metric), ..account };
        vec![total(user), total(kernel)]
    }
}

fn waited(event: &Event<'_>) -> Weights {
    let wait_ns = event.span_ns("duration").unwrap_or(0);
    vec![(Metric::Contentions, 1), (Metric::ContentionWait, wait_ns)]
}

/// Wall clock time, which recordings use.
fn time_of_day() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let ns = since.map_or(0, |since| since.as_nanos());
    Nanos::try_from(ns).unwrap_or(Nanos::MAX)
}

fn is_lock(event: &Event<'_>) -> bool {
    let class = event.text(&["parkedClass", "name", "string"]);
    let class = class.unwrap_or_default().replace('/', ".");
    LOCKS.iter().any(|lock| class.starts_with(lock))
}

impl Collector for FlightRecorder {
    fn takes(&self) -> &[Metric] {
        if self.cpu { &ALL } else { OWN }
    }

    fn start(&mut self) -> Result<(), String> {
        self.cpu_time.begins(self.machine.pid());
        self.window.begin = time_of_day();
        Ok(())
    }

    fn stop(&mut self) -> Result<(), String> {
        self.window.end = time_of_day();
        self.cpu_time.ends(self.machine.pid());
        self.end()
    }

    fn hand_over(self: Box<Self>, profile: &mut ProfileBuilder) {
        match self.fill(profile) {
            Ok(known) => self.cpu_time.hand_over(self.accounts(&known), profile),
            Err(why) => self.failed(&why).into_iter().for_each(|account| profile.account(account)),
        }
    }

    fn failed(&self, why: &str) -> Vec<Account> {
        self.cpu_time.failed(self.takes(), NAME, why)
    }
}

impl Drop for FlightRecorder {
    fn drop(&mut self) {
        if self.runs && self.end().is_err() {
            // The JVM has ended, and the recording with it.
        }
    }
}
