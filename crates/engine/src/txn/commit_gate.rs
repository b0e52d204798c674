//! The commit gate: every change of a page happens in a section between `enter` and `leave`. A thread that
//! closes the gate waits until all sections have ended and then sees pages at rest.
//!
//! Sections are counted on several cache lines, one for each thread slot, so that committers on different
//! cores do not contend. States of the gate: open, closing (closed, with sections still running), closed. A
//! checkpoint takes its snapshot with the gate closed, tables are made and dropped with it closed, and an
//! exclusive transaction runs with it closed.
//!
//! Invariants:
//! 1. While a [`ClosedGate`] is held, no section but its holder's runs.
//! 2. A thread that waits at the gate, to enter or to close it, holds no lock that a section or the holder of
//!    the closed gate may need: in the lock order (`sync/rank.rs`) the gate comes before all of these, and
//!    builds with debug assertions check that.
//! 3. A thread that enters never waits holding anything that a section or the closer needs:
//!    [`CommitGate::try_enter`] returns at once, and the caller gives up its log permit before
//!    [`CommitGate::wait_until_open`].
//! 4. Every wait for a holder ends. The engine's own holders end by themselves ([`ClosedBy::Engine`]). A
//!    caller's transaction ([`ClosedBy::Caller`]) need not: a wait for it fails at once on the thread that
//!    closed the gate, and elsewhere after a limit. Once the gate is shut, every wait for a holder fails.
//!
//! A holder is identified by the thread that closed the gate. Threads about to wait compare it under the
//! mutex; threads that find the gate open never do. An exclusive transaction that moves to another thread
//! still counts for the first one: there a wait fails although the transaction might have ended, and on the
//! other thread it ends by the limit.
//!
//! Memory order: entering adds to a counter and then reads `closed`; closing sets `closed` and then reads the
//! counters, all sequentially consistent. So one of the two sees the other: the closer waits for the section,
//! or the section is refused. Leaving subtracts and then reads `closed` in the same way, and wakes the closer
//! under the mutex under which the closer read the counters: no wake-up is lost. The subtraction releases and
//! the closer's read acquires, so the closer sees all writes of the sections.

use crate::planted_bug::{PlantedBug, planted};
use crate::sync::IS_MODEL;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::rank::{GATE, GATE_STATE, Held, assert_may_wait};
use crate::sync::ranked::{Condvar, Mutex, MutexGuard};
use crossbeam_utils::CachePadded;
use std::sync::Arc;
use std::thread::{Thread, current};
use std::time::Duration;
use syncline_instrument::{Nanos, clock};

/// The number of counters. Two threads may share one; that is only slower.
const COUNTERS: usize = if IS_MODEL { 2 } else { 64 };

/// Polls of a closer before it sleeps: a section lasts about a microsecond.
const SPINS_MAX: u32 = if IS_MODEL { 1 } else { 200 };

/// Counts sections, and holds the state of the closed gate.
#[derive(Debug)]
pub(crate) struct CommitGate {
    counters: [CachePadded<AtomicU64>; COUNTERS],
    closed: AtomicBool,
    /// Held only for reads and wake-ups.
    state: Mutex<State, GATE_STATE>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The holder of a [`ClosedGate`], or a thread that is about to be.
    holder: Option<Holder>,
    is_shut: bool,
}

/// Who decides how long the gate stays closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedBy {
    /// The engine, which opens it after a piece of work.
    Engine,
    /// User code, between begin and end of an exclusive transaction.
    Caller,
}

#[derive(Debug)]
struct Holder {
    by: ClosedBy,
    /// The thread that closed the gate; none in a model, whose threads are not the system's.
    thread: Option<Thread>,
    since: Nanos,
}

/// Why a wait for the holder of the gate failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GateError {
    /// The waiting thread itself has closed the gate.
    Here,
    /// A caller's transaction has not ended within the limit.
    TooLong { thread: String, held_ms: u64 },
    /// The database is being closed.
    Shut,
}

