//! Sleepers: clients that wait for a point in time, earliest first.
//!
//! Arrivals are taken in the order of their times, so a new sleeper nearly always goes to the end and
//! no heap is needed.

#[cfg(any(test, feature = "simulation"))]
use super::signal::{Phase, Signal};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use syncline_contract::Timer;
use syncline_instrument::{Nanos, Ticker, clock};

/// A client that sleeps.
#[derive(Debug)]
struct Sleeper {
    due: Nanos,
    waker: Waker,
    /// True if it sleeps in a transaction. The end of the run does not wake it: a transaction under way may
    /// end, or is abandoned.
    inside: bool,
}

/// The sleepers of one executor.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    sleepers: RefCell<VecDeque<Sleeper>>,
    over: Cell<bool>,
    /// In a test: simulated time instead of the clock; it advances when all clients sleep.
    #[cfg(any(test, feature = "simulation"))]
    simulated: Option<Simulated>,
}

/// Simulated time.
#[cfg(any(test, feature = "simulation"))]
#[derive(Debug)]
struct Simulated {
    now: Cell<Nanos>,
    /// When the phase [`Phase::Running`] ends, which a coordinator does in a real run.
    ends_at: Nanos,
}

impl Timers {
    /// Timers with simulated time, which begins at `now` and in which the run ends at `ends_at`.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn simulated(now: Nanos, ends_at: Nanos) -> Timers {
        Timers { simulated: Some(Simulated { now: Cell::new(now), ends_at }), ..Timers::default() }
    }

    /// The current time: of the clock, or in a test the simulated time.
    #[inline]
    #[cfg_attr(
        not(any(test, feature = "simulation")),
        allow(clippy::unused_self, reason = "only a test's timers have a time of their own")
    )]
    pub(crate) fn now(&self) -> Nanos {
        #[cfg(any(test, feature = "simulation"))]
        if let Some(simulated) = &self.simulated {
            return simulated.now.get();
        }
        clock::now()
    }

    /// The current time by a ticker of this thread.
    #[inline]
    #[cfg_attr(
        not(any(test, feature = "simulation")),
        allow(clippy::unused_self, reason = "only a test's timers have a time of their own")
    )]
    pub(crate) fn tick(&self, ticker: &Ticker) -> Nanos {
        #[cfg(any(test, feature = "simulation"))]
        if let Some(simulated) = &self.simulated {
            return simulated.now.get();
        }
        ticker.now()
    }

    /// Advances simulated time to the next sleeper, or to the end of the run if that comes first; false if
    /// time is not simulated.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn skip_to(&self, due: Nanos, signal: &Signal) -> bool {
        let Some(simulated) = &self.simulated else {
            return false;
        };
        let ends = signal.phase() == Phase::Running && due >= simulated.ends_at;
        let next = if ends { simulated.ends_at } else { due };
        simulated.now.set(simulated.now.get().max(next));
        if ends {
            signal.advance(Phase::Ending);
        }
        true
    }

    /// Sleeps until this time, or until [`Timers::end`].
    pub(crate) fn sleep_until(&self, due: Nanos) -> Sleep<'_> {
        Sleep { timers: self, due, registered: false }
    }

    /// When the next sleeper is due; `None` without sleepers.
    pub(super) fn next_due(&self) -> Option<Nanos> {
        self.sleepers.borrow().front().map(|sleeper| sleeper.due)
    }

    /// Wakes all clients that sleep between transactions, and lets no client do so any more.
    pub(super) fn end(&self) {
        self.over.set(true);
        let mut sleepers = self.sleepers.borrow_mut();
        if sleepers.is_empty() {
            return;
        }
        let now = self.now();
        sleepers.retain(|sleeper| {
            let stays = sleeper.inside && sleeper.due > now;
            if !stays {
                sleeper.waker.wake_by_ref();
            }
            stays
        });
    }

    /// Wakes all sleepers that are due by `now`.
    pub(super) fn wake_due(&self, now: Nanos) {
        let mut sleepers = self.sleepers.borrow_mut();
        while sleepers.front().is_some_and(|sleeper| sleeper.due <= now) {
            if let Some(sleeper) = sleepers.pop_front() {
                sleeper.waker.wake();
            }
        }
    }

    fn register(&self, sleeper: Sleeper) {
        let mut sleepers = self.sleepers.borrow_mut();
        let position = sleepers.partition_point(|other| other.due <= sleeper.due);
        sleepers.insert(position, sleeper);
    }
}

impl Timer for Timers {
    fn wake_at(&self, due: Nanos, waker: Waker) {
        self.register(Sleeper { due, waker, inside: true });
    }
}

/// A sleep. Ends at its time, or at [`Timers::end`]; a spurious wake does not end it.
pub(crate) struct Sleep<'t> {
    timers: &'t Timers,
    due: Nanos,
    registered: bool,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.timers.over.get() || self.timers.now() >= self.due {
            return Poll::Ready(());
        }
        if !self.registered {
            self.timers.register(Sleeper {
                due: self.due,
                waker: context.waker().clone(),
                inside: false,
            });
            self.registered = true;
        }
        Poll::Pending
    }
}
