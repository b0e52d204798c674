//! All collectors that work here, as one.

use super::collector::{ALL, Collector, Commits};
use super::profiler_cpu_time::{ProfilerCpuTime, ThreadCpuTimes};
use super::subject::Subject;
use syncline_instrument::{Nanos, clock};
use syncline_profile::{Account, Profile, ProfileBuilder};

/// How closely is looked.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfilerOptions {
    /// Looks a second at each processor that runs the store.
    pub looks_per_s: u32,
}

impl Default for ProfilerOptions {
    /// What costs too little to be seen in the throughput (`reference` figures stand in docs/metering.md).
    fn default() -> ProfilerOptions {
        ProfilerOptions { looks_per_s: 99 }
    }
}

/// The collectors of one run.
#[derive(Debug)]
pub struct Profiler {
    working: Vec<Box<dyn Collector>>,
    refused: Vec<Account>,
    started: Nanos,
    window_ns: Nanos,
    /// What the threads that look had used when it started.
    threads: ThreadCpuTimes,
    spent: ProfilerCpuTime,
    /// Processor time that going on took of the thread that asks for it.
    going_ns: Nanos,
}

impl Profiler {
    /// Opens every collector that can look at the subject.
    pub fn open(subject: &Subject, options: &ProfilerOptions) -> Profiler {
        let mut meter = Profiler {
            working: Vec::new(),
            refused: Vec::new(),
            started: 0,
            window_ns: 0,
            threads: ThreadCpuTimes::default(),
            spent: ProfilerCpuTime::default(),
            going_ns: 0,
        };
        let mut subject = subject.clone();
        for row in ALL {
            for open in *row {
                match open(&subject, options) {
                    Ok(collector) => {
                        subject.taken.add(collector.takes());
                        meter.working.push(collector);
                        break;
                    }
                    Err(refused) => meter.refused.extend(refused),
                }
            }
        }
        meter
    }

    /// To be called when every client is connected and none works yet.
    pub fn prepare(&mut self) {
        self.step(|collector| collector.prepare());
    }

    /// Begins to look. `commits` says how many were acknowledged so far, here and below; who does not know
    /// says none.
    pub fn start(&mut self, commits: &dyn Fn() -> u64) {
        self.threads = ThreadCpuTimes::read();
        self.step(|collector| collector.start());
        self.started = clock::now();
        self.go_on(commits);
    }

    /// Goes on looking. To be called some 50 times a second: collectors may want to pause. If it is not,
    /// everything is looked at, whatever that costs.
    pub fn go_on(&mut self, commits: Commits<'_>) {
        let before = clock::thread_cpu();
        self.step(|collector| collector.go_on(commits));
        self.going_ns += clock::thread_cpu() - before;
    }

    /// Ends looking.
    pub fn stop(&mut self, commits: &dyn Fn() -> u64) {
        self.window_ns = clock::now().saturating_sub(self.started);
        let threads_ns = ThreadCpuTimes::read().since(&self.threads) + self.going_ns;
        self.step(|collector| collector.end(commits));
        self.step(|collector| collector.stop());
        let programs = self.working.iter().find_map(|collector| collector.programs());
        self.spent = ProfilerCpuTime { threads_ns, programs };
    }

    /// What looking has used in the window; nothing before it is over.
    pub fn spent(&self) -> ProfilerCpuTime {
        self.spent
    }

    /// What was seen. To be called before the store's processes end.
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

    /// A collector that fails at a step leaves, with its reason.
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
