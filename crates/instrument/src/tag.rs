//! The module that each thread is in right now: one byte per thread, for a sampler to read.
//!
//! A module of the engine enters in its entry functions and leaves when the guard drops; an inner module
//! replaces the byte and restores it afterwards. A sampler that reads a thousand times a second sees the
//! shares of time, without unwinding and without privileges. Entering costs a few nanoseconds: two plain
//! stores to the thread's own cache line.
//!
//! Invariants:
//! 1. Only the thread itself stores its byte; samplers read it.
//! 2. A slot outlives its thread and is reused by a later one: there are as many slots as threads were ever
//!    alive at once.

use crate::Module;
use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

/// In no module: the program's own code, or asleep in it.
const OUTSIDE: u8 = u8::MAX;

#[derive(Debug)]
struct ThreadSlot {
    module: AtomicU8,
    taken: AtomicBool,
    thread: AtomicU32,
}

static SLOTS: Mutex<Vec<&'static ThreadSlot>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: Cell<Option<&'static ThreadSlot>> = const { Cell::new(None) };
    static LEAVE: SlotRelease = const { SlotRelease };
}

struct SlotRelease;

impl Drop for SlotRelease {
    fn drop(&mut self) {
        if let Some(slot) = OWN.take() {
            slot.module.store(OUTSIDE, Ordering::Relaxed);
            slot.taken.store(false, Ordering::Release);
        }
    }
}

/// The thread is in a module until this drops.
#[derive(Debug)]
#[must_use = "the module is left when this drops"]
pub struct TagGuard {
    slot: &'static ThreadSlot,
    before: u8,
    /// Stays on its thread.
    _thread: PhantomData<*const ()>,
}

/// A thread that has entered a module, and was alive when it was listed.
#[derive(Clone, Copy, Debug)]
pub struct TaggedThread(&'static ThreadSlot);

impl TaggedThread {
    /// The operating system's id of the thread; that of a later one if the thread has ended and its slot was
    /// reused.
    pub fn thread(self) -> u32 {
        self.0.thread.load(Ordering::Relaxed)
    }

    /// The module that it is in at this moment; none if it is in no module.
    pub fn module(self) -> Option<Module> {
        let module = usize::from(self.0.module.load(Ordering::Relaxed));
        Module::ALL.get(module).copied()
    }
}

/// Enters a module on this thread.
#[inline]
pub fn enter(module: Module) -> TagGuard {
    let slot = OWN.get().unwrap_or_else(join);
    let before = slot.module.load(Ordering::Relaxed);
    slot.module.store(module as u8, Ordering::Relaxed);
    TagGuard { slot, before, _thread: PhantomData }
}

impl Drop for TagGuard {
    #[inline]
    fn drop(&mut self) {
        self.slot.module.store(self.before, Ordering::Relaxed);
    }
}

/// The module that the calling thread is in; none if it is in no module. Safe in a signal handler: it takes
/// no lock and allocates nothing.
pub fn current() -> Option<Module> {
    OWN.get().and_then(|slot| TaggedThread(slot).module())
}

/// Lists every live thread that has ever entered a module, without stopping any.
pub fn tagged_threads(threads: &mut Vec<TaggedThread>) {
    threads.clear();
    let slots = SLOTS.lock();
    let taken = slots.iter().filter(|slot| slot.taken.load(Ordering::Acquire));
    threads.extend(taken.map(|slot| TaggedThread(slot)));
}

#[cold]
fn join() -> &'static ThreadSlot {
    let mut slots = SLOTS.lock();
    let free = slots.iter().find(|slot| !slot.taken.swap(true, Ordering::AcqRel));
    let slot = free.copied().unwrap_or_else(|| {
        let slot: &'static ThreadSlot = Box::leak(Box::new(CachePadded::new(ThreadSlot {
            module: AtomicU8::new(OUTSIDE),
            taken: AtomicBool::new(true),
            thread: AtomicU32::new(0),
        })));
        slots.push(slot);
        slot
    });
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    slot.thread.store(thread.unsigned_abs(), Ordering::Relaxed);
    OWN.set(Some(slot));
    LEAVE.with(|_| ());
    slot
}

#[cfg(test)]
mod tests {
    use super::{enter, tagged_threads};
    use crate::Module;
    use std::sync::mpsc;

    /// None if the thread is not listed; otherwise the module that it is in.
    #[allow(clippy::option_option, reason = "not listed and in no module are different")]
    fn own(thread: u32) -> Option<Option<Module>> {
        let mut threads = Vec::new();
        tagged_threads(&mut threads);
        let own = threads.into_iter().find(|one| one.thread() == thread);
        own.map(super::TaggedThread::module)
    }

    #[test]
    fn modules_nest_and_every_module_is_at_its_index_in_the_list() {
        for (index, module) in Module::ALL.into_iter().enumerate() {
            assert_eq!(module as usize, index);
        }
        let thread = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let outer = enter(Module::TransactionControl);
        {
            let _inner = enter(Module::Access);
            assert_eq!(own(thread), Some(Some(Module::Access)));
        }
        assert_eq!(own(thread), Some(Some(Module::TransactionControl)));
        drop(outer);
        assert_eq!(own(thread), Some(None));
    }

    #[test]
    fn a_sampler_sees_other_threads_and_forgets_those_that_ended() {
        let (sender, receiver) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            let _entered = enter(Module::Logging);
            sender.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
            ended.recv().unwrap_err();
        });
        let thread = receiver.recv().unwrap();
        assert_eq!(own(thread), Some(Some(Module::Logging)));
        drop(end);
        other.join().unwrap();
        assert_eq!(own(thread), None);
    }
}
