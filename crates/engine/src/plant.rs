//! Planted bugs: mistakes that the simulation must find, each within its seed budget.
//!
//! They exist in the crate's own tests only. Elsewhere [`planted`] is the constant `false`, and the
//! compiler removes what hangs on it.

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "each is planted by tests only"))]
pub(crate) enum Plant {
    /// Commits complete when their write is launched.
    AcknowledgeBeforeSync,
    /// Recovery believes a frame whose checksum is wrong.
    SkipChecksum,
    /// New segment files are not made findable by a directory sync.
    SkipDirectorySync,
    /// A failed sync counts as a good one.
    SwallowSyncError,
    /// The horizon moves with the newest stable frame, not with the last before the first gap.
    HorizonPastGap,
    /// A segment's header is written only after its first frame.
    HeaderAfterFrames,
    /// Recovery copies a torn frame under a new, fitting checksum.
    ReChecksum,
    /// A group completes one commit more than it holds.
    GroupOffByOne,
    /// Recovery goes on in the old segment and does not check the chain.
    NoContinuesAfter,
    /// Recovery takes frames of any database.
    AnyDatabase,
    /// Recovery does not copy the uncertain tail before it acknowledges anything.
    SkipTailCopy,
    /// Recovery takes an unreadable stable frame for the end of the log.
    TruncateDamage,
    /// A record's piece counts as the whole record.
    FragmentCommits,
}

#[cfg(test)]
pub(crate) use switch::{planted, with};

/// True if that bug is planted.
#[cfg(not(test))]
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is the constant false")]
pub(crate) fn planted(_plant: Plant) -> bool {
    false
}

#[cfg(test)]
mod switch {
    use super::Plant;
    use std::cell::Cell;

    thread_local! {
        static PLANTED: Cell<Option<Plant>> = const { Cell::new(None) };
    }

    /// Plants a bug for whatever runs on this thread inside `body`.
    pub(crate) fn with<R>(plant: Option<Plant>, body: impl FnOnce() -> R) -> R {
        struct Remove;
        impl Drop for Remove {
            fn drop(&mut self) {
                PLANTED.set(None);
            }
        }
        let _remove = Remove;
        PLANTED.set(plant);
        body()
    }

    pub(crate) fn planted(plant: Plant) -> bool {
        PLANTED.get() == Some(plant)
    }
}
