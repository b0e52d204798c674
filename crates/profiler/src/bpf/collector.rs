//! The collector that runs the BPF programs: attaches them, pauses them, and reads their counts.

use super::counts::Counts;
use super::process_tree;
use super::profile_output::{self, BpfData, METRICS, NAME};
use super::program_cost::Timing;
use super::programs::Programs;
use super::sampling_windows::{STARTUP_DELAY, SampledSpan, SamplingWindow, Schedule};
use super::unwind_thread::UnwindThread;
use crate::account::all_missing;
use crate::collector::{Collector, Commits, OpenResult};
use crate::proc_totals::switches;
use crate::profiler::ProfilerOptions;
use crate::profiler_cpu_time::BpfCpuTime;
use crate::subject::Subject;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use syncline_host::online_cpus;
use syncline_instrument::Nanos;
use syncline_profile::{Account, ProfileBuilder};

/// Loads the programs; refused if the kernel does not accept them from this user.
pub(crate) fn open(subject: &Subject, _options: &ProfilerOptions) -> OpenResult {
    match Programs::load() {
        Ok(programs) => Ok(Box::new(Bpf {
            subject: subject.clone(),
            programs,
            unwind_thread: None,
            state: State::Prepared,
            sampled: SampledSpan::default(),
            timed: None,
            begun: Mark::default(),
            switches: BTreeMap::new(),
            window_begin: Mark::default(),
        })),
        Err(why) => Err(refused(&why)),
    }
}

#[derive(Debug)]
struct Bpf {
    subject: Subject,
    programs: Programs,
    unwind_thread: Option<UnwindThread>,
    state: State,
    sampled: SampledSpan,
    timed: Option<(Nanos, Nanos)>,
    /// When the measured window and the current sampling window began.
    begun: Mark,
    window_begin: Mark,
    /// The kernel's own count of each thread's switches at the begin of the measured window.
    switches: BTreeMap<u32, (u64, u64)>,
}

/// The state of the sampling of system calls and switches.
#[derive(Debug)]
enum State {
    Prepared,
    /// All events are counted; the programs will be timed at `until`.
    StartingUp {
        until: Nanos,
    },
    /// All events are counted, and the kernel times the programs if it can.
    Timing(Option<Timing>),
    /// All events are counted to the end: the programs were timed and may stay.
    Always,
    /// In a sampling window.
    Sampling {
        schedule: Schedule,
        until: Nanos,
    },
    /// Between two sampling windows.
    Paused {
        schedule: Schedule,
        until: Nanos,
    },
    EndedThread,
}

/// A moment, with the counts at that moment.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: Nanos,
    commits: u64,
    calls: u64,
    switches: u64,
}

impl Collector for Bpf {
    fn prepare(&mut self) -> Result<(), String> {
        let unwind_thread = UnwindThread::start(&self.subject, self.programs.take_copies()?)?;
        self.programs.attach()?;
        process_tree::enter(&mut self.programs, self.subject.process)?;
        process_tree::leave_out(&mut self.programs, unwind_thread.number)?;
        self.unwind_thread = Some(unwind_thread);
        Ok(())
    }

