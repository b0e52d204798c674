//! The module that a thread is tagged with while it commits.

use super::fixture::{Store, StoreConfig, TestSession};
use crate::txn::Begin;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use syncline_instrument::{Module, tag};

/// Samples until this many transactions were in one of the two modules. One sample a transaction: a thread
/// that has lost its processor in a module would be sampled there again and again.
const SAMPLES: u32 = 2000;

/// The longest random delay of a sample in turns of a loop, so that samples fall anywhere into a transaction.
const DELAY_MAX: u32 = 2000;

/// The operating system's number of this thread.
fn number() -> u32 {
    let own = std::fs::read_link("/proc/thread-self").unwrap();
    own.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

type Samples = BTreeMap<Option<Module>, u32>;

/// Counts the modules of samples of a thread that repeats `turn`, until `are_enough`.
fn samples(
    store: &Store,
    turn: impl Fn(&mut TestSession, u32) + Sync,
    are_enough: impl Fn(&Samples) -> bool,
) -> Samples {
    let (working, turns) = (AtomicU32::new(0), AtomicU32::new(0));
    let mut samples = Samples::new();
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
        while !are_enough(&samples) {
            let current = turns.load(Ordering::Acquire);
            if current == last {
                thread::yield_now();
                continue;
            }
            last = current;
            (0..random.u32(..DELAY_MAX)).for_each(|_| std::hint::spin_loop());
            tag::tagged_threads(&mut threads);
            let number = working.load(Ordering::Acquire);
            if let Some(one) = threads.iter().find(|one| one.thread() == number) {
                *samples.entry(one.module()).or_default() += 1;
            }
        }
        working.store(0, Ordering::Release);
    });
    samples
}

fn times(samples: &Samples, module: Module) -> u32 {
    samples.get(&Some(module)).copied().unwrap_or(0)
}

#[test]
fn the_descent_to_a_locked_row_is_charged_to_the_tree() {
    let store = Store::new(StoreConfig::default());
    let turn = |session: &mut TestSession, turn: u32| {
        session.begin(Begin::Serializable).unwrap();
        // Each at another position of a tree of some height.
        for row in 0..8 {
            let row = (8 * turn + row).wrapping_mul(0x9e37_79b1);
            let key = (row >> 16).to_be_bytes();
            session.put(&store.tree, &key, b"a row").unwrap();
        }
        let ticket = session.commit().unwrap();
        session.wait(ticket).unwrap();
    };
    let of =
        |samples: &Samples| (times(samples, Module::Access), times(samples, Module::LockManager));
    let samples = samples(&store, turn, |samples| of(samples).0 + of(samples).1 >= SAMPLES);
    let (access, lock) = of(&samples);
    // About eight times as often; 1.6 times without the tagging under test.
    assert!(2 * access > 5 * lock, "access {access}, lock manager {lock}");
}

#[test]
fn begin_and_end_are_charged_to_transaction_control() {
    let store = Store::new(StoreConfig::default());
    // Many in a turn: the loop counts turns in a cache line that the sampling thread keeps taking away, and
    // waiting for it can take as long as a transaction.
    let turn = |session: &mut TestSession, _| {
        for _ in 0..16 {
            session.begin(Begin::Snapshot).unwrap();
            session.abort();
        }
    };
    let all = |samples: &Samples| samples.values().sum::<u32>();
    let samples = samples(&store, turn, |samples| all(samples) >= SAMPLES);
    // The rest is the loop itself and the log, which supplies the read point.
    let control = times(&samples, Module::TransactionControl);
    assert!(2 * control > all(&samples), "{samples:?}");
}
