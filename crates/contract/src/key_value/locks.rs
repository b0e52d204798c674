//! Row locks, each held by one transaction until its end: they isolate transactions, which a store with only
//! batches cannot do.
//!
//! A lock belongs to the hash of a key, so that taking one does not allocate; two rows that share a 64-bit
//! hash share a lock, which only causes waiting. Locks are spread over shards by their hash, so that clients
//! only contend for rows that they share. All waits are in one table.
//!
//! Invariants:
//! 1. A lock has one owner. Other requesters wait in its queue, and become owner in turn.
//! 2. While an owner waits, and only then, `waiting` maps it to the owner of the lock in whose queue it is.
//! 3. Waits never form a cycle. A request that would close one gets an error and does not wait. A cycle can
//!    only close when a wait begins: a released lock goes to an owner that stops waiting.
//! 4. A shard is locked before `waiting`, and two shards are never locked at once.

use crate::outcome::Cause;
use crossbeam_utils::CachePadded;
use parking_lot::{Mutex, MutexGuard};
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};

const SHARDS: usize = 64;

/// The locks of a store.
#[derive(Debug)]
pub(super) struct Locks {
    owners: AtomicU64,
    shards: [CachePadded<Shard>; SHARDS],
    waiting: Mutex<Waiting>,
}

/// The locks of one session's transaction; released when dropped.
#[derive(Debug)]
pub(super) struct HeldLocks {
    locks: Arc<Locks>,
    owner: u64,
    hashes: Vec<u64>,
}

/// Locks by the hash of their keys, on separate cache lines.
#[derive(Debug, Default)]
struct Shard(Mutex<HashMap<u64, Lock, BuildHasherDefault<IdentityHasher>>>);

#[derive(Debug)]
struct Lock {
    owner: u64,
    queue: VecDeque<(u64, Thread)>,
}

/// Maps each waiting owner to the owner it waits for.
type Waiting = HashMap<u64, u64>;

impl Default for Locks {
    fn default() -> Locks {
        Locks {
            owners: AtomicU64::new(0),
            shards: std::array::from_fn(|_| CachePadded::default()),
            waiting: Mutex::default(),
        }
    }
}

impl Locks {
    fn shard(&self, hash: u64) -> &Shard {
        // Not the lowest and highest bits, which the shard's hash table uses.
        &self.shards[(hash >> 32) as usize % SHARDS]
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock()
    }
}

impl HeldLocks {
    /// An owner without locks.
    pub(super) fn new(locks: &Arc<Locks>) -> HeldLocks {
        HeldLocks {
            owner: locks.owners.fetch_add(1, Ordering::Relaxed),
            locks: Arc::clone(locks),
            hashes: Vec::new(),
        }
    }

    /// Locks a key's row until [`HeldLocks::release`]; waits for its owner. Locking it again is free.
    pub(super) fn lock(&mut self, key: &[u8]) -> Result<(), Cause> {
        let mut hasher = DefaultHasher::new();
        hasher.write(key);
        let hash = hasher.finish();
        let mut shard = self.locks.shard(hash).locks();
        match shard.get_mut(&hash) {
            None => {
                let (owner, queue) = (self.owner, VecDeque::new());
                shard.insert(hash, Lock { owner, queue });
            }
            Some(lock) if lock.owner == self.owner => return Ok(()),
            Some(lock) => {
                let mut waiting = self.locks.waiting();
                if closes_cycle(&waiting, self.owner, lock.owner) {
                    return Err(Cause::Deadlock);
                }
                waiting.insert(self.owner, lock.owner);
                drop(waiting);
                lock.queue.push_back((self.owner, thread::current()));
                drop(shard);
                self.wait();
            }
        }
        self.hashes.push(hash);
        Ok(())
    }

    /// Releases every lock, each to the owner that has waited longest for it.
    pub(super) fn release(&mut self) {
        for hash in self.hashes.drain(..) {
            let mut shard = self.locks.shard(hash).locks();
            let lock = shard.get_mut(&hash);
            let lock = lock.expect("a held lock is in its shard");
            match lock.queue.pop_front() {
                Some(next) => hand_over(lock, next, &mut self.locks.waiting()),
                None => drop(shard.remove(&hash)),
            }
        }
    }

