//! The commit gate: every change of a page happens in a section between `enter` and `leave`; who
//! closes the gate waits until all sections have ended and then sees pages at rest.
//!
//! Sections are counted on several cache lines, one a thread's lane, so that committers on different
//! cores do not meet here. States of the gate: open, closing (closed, with sections still running),
//! closed. A checkpoint cuts, tables are made and dropped, and a transaction runs alone with it closed.
//!
//! Invariants:
//! 1. While a [`Closed`] is held, no section but its holder's runs.
//! 2. Who enters never waits holding anything that a section or the closer needs: [`Gate::try_enter`]
//!    only answers, and the caller gives up its log permit before [`Gate::wait_until_open`].
//!
//! Order: who enters adds to its counter and then looks at `closed`; who closes sets `closed` and then
//! looks at the counters, all sequentially consistent. So one of the two sees the other: either the
//! section is waited for, or it is refused. Who leaves subtracts and then looks at `closed` in the same
//! way, and wakes the closer under the mutex under which the closer looked: no wake-up is lost. The
//! subtraction releases and the closer's look acquires: what the sections wrote is visible to it.

use crate::plant::{Plant, planted};
use crate::sync::IS_MODEL;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::parking::{Condvar, Mutex, MutexGuard};
use crate::txn::step::{Step, step, stepped};
use std::sync::Arc;

/// How many counters there are. Two threads on one counter are right too, only slower.
const COUNTERS: usize = if IS_MODEL { 2 } else { 64 };

/// How often a closer looks before it sleeps: a section lasts about a microsecond.
const LOOKS: u32 = if IS_MODEL { 1 } else { 200 };

#[derive(Debug, Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

/// See the module.
#[derive(Debug)]
pub(crate) struct Gate {
    counters: [Counter; COUNTERS],
    closed: AtomicBool,
    /// Held for looks and wake-ups only; `true` while somebody holds a [`Closed`] or is about to.
    taken: Mutex<bool>,
    changed: Condvar,
}

/// A section that is running. It ends when this is dropped.
#[derive(Debug)]
#[must_use = "the section ends when this is dropped"]
pub(crate) struct Section<'g> {
    /// None inside a [`Closed`], whose holder needs no permission.
    counted: Option<(&'g Gate, &'g Counter)>,
}

/// The closed gate. It opens when this is dropped.
#[derive(Debug)]
#[must_use = "the gate opens when this is dropped"]
pub(crate) struct Closed {
    gate: Arc<Gate>,
}

impl Gate {
    pub(crate) fn new() -> Arc<Gate> {
        Arc::new(Gate {
            counters: std::array::from_fn(|_| Counter::default()),
            closed: AtomicBool::new(false),
            taken: Mutex::new(false),
            changed: Condvar::new(),
        })
    }

    /// Starts a section, counted under `lane`; none if the gate is closed.
    #[inline]
    pub(crate) fn try_enter(&self, lane: u32) -> Option<Section<'_>> {
        let counter = &self.counters[lane as usize % COUNTERS];
        if planted(Plant::LookBeforeCounting) && self.closed.load(Ordering::SeqCst) {
            return None;
        }
        counter.0.fetch_add(1, Ordering::SeqCst);
        let section = Section {
            counted: Some((self, counter)),
        };
        // Refused, the section ends at once, which wakes the closer if it has seen it.
        let is_open = planted(Plant::LookBeforeCounting) || !self.closed.load(Ordering::SeqCst);
        is_open.then_some(section)
    }

    /// Starts a section, waiting while the gate is closed. The caller holds nothing others wait for.
    pub(crate) fn enter(&self, lane: u32) -> Section<'_> {
        loop {
            if let Some(section) = self.try_enter(lane) {
                return section;
            }
            self.wait_until_open();
        }
    }

    /// Waits until the gate is open; it may be closed again when this returns.
    #[cold]
    pub(crate) fn wait_until_open(&self) {
        if stepped() {
            while self.closed.load(Ordering::SeqCst) {
                step(Step::Gate);
            }
            return;
        }
        let mut taken = self.taken.lock();
        while *taken {
            self.changed.wait(&mut taken);
        }
    }

    /// Closes the gate: waits for another one who holds it closed, then for all sections to end.
    pub(crate) fn close(self: &Arc<Self>) -> Closed {
        let mut taken = self.taken.lock();
        while *taken {
            self.wait(&mut taken);
        }
        *taken = true;
        self.closed.store(true, Ordering::SeqCst);
        drop(taken);
        // From here on the gate opens again even if this thread panics.
        let closed = Closed {
            gate: Arc::clone(self),
        };
        self.wait_for_sections();
        closed
    }

    /// True while the gate is closed or closing.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    fn wait_for_sections(&self) {
        for _ in 0..LOOKS {
            if self.is_at_rest() {
                return;
            }
            std::hint::spin_loop();
        }
        let mut taken = self.taken.lock();
        while !self.is_at_rest() {
            self.wait(&mut taken);
        }
    }

    /// True if no section runs at this moment.
    pub(crate) fn is_at_rest(&self) -> bool {
        let at_rest = |counter: &Counter| counter.0.load(Ordering::SeqCst) == 0;
        self.counters.iter().all(at_rest)
    }

    fn wait(&self, taken: &mut MutexGuard<'_, bool>) {
        if stepped() {
            MutexGuard::unlocked(taken, || step(Step::Gate));
        } else {
            self.changed.wait(taken);
        }
    }

    fn wake(&self) {
        // The mutex orders this after the look of whoever is about to wait.
        if !planted(Plant::WakeUnlocked) {
            drop(self.taken.lock());
        }
        self.changed.notify_all();
    }
}

impl Closed {
    /// A section of the holder, which need not ask.
    #[inline]
    pub(crate) fn section(&self) -> Section<'static> {
        debug_assert!(self.gate.is_closed(), "the gate is closed while this lives");
        Section { counted: None }
    }

    /// True if it is that gate which is closed.
    #[cfg(test)]
    pub(crate) fn is_of(&self, gate: &Arc<Gate>) -> bool {
        Arc::ptr_eq(&self.gate, gate)
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        {
            let mut taken = self.gate.taken.lock();
            *taken = false;
            self.gate.closed.store(false, Ordering::SeqCst);
        }
        self.gate.changed.notify_all();
    }
}

impl Drop for Section<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some((gate, counter)) = self.counted {
            counter.0.fetch_sub(1, Ordering::SeqCst);
            if gate.closed.load(Ordering::SeqCst) && !planted(Plant::LeaveQuietly) {
                gate.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Gate;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    #[test]
    fn a_closed_gate_refuses_and_its_holder_goes_on() {
        let gate = Gate::new();
        let section = gate.try_enter(1).unwrap();
        drop(section);
        let closed = gate.close();
        assert!(gate.is_closed() && closed.is_of(&gate));
        assert!(gate.try_enter(1).is_none() && gate.try_enter(65).is_none());
        drop(closed.section());
        drop(closed);
        assert!(gate.try_enter(1).is_some());
    }

    #[test]
    fn sections_and_closers_on_many_threads_exclude_each_other() {
        let gate = Gate::new();
        let (inside, alone, entered) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for seat in 0..3 {
                let (gate, inside, alone, entered) = (&gate, &inside, &alone, &entered);
                scope.spawn(move || {
                    for _ in 0..20_000 {
                        let section = gate.enter(seat);
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
                        let closed = gate.close();
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
}
