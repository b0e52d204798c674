//! The lock order of the engine, and its check in builds with debug assertions.
//!
//! A thread takes locks in the order of this table, from the top down: it waits for a lock only while all
//! locks that it holds are above it. So no two threads wait for each other. Taking a lock without waiting
//! (`try_lock`) is allowed in any order.
//!
//! | rank | lock | where |
//! |---|---|---|
//! | `SEQUENCE` | the reserved numbers of a sequence | `database/sequence.rs` |
//! | `MAINTENANCE_THREAD` | the end of the maintenance thread | `database/maintenance_thread.rs` |
//! | `PAGE_LOADER` | the end of the page loader | `database/page_loader.rs` |
//! | `DEFINING` | one definition at a time | `database/engine.rs` |
//! | `GATE` | the commit gate: a section, or the wait to enter or to close | `txn/commit_gate.rs` |
//! | `CHECKPOINT` | the data file and the running checkpoint | `database/checkpoints.rs` |
//! | `CATALOG` | the catalogue in force | `database/engine.rs` |
//! | `TREE_DIRECTORY` | trees by number | `tree_directory.rs` |
//! | `ABANDONED` | trees that a failed definition left | `database/engine.rs` |
//! | `HIDDEN` | trees that a definition makes or drops | `database/engine.rs` |
//! | `STRUCTURE` | splits and merges of one tree | `access/btree/tree.rs` |
//! | `LATCH` | one leaf | `buffer/frame.rs` |
//! | `LISTED_TABLES` | the catalogue that callers list, also while a row is borrowed | `database/engine.rs` |
//! | `ROW_LOG_INSTALLED` | whether an index is being built | `txn/core.rs` |
//! | `ROW_LOG` | changes during an index build | `txn/row_log.rs` |
//! | `GHOSTS` | deleted rows that wait to be removed | `txn/garbage.rs` |
//! | `WANTED` | pages that deleted rows and poor leaves wait for | `txn/garbage.rs` |
//! | `VERSIONS` | a shard of old versions | `txn/version.rs` |
//! | `LISTED` | pages changed since the last snapshot | `buffer/page_snapshot.rs` |
//! | `IMAGES` | the pool of pre-images | `buffer/page_snapshot.rs` |
//! | `PAGE_ALLOCATOR` | free page numbers | `buffer/pages.rs` |
//! | `EVICTION` | the hand of the clock; only tried | `buffer/eviction.rs` |
//! | `LOADS` | the ends of loads, for threads that wait for them | `buffer/page_load.rs` |
//! | `STRIPPED` | leaves that lost ghosts when they were loaded | `buffer/page_load.rs` |
//! | `LOG_THREADS` | the log's threads, until they are joined | `log/handle.rs` |
//! | `FRAME_WRITER` | what the log writes next | `log/driver.rs` |
//! | `GROUPS` | times of the last groups | `log/driver.rs` |
//! | `ARCHIVE_FAILURE` | why a segment was not archived | `log/driver.rs` |
//! | `CHECKPOINT_FAILURE` | why a checkpoint was abandoned | `database/checkpoints.rs` |
//! | `SLOT` | a slot of the log's ring | `log/ring.rs` |
//! | `BUFFERS` | buffers of log records | `log/record_buffers.rs` |
//! | `SEATS` | free seats of sessions | `txn/registry.rs` |
//! | `IDLE` | pooled memory of finished transactions | `txn/transaction_pool.rs` |
//! | `PATHS` | sampled times of commits | `txn/commit_path.rs` |
//! | `SPARE_LEAVES` | the memory of evicted leaves | `buffer/spare_leaves.rs` |
//! | `BLOCKS` | memory for leaves and frames, also when epochs free it | `buffer/blocks.rs` |
//! | `GATE_STATE` | whether the gate is taken; held only to check it | `txn/commit_gate.rs` |
//! | `SIGNAL` | a sleeping thread of the engine | `sync/signal.rs` |
//!
//! Invariants:
//! 1. A thread does not hold two locks of one rank, except leaves: a thread that holds a tree's structure
//!    mutex latches two of them.
//! 2. No thread waits at the gate, to enter or to close it, while it holds a lock of `GATE` or below in the
//!    table.
//! 3. No thread sleeps on a condition while it holds a lock that others need to make it true:
//!    [`assert_may_sleep`].
//!
//! A closed gate does not count as held: a transaction that runs alone keeps it between two calls, during
//! which its thread may do anything, in other databases too. By 2, for the threads on the other side, its
//! holder waits for nothing above the gate.
//!
//! Ranks are constants in the types of locks, so that they take no memory; the ranks that a thread holds are
//! recorded only in builds with debug assertions. In other builds [`Held`] is empty.

/// Assigns consecutive ranks to the names.
macro_rules! ranks {
    ($($name:ident: $what:literal,)*) => {
        ranks!(@number 0; $($name)*);
        /// The description of each rank, for messages.
        #[cfg(any(debug_assertions, test))]
        pub(super) const NAMES: &[&str] = &[$(concat!(stringify!($name), " (", $what, ")")),*];
    };
    (@number $rank:expr; $name:ident $($more:ident)*) => {
        pub(crate) const $name: u8 = $rank;
        ranks!(@number $rank + 1; $($more)*);
    };
    (@number $rank:expr;) => {};
}

