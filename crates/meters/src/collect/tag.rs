//! Processor time by the word of the store's own threads, for a store in this process that says which
//! module each of its threads is in (`metering::tag`).
//!
//! A thread of ours looks some hundred times a second at every thread that has a tag: it reads the
//! thread's processor time, its tag, and its processor time again. If that has grown meanwhile, the
//! thread runs, and the look counts for the module seen; in the end the thread's processor time is
//! divided by those looks. A thread that sleeps is in a module too (it waits for its sync), but uses no
//! processor: its looks must not count. Distances between looks vary, so that looks and work are not
//! in step.
//!
//! Whoever looks needs a processor itself, and what ran there is then not seen running. Left to the
//! scheduler it would take an idle processor where there is one, so that a thread would be missed while
//! others run and seen while they sleep; and while one thread writes the group, the others sleep. Hence
//! the looking thread is bound to each processor in turn: what runs on the others is seen whether or
//! not that one was idle. On a single processor nothing could be seen. And looks that come late are
//! dropped: what delays a timer on an idle processor until something else happens is often the end of
//! the very sync that the store waits for.
//!
//! It needs no privileges and no unwinding. It sees nothing of threads that never entered a module, and
//! what a tagged thread does outside of all modules is charged to the laboratory, whose thread it is.

use super::collector::{Collector, Opened};
use super::meter::MeterOptions;
use super::subject::Subject;
use crate::files::read_line;
use crate::sync_calls::Watched;
use crate::thread_clock::thread_cpu_ns;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity, set_current_timer_slack};
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use syncline_metering::tag::{self, Tagged};
use syncline_metering::{Module, Nanos, clock};
use syncline_profile::{Account, Frame, How, Metric, Name, ProfileBuilder, Space, Thread};

const COLLECTOR: &str = "tags of the store's own threads";

/// The usual distance of looks at few threads.
const LOOK: Duration = Duration::from_millis(2);
/// And at many threads: so far apart for each, so that looking costs a hundredth of a processor.
const LOOK_A_THREAD: Duration = Duration::from_micros(100);

/// So many looks are taken from one processor before the next one's turn.
const LOOKS_A_TURN: u64 = 8;

/// A look that comes later than this is dropped.
const LATE_NS: Nanos = 20_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Tags {
    /// Those that this process may use.
    processors: Vec<usize>,
    stop: Arc<AtomicBool>,
    looking: Option<JoinHandle<Seen>>,
    seen: Option<Seen>,
}

/// What was seen, thread by thread; of those that ended, too.
#[derive(Debug, Default)]
struct Seen {
    alive: HashMap<u32, Looked>,
    ended: Vec<Looked>,
    looks: u64,
    /// Looks that were dropped.
    late: u64,
    /// It could not be bound to a processor at some time.
    unbound: bool,
}

/// A thread, and what was seen of it.
#[derive(Debug)]
struct Looked {
    name: String,
    /// Its processor time at the first look.
    first_ns: Nanos,
    /// Its processor time at the last look.
    last_ns: Nanos,
    /// Looks at which it ran, by module.
    ran: BTreeMap<Option<Module>, u64>,
}

impl Tags {
    /// Only threads of this process have tags that can be seen.
    pub(super) fn open(subject: &Subject, _options: &MeterOptions) -> Opened {
        if subject.process != Watched::Ours {
            // Not missing: no other store has tags.
            return Err(Vec::new());
        }
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        let processors = processors();
        if processors.len() < 2 {
            return Err(missing(
                "whoever looks at tags takes a processor, and this process may use only one",
            ));
        }
        match thread_cpu_ns(own.unsigned_abs()) {
            Some(_) => Ok(Box::new(Tags {
                processors,
                stop: Arc::default(),
                looking: None,
                seen: None,
            })),
            None => Err(missing(
                "this kernel does not tell the processor time of other threads",
            )),
        }
    }
}

impl Collector for Tags {
    fn start(&mut self) -> Result<(), String> {
        let stop = Arc::clone(&self.stop);
        let thread = thread::Builder::new().name("meter tags".to_owned());
        let processors = self.processors.clone();
        let spawned = thread.spawn(move || look_until(&stop, &processors));
        let refused = |error| format!("a thread that looks at tags cannot be started: {error}");
        self.looking = Some(spawned.map_err(refused)?);
        Ok(())
    }

