//! The state that coordinator and workers share: the gate before the start, the signal to end, the first
//! failure, the budget of transactions.

use crate::account::measured_span::PhaseTimes;
use crate::drive::arrival::Schedule;
use crate::drive::executor::{Phase, Signal};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;
use std::thread::Thread;
use syncline_contract::Failure;
use syncline_instrument::{Nanos, clock};

/// What the coordinator passes to the workers when the gate opens.
#[derive(Debug)]
pub(crate) struct Start {
    /// The phases.
    pub times: PhaseTimes,
    /// The arrivals of an open loop, by group; a worker takes from group `number % groups`.
    pub schedules: Vec<Mutex<Schedule>>,
}

#[derive(Debug, Default)]
struct WorkerState {
    connected: usize,
    /// The waker of each worker's wait.
    waits: Vec<Waker>,
    failure: Option<Failure>,
}

#[derive(Debug)]
pub(crate) struct Control {
    signal: Signal,
    worker_state: Mutex<WorkerState>,
    changed: Condvar,
    start: OnceLock<Start>,
    coordinator: Thread,
    workers: usize,
    left: AtomicUsize,
    budget: Option<u64>,
    taken: AtomicU64,
    /// When transactions stopped starting; `Nanos::MAX` until then.
    ended_at: AtomicU64,
}

impl Control {
    /// The calling thread becomes the coordinator.
    pub(crate) fn new(workers: usize, budget: Option<u64>) -> Control {
        Control {
            signal: Signal::default(),
            worker_state: Mutex::default(),
            changed: Condvar::new(),
            start: OnceLock::new(),
            coordinator: std::thread::current(),
            workers,
            left: AtomicUsize::new(0),
            budget,
            taken: AtomicU64::new(0),
            ended_at: AtomicU64::new(Nanos::MAX),
        }
    }

    /// The phase, which executors read.
    pub(crate) fn signal(&self) -> &Signal {
        &self.signal
    }

    /// True if no more transactions may start.
    #[inline]
    pub(crate) fn ending(&self) -> bool {
        self.signal.phase() != Phase::Running
    }

    /// True if the phase allows a transaction that ends now to count in the measured span: the run continues,
    /// or the transactions under way are the rest of a budget.
    #[inline]
    pub(crate) fn still_counts(&self) -> bool {
        !self.ending() || self.budget_taken()
    }

    /// Takes one transaction of the measured span from the budget; false if none is left. Taking the last one
    /// ends the run, so that no client waits for an arrival that will not be served.
    #[inline]
    pub(crate) fn take_one(&self) -> bool {
        let Some(budget) = self.budget else {
            return true;
        };
        let taken = self.taken.fetch_add(1, Ordering::Relaxed);
        if taken + 1 == budget {
            self.advance(Phase::Ending);
        }
        taken < budget
    }

    /// True if the run has a budget of transactions.
    pub(crate) fn has_budget(&self) -> bool {
        self.budget.is_some()
    }

    /// True if the whole budget was taken.
    pub(crate) fn budget_taken(&self) -> bool {
        let taken = self.taken.load(Ordering::Relaxed);
        self.budget.is_some_and(|budget| taken >= budget)
    }

    /// Ends the run because of a failure; the first failure is kept.
    pub(crate) fn fail(&self, failure: Failure) {
        self.worker_state().failure.get_or_insert(failure);
        self.advance(Phase::Ending);
    }

    /// The failure that ended the run.
    pub(crate) fn take_failure(&self) -> Option<Failure> {
        self.worker_state().failure.take()
    }

    /// Advances to a phase and wakes all threads that may be waiting.
    pub(crate) fn advance(&self, phase: Phase) {
        self.ended_at.fetch_min(clock::now(), Ordering::AcqRel);
        self.signal.advance(phase);
        for wait in &self.worker_state().waits {
            wait.wake_by_ref();
        }
        self.changed.notify_all();
        self.coordinator.unpark();
    }

    /// When the phase [`Phase::Running`] ended: by a failure, a stop, the last transaction of a budget, or
    /// the coordinator's end of the span. `Nanos::MAX` while the run continues.
    pub(crate) fn ended_at(&self) -> Nanos {
        self.ended_at.load(Ordering::Acquire)
    }

    /// Called by a worker that has connected its clients. Waits until the gate opens; `None` if the run ends
    /// instead.
    pub(crate) fn wait_for_start(&self) -> Option<&Start> {
        let mut worker_state = self.worker_state();
        worker_state.connected += 1;
        self.coordinator.unpark();
        while self.start.get().is_none() && !self.ending() {
            self.changed.wait(&mut worker_state);
        }
        drop(worker_state);
        self.start.get().filter(|_| !self.ending())
    }

    /// True if every worker waits at the gate.
    pub(crate) fn all_connected(&self) -> bool {
        self.worker_state().connected == self.workers
    }

    /// Opens the gate.
    pub(crate) fn open(&self, start: Start) {
        let worker_state = self.worker_state();
        assert!(self.start.set(start).is_ok(), "the gate must open only once");
        drop(worker_state);
        self.changed.notify_all();
    }

    /// Returns the start, with the schedules; `None` if the gate never opened.
    pub(crate) fn into_start(self) -> Option<Start> {
        self.start.into_inner()
    }

    /// True if every worker has left.
    pub(crate) fn all_left(&self) -> bool {
        self.left.load(Ordering::Acquire) == self.workers
    }

    /// Waits until every worker has left, or until the given time.
    pub(crate) fn wait_for_all(&self, until: Nanos) {
        while !self.all_left() {
            let now = clock::now();
            if now >= until {
                break;
            }
            Control::rest(until - now);
        }
    }

    /// True if any worker has left; before the gate opens this means that the run cannot start.
    pub(crate) fn any_left(&self) -> bool {
        self.left.load(Ordering::Acquire) > 0
    }

    /// Registers the calling worker until the guard is dropped, by a panic too.
    pub(crate) fn enter(&self) -> Presence<'_> {
        Presence { control: self }
    }

    /// Registers the waker of a worker's wait. A caller sees every phase reached before, because it was set
    /// before this lock was taken.
    pub(crate) fn waits_by(&self, waker: Waker) {
        self.worker_state().waits.push(waker);
    }

    /// Parks the calling thread for up to this long; an event unparks the coordinator.
    pub(crate) fn rest(wait_ns: Nanos) {
        std::thread::park_timeout(std::time::Duration::from_nanos(wait_ns));
    }

    fn worker_state(&self) -> MutexGuard<'_, WorkerState> {
        self.worker_state.lock()
    }
}

/// Counts a worker as left when dropped.
#[derive(Debug)]
pub(crate) struct Presence<'c> {
    control: &'c Control,
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.control.left.fetch_add(1, Ordering::Release);
        if std::thread::panicking() {
            self.control.advance(Phase::Ending);
        }
        self.control.coordinator.unpark();
    }
}
