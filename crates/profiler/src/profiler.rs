//! All collectors that work on this machine, as one.

use super::collector::{ALL, Collector, Commits};
use super::profiler_cpu_time::{ProfilerCpuTime, ThreadCpuTimes};
use super::subject::Subject;
use syncline_instrument::{Nanos, clock};
use syncline_profile::{Account, Profile, ProfileBuilder};

/// Options of profiling.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfilerOptions {
    /// Samples per second on each processor that runs the store.
    pub samples_per_s: u32,
}

impl Default for ProfilerOptions {
    /// A frequency whose cost is invisible in the throughput (`reference` figures are in docs/metering.md).
    fn default() -> ProfilerOptions {
        ProfilerOptions { samples_per_s: 99 }
    }
}

/// The collectors of one run.
#[derive(Debug)]
pub struct Profiler {
    working: Vec<Box<dyn Collector>>,
    refused: Vec<Account>,
    started: Nanos,
    window_ns: Nanos,
    /// The processor time of the profiler's threads when it started.
    threads: ThreadCpuTimes,
    cpu_time: ProfilerCpuTime,
    /// The processor time that [`Profiler::tick`] took of its caller.
    going_ns: Nanos,
}

impl Profiler {
    /// Opens every collector that can observe the subject.
    pub fn open(subject: &Subject, options: &ProfilerOptions) -> Profiler {
        let mut meter = Profiler {
            working: Vec::new(),
            refused: Vec::new(),
            started: 0,
            window_ns: 0,
            threads: ThreadCpuTimes::default(),
            cpu_time: ProfilerCpuTime::default(),
            going_ns: 0,
        };
        let mut subject = subject.clone();
        for row in ALL {
            for open in *row {
                match open(&subject, options) {
                    Ok(collector) => {
                        subject.covered.add(collector.takes());
                        meter.working.push(collector);
                        break;
                    }
                    Err(refused) => meter.refused.extend(refused),
                }
            }
        }
        meter
    }

    /// Prepares the collectors. Call it when every client is connected and none works yet.
    pub fn prepare(&mut self) {
        self.step(|collector| collector.prepare());
    }

    /// Starts collecting. `commits` returns the number of acknowledged commits, here and below, or 0 if it is
    /// unknown.
    pub fn start(&mut self, commits: &dyn Fn() -> u64) {
        self.threads = ThreadCpuTimes::read();
        self.step(|collector| collector.start());
        self.started = clock::now();
        self.tick(commits);
    }

    /// Continues collecting. Call it about 50 times per second, since collectors may want to pause; otherwise
    /// all events are collected at any cost.
    pub fn tick(&mut self, commits: Commits<'_>) {
        let before = clock::thread_cpu();
        self.step(|collector| collector.tick(commits));
        self.going_ns += clock::thread_cpu() - before;
    }

    /// Stops collecting.
    pub fn stop(&mut self, commits: &dyn Fn() -> u64) {
        self.window_ns = clock::now().saturating_sub(self.started);
        let threads_ns = ThreadCpuTimes::read().since(&self.threads) + self.going_ns;
        self.step(|collector| collector.end(commits));
        self.step(|collector| collector.stop());
        let programs = self.working.iter().find_map(|collector| collector.programs());
        self.cpu_time = ProfilerCpuTime { threads_ns, programs };
    }

    /// The profiler's own processor time in the window; zero before the window is over.
    pub fn cpu_time(&self) -> ProfilerCpuTime {
        self.cpu_time
    }

    /// The profile. Call it before the store's processes end.
    pub fn finish(self) -> Profile {
        let mut profile = ProfileBuilder::default();
        for collector in self.working {
            collector.hand_over(&mut profile);
        }
        for account in self.refused {
            profile.account(account);
        }
        profile.finish(self.window_ns)
    }

    /// Runs a step of every collector. One that fails is removed, with its reason.
    fn step(&mut self, step: impl Fn(&mut dyn Collector) -> Result<(), String>) {
        let (mut working, refused) = (Vec::new(), &mut self.refused);
        for mut collector in self.working.drain(..) {
            match step(collector.as_mut()) {
                Ok(()) => working.push(collector),
                Err(why) => refused.extend(collector.failed(&why)),
            }
        }
        self.working = working;
    }
}
