//! Corks: a worker's way of saying "more commits are about to come".
//!
//! A worker is *corked* from the start of an executor pass to its end, and *expected* from the moment
//! a completion has woken one of its clients until its next pass starts, or until that client is polled
//! outside of a pass. One that has never corked is not expected: its user makes no passes. While any
//! worker is one of the two, nobody launches what is staged but
//! - a caller that blocks: for its commit, for room in the log, to flush it, for a checkpoint;
//! - a future that is polled outside of a pass;
//! - a worker that leaves, or has staged `corked_bytes_max` in one pass.
//!
//! So what all workers stage in one round goes out in one write, unless their passes are so long that it is
//! better written beside them (`ripe`).

use crate::log::ring::NO_WORKER;
use crate::sync::IS_MODEL;
use crate::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use crossbeam_utils::CachePadded;

/// The most workers that can be told apart. Commits of further ones are written by the writer thread.
pub(super) const WORKERS_MAX: usize = if IS_MODEL { 2 } else { 64 };

const FREE: u8 = 0;
const AT_REST: u8 = 1;
const CORKED: u8 = 2;
const EXPECTED: u8 = 3;

/// Joined, and no pass has begun or ended yet.
const FRESH: u8 = 5;

/// Corked, and a completion has woken one of its clients since the pass began.
const CORKED_WITH_WORK: u8 = 4;

/// What the end of a pass finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PassEnd {
    /// No other worker is corked or expected.
    Last,
    /// The same, and clients of this one were woken during the pass.
    LastWithWork,
    /// Some other one is.
    Others,
}

/// The workers of a log.
#[derive(Debug)]
pub(super) struct BatchGate {
    states: [CachePadded<AtomicU8>; WORKERS_MAX],
    away: CachePadded<AtomicU32>,
}

impl Default for BatchGate {
    fn default() -> BatchGate {
        BatchGate {
            states: std::array::from_fn(|_| CachePadded::new(AtomicU8::new(FREE))),
            away: CachePadded::new(AtomicU32::new(0)),
        }
    }
}

impl BatchGate {
    /// A place for a worker; none if all are taken.
    pub(super) fn join(&self) -> Option<u32> {
        let free = self.states.iter().position(|state| {
            let taken = state.compare_exchange(FREE, FRESH, Ordering::SeqCst, Ordering::SeqCst);
            taken.is_ok()
        });
        free.map(|place| place as u32)
    }

    /// The worker is gone.
    pub(super) fn leave(&self, worker: u32) {
        self.move_to(worker, FREE);
    }

    /// Its pass starts.
    pub(super) fn cork(&self, worker: u32) {
        self.move_to(worker, CORKED);
    }

    /// Its pass has ended.
    pub(super) fn uncork(&self, worker: u32) -> PassEnd {
        let before = self.state(worker).swap(AT_REST, Ordering::SeqCst);
        let is_last = if is_away(before) {
            self.away.fetch_sub(1, Ordering::SeqCst) == 1
        } else {
            self.away.load(Ordering::SeqCst) == 0
        };
        match (is_last, before) {
            (true, CORKED_WITH_WORK) => PassEnd::LastWithWork,
            (true, _) => PassEnd::Last,
            (false, _) => PassEnd::Others,
        }
    }

    /// One of its clients was woken by a completion.
    pub(super) fn expect(&self, worker: u32) {
        if worker == NO_WORKER {
            return;
        }
        let state = self.state(worker);
        // So it is with all but the first client of a pass that a group wakes.
        if matches!(state.load(Ordering::SeqCst), EXPECTED | CORKED_WITH_WORK) {
            return;
        }
        let moved = state.compare_exchange(AT_REST, EXPECTED, Ordering::SeqCst, Ordering::SeqCst);
        match moved {
            Ok(_) => {
                self.away.fetch_add(1, Ordering::SeqCst);
            }
            Err(CORKED) => {
                // It may uncork meanwhile, and then hears nothing of the client: it writes itself.
                let _moved = state.compare_exchange(
                    CORKED,
                    CORKED_WITH_WORK,
                    Ordering::SeqCst,
                    Ordering::SeqCst,
                );
            }
            Err(_) => {}
        }
    }

    /// True if its pass has not ended, so that its uncork will come.
    #[inline]
    pub(super) fn is_corked(&self, worker: u32) -> bool {
        let state = self.state(worker).load(Ordering::SeqCst);
        matches!(state, CORKED | CORKED_WITH_WORK)
    }

    /// The client that was woken is gone, or was polled outside of a pass; true if the worker was expected
    /// and nobody else is away.
    pub(super) fn expect_no_more(&self, worker: u32) -> bool {
        let state = self.state(worker);
        if state.load(Ordering::SeqCst) != EXPECTED {
            return false;
        }
        let moved = state.compare_exchange(EXPECTED, AT_REST, Ordering::SeqCst, Ordering::SeqCst);
        moved.is_ok() && self.away.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// True if some worker is corked or expected.
    pub(super) fn any_away(&self) -> bool {
        self.away.load(Ordering::SeqCst) > 0
    }

    #[inline]
    fn state(&self, worker: u32) -> &AtomicU8 {
        &self.states[worker as usize]
    }

    fn move_to(&self, worker: u32, to: u8) {
        let before = self.state(worker).swap(to, Ordering::SeqCst);
        match (is_away(before), is_away(to)) {
            (false, true) => {
                self.away.fetch_add(1, Ordering::SeqCst);
            }
            (true, false) => {
                self.away.fetch_sub(1, Ordering::SeqCst);
            }
            _ => {}
        }
    }
}

fn is_away(state: u8) -> bool {
    matches!(state, CORKED | EXPECTED | CORKED_WITH_WORK)
}
