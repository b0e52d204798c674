//! The thread slot of a thread: a small number that selects the thread's copy of data that every commit
//! writes.
//!
//! Counters and tables that every commit writes exist in several copies. A thread uses the copy of its thread
//! slot, so that the copy stays in its core's cache. A structure with fewer copies than there are thread
//! slots takes the slot modulo their number: any copy is correct for any thread, and sharing one only costs
//! time.

use crate::sync::IS_MODEL;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

const NONE: u32 = u32::MAX;

static NEXT: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static OWN: Cell<u32> = const { Cell::new(NONE) };
}

/// The thread slot of the calling thread, which works for session `seat`. In a model it is the seat itself,
/// so that slots taken by threads of an earlier run do not matter.
#[inline]
pub(crate) fn of(seat: u32) -> u32 {
    if IS_MODEL { seat } else { own() }
}

/// The thread slot of the calling thread where no session is known. In a model all threads share slot 0.
#[inline]
pub(crate) fn own() -> u32 {
    if IS_MODEL {
        return 0;
    }
    match OWN.get() {
        NONE => take(),
        own => own,
    }
}

/// Threads take thread slots in turn.
#[cold]
fn take() -> u32 {
    let taken = NEXT.fetch_add(1, Ordering::Relaxed) % NONE;
    OWN.set(taken);
    taken
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_thread_keeps_its_slot_and_shares_it_with_no_other_thread() {
        let slots = || (of(7), of(8));
        let (own, same) = slots();
        let (other, same_other) = std::thread::spawn(slots).join().unwrap();
        assert_eq!((own, other), (same, same_other));
        assert_ne!(own, other);
    }
}
