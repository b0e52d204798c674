//! The collector: a life around the programs in the kernel.

use super::counts::Counts;
use super::process_tree;
use super::profile_output::{self, BpfData, METRICS, NAME};
use super::program_cost::Timing;
use super::programs::Programs;
use super::sampling_windows::{SETTLE, SampledSpan, SamplingWindow, Schedule};
use super::unwind_thread::UnwindThread;
use crate::collector::{Collector, Commits, Opened};
use crate::proc_totals::switches;
use crate::profiler::ProfilerOptions;
use crate::profiler_cpu_time::BpfCpuTime;
use crate::subject::Subject;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use syncline_host::online_cpus;
use syncline_instrument::Nanos;
use syncline_profile::{Account, Precision, ProfileBuilder};

/// Loads the programs; refused where the kernel does not take them from this user.
pub(crate) fn open(subject: &Subject, _options: &ProfilerOptions) -> Opened {
    match Programs::load() {
        Ok(programs) => Ok(Box::new(Bpf {
            subject: subject.clone(),
            programs,
            climbs: None,
            state: State::Prepared,
            looked: SampledSpan::default(),
            timed: None,
            begun: Mark::default(),
            switches: BTreeMap::new(),
            spell: Mark::default(),
        })),
        Err(why) => Err(refused(&why)),
    }
}

#[derive(Debug)]
struct Bpf {
    subject: Subject,
    programs: Programs,
    climbs: Option<UnwindThread>,
    state: State,
    looked: SampledSpan,
    timed: Option<(Nanos, Nanos)>,
    /// Where the window and the spell began.
    begun: Mark,
    spell: Mark,
    /// The kernel's own count of each thread's switches when the window began.
    switches: BTreeMap<u32, (u64, u64)>,
}

/// What it is about, of system calls and switches.
#[derive(Debug)]
enum State {
    Prepared,
    /// Everything is looked at: soon the programs will be timed,
    Settling {
        until: Nanos,
    },
    /// or are, if the kernel does that,
    Timing(Option<Timing>),
    /// or were, and may stay.
    Always,
    /// There is a spell,
    Looking {
        schedule: Schedule,
        until: Nanos,
    },
    /// or there is none.
    Paused {
        schedule: Schedule,
        until: Nanos,
    },
    Ended,
}

/// A moment, and what had been done by then.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: Nanos,
    commits: u64,
    calls: u64,
    switches: u64,
}

impl Collector for Bpf {
    fn prepare(&mut self) -> Result<(), String> {
        let climbs = UnwindThread::start(&self.subject, self.programs.take_copies()?)?;
        self.programs.attach()?;
        process_tree::enter(&mut self.programs, self.subject.process)?;
        process_tree::leave_out(&mut self.programs, climbs.number)?;
        self.climbs = Some(climbs);
        Ok(())
    }

    /// It begins with the first [`Collector::go_on`], when it is known how many commits there were.
    fn start(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn go_on(&mut self, commits: Commits<'_>) -> Result<(), String> {
        let now = monotonic();
        self.state = match std::mem::replace(&mut self.state, State::Ended) {
            State::Prepared => {
                self.programs.count_since(now)?;
                self.climbs.iter().for_each(UnwindThread::begin);
                self.begun = self.mark(now, commits)?;
                self.spell = self.begun;
                self.switches = switches(self.subject.process);
                State::Settling { until: now + SETTLE }
            }
            State::Settling { until } if now >= until => {
                State::Timing(Timing::begin(self.programs.paths()))
            }
            State::Timing(timing) if timing.as_ref().is_none_or(Timing::is_due) => {
                self.end_timing(timing);
                match self.schedule(now) {
                    Some(schedule) => self.pause(schedule, now, commits)?,
                    None => State::Always,
                }
            }
            State::Looking { schedule, until } if now >= until => {
                self.pause(schedule, now, commits)?
            }
            State::Paused { schedule, until } if now >= until => self.look(schedule, commits)?,
            waiting => waiting,
        };
        Ok(())
    }

    fn end(&mut self, commits: Commits<'_>) -> Result<(), String> {
        let now = monotonic();
        self.programs.count_until(now)?;
        let mark = self.mark(now, commits)?;
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Prepared | State::Ended => return Err("it was not started".to_owned()),
            State::Paused { .. } => {}
            State::Timing(timing) => {
                self.end_timing(timing);
                self.add_spell(mark);
            }
            State::Settling { .. } | State::Always | State::Looking { .. } => self.add_spell(mark),
        }
        if self.looked.paused {
            self.looked.switches = grown(switches(self.subject.process), &self.switches);
        }
        self.looked.window_ns = now.saturating_sub(self.begun.at);
        self.looked.commits = mark.commits.saturating_sub(self.begun.commits);
        Ok(())
    }