ranks! {
    SEQUENCE: "the reserved numbers of a sequence",
    MAINTENANCE_THREAD: "the end of the maintenance thread",
    PAGE_LOADER: "the end of the page loader",
    DEFINING: "one definition at a time",
    GATE: "the commit gate",
    CHECKPOINT: "the data file and the running checkpoint",
    CATALOG: "the catalogue in force",
    TREE_DIRECTORY: "trees by number",
    ABANDONED: "trees that a failed definition left",
    HIDDEN: "trees that a definition makes or drops",
    STRUCTURE: "splits and merges of a tree",
    LATCH: "a leaf",
    LISTED_TABLES: "the catalogue that callers list",
    ROW_LOG_INSTALLED: "whether an index is being built",
    ROW_LOG: "changes during an index build",
    GHOSTS: "deleted rows that wait to be removed",
    WANTED: "pages that deleted rows and poor leaves wait for",
    VERSIONS: "a shard of old versions",
    LISTED: "pages changed since the last snapshot",
    IMAGES: "the pool of pre-images",
    PAGE_ALLOCATOR: "free page numbers",
    EVICTION: "the hand of the clock",
    LOADS: "the ends of loads",
    STRIPPED: "leaves that lost ghosts when they were loaded",
    LOG_THREADS: "the log's threads",
    FRAME_WRITER: "what the log writes next",
    GROUPS: "times of the last groups",
    ARCHIVE_FAILURE: "why a segment was not archived",
    CHECKPOINT_FAILURE: "why a checkpoint was abandoned",
    SLOT: "a slot of the log's ring",
    BUFFERS: "buffers of log records",
    SEATS: "free seats of sessions",
    IDLE: "pooled memory of finished transactions",
    PATHS: "sampled times of commits",
    SPARE_LEAVES: "the memory of evicted leaves",
    BLOCKS: "memory for leaves and frames",
    GATE_STATE: "whether the gate is taken",
    SIGNAL: "a sleeping thread of the engine",
}

/// The description of a rank, for messages.
#[cfg(test)]
pub(crate) fn name(rank: u8) -> &'static str {
    NAMES[usize::from(rank)]
}

/// A rank that this thread holds until the value is dropped, on the same thread.
#[derive(Debug)]
pub(crate) struct Held<const RANK: u8>(());

impl<const RANK: u8> Held<RANK> {
    /// For a lock that is not one of `ranked`'s: the thread is about to wait for it.
    #[inline]
    pub(crate) fn awaited() -> Held<RANK> {
        assert_may_wait(RANK);
        Held::taken()
    }

    /// The thread holds a lock of that rank, for which it has not waited.
    #[inline]
    pub(crate) fn taken() -> Held<RANK> {
        #[cfg(debug_assertions)]
        tracked::push(RANK);
        Held(())
    }
}

#[cfg(debug_assertions)]
impl<const RANK: u8> Drop for Held<RANK> {
    fn drop(&mut self) {
        tracked::pop(RANK);
    }
}

#[cfg(not(debug_assertions))]
const _: () = assert!(size_of::<Held<GATE>>() == 0);

/// Asserts that this thread may wait for a lock of that rank.
#[inline]
pub(crate) fn assert_may_wait(rank: u8) {
    #[cfg(debug_assertions)]
    tracked::assert_may_wait(rank);
    #[cfg(not(debug_assertions))]
    let _ = rank;
}

/// Asserts that this thread holds only the lock of rank `released`, which its sleep releases, and locks above
/// `below` in the table.
#[inline]
pub(crate) fn assert_may_sleep(released: u8, below: u8) {
    #[cfg(debug_assertions)]
    tracked::assert_may_sleep(released, below);
    #[cfg(not(debug_assertions))]
    let _ = (released, below);
}

#[cfg(debug_assertions)]
mod tracked {
    use super::{LATCH, NAMES, STRUCTURE};
    use crate::planted_bug::{PlantedBug, planted};
    use crate::sync::thread_local;
    use std::cell::Cell;

    /// More locks than a thread ever holds at once.
    const HELD_MAX: usize = 15;

    /// The ranks that a thread holds, in the order in which it took them.
    #[derive(Clone, Copy)]
    struct Ranks {
        count: u8,
        ranks: [u8; HELD_MAX],
    }

    impl Ranks {
        const NONE: Ranks = Ranks { count: 0, ranks: [0; HELD_MAX] };

        fn held(&self) -> &[u8] {
            &self.ranks[..usize::from(self.count)]
        }
    }

    thread_local! {
        static HELD: Cell<Ranks> = const { Cell::new(Ranks::NONE) };
    }

    /// Changes the ranks; does nothing at the very end of a thread, when they are gone.
    fn change(with: impl FnOnce(&mut Ranks)) {
        let _gone = HELD.try_with(|cell| {
            let mut ranks = cell.get();
            with(&mut ranks);
            cell.set(ranks);
        });
    }

