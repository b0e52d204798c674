//! Steps: the points between which a test may stop a session and let another one run.
//!
//! They exist only in the crate's own tests. Elsewhere [`step`] is empty, and the compiler removes it.

/// The action that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "a scheduler looks at it in tests only"))]
pub(crate) enum Step {
    /// Register the begin, or read the durable LSN again.
    Begin,
    /// Read a leaf for a row or an old version.
    Read,
    /// Check whether the read point may move.
    ReadPoint,
    /// Do everything that may wait.
    Prepare,
    /// Enter the commit section.
    Enter,
    /// Lock the next row.
    Lock,
    /// Check again whether another commit has unlocked a row.
    Spin,
    /// Take the commit sequence number.
    Number,
    /// Validate the reads, or the next part of them.
    Validate,
    /// Apply the next row.
    Apply,
    /// Publish the record, or give the number up.
    Publish,
    /// Unlock the next row of an abort.
    Unlock,
    /// Collect garbage.
    Collect,
    /// Merge a leaf; the tree's structure mutex is held.
    Merge,
    /// Move the next rows into a hidden tree under construction.
    Build,
    /// Leave the commit section.
    Leave,
    /// Perform an I/O request of the log.
    LogRequest,
    /// Do the next I/O of a checkpoint, whose mutex is held.
    Checkpoint,
    /// Begin or continue a definition.
    Definition,
    /// Continue after a wait.
    Taken,
    /// Try again to take a lock that another thread holds, which this names: nothing changes until it is
    /// taken.
    Wait(&'static str),
}

impl Step {
    /// True if the thread may hold a lock that others wait for: a hook that works in this thread must not
    /// take one.
    #[cfg(test)]
    pub(crate) fn may_hold_lock(self) -> bool {
        matches!(
            self,
            Step::LogRequest
                | Step::Checkpoint
                | Step::Definition
                | Step::Merge
                | Step::Taken
                | Step::Wait(_)
        )
    }
}

#[cfg(test)]
pub(crate) use switch::{step, with};

/// Takes the result of `take`; lets other threads run until there is one.
#[cfg(test)]
pub(crate) fn wait_for<G>(what: &'static str, mut take: impl FnMut() -> Option<G>) -> G {
    let mut waited = false;
    loop {
        if let Some(taken) = take() {
            if waited {
                step(Step::Taken);
            }
            return taken;
        }
        step(Step::Wait(what));
        waited = true;
    }
}

/// True if a test decides when this thread continues: then it must not sleep by itself.
#[cfg(test)]
pub(crate) fn stepped() -> bool {
    switch::stepped()
}

/// False outside the crate's own tests.
#[cfg(not(test))]
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is the constant false")]
pub(crate) fn stepped() -> bool {
    false
}

/// Does nothing.
#[cfg(not(test))]
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is nothing")]
pub(crate) fn step(_step: Step) {}

#[cfg(test)]
mod switch {
    use super::Step;
    use std::cell::RefCell;

    type Hook = Box<dyn FnMut(Step)>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    /// Calls `hook` before every step that this thread makes inside `body`.
    pub(crate) fn with<R>(hook: Hook, body: impl FnOnce() -> R) -> R {
        struct Remove;
        impl Drop for Remove {
            fn drop(&mut self) {
                // Removed first: dropping the hook's contents may look up a hook.
                drop(HOOK.take());
            }
        }
        let _remove = Remove;
        HOOK.set(Some(hook));
        body()
    }

    /// False also at the very end of a thread, when its deferred memory is freed and its hook is gone.
    pub(super) fn stepped() -> bool {
        HOOK.try_with(|hook| hook.borrow().is_some()).unwrap_or(false)
    }

    pub(crate) fn step(step: Step) {
        // The hook's own steps do not call it.
        if let Ok(Some(mut hook)) = HOOK.try_with(RefCell::take) {
            hook(step);
            HOOK.set(Some(hook));
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Step, step, with};
    use crate::sync::rank::BLOCKS;
    use crate::sync::ranked::Mutex;
    use std::cell::Cell;

    static LOCK: std::sync::LazyLock<Mutex<u32, BLOCKS>> =
        std::sync::LazyLock::new(|| Mutex::new(0));

    struct LocksAtTheEnd;

    impl Drop for LocksAtTheEnd {
        fn drop(&mut self) {
            step(Step::Begin);
            *LOCK.lock() += 1;
        }
    }

    thread_local! {
        static FIRST: Cell<Option<LocksAtTheEnd>> = const { Cell::new(None) };
        static LAST: Cell<Option<LocksAtTheEnd>> = const { Cell::new(None) };
    }

    /// As the epoch does, which frees pages when a thread ends.
    #[test]
    fn locks_may_be_taken_while_a_thread_s_own_storage_is_destroyed() {
        let thread = std::thread::spawn(|| {
            FIRST.set(Some(LocksAtTheEnd));
            with(Box::new(|_| {}), || step(Step::Begin));
            LAST.set(Some(LocksAtTheEnd));
        });
        thread.join().unwrap();
        assert_eq!(*LOCK.lock(), 2);
    }
}