    fn stop(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn programs(&self) -> Option<BpfCpuTime> {
        self.timed.map(|(ns, of_ns)| BpfCpuTime { ns, of_ns, attached_ns: self.looked.ns() })
    }

    fn hand_over(mut self: Box<Self>, profile: &mut ProfileBuilder) {
        match self.seen() {
            Ok(seen) => profile_output::put(seen, profile),
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

    /// The spells that the cost calls for; none if the programs may stay, or their cost is not known.
    fn schedule(&mut self, now: Nanos) -> Option<Schedule> {
        let (ns, of_ns) = self.timed.filter(|(_, of_ns)| *of_ns > 0)?;
        let machine = of_ns as f64 * online_cpus().len().max(1) as f64;
        let cost = ns as f64 / machine;
        self.looked.cost = Some(cost);
        Schedule::of(cost, now).filter(|_| self.programs.can_pause())
    }

    /// Ends a spell.
    fn pause(
        &mut self,
        mut schedule: Schedule,
        now: Nanos,
        commits: Commits<'_>,
    ) -> Result<State, String> {
        let mark = self.mark(now, commits)?;
        self.programs.pause(now)?;
        self.add_spell(mark);
        self.looked.paused = true;
        let until = schedule.next(now);
        Ok(State::Paused { schedule, until })
    }

    /// Begins one.
    fn look(&mut self, schedule: Schedule, commits: Commits<'_>) -> Result<State, String> {
        self.programs.resume()?;
        let now = monotonic();
        self.programs.look(now)?;
        self.spell = self.mark(now, commits)?;
        let until = Schedule::end_of(now);
        Ok(State::Looking { schedule, until })
    }

    fn mark(&mut self, at: Nanos, commits: Commits<'_>) -> Result<Mark, String> {
        let mut mark = Mark { at, commits: commits(), ..Mark::default() };
        for processor in self.programs.processors()? {
            mark.calls += processor.calls;
            mark.switches += processor.switches;
        }
        Ok(mark)
    }

    fn add_spell(&mut self, end: Mark) {
        let begun = self.spell;
        self.looked.spells.push(SamplingWindow {
            looked_ns: end.at.saturating_sub(begun.at),
            commits: end.commits.saturating_sub(begun.commits),
            calls: end.calls.saturating_sub(begun.calls),
            switches: end.switches.saturating_sub(begun.switches),
        });
    }

    fn seen(&mut self) -> Result<BpfData, String> {
        self.programs.detach()?;
        let climbs = self.climbs.take();
        let climbs = climbs.ok_or_else(|| "it was not prepared".to_owned())?;
        let mut counts = Counts::read(&mut self.programs)?;
        counts.add_sleepers(self.programs.looked());
        let climbed = climbs.finish()?;
        Ok(BpfData { counts, climbed, looked: self.looked.clone() })
    }
}

/// By how much each thread's switches have grown; one that came meanwhile brings all it has.
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

/// None of the metrics is to be had, for that reason.
fn refused(why: &str) -> Vec<Account> {
    let of_metric = |metric: &_| Account {
        metric: *metric,
        collector: NAME.to_owned(),
        how: Precision::NotAttributable(why.to_owned()),
        lost: 0,
        total: None,
    };
    METRICS.iter().map(of_metric).collect()
}

/// Now, by the clock that the programs read.
pub(super) fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).expect("the machine's time since it started");
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).expect("less than a second")
}
