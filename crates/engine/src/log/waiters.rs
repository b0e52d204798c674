//! Who waits for one commit: its client, mostly; others who have seen it, sometimes.
//!
//! The first stands in place: the slots of a ring are visited in turn, so that memory of its own would be
//! a cache line more to wait for at each commit. The order in which they are woken is none.

use std::task::Waker;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    first: Option<Waiter>,
    more: Vec<Waiter>,
    /// Names the next one.
    next: u64,
}

#[derive(Debug)]
struct Waiter {
    name: u64,
    waker: Waker,
    worker: u32,
}

impl Waiters {
    /// True if nobody waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.more.is_empty()
    }

    /// Adds a waker of that worker's, or renews the one that an earlier call named. Returns its name.
    #[inline]
    pub(super) fn add(&mut self, worker: u32, waker: &Waker, name: Option<u64>) -> u64 {
        let is_it = |waiter: &&mut Waiter| name == Some(waiter.name);
        if let Some(known) = self.first.iter_mut().chain(&mut self.more).find(is_it) {
            known.waker.clone_from(waker);
            return known.name;
        }
        let name = self.next;
        self.next += 1;
        let waker = waker.clone();
        let waiter = Waiter { name, waker, worker };
        if self.first.is_none() {
            self.first = Some(waiter);
        } else {
            self.more.push(waiter);
        }
        name
    }

    /// Removes the one of that name, if it is still there.
    #[inline]
    pub(super) fn remove(&mut self, name: Option<u64>) {
        if self.first.as_ref().map(|waiter| waiter.name) == name {
            self.first = None;
        } else {
            self.more.retain(|waiter| name != Some(waiter.name));
        }
    }

    /// One after another, each with its worker.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(Waker, u32)> {
        let waiter = self.first.take().or_else(|| self.more.pop())?;
        Some((waiter.waker, waiter.worker))
    }
}
