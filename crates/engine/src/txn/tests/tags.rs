//! Which module a thread says it is in, while it commits.

use super::fixture::{Shape, Store, TestSession};
use crate::txn::Begin;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use syncline_instrument::{Module, tag};

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

type Met = BTreeMap<Option<Module>, u32>;

/// How often a thread was met in which module, that does `turn` again and again, until `are_enough`.
fn met(
    store: &Store,
    turn: impl Fn(&mut TestSession, u32) + Sync,
    are_enough: impl Fn(&Met) -> bool,
) -> Met {
    let (working, turns) = (AtomicU32::new(0), AtomicU32::new(0));
    let mut met = Met::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            working.store(number(), Ordering::Release);
            let mut session = store.session();
            while working.load(Ordering::Acquire) > 0 {
                let done = turns.fetch_add(1, Ordering::Release);
                turn(&mut session, done);
            }
        });
        let (mut threads, mut last) = (Vec::new(), 0);
        let mut random = fastrand::Rng::with_seed(1);
        while !are_enough(&met) {
            let current = turns.load(Ordering::Acquire);
            if current == last {
                thread::yield_now();
                continue;
            }
            last = current;
            (0..random.u32(..PUT_OFF_MAX)).for_each(|_| std::hint::spin_loop());
            tag::tagged_threads(&mut threads);
            let number = working.load(Ordering::Acquire);
            if let Some(one) = threads.iter().find(|one| one.thread() == number) {
                *met.entry(one.module()).or_default() += 1;
            }
        }
        working.store(0, Ordering::Release);
    });
    met
}

fn times(met: &Met, module: Module) -> u32 {
    met.get(&Some(module)).copied().unwrap_or(0)
}

#[test]
fn the_way_to_the_leaf_of_a_row_that_is_locked_is_the_trees() {
    let store = Store::new(Shape::default());
    let turn = |session: &mut TestSession, turn: u32| {
        session.begin(Begin::Serializable).unwrap();
        // Each at another place of a tree of some height.
        for row in 0..8 {
            let row = (8 * turn + row).wrapping_mul(0x9e37_79b1);
            let key = (row >> 16).to_be_bytes();
            session.put(&store.tree, &key, b"a row").unwrap();
        }
        let ticket = session.commit().unwrap();
        session.wait(ticket).unwrap();
    };
    let of = |met: &Met| (times(met, Module::Access), times(met, Module::LockManager));
    let met = met(&store, turn, |met| of(met).0 + of(met).1 >= LOOKS);
    let (access, lock) = of(&met);
    // Some eight times as often; without what is tested 1.6 times.
    assert!(2 * access > 5 * lock, "access {access}, lock manager {lock}");
}

#[test]
fn to_begin_and_to_end_a_transaction_is_its_control() {
    let store = Store::new(Shape::default());
    // Many in a turn: the loop counts turns, in a line of memory that who looks keeps taking away, and to
    // wait for that can take as long as a transaction.
    let turn = |session: &mut TestSession, _| {
        for _ in 0..16 {
            session.begin(Begin::Snapshot).unwrap();
            session.abort();
        }
    };
    let all = |met: &Met| met.values().sum::<u32>();
    let met = met(&store, turn, |met| all(met) >= LOOKS);
    // What is left is the loop around it and the log, which is asked for the read point.
    let control = times(&met, Module::TransactionControl);
    assert!(2 * control > all(&met), "{met:?}");
}
