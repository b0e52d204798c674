//! The thread slot of a thread: a small number by which threads keep apart what each of their commits writes.
//!
//! Counters and tables that every commit writes stand several times. A thread uses the copy of its thread
//! slot, so that the copy stays in its core's cache. Who has fewer copies than there are thread slots takes
//! the remainder: any copy is right for anybody, and only dearer if others use it too.

use crate::sync::IS_MODEL;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

const NONE: u32 = u32::MAX;

static NEXT: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static OWN: Cell<u32> = const { Cell::new(NONE) };
}

/// The thread slot of the calling thread, which works for the session of that seat. In a model it is the
/// seat: what threads of an earlier run have taken must not count.
#[inline]
pub(crate) fn of(seat: u32) -> u32 {
    if IS_MODEL { seat } else { own() }
}

/// The thread slot of the calling thread, for what no session is known of. In a model all threads have one.
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
    fn a_thread_keeps_its_lane_and_shares_it_with_no_other() {
        let lanes = || (of(7), of(8));
        let (own, same) = lanes();
        let (other, same_other) = std::thread::spawn(lanes).join().unwrap();
        assert_eq!((own, other), (same, same_other));
        assert_ne!(own, other);
    }
}