impl Holder {
    fn new(by: ClosedBy) -> Holder {
        Holder { by, thread: (!IS_MODEL).then(current), since: clock::now() }
    }

    fn is_here(&self) -> bool {
        let thread = self.thread.as_ref();
        thread.is_some_and(|thread| thread.id() == current().id())
    }

    /// The thread's name, or its id.
    fn thread(&self) -> String {
        let Some(thread) = &self.thread else {
            return String::new();
        };
        let name = thread.name().map(str::to_owned);
        name.unwrap_or_else(|| format!("{:?}", thread.id()))
    }
}

/// A running section. Dropping it ends it.
#[derive(Debug)]
#[must_use = "the section ends when this is dropped"]
pub(crate) struct Section<'g> {
    /// None inside a [`ClosedGate`], whose holder needs no permission.
    counted: Option<(&'g CommitGate, &'g AtomicU64)>,
    _held: Held<GATE>,
}

/// The closed gate. Dropping it opens the gate.
#[derive(Debug)]
#[must_use = "the gate opens when this is dropped"]
pub(crate) struct ClosedGate {
    gate: Arc<CommitGate>,
}

impl CommitGate {
    pub(crate) fn new() -> Arc<CommitGate> {
        Arc::new(CommitGate {
            counters: std::array::from_fn(|_| CachePadded::default()),
            closed: AtomicBool::new(false),
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
        })
    }

    /// Starts a section, counted in the counter of `thread_slot`; none if the gate is closed.
    #[inline]
    pub(crate) fn try_enter(&self, thread_slot: u32) -> Option<Section<'_>> {
        let counter: &AtomicU64 = &self.counters[thread_slot as usize % COUNTERS];
        if planted(PlantedBug::CheckBeforeCounting) && self.closed.load(Ordering::SeqCst) {
            return None;
        }
        counter.fetch_add(1, Ordering::SeqCst);
        let section = Section { counted: Some((self, counter)), _held: Held::taken() };
        // A refused section ends at once, which wakes a closer that has seen it.
        let is_open =
            planted(PlantedBug::CheckBeforeCounting) || !self.closed.load(Ordering::SeqCst);
        is_open.then_some(section)
    }

    /// Starts a section. Waits while the gate is closed, for a caller's transaction at most for `limit`. The
    /// caller holds nothing that other threads wait for.
    pub(crate) fn enter(
        &self,
        thread_slot: u32,
        limit: Duration,
    ) -> Result<Section<'_>, GateError> {
        loop {
            if let Some(section) = self.try_enter(thread_slot) {
                return Ok(section);
            }
            self.wait_until_open(limit)?;
        }
    }

    /// Waits until the gate is open, for a caller's transaction at most for `limit`. It may be closed again
    /// when this returns.
    #[cold]
    pub(crate) fn wait_until_open(&self, limit: Duration) -> Result<(), GateError> {
        assert_may_wait(GATE);
        self.wait_for_holder(&mut self.state.lock(), limit)
    }

    /// Closes the gate: waits for another holder, if that is a caller's transaction at most for `limit`, then
    /// for all sections to end.
    pub(crate) fn close(
        self: &Arc<Self>,
        by: ClosedBy,
        limit: Duration,
    ) -> Result<ClosedGate, GateError> {
        assert_may_wait(GATE);
        let mut state = self.state.lock();
        self.wait_for_holder(&mut state, limit)?;
        state.holder = Some(Holder::new(by));
        self.closed.store(true, Ordering::SeqCst);
        drop(state);
        // From here on the gate opens again even if this thread panics.
        let closed = ClosedGate { gate: Arc::clone(self) };
        self.wait_for_sections();
        Ok(closed)
    }

    /// Fails if the calling thread has closed the gate: a call that needs the gate would wait for itself.
    pub(crate) fn check_not_held_here(&self) -> Result<(), GateError> {
        if !self.is_closed() {
            return Ok(());
        }
        match &self.state.lock().holder {
            Some(holder) if holder.is_here() => Err(GateError::Here),
            _ => Ok(()),
        }
    }

    /// From here on waits for a holder fail, because the database is being closed.
    pub(crate) fn shut(&self) {
        self.state.lock().is_shut = true;
        self.changed.notify_all();
    }

    /// Waits until the gate has no holder.
    fn wait_for_holder(
        &self,
        state: &mut MutexGuard<'_, State, GATE_STATE>,
        limit: Duration,
    ) -> Result<(), GateError> {
        let mut until = None;
        loop {
            let Some(holder) = &state.holder else {
                return Ok(());
            };
            if state.is_shut {
                return Err(GateError::Shut);
            }
            if holder.is_here() {
                return Err(GateError::Here);
            }
            let now = clock::now();
            let limit_ns = Nanos::try_from(limit.as_nanos()).unwrap_or(Nanos::MAX);
            let until = *until.get_or_insert(now.saturating_add(limit_ns));
            let left_ns = match holder.by {
                ClosedBy::Caller if now >= until => {
                    return Err(GateError::TooLong {
                        thread: holder.thread(),
                        held_ms: now.saturating_sub(holder.since) / 1_000_000,
                    });
                }
                ClosedBy::Caller => Some(until - now),
                ClosedBy::Engine => None,
            };
            self.wait(state, left_ns.map(Duration::from_nanos));
        }
    }

    /// True while the gate is closed or closing.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    fn wait_for_sections(&self) {
        for _ in 0..SPINS_MAX {
            if self.is_at_rest() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut state = self.state.lock();
        while !self.is_at_rest() {
            self.wait(&mut state, None);
        }
    }

    /// True if no section runs at this moment.
    pub(crate) fn is_at_rest(&self) -> bool {
        let at_rest = |counter: &CachePadded<AtomicU64>| counter.load(Ordering::SeqCst) == 0;
        self.counters.iter().all(at_rest)
    }

    fn wait(&self, state: &mut MutexGuard<'_, State, GATE_STATE>, at_most: Option<Duration>) {
        if let Some(at_most) = at_most {
            self.changed.wait_for(state, GATE, at_most);
        } else {
            self.changed.wait(state, GATE);
        }
    }

    fn wake(&self) {
        // The mutex orders this after the read of a thread that is about to wait.
        if !planted(PlantedBug::WakeUnlocked) {
            drop(self.state.lock());
        }
        self.changed.notify_all();
    }
}

