//! The collector: one timer per tagged thread, and their counts.

use super::thread_timer::{Timer, install_signal_handler, thread_cpu_ns};
use super::tick_counts::{PLACES, counts};
use crate::account::{all_missing, measured};
use crate::collector::{Collector, OpenResult};
use crate::profiler::ProfilerOptions;
use crate::sampler_threads::SamplerThread;
use crate::subject::Subject;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use syncline_host::{Process, read_line};
use syncline_instrument::{Module, Nanos, clock, tag};
use syncline_profile::{Account, Frame, Metric, Name, Precision, ProfileBuilder, Space, Thread};

const COLLECTOR: &str = "tags of the store's own threads";

/// The interval of the search for threads that have entered a module for the first time.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The maximum number of timer signals per second of processor time. A timer fires at the first kernel tick
/// after its time, and most kernels have 250 ticks per second. A period of one tick would miss one in three:
/// a thread that sleeps a little between two ticks has not used a tick's time by the second.
const SIGNALS_PER_SECOND: u64 = 500;

/// The period of a timer that is created only as a trial.
const NEVER: Nanos = 3_600 * clock::SECOND;

/// The collector of tags.
#[derive(Debug)]
pub(crate) struct TagSampler {
    stop: Arc<AtomicBool>,
    following: Option<JoinHandle<TimedThreads>>,
    followed: TimedThreads,
}

/// All threads that have had a timer.
#[derive(Debug, Default)]
struct TimedThreads {
    threads: Vec<TimedThread>,
    /// The number of threads without a timer, because all places were taken or the kernel refused.
    without: u64,
}

/// A thread with a timer.
#[derive(Debug)]
struct TimedThread {
    number: u32,
    name: String,
    place: usize,
    timer: Option<Timer>,
    /// The counts of its place when it began.
    before: Vec<u32>,
    first_ns: Nanos,
    last_ns: Nanos,
}

impl TagSampler {
    /// Only threads of this process have visible tags.
    pub(crate) fn open(subject: &Subject, _options: &ProfilerOptions) -> OpenResult {
        if subject.process != Process::Own {
            // Not missing: other stores have no tags.
            return Err(Vec::new());
        }
        match install_signal_handler() {
            Ok(()) => Ok(Box::new(TagSampler {
                stop: Arc::default(),
                following: None,
                followed: TimedThreads::default(),
            })),
            Err(error) => Err(refused(&format!("SIGPROF cannot be handled: {error}"))),
        }
    }
}

impl Collector for TagSampler {
    fn start(&mut self) -> Result<(), String> {
        let stop = Arc::clone(&self.stop);
        let mut followed = TimedThreads::default();
        followed.update();
        let thread = thread::Builder::new().name("meter tags".to_owned());
        let spawned = thread.spawn(move || {
            let _mark = SamplerThread::here();
            while !stop.load(Ordering::Relaxed) {
                thread::park_timeout(POLL_INTERVAL);
                followed.update();
            }
            followed
        });
        let refused = |error| format!("a thread that follows others cannot be started: {error}");
        self.following = Some(spawned.map_err(refused)?);
        Ok(())
    }

    fn stop(&mut self) -> Result<(), String> {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(following) = self.following.take() {
            following.thread().unpark();
            let panicked = |_| "the thread that follows others ended by a panic".to_owned();
            self.followed = following.join().map_err(panicked)?;
            for thread in &mut self.followed.threads {
                thread.timer = None;
            }
        }
        Ok(())
    }

    fn hand_over(self: Box<Self>, profile: &mut ProfileBuilder) {
        let TimedThreads { threads, without } = self.followed;
        let only_untimed = threads.is_empty() && without > 0;
        if !only_untimed && !threads.iter().any(TimedThread::was_in_a_store) {
            // A store without tags: only the laboratory's own code around it enters modules.
            return;
        }
        for thread in threads {
            thread.hand_over(profile);
        }
        let often = format!(
            "up to {SIGNALS_PER_SECOND} timer ticks per second of CPU time, at ticks of the kernel"
        );
        let how = Precision::Sampled(match without {
            0 => often,
            some => format!("{often}; {some} threads had no timer and are left out"),
        });
        profile.account(measured(Metric::CpuByTag, COLLECTOR, how));
    }

    fn failed(&self, why: &str) -> Vec<Account> {
        refused(why)
    }
}

/// Why threads of this process cannot have such a timer; none if they can. Tried with the calling thread.
pub(crate) fn refusal() -> Option<String> {
    let own = rustix::thread::gettid().as_raw_nonzero().get();
    let tried = install_signal_handler().and_then(|()| Timer::start(own.unsigned_abs(), 0, NEVER));
    let why = tried.err()?;
    Some(format!("a timer on a thread's processor time cannot be created: {why}"))
}

fn refused(why: &str) -> Vec<Account> {
    all_missing(&[Metric::CpuByTag], COLLECTOR, why)
}

impl TimedThreads {
    /// Gives a timer to every tagged thread without one, and reads the clocks of the others. A clock that
    /// went back shows that the thread's number was reused.
    fn update(&mut self) {
        let mut tagged = Vec::new();
        tag::tagged_threads(&mut tagged);
        for number in tagged.into_iter().map(tag::TaggedThread::thread) {
            let Some(now_ns) = thread_cpu_ns(number) else {
                continue;
            };
            let known = self.threads.iter_mut().rev();
            let mut same = known.filter(|one| one.number == number && one.last_ns <= now_ns);
            match same.next() {
                Some(thread) => thread.last_ns = now_ns,
                None => self.begin(number, now_ns),
            }
        }
    }

