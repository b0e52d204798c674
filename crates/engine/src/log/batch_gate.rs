//! The batch gate: holds a batch while a worker is about to add more commits to it.
//!
//! A worker is *in a pass* from [`begin_pass`](super::Worker::begin_pass) to
//! [`end_pass`](super::Worker::end_pass). It is *expected* from the moment a completion has woken one of its
//! clients until its next pass starts, or until that client is polled outside of a pass. A worker that has
//! never begun a pass is never expected. While any worker is in a pass or expected, staged commits are
//! launched only by
//! - a caller that blocks: for its commit, for room in the log, to flush it, for a checkpoint;
//! - a future that is polled outside of a pass;
//! - a worker that leaves, or has staged `pass_bytes_max` in one pass.
//!
//! So the commits that all workers stage in one round go out in one write, unless their passes are so long
//! that writing concurrently with them is better (`flush_policy`).

use crate::log::ring::NO_WORKER;
use crate::sync::IS_MODEL;
use crate::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use crossbeam_utils::CachePadded;

/// The most workers that have a state of their own. The writer thread writes the commits of any others.
pub(super) const WORKERS_MAX: usize = if IS_MODEL { 2 } else { 64 };

const FREE: u8 = 0;
const AT_REST: u8 = 1;
const IN_PASS: u8 = 2;
const EXPECTED: u8 = 3;

/// The worker has joined and has not begun a pass yet.
const FRESH: u8 = 5;

/// In a pass, and a completion has woken one of the worker's clients since the pass began.
const IN_PASS_WITH_WORK: u8 = 4;

/// The state of the workers at the end of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PassEnd {
    /// No other worker is in a pass or expected.
    Last,
    /// The same, and clients of this worker were woken during the pass.
    LastWithWork,
    /// Some other worker is in a pass or expected.
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
    /// Registers a worker; none if all slots are taken.
    pub(super) fn join(&self) -> Option<u32> {
        let free = self.states.iter().position(|state| {
            let taken = state.compare_exchange(FREE, FRESH, Ordering::SeqCst, Ordering::SeqCst);
            taken.is_ok()
        });
        free.map(|slot| slot as u32)
    }

    /// Unregisters a worker.
    pub(super) fn leave(&self, worker: u32) {
        self.move_to(worker, FREE);
    }

    /// The worker's pass starts.
    pub(super) fn begin_pass(&self, worker: u32) {
        self.move_to(worker, IN_PASS);
    }

    /// The worker's pass has ended.
    pub(super) fn end_pass(&self, worker: u32) -> PassEnd {
        let before = self.state(worker).swap(AT_REST, Ordering::SeqCst);
        let is_last = if is_away(before) {
            self.away.fetch_sub(1, Ordering::SeqCst) == 1
        } else {
            self.away.load(Ordering::SeqCst) == 0
        };
        match (is_last, before) {
            (true, IN_PASS_WITH_WORK) => PassEnd::LastWithWork,
            (true, _) => PassEnd::Last,
            (false, _) => PassEnd::Others,
        }
    }

    /// A completion has woken one of the worker's clients.
    pub(super) fn expect(&self, worker: u32) {
        if worker == NO_WORKER {
            return;
        }
        let state = self.state(worker);
        // True for every client that a group wakes in a pass, except the first.
        if matches!(state.load(Ordering::SeqCst), EXPECTED | IN_PASS_WITH_WORK) {
            return;
        }
        let moved = state.compare_exchange(AT_REST, EXPECTED, Ordering::SeqCst, Ordering::SeqCst);
        match moved {
            Ok(_) => {
                self.away.fetch_add(1, Ordering::SeqCst);
            }
            Err(IN_PASS) => {
                // If the worker's pass ends meanwhile, it does not learn of this client; it then writes
                // itself.
                let _moved = state.compare_exchange(
                    IN_PASS,
                    IN_PASS_WITH_WORK,
                    Ordering::SeqCst,
                    Ordering::SeqCst,
                );
            }
            Err(_) => {}
        }
    }

    /// True if the worker is in a pass, whose end is still to come.
    #[inline]
    pub(super) fn is_in_pass(&self, worker: u32) -> bool {
        let state = self.state(worker).load(Ordering::SeqCst);
        matches!(state, IN_PASS | IN_PASS_WITH_WORK)
    }

    /// The client that was woken is gone, or was polled outside of a pass. True if the worker was expected
    /// and no other worker is away.
    pub(super) fn expect_no_more(&self, worker: u32) -> bool {
        let state = self.state(worker);
        if state.load(Ordering::SeqCst) != EXPECTED {
            return false;
        }
        let moved = state.compare_exchange(EXPECTED, AT_REST, Ordering::SeqCst, Ordering::SeqCst);
        moved.is_ok() && self.away.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// True if some worker is in a pass or expected.
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
    matches!(state, IN_PASS | EXPECTED | IN_PASS_WITH_WORK)
}