impl ClosedGate {
    /// A section of the holder, which needs no permission.
    #[inline]
    pub(crate) fn section(&self) -> Section<'static> {
        debug_assert!(self.gate.is_closed(), "the gate is closed while this guard exists");
        Section { counted: None, _held: Held::taken() }
    }

    /// True if this guard closes that gate.
    #[cfg(test)]
    pub(crate) fn is_of(&self, gate: &Arc<CommitGate>) -> bool {
        Arc::ptr_eq(&self.gate, gate)
    }
}

impl Drop for ClosedGate {
    fn drop(&mut self) {
        {
            let mut state = self.gate.state.lock();
            state.holder = None;
            self.gate.closed.store(false, Ordering::SeqCst);
        }
        if !planted(PlantedBug::OpenWithoutWake) {
            self.gate.changed.notify_all();
        }
    }
}

impl Drop for Section<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((gate, counter)) = self.counted {
            counter.fetch_sub(1, Ordering::SeqCst);
            if gate.closed.load(Ordering::SeqCst) && !planted(PlantedBug::LeaveWithoutWake) {
                gate.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClosedBy, CommitGate, GateError};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    use std::time::Duration;

    const LONG: Duration = Duration::MAX;

    #[test]
    fn a_closed_gate_refuses_and_its_holder_goes_on() {
        let gate = CommitGate::new();
        let section = gate.try_enter(1).unwrap();
        drop(section);
        let closed = gate.close(ClosedBy::Engine, LONG).unwrap();
        assert!(gate.is_closed() && closed.is_of(&gate));
        assert!(gate.try_enter(1).is_none() && gate.try_enter(65).is_none());
        drop(closed.section());
        drop(closed);
        assert!(gate.try_enter(1).is_some());
    }

