//! Which module a thread says it is in, while it commits.

use super::fixture::{Shape, Store};
use crate::txn::Begin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use syncline_metering::{Module, tag};

/// Looks until so many have met a commit in one of the two modules, one a transaction: who has lost its
/// processor in a module would be met there again and again.
const LOOKS: u32 = 2000;

/// Turns of a loop that a look is put off at most, so that it falls anywhere into a transaction.
const PUT_OFF_MAX: u32 = 2000;

/// The operating system's number of this thread.
fn number() -> u32 {
    let own = std::fs::read_link("/proc/thread-self").unwrap();
    own.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

#[test]
fn the_way_to_the_leaf_of_a_row_that_is_locked_is_the_trees() {
    let store = Store::new(Shape::default());
    let (committing, transactions) = (AtomicU32::new(0), AtomicU32::new(0));
    let (mut access, mut lock) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            committing.store(number(), Ordering::Release);
            let mut session = store.session();
            let mut row = 0_u32;
            while committing.load(Ordering::Acquire) > 0 {
                session.begin(Begin::Serializable).unwrap();
                transactions.fetch_add(1, Ordering::Release);
                // Each at another place of a tree of some height.
                for _ in 0..8 {
                    row = row.wrapping_add(0x9e37_79b1);
                    let key = (row >> 16).to_be_bytes();
                    session.put(&store.tree, &key, b"a row").unwrap();
                }
                let ticket = session.commit().unwrap();
                session.wait(ticket).unwrap();
            }
        });
        let (mut threads, mut last) = (Vec::new(), 0);
        let mut random = fastrand::Rng::with_seed(1);
        while access + lock < LOOKS {
            let current = transactions.load(Ordering::Acquire);
            if current == last {
                thread::yield_now();
                continue;
            }
            last = current;
            (0..random.u32(..PUT_OFF_MAX)).for_each(|_| std::hint::spin_loop());
            tag::tagged(&mut threads);
            let number = committing.load(Ordering::Acquire);
            let met = threads.iter().find(|one| one.thread() == number);
            match met.and_then(|one| one.module()) {
                Some(Module::Access) => access += 1,
                Some(Module::LockManager) => lock += 1,
                _ => {}
            }
        }
        committing.store(0, Ordering::Release);
    });
    // Some eight times as often; without what is tested 1.6 times.
    assert!(
        2 * access > 5 * lock,
        "access {access}, lock manager {lock}"
    );
}