    fn begin(&mut self, number: u32, now_ns: Nanos) {
        let place = self.threads.len();
        let path = format!("/proc/self/task/{number}/comm");
        let Some(name) = read_line(Path::new(&path)) else {
            return; // The thread has ended.
        };
        let timer = if place < PLACES {
            Timer::start(number, place, clock::SECOND / SIGNALS_PER_SECOND).ok()
        } else {
            None
        };
        if timer.is_none() {
            self.without += 1;
            return;
        }
        self.threads.push(TimedThread {
            number,
            name,
            place,
            timer,
            before: counts(place).to_vec(),
            first_ns: now_ns,
            last_ns: now_ns,
        });
    }
}

impl TimedThread {
    /// The number of timer signals in each module; the last is outside all modules.
    fn signals(&self) -> Vec<u64> {
        let now = counts(self.place);
        let grown = now.iter().zip(&self.before);
        grown.map(|(now, before)| u64::from(now.wrapping_sub(*before))).collect()
    }

    /// True if any signal was in a module of a store.
    fn was_in_a_store(&self) -> bool {
        let signals = self.signals();
        let modules = Module::ALL.iter().zip(signals);
        modules.into_iter().any(|(module, many)| *module != Module::Laboratory && many > 0)
    }

    /// Adds the thread's processor time, distributed by its counts. Without any signal its module is unknown,
    /// and its time is so short that it is omitted.
    fn hand_over(self, profile: &mut ProfileBuilder) {
        let signals = self.signals();
        let all: u64 = signals.iter().sum();
        let cpu_ns = self.last_ns.saturating_sub(self.first_ns);
        let thread = profile.thread(Thread { name: self.name, title: None });
        for (module, signals) in signals.into_iter().enumerate().filter(|(_, many)| *many > 0) {
            let module = Module::ALL.get(module).copied();
            let stack = profile.stack([Frame {
                space: Space::Tag,
                object: String::new(),
                name: Name::Function(module.unwrap_or(Module::Laboratory).name().to_owned()),
                offset: 0,
                inlined: false,
            }]);
            let weight = (u128::from(cpu_ns) * u128::from(signals) / u128::from(all)) as u64;
            profile.add(Metric::CpuByTag, thread, stack, weight, signals);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TagSampler, TimedThread, TimedThreads};
    use crate::collector::Collector;
    use crate::profiler::ProfilerOptions;
    use crate::subject::Subject;
    use crate::tag::tick_counts::{PLACES, counts};
    use rustix::time::{ClockId, clock_gettime};
    use std::sync::{Arc, Barrier};
    use std::thread;
    use std::time::Duration;
    use syncline_host::Process;
    use syncline_instrument::{Module, tag};
    use syncline_profile::{Metric, Name, Precision, ProfileBuilder};

    /// Uses this much processor time, however often other threads take the processor.
    fn spin(length: Duration) {
        let used = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
        let until = used() + length;
        while used() < until {
            std::hint::spin_loop();
        }
    }

    fn open(process: Process) -> Result<Box<dyn Collector>, Vec<syncline_profile::Account>> {
        TagSampler::open(&Subject::of(process), &ProfilerOptions::default())
    }

    #[test]
    fn processor_time_goes_to_the_module_that_the_thread_is_in() {
        let mut tags = open(Process::Own).unwrap();
        let (begin, done, end) = (Barrier::new(2), Barrier::new(2), Barrier::new(2));
        let profile = thread::scope(|scope| {
            scope.spawn(|| {
                let outer = tag::enter(Module::Access);
                begin.wait();
                // 1.5 s of processor time, about 375 signals. Lengths vary by a factor of up to three, so
                // that they do not keep step with the kernel's ticks, at which timers fire and threads wake.
                for round in 0..190 {
                    let factor = 0.5 + (0.618 * f64::from(round)).fract();
                    spin(Duration::from_millis(6).mul_f64(factor));
                    let _inner = tag::enter(Module::Logging);
                    spin(Duration::from_millis(2).mul_f64(factor));
                    // Asleep in the module, as in a wait for a sync: not processor time.
                    thread::sleep(Duration::from_millis(2));
                }
                drop(outer);
                done.wait();
                end.wait();
            });
            tags.start().unwrap();
            begin.wait();
            done.wait();
            tags.stop().unwrap();
            end.wait();
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
        assert!(matches!(profile.accounts()[0].how, Precision::Sampled(_)));
    }

    /// The profile of a thread with these counts.
    fn profile_of_counts(modules: &[(Module, u32)]) -> syncline_profile::Profile {
        // No other thread takes the last place.
        let place = PLACES - 1;
        let mut before = counts(place).to_vec();
        for (module, many) in modules {
            before[*module as usize] = before[*module as usize].wrapping_sub(*many);
        }
        let thread = TimedThread {
            number: 1,
            name: "worker".to_owned(),
            place,
            timer: None,
            before,
            first_ns: 0,
            last_ns: 1_000,
        };
        let tags = TagSampler {
            stop: Arc::default(),
            following: None,
            followed: TimedThreads { threads: vec![thread], without: 0 },
        };
        let mut profile = ProfileBuilder::default();
        Box::new(tags).hand_over(&mut profile);
        profile.finish(1)
    }

    #[test]
    fn a_store_around_which_only_the_laboratory_enters_modules_has_no_tags() {
        let without = profile_of_counts(&[(Module::Laboratory, 9)]);
        assert!(without.accounts().is_empty() && without.samples().is_empty());
        let with = profile_of_counts(&[(Module::Laboratory, 9), (Module::Logging, 1)]);
        assert_eq!(with.accounts().len(), 1);
        let weights: u64 = with.samples().iter().map(|sample| sample.weight).sum();
        assert_eq!(weights, 1_000);
    }

    #[test]
    fn a_store_in_another_process_has_no_tags_and_no_missing_metric() {
        assert!(open(Process::Other(1)).unwrap_err().is_empty());
    }
}