    #[test]
    fn sections_and_closers_on_many_threads_exclude_each_other() {
        let gate = CommitGate::new();
        let (inside, alone, entered) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for seat in 0..3 {
                let (gate, inside, alone, entered) = (&gate, &inside, &alone, &entered);
                scope.spawn(move || {
                    for _ in 0..20_000 {
                        let section = gate.enter(seat, LONG).unwrap();
                        inside.fetch_add(1, Ordering::SeqCst);
                        assert_eq!(alone.load(Ordering::SeqCst), 0);
                        entered.fetch_add(1, Ordering::Relaxed);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(section);
                    }
                });
            }
            for _ in 0..2 {
                let (gate, inside, alone) = (Arc::clone(&gate), &inside, &alone);
                scope.spawn(move || {
                    for _ in 0..2_000 {
                        let closed = gate.close(ClosedBy::Engine, LONG).unwrap();
                        assert_eq!(alone.fetch_add(1, Ordering::SeqCst), 0);
                        assert_eq!(inside.load(Ordering::SeqCst), 0);
                        alone.fetch_sub(1, Ordering::SeqCst);
                        drop(closed);
                    }
                });
            }
        });
        assert_eq!(entered.load(Ordering::Relaxed), 60_000);
    }

    // D6, H4
    #[test]
    fn a_thread_that_has_closed_the_gate_does_not_wait_for_itself() {
        let gate = CommitGate::new();
        let closed = gate.close(ClosedBy::Caller, LONG).unwrap();
        assert_eq!(gate.wait_until_open(LONG), Err(GateError::Here));
        assert_eq!(gate.close(ClosedBy::Engine, LONG).unwrap_err(), GateError::Here);
        assert_eq!(gate.enter(0, LONG).unwrap_err(), GateError::Here);
        assert_eq!(gate.check_not_held_here(), Err(GateError::Here));
        let elsewhere = std::thread::scope(|scope| {
            let check = || gate.check_not_held_here();
            scope.spawn(check).join().unwrap()
        });
        assert_eq!(elsewhere, Ok(()));
        drop(closed);
        gate.wait_until_open(LONG).unwrap();
        drop(gate.close(ClosedBy::Engine, LONG).unwrap());
    }

    // D6
    #[test]
    fn a_wait_for_a_callers_transaction_ends_by_its_limit_or_when_the_gate_is_shut() {
        let gate = CommitGate::new();
        let closed = gate.close(ClosedBy::Caller, LONG).unwrap();
        std::thread::scope(|scope| {
            let name = std::thread::current().name().unwrap().to_owned();
            let short = || gate.enter(0, Duration::from_millis(1)).unwrap_err();
            match scope.spawn(short).join().unwrap() {
                GateError::TooLong { thread, .. } => assert_eq!(thread, name),
                other => panic!("{other:?}"),
            }
            let waits = [
                scope.spawn(|| gate.wait_until_open(LONG).unwrap_err()),
                scope.spawn(|| gate.close(ClosedBy::Engine, LONG).unwrap_err()),
            ];
            gate.shut();
            for wait in waits {
                assert_eq!(wait.join().unwrap(), GateError::Shut);
            }
        });
        drop(closed);
        assert!(gate.enter(0, LONG).is_ok());
    }

    #[test]
    fn a_wait_for_the_engines_own_work_has_no_limit() {
        let gate = CommitGate::new();
        std::thread::scope(|scope| {
            let closed = gate.close(ClosedBy::Engine, LONG).unwrap();
            let waiter = scope.spawn(|| gate.enter(0, Duration::ZERO).map(drop));
            drop(closed);
            assert_eq!(waiter.join().unwrap(), Ok(()));
        });
    }
}