    /// Counting begins with the first [`Collector::tick`], which knows the number of commits.
    fn start(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn tick(&mut self, commits: Commits<'_>) -> Result<(), String> {
        let now = monotonic();
        self.state = match std::mem::replace(&mut self.state, State::EndedThread) {
            State::Prepared => {
                self.programs.count_since(now)?;
                self.unwind_thread.iter().for_each(UnwindThread::begin);
                self.begun = self.mark(now, commits)?;
                self.window_begin = self.begun;
                self.switches = switches(self.subject.process);
                State::StartingUp { until: now + STARTUP_DELAY }
            }
            State::StartingUp { until } if now >= until => {
                State::Timing(Timing::begin(self.programs.paths()))
            }
            State::Timing(timing) if timing.as_ref().is_none_or(Timing::is_due) => {
                self.end_timing(timing);
                match self.schedule(now) {
                    Some(schedule) => self.pause(schedule, now, commits)?,
                    None => State::Always,
                }
            }
            State::Sampling { schedule, until } if now >= until => {
                self.pause(schedule, now, commits)?
            }
            State::Paused { schedule, until } if now >= until => {
                self.start_window(schedule, commits)?
            }
            waiting => waiting,
        };
        Ok(())
    }

    fn end(&mut self, commits: Commits<'_>) -> Result<(), String> {
        let now = monotonic();
        self.programs.count_until(now)?;
        let mark = self.mark(now, commits)?;
        match std::mem::replace(&mut self.state, State::EndedThread) {
            State::Prepared | State::EndedThread => return Err("it was not started".to_owned()),
            State::Paused { .. } => {}
            State::Timing(timing) => {
                self.end_timing(timing);
                self.add_window(mark);
            }
            State::StartingUp { .. } | State::Always | State::Sampling { .. } => {
                self.add_window(mark);
            }
        }
        if self.sampled.paused {
            self.sampled.switches = grown(switches(self.subject.process), &self.switches);
        }
        self.sampled.window_ns = now.saturating_sub(self.begun.at);
        self.sampled.commits = mark.commits.saturating_sub(self.begun.commits);
        Ok(())
    }

    fn stop(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn programs(&self) -> Option<BpfCpuTime> {
        self.timed.map(|(ns, of_ns)| BpfCpuTime { ns, of_ns, attached_ns: self.sampled.ns() })
    }

    fn hand_over(mut self: Box<Self>, profile: &mut ProfileBuilder) {
        match self.read_data() {
            Ok(data) => profile_output::put(data, profile),
            Err(why) => {
                for account in refused(&why) {
                    profile.account(account);
                }
            }
        }
    }

    fn failed(&self, why: &str) -> Vec<Account> {
        refused(why)
    }
}

impl Bpf {
    fn end_timing(&mut self, timing: Option<Timing>) {
        self.timed = timing.and_then(Timing::end);
    }

    /// The schedule that the cost requires; none if the programs may stay, or if their cost is unknown.
    fn schedule(&mut self, now: Nanos) -> Option<Schedule> {
        let (ns, of_ns) = self.timed.filter(|(_, of_ns)| *of_ns > 0)?;
        let machine = of_ns as f64 * online_cpus().len().max(1) as f64;
        let cost = ns as f64 / machine;
        self.sampled.cost = Some(cost);
        Schedule::of(cost, now).filter(|_| self.programs.can_pause())
    }

    /// Ends a sampling window.
    fn pause(
        &mut self,
        mut schedule: Schedule,
        now: Nanos,
        commits: Commits<'_>,
    ) -> Result<State, String> {
        let mark = self.mark(now, commits)?;
        self.programs.pause(now)?;
        self.add_window(mark);
        self.sampled.paused = true;
        let until = schedule.next(now);
        Ok(State::Paused { schedule, until })
    }

    /// Begins a sampling window.
    fn start_window(&mut self, schedule: Schedule, commits: Commits<'_>) -> Result<State, String> {
        self.programs.resume()?;
        let now = monotonic();
        self.programs.start_window(now)?;
        self.window_begin = self.mark(now, commits)?;
        let until = Schedule::end_of(now);
        Ok(State::Sampling { schedule, until })
    }

    fn mark(&mut self, at: Nanos, commits: Commits<'_>) -> Result<Mark, String> {
        let mut mark = Mark { at, commits: commits(), ..Mark::default() };
        for processor in self.programs.processors()? {
            mark.calls += processor.calls;
            mark.switches += processor.switches;
        }
        Ok(mark)
    }

    fn add_window(&mut self, end: Mark) {
        let begun = self.window_begin;
        self.sampled.windows.push(SamplingWindow {
            sampled_ns: end.at.saturating_sub(begun.at),
            commits: end.commits.saturating_sub(begun.commits),
            calls: end.calls.saturating_sub(begun.calls),
            switches: end.switches.saturating_sub(begun.switches),
        });
    }

    fn read_data(&mut self) -> Result<BpfData, String> {
        self.programs.detach()?;
        let unwind_thread = self.unwind_thread.take();
        let unwind_thread = unwind_thread.ok_or_else(|| "it was not prepared".to_owned())?;
        let mut counts = Counts::read(&mut self.programs)?;
        counts.add_sleepers(self.programs.sampled());
        let unwound = unwind_thread.finish()?;
        Ok(BpfData { counts, unwound, sampled: self.sampled.clone() })
    }
}

/// The growth of each thread's switches; a thread that started in between counts in full.
fn grown(
    now: BTreeMap<u32, (u64, u64)>,
    before: &BTreeMap<u32, (u64, u64)>,
) -> BTreeMap<u32, (u64, u64)> {
    let grown = now.into_iter().map(|(thread, now)| {
        let then = before.get(&thread).copied().unwrap_or_default();
        let by = (now.0.saturating_sub(then.0), now.1.saturating_sub(then.1));
        (thread, by)
    });
    grown.collect()
}

/// Accounts that none of the metrics is available, with the reason.
fn refused(why: &str) -> Vec<Account> {
    all_missing(&METRICS, NAME, why)
}

/// Now, by the clock that the programs read.
pub(super) fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).expect("the machine's time since it started");
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).expect("less than a second")
}