    pub(super) fn push(rank: u8) {
        change(|ranks| {
            let count = usize::from(ranks.count);
            assert!(count < HELD_MAX, "a thread holds {HELD_MAX} locks");
            ranks.ranks[count] = rank;
            ranks.count += 1;
        });
    }

    pub(super) fn pop(rank: u8) {
        change(|ranks| {
            let found = ranks.held().iter().rposition(|held| *held == rank);
            let Some(at) = found else {
                // The lock was taken on another thread, or the thread unwinds from the assertion above.
                assert!(
                    std::thread::panicking(),
                    "a lock of rank {} is released by a thread that does not hold it",
                    NAMES[usize::from(rank)]
                );
                return;
            };
            ranks.ranks.copy_within(at + 1.., at);
            ranks.count -= 1;
        });
    }

    pub(super) fn assert_may_wait(rank: u8) {
        if planted(PlantedBug::CheckpointBeforeGate) {
            // The test must find the deadlock itself.
            return;
        }
        change(|ranks| {
            for &held in ranks.held() {
                let is_second_leaf =
                    rank == LATCH && held == LATCH && ranks.held().contains(&STRUCTURE);
                assert!(
                    held < rank || is_second_leaf || std::thread::panicking(),
                    "lock order: a thread that holds {} waits for {}",
                    NAMES[usize::from(held)],
                    NAMES[usize::from(rank)]
                );
            }
        });
    }

    pub(super) fn assert_may_sleep(released: u8, below: u8) {
        if planted(PlantedBug::CheckpointBeforeGate) {
            return;
        }
        change(|ranks| {
            for &held in ranks.held() {
                assert!(
                    held == released || held < below || std::thread::panicking(),
                    "lock order: a thread that holds {} sleeps until {} changes",
                    NAMES[usize::from(held)],
                    NAMES[usize::from(released)]
                );
            }
        });
    }
}

#[cfg(all(test, debug_assertions, not(any(loom, shuttle))))]
mod tests {
    use super::{CHECKPOINT, IMAGES, LATCH, STRUCTURE};
    use crate::sync::ranked::{Mutex, RwLock, StdMutex};
    use crate::txn::commit_gate::{ClosedBy, CommitGate};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    const LONG: Duration = Duration::MAX;

    /// The message of the assertion; none if it held.
    fn complaint(body: impl FnOnce()) -> Option<String> {
        let panic = catch_unwind(AssertUnwindSafe(body)).err()?;
        Some(panic.downcast_ref::<String>().expect("a message with names").clone())
    }

    #[test]
    fn locks_are_taken_from_the_top_of_the_table_down() {
        let checkpoint = Mutex::<(), CHECKPOINT>::new(());
        let images = StdMutex::<(), IMAGES>::new(());
        let in_order = complaint(|| {
            let _checkpoint = checkpoint.lock();
            drop(images.lock());
        });
        assert_eq!(in_order, None);
        let reversed = complaint(|| {
            let _images = images.lock();
            drop(checkpoint.lock());
        });
        let message = reversed.expect("the wrong order is detected without a second thread");
        assert!(message.contains("IMAGES") && message.contains("CHECKPOINT"), "{message}");
        // The held lock was forgotten by the unwinding; and trying is not waiting.
        let _images = images.lock();
        assert!(checkpoint.try_lock().is_some());
    }

    #[test]
    fn locks_may_be_released_in_any_order() {
        let checkpoint = Mutex::<(), CHECKPOINT>::new(());
        let images = StdMutex::<(), IMAGES>::new(());
        let first = checkpoint.lock();
        let second = images.lock();
        drop(first);
        drop(second);
        let _again = checkpoint.lock();
    }

    // H1
    #[test]
    fn no_thread_waits_at_the_gate_with_a_lock_that_its_closer_may_need() {
        let checkpoint = Mutex::<(), CHECKPOINT>::new(());
        let gate = CommitGate::new();
        let message = complaint(|| {
            let _checkpoint = checkpoint.lock();
            drop(gate.close(ClosedBy::Engine, LONG));
        });
        let message = message.expect("the order is wrong although the gate was free");
        assert!(message.contains("CHECKPOINT") && message.contains("GATE"), "{message}");
        let message = complaint(|| {
            let _checkpoint = checkpoint.lock();
            let _never = gate.wait_until_open(LONG);
        });
        assert!(message.expect("it would wait").contains("GATE"));
        let message = complaint(|| {
            let _section = gate.try_enter(0);
            drop(gate.close(ClosedBy::Engine, LONG));
        });
        assert!(message.expect("it waits for itself").contains("GATE"));
        let closed = gate.close(ClosedBy::Engine, LONG).unwrap();
        drop(checkpoint.lock());
        drop(closed);
    }

    #[test]
    fn two_leaves_are_latched_only_under_the_structure_mutex() {
        let structure = Mutex::<(), STRUCTURE>::new(());
        let leaves = [RwLock::<(), LATCH>::new(()), RwLock::<(), LATCH>::new(())];
        let both = || {
            let _one = leaves[0].write();
            drop(leaves[1].read());
        };
        assert!(complaint(both).is_some());
        let _structure = structure.lock();
        assert_eq!(complaint(both), None);
    }
}
