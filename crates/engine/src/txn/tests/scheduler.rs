//! A scheduler that lets one thread at a time go from step to step, in an order that a seed decides.
//!
//! The threads are real, so what they share is shared as in use; but between two steps nobody else
//! runs, and which thread runs next is drawn at every step. So a seed names an interleaving.

use crate::txn::step;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread::Thread;

/// Steps after which a schedule is taken to go round in circles.
const STEPS_MAX: u64 = 300_000;

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
    /// Of 16 steps so many are followed by another thread's.
    switches: u8,
    steps: u64,
}

/// Runs the bodies as threads under a scheduler. None for each that panicked.
pub(super) fn run<R: Send>(
    seed: u64,
    bodies: Vec<Box<dyn FnOnce() -> R + Send + '_>>,
) -> Vec<Option<R>> {
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
        }),
    });
    std::thread::scope(|scope| {
        let threads = bodies.into_iter().enumerate().map(|(me, body)| {
            let scheduler = Arc::clone(&scheduler);
            scope.spawn(move || scheduler.run_thread(me, body))
        });
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("panics are caught"))
            .collect()
    })
}

impl Scheduler {
    fn run_thread<R>(self: &Arc<Self>, me: usize, body: impl FnOnce() -> R) -> Option<R> {
        self.threads[me]
            .set(std::thread::current())
            .expect("each thread has its own place");
        self.all_there.wait();
        self.await_turn(me);
        let scheduler = Arc::clone(self);
        let hook = Box::new(move |_step| scheduler.step(me));
        let result = catch_unwind(AssertUnwindSafe(|| step::with(hook, body)));
        self.finish(me);
        result.ok()
    }

    fn step(&self, me: usize) {
        let next = {
            let mut state = self.state.lock().expect("nobody panics with it");
            state.steps += 1;
            if state.steps > STEPS_MAX {
                drop(state);
                panic!("the schedule does not end");
            }
            if state.random.u8(..16) >= state.switches {
                return;
            }
            let live = state.live.len();
            let at = state.random.usize(..live);
            state.live[at]
        };
        if next != me {
            self.pass_to(next);
            self.await_turn(me);
        }
    }

    fn finish(&self, me: usize) {
        let next = {
            let mut state = self.state.lock().expect("nobody panics with it");
            state.live.retain(|&thread| thread != me);
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
        self.threads[next]
            .get()
            .expect("all threads are there")
            .unpark();
    }

    fn await_turn(&self, me: usize) {
        while self.turn.load(Ordering::SeqCst) != me {
            std::thread::park();
        }
    }
}
