//! Steps: the places between which a test may stop a session and let another one run.
//!
//! They exist in the crate's own tests only. Elsewhere [`step`] is nothing, and the compiler removes it.

/// What is about to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "a scheduler looks at it in tests only"))]
pub(crate) enum Step {
    /// Register the begin, or look at the durable LSN again.
    Begin,
    /// Look at a leaf for a read, or for an old version.
    Read,
    /// Look whether the read point may move.
    ReadPoint,
    /// Make everything ready that may wait.
    Prepare,
    /// Enter the commit section.
    Enter,
    /// Lock the next row.
    Lock,
    /// Look again whether another one has unlocked a row.
    Spin,
    /// Take the commit sequence number.
    Number,
    /// Validate what was read, or the next part of it.
    Validate,
    /// Apply the next row.
    Apply,
    /// Publish the record, or give the number up.
    Publish,
    /// Unlock the next row of an abort.
    Unlock,
    /// Collect what nobody needs any more.
    Collect,
    /// Take the next rows into a tree that is built aside.
    Build,
    /// Leave the commit section.
    Leave,
    /// Do a job of the log.
    LogJob,
    /// Do the next I/O of a checkpoint, whose mutex is held.
    Checkpoint,
    /// Begin or go on with a definition.
    Definition,
    /// Go on with what was waited for.
    Taken,
    /// Try again to take what another thread holds, which this names: nothing changes until it is taken.
    Wait(&'static str),
}

impl Step {
    /// True if the thread may hold a lock that others wait for: a hook that works in its place must not
    /// take one.
    #[cfg(test)]
    pub(crate) fn may_hold_lock(self) -> bool {
        matches!(
            self,
            Step::LogJob | Step::Checkpoint | Step::Definition | Step::Taken | Step::Wait(_)
        )
    }
}

#[cfg(test)]
pub(crate) use switch::{step, with};

/// Takes what `take` answers, and until then lets others go on.
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

/// True if a test decides when this thread goes on: then it must not sleep by itself.
#[cfg(test)]
pub(crate) fn stepped() -> bool {
    switch::stepped()
}

/// See the other.
#[cfg(not(test))]
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is the constant false")]
pub(crate) fn stepped() -> bool {
    false
}

/// Nothing.
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

    /// Calls `hook` before every step of whatever runs on this thread inside `body`.
    pub(crate) fn with<R>(hook: Hook, body: impl FnOnce() -> R) -> R {
        struct Remove;
        impl Drop for Remove {
            fn drop(&mut self) {
                // Taken out first: what the hook owns may look for a hook when it goes.
                drop(HOOK.take());
            }
        }
        let _remove = Remove;
        HOOK.set(Some(hook));
        body()
    }

    /// False also at the very end of a thread, when memory that waited for it is freed and its hook is gone.
    pub(super) fn stepped() -> bool {
        HOOK.try_with(|hook| hook.borrow().is_some()).unwrap_or(false)
    }

    pub(crate) fn step(step: Step) {
        // What the hook itself does is not stopped.
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