    fn stop(&mut self) -> Result<(), String> {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(looking) = self.looking.take() {
            looking.thread().unpark();
            let panicked = |_| "the thread that looks at tags ended by a panic".to_owned();
            self.seen = Some(looking.join().map_err(panicked)?);
        }
        Ok(())
    }

    fn hand_over(self: Box<Self>, profile: &mut ProfileBuilder) {
        let seen = self.seen.unwrap_or_default();
        let mut threads = seen.ended;
        threads.extend(seen.alive.into_values());
        if threads.is_empty() {
            // A store without tags.
            return;
        }
        if seen.unbound {
            let why = "the thread that looks could not be bound to each processor in turn";
            for account in missing(why) {
                profile.account(account);
            }
            return;
        }
        threads.sort_by(|one, other| one.name.cmp(&other.name));
        for thread in threads {
            thread.hand_over(profile);
        }
        profile.account(Account {
            metric: Metric::CpuByTag,
            collector: COLLECTOR.to_owned(),
            how: How::Sampled(format!(
                "{} looks in all, of which {} came late and were dropped",
                seen.looks, seen.late
            )),
            lost: 0,
            total: None,
        });
    }

    fn failed(&self, why: &str) -> Vec<Account> {
        missing(why)
    }
}

fn missing(why: &str) -> Vec<Account> {
    vec![Account {
        metric: Metric::CpuByTag,
        collector: COLLECTOR.to_owned(),
        how: How::NotAttributable(why.to_owned()),
        lost: 0,
        total: None,
    }]
}

fn processors() -> Vec<usize> {
    // On failure nothing is known, which is too few.
    let may = sched_getaffinity(None).unwrap_or_else(|_refused| CpuSet::new());
    (0..CpuSet::MAX_CPU)
        .filter(|cpu| may.is_set(*cpu))
        .collect()
}

/// Binds this thread to one processor. Where that is refused, it looks from where it is.
fn look_from(processor: usize) -> bool {
    let mut one = CpuSet::new();
    one.set(processor);
    sched_setaffinity(None, &one).is_ok()
}

fn look_until(stop: &AtomicBool, processors: &[usize]) -> Seen {
    let mut seen = Seen::default();
    let mut threads = Vec::new();
    let mut vary = fastrand::Rng::with_seed(1);
    // The kernel may delay timers by this many nanoseconds, to wake for several at once; where it
    // refuses, looks are dropped as late.
    if set_current_timer_slack(NonZeroU64::new(1)).is_err() {}
    let mut due = clock::now();
    loop {
        if seen.looks.is_multiple_of(LOOKS_A_TURN) {
            let turn = seen.looks / LOOKS_A_TURN % processors.len() as u64;
            seen.unbound |= !look_from(processors[turn as usize]);
        }
        tag::tagged(&mut threads);
        let is_last = stop.load(Ordering::Relaxed);
        let is_late = clock::now() > due + LATE_NS;
        for thread in threads.iter().filter(|_| !is_late) {
            seen.look(*thread);
        }
        seen.late += u64::from(is_late);
        if is_last {
            return seen;
        }
        seen.looks += 1;
        let count = u32::try_from(threads.len()).unwrap_or(u32::MAX);
        let usual = LOOK.max(LOOK_A_THREAD.saturating_mul(count));
        let pause = usual.mul_f64(0.5 + vary.f64());
        due = clock::now() + clock::nanos(pause);
        thread::park_timeout(pause);
    }
}

impl Seen {
    /// A thread that took the number of one that has ended is seen as a new one, since between them
    /// there was a look at which the number had no clock, or its clock went back.
    fn look(&mut self, tagged: Tagged) {
        let number = tagged.thread();
        if let Some(thread) = self.alive.get_mut(&number) {
            if thread.look(number, tagged).is_none() {
                self.ended.extend(self.alive.remove(&number));
            }
        } else {
            let thread = Looked::of(number);
            self.alive.extend(thread.map(|thread| (number, thread)));
        }
    }
}