    /// Waits until this owner gets its lock.
    fn wait(&self) {
        while self.locks.waiting().contains_key(&self.owner) {
            thread::park();
        }
    }
}

impl Drop for HeldLocks {
    fn drop(&mut self) {
        self.release();
    }
}

impl Shard {
    fn locks(&self) -> MutexGuard<'_, HashMap<u64, Lock, BuildHasherDefault<IdentityHasher>>> {
        self.0.lock()
    }
}

/// True if a wait of `owner` for `other` would close a cycle.
fn closes_cycle(waiting: &Waiting, owner: u64, other: u64) -> bool {
    let mut next = Some(&other);
    while let Some(waits_for) = next {
        if *waits_for == owner {
            return true;
        }
        next = waiting.get(waits_for);
    }
    false
}

/// Gives the lock to the first waiter; the others now wait for the new owner.
fn hand_over(lock: &mut Lock, (owner, thread): (u64, Thread), waiting: &mut Waiting) {
    lock.owner = owner;
    waiting.remove(&owner);
    for (waiter, _) in &lock.queue {
        waiting.insert(*waiter, owner);
    }
    thread.unpark();
}

/// Returns keys unchanged, because they are hashes already.
#[derive(Debug, Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("the table is keyed by u64");
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}

#[cfg(test)]
mod tests {
    use super::{HeldLocks, Locks};
    use crate::outcome::Cause;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Barrier};
    use std::thread;

    fn is_free(locks: &Locks) -> bool {
        locks.waiting().is_empty() && locks.shards.iter().all(|shard| shard.locks().is_empty())
    }

    #[test]
    fn a_lock_has_one_owner_at_a_time_and_is_released() {
        let locks = Arc::new(Locks::default());
        let (inside, total) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut held = HeldLocks::new(&locks);
                    for _ in 0..500 {
                        held.lock(b"row").unwrap();
                        held.lock(b"row").unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        thread::yield_now();
                        assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                        held.release();
                        total.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(total.load(Ordering::SeqCst), 2_000);
        assert!(is_free(&locks));
    }

    #[test]
    fn a_cycle_of_three_fails_one_request_and_the_others_continue() {
        let locks = Arc::new(Locks::default());
        let held_all = Barrier::new(3);
        let rows = [b"a", b"b", b"c"];
        let deadlocks: usize = thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|number| {
                    let (locks, held_all) = (&locks, &held_all);
                    scope.spawn(move || {
                        let mut held = HeldLocks::new(locks);
                        held.lock(rows[number]).unwrap();
                        held_all.wait();
                        usize::from(held.lock(rows[(number + 1) % 3]) == Err(Cause::Deadlock))
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(deadlocks, 1, "exactly one gets the deadlock");
        assert!(is_free(&locks));
    }

    #[test]
    fn a_dropped_transaction_releases_its_locks() {
        let locks = Arc::new(Locks::default());
        let mut dropped = HeldLocks::new(&locks);
        dropped.lock(b"row").unwrap();
        drop(dropped);
        assert_eq!(HeldLocks::new(&locks).lock(b"row"), Ok(()));
    }

    #[test]
    fn clients_that_lock_in_any_order_all_finish() {
        let (locks, sum) = (Arc::new(Locks::default()), AtomicU64::new(0));
        thread::scope(|scope| {
            for client in 0..4_u64 {
                let (locks, sum) = (&locks, &sum);
                scope.spawn(move || {
                    let mut held = HeldLocks::new(locks);
                    for round in 0..300_u64 {
                        let rows =
                            [client + round, client * 7 + round * 3, round].map(|row| row % 5);
                        let locked = rows.iter().try_for_each(|row| {
                            thread::yield_now();
                            held.lock(&row.to_le_bytes())
                        });
                        sum.fetch_add(u64::from(locked.is_ok()), Ordering::SeqCst);
                        held.release();
                    }
                });
            }
        });
        assert!(sum.load(Ordering::SeqCst) > 0 && is_free(&locks));
    }
}
