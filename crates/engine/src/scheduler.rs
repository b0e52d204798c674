//! A scheduler that runs one thread at a time, from step to step, in an order determined by a seed.
//!
//! The threads are real, so they share memory as in production; but between two steps no other thread runs,
//! and the next thread is drawn at random at every step. So a seed names an interleaving.
//!
//! A thread that waits for another one reports that at its step, and retries after another thread has moved.
//! If all remaining threads wait and none of them has moved since, that is a deadlock: the schedule ends with
//! a message that lists what each thread waits for.

use crate::step::{self, Step};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread::Thread;

/// Steps after which a schedule counts as endless.
const STEPS_MAX: u64 = 300_000;

/// The result of a schedule.
pub(crate) struct Outcome<R> {
    /// The result of each body; none if it panicked.
    pub(crate) results: Vec<Option<R>>,
    /// Why the schedule did not end by itself: a deadlock, or too many steps.
    pub(crate) stuck: Option<String>,
}

struct Scheduler {
    turn: AtomicUsize,
    threads: Vec<OnceLock<Thread>>,
    state: Mutex<State>,
    all_there: Barrier,
}

struct State {
    random: fastrand::Rng,
    /// Threads that have not finished.
    live: Vec<usize>,
    /// How many of 16 steps on average switch to another thread.
    switches: u8,
    steps: u64,
    /// What each thread waits for, and `moves` when it last found that it must wait.
    waits: Vec<Option<(&'static str, u64)>>,
    /// How often any thread has made progress.
    moves: u64,
    /// Set when no thread can go on: all threads unwind.
    stuck: Option<String>,
}

impl State {
    /// True if a thread's wait may be over at its next turn.
    fn can_move(&self, thread: usize) -> bool {
        self.waits[thread].is_none_or(|(_, moves)| moves != self.moves)
    }

    fn any(&mut self, threads: &[usize]) -> usize {
        threads[self.random.usize(..threads.len())]
    }

    /// Lists what each thread waits for.
    fn report(&self, why: &str) -> String {
        let threads = self.live.iter().map(|&thread| match self.waits[thread] {
            Some((what, _)) => format!("thread {thread} waits for {what}"),
            None => format!("thread {thread} runs"),
        });
        let threads: Vec<String> = threads.collect();
        format!("{why}: {}", threads.join("; "))
    }
}

/// Runs the bodies as threads under a scheduler. The result is none for each body that panicked.
pub(crate) fn run<R: Send>(
    seed: u64,
    bodies: Vec<Box<dyn FnOnce() -> R + Send + '_>>,
) -> Vec<Option<R>> {
    let outcome = run_to_end(seed, bodies);
    if let Some(stuck) = outcome.stuck {
        panic!("{stuck}");
    }
    outcome.results
}

/// The same, but returns the reason if the threads cannot go on.
pub(crate) fn run_to_end<R: Send>(
    seed: u64,
    bodies: Vec<Box<dyn FnOnce() -> R + Send + '_>>,
) -> Outcome<R> {
    let mut random = fastrand::Rng::with_seed(seed);
    let count = bodies.len();
    let scheduler = Arc::new(Scheduler {
        turn: AtomicUsize::new(random.usize(..count)),
        threads: (0..count).map(|_| OnceLock::new()).collect(),
        all_there: Barrier::new(count),
        state: Mutex::new(State {
            live: (0..count).collect(),
            switches: random.u8(2..=12),
            random,
            steps: 0,
            waits: vec![None; count],
            moves: 0,
            stuck: None,
        }),
    });
    let results = std::thread::scope(|scope| {
        let threads = bodies.into_iter().enumerate().map(|(me, body)| {
            let scheduler = Arc::clone(&scheduler);
            scope.spawn(move || scheduler.run_thread(me, body))
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().expect("panics are caught")).collect()
    });
    let stuck =
        scheduler.state.lock().expect("no thread panics while it holds the lock").stuck.take();
    Outcome { results, stuck }
}

impl Scheduler {
    fn run_thread<R>(self: &Arc<Self>, me: usize, body: impl FnOnce() -> R) -> Option<R> {
        self.threads[me].set(std::thread::current()).expect("each thread has its own slot");
        self.all_there.wait();
        self.await_turn(me);
        let scheduler = Arc::clone(self);
        let hook = Box::new(move |step| scheduler.step(me, step));
        let result = catch_unwind(AssertUnwindSafe(|| step::with(hook, body)));
        self.finish(me);
        result.ok()
    }

    fn step(&self, me: usize, step: Step) {
        if std::thread::panicking() {
            return;
        }
        let next = self.next_after(me, step);
        if next != me {
            self.pass_to(next);
            self.await_turn(me);
        }
        let is_stuck = {
            let state = self.state.lock().expect("no thread panics while it holds the lock");
            state.stuck.is_some()
        };
        assert!(!is_stuck, "the schedule is stuck");
    }

    /// The thread that runs after this step.
    fn next_after(&self, me: usize, step: Step) -> usize {
        let mut state = self.state.lock().expect("no thread panics while it holds the lock");
        let state = &mut *state;
        if state.stuck.is_some() {
            return me;
        }
        state.steps += 1;
        if state.steps > STEPS_MAX {
            state.stuck = Some(state.report("the schedule does not end"));
            return me;
        }
        let Step::Wait(what) = step else {
            state.waits[me] = None;
            state.moves += 1;
            if state.random.u8(..16) >= state.switches {
                return me;
            }
            let live = state.live.clone();
            return state.any(&live);
        };
        // The thread has made progress, unless it only found again that it must wait.
        if state.waits[me].is_none() {
            state.moves += 1;
        }
        state.waits[me] = Some((what, state.moves));
        let movable: Vec<usize> =
            state.live.iter().copied().filter(|&other| state.can_move(other)).collect();
        if movable.is_empty() {
            state.stuck = Some(state.report("deadlock"));
            return me;
        }
        state.any(&movable)
    }

    fn finish(&self, me: usize) {
        let next = {
            let mut state = self.state.lock().expect("no thread panics while it holds the lock");
            state.live.retain(|&thread| thread != me);
            state.moves += 1;
            if state.live.is_empty() {
                return;
            }
            let live = state.live.len();
            let at = state.random.usize(..live);
            state.live[at]
        };
        self.pass_to(next);
    }

    fn pass_to(&self, next: usize) {
        self.turn.store(next, Ordering::SeqCst);
        self.threads[next].get().expect("all threads are there").unpark();
    }

    fn await_turn(&self, me: usize) {
        while self.turn.load(Ordering::SeqCst) != me {
            std::thread::park();
        }
    }
}