impl Looked {
    fn of(number: u32) -> Option<Looked> {
        let now_ns = thread_cpu_ns(number)?;
        let path = format!("/proc/self/task/{number}/comm");
        Some(Looked {
            name: read_line(Path::new(&path))?,
            first_ns: now_ns,
            last_ns: now_ns,
            ran: BTreeMap::new(),
        })
    }

    /// None if it has ended.
    fn look(&mut self, number: u32, tagged: Tagged) -> Option<()> {
        let before_ns = thread_cpu_ns(number).filter(|ns| *ns >= self.last_ns)?;
        let module = tagged.module();
        self.last_ns = thread_cpu_ns(number)?;
        if self.last_ns > before_ns {
            *self.ran.entry(module).or_default() += 1;
        }
        Some(())
    }

    /// Its processor time, by the looks at which it ran. Without any, it is nobody's that is known, and
    /// so little that it is left out.
    fn hand_over(self, profile: &mut ProfileBuilder) {
        let cpu_ns = self.last_ns.saturating_sub(self.first_ns);
        let all: u64 = self.ran.values().sum();
        let thread = profile.thread(Thread {
            name: self.name,
            title: None,
        });
        for (module, looks) in self.ran {
            let module = module.unwrap_or(Module::Laboratory);
            let stack = profile.stack([Frame {
                space: Space::Tag,
                object: String::new(),
                name: Name::Function(module.name().to_owned()),
                offset: 0,
            }]);
            let weight = (u128::from(cpu_ns) * u128::from(looks) / u128::from(all)) as u64;
            profile.add(Metric::CpuByTag, thread, stack, weight, looks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tags;
    use crate::Watched;
    use crate::collect::collector::Collector;
    use crate::collect::meter::MeterOptions;
    use crate::collect::subject::Subject;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;
    use syncline_metering::{Module, clock, tag};
    use syncline_profile::{How, Metric, Name, ProfileBuilder};

    fn spin(length: Duration) {
        let until = clock::now() + clock::nanos(length);
        while clock::now() < until {
            std::hint::spin_loop();
        }
    }

    fn open(process: Watched) -> Result<Box<dyn Collector>, Vec<syncline_profile::Account>> {
        Tags::open(&Subject::of(process), &MeterOptions::default())
    }

    #[test]
    fn processor_time_goes_to_the_module_that_the_thread_is_in() {
        let mut tags = open(Watched::Ours).unwrap();
        let end = AtomicBool::new(false);
        let profile = thread::scope(|scope| {
            scope.spawn(|| {
                let _outer = tag::enter(Module::Access);
                while !end.load(Ordering::Relaxed) {
                    spin(Duration::from_micros(600));
                    let _inner = tag::enter(Module::Logging);
                    spin(Duration::from_micros(200));
                    // Asleep in the module, as whoever waits for a sync: not processor time.
                    thread::sleep(Duration::from_micros(800));
                }
            });
            tags.start().unwrap();
            thread::sleep(Duration::from_secs(1));
            tags.stop().unwrap();
            end.store(true, Ordering::Relaxed);
            let mut profile = ProfileBuilder::default();
            tags.hand_over(&mut profile);
            profile.finish(1)
        });
        let of = |module: Module| -> u64 {
            let samples = profile.samples().iter();
            let sums = samples.filter(|sample| {
                let mut frames = profile.stack(sample.stack);
                frames.next().unwrap().name == Name::Function(module.name().to_owned())
            });
            sums.map(|sample| sample.weight).sum()
        };
        let (access, logging) = (of(Module::Access) as f64, of(Module::Logging) as f64);
        let share = logging / (access + logging);
        assert!((0.15..0.35).contains(&share), "{access} and {logging}");
        assert_eq!(profile.accounts()[0].metric, Metric::CpuByTag);
        assert!(matches!(profile.accounts()[0].how, How::Sampled(_)));
    }

    #[test]
    fn a_store_in_another_process_has_no_tags_and_misses_none() {
        assert!(open(Watched::Other(1)).unwrap_err().is_empty());
    }
}
