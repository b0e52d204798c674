//! The waiters of one commit: usually its client, sometimes others that have read its writes.
//!
//! The first is stored inline: the slots of a ring are visited in turn, so a separate allocation would cost
//! one more cache miss per commit. Waiters are woken in no particular order.

use std::task::Waker;

/// The waiters of one commit.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    first: Option<Waiter>,
    more: Vec<Waiter>,
    /// The name of the next waiter.
    next: u64,
}

#[derive(Debug)]
struct Waiter {
    name: u64,
    waker: Waker,
    worker: u32,
}

impl Waiters {
    /// True if there is no waiter.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.more.is_empty()
    }

    /// Adds a waker of `worker`, or renews the one with the name of an earlier call. Returns its name.
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

    /// Removes the waiter with that name, if it still exists.
    #[inline]
    pub(super) fn remove(&mut self, name: Option<u64>) {
        if self.first.as_ref().map(|waiter| waiter.name) == name {
            self.first = None;
        } else {
            self.more.retain(|waiter| name != Some(waiter.name));
        }
    }

    /// Takes out one waiter, with its worker.
    #[inline]
    pub(super) fn take(&mut self) -> Option<(Waker, u32)> {
        let waiter = self.first.take().or_else(|| self.more.pop())?;
        Some((waiter.waker, waiter.worker))
    }
}
