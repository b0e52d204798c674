//! Planted bugs: mistakes that the simulation must find, each within its seed budget.
//!
//! They exist in the crate's own tests, where each is planted for one thread, and under the feature
//! `plants`, where the environment variable `SYNCLINE_PLANT` names one for the whole process, so that
//! `syncline-verify` can be tested on it. Elsewhere [`planted`] is the constant `false`, and the compiler
//! removes what hangs on it.

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "each is planted by tests only"))]
pub(crate) enum PlantedBug {
    /// At durability none a commit completes before those with lower numbers are published.
    AcknowledgeBehindGap,
    /// Commits complete when their write is launched.
    AcknowledgeBeforeSync,
    /// Recovery believes a frame whose checksum is wrong.
    SkipChecksum,
    /// New segment files are not made findable by a directory sync.
    SkipDirectorySync,
    /// A failed sync counts as a good one.
    SwallowSyncError,
    /// The durable LSN moves with the newest stable frame, not with the last before the first gap.
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
    /// Recovery goes on in an empty segment whose header nothing says is stable.
    TrustReadHeader,
    /// Recovery takes an unreadable stable frame for the end of the log.
    TruncateDamage,
    /// Recovery takes files that are missing, blank or short for files that were never there.
    HoleInSegments,
    /// A record's piece counts as the whole record.
    FragmentCommits,
    /// A checkpoint takes a slot twice.
    ReusePendingSlot,
    /// A slot is free as soon as one of the images in it is superseded.
    FreeSharedSlot,
    /// A checkpoint's root is written before its pages are synced.
    RootBeforePages,
    /// A checkpoint's root is written before the log is stable up to it.
    RootBeforeHorizon,
    /// The slots that a checkpoint supersedes are free before its root is stable.
    FreeBeforeRootStable,
    /// Pages of the data file are taken as they are read.
    SkipPageChecksum,
    /// Every root goes to the same block.
    RootsInOneBlock,
    /// A failed sync of the data file counts as a good one.
    SwallowDataSyncError,
    /// Opening trusts the root that it reads and does not write it again.
    SkipRestatement,
    /// A commit takes its number before it has locked its rows.
    NumberBeforeLocks,
    /// A commit takes its number only after it has validated what it read.
    ValidateBeforeNumber,
    /// A commit is published before it is applied.
    PublishBeforeApply,
    /// A commit does not keep what it replaces.
    SkipBeforeImage,
    /// An insert shows only when it is applied, not when it is locked.
    GhostAtApply,
    /// What is old is collected without a look at who still reads it.
    CollectBlindly,
    /// Validation takes a row that another commit has locked for unchanged.
    LockNotChecked,
    /// Leaves that are made or read get the counter of others.
    CounterReset,
    /// A split unlatches the left leaf between copying its upper half and cutting it off.
    SplitUnlatched,
    /// A read or a change goes by a hint without looking whether the leaf covers its key.
    TrustHint,
    /// The first change of a page after the cut keeps no image for the checkpoint.
    SkipPreImage,
    /// An index keeps the entry of a row's old value.
    KeepOldEntry,
    /// An addition compares its bounds with the number before it, not with the sum.
    BoundOfOldValue,
    /// A transaction sees its own inserts over rows that are there, and the entries of both.
    OverlayBlindly,
    /// A table handle of another database is used as if it were of this one.
    StaleHandle,
    /// A call that fails halfway leaves what it wrote before.
    KeepHalfCall,
    /// A checkpoint gives log segments back at its cut, before its root is stable.
    ReleaseBeforeRoot,
    /// A segment of the log is given up before a checkpoint that supersedes it is stable.
    SegmentDroppedEarly,
    /// A checkpoint cuts while commits are under way.
    CutWithoutGate,
    /// A checkpoint does not say which trees there are.
    ForestNotInCheckpoint,
    /// Pages that were freed before the cut stay in the data file.
    ForgetFreedPages,
    /// Redo begins one commit too late.
    ReplayTooLate,
    /// Redo leaves rows that were deleted.
    RedoSkipsDeletes,
    /// Redo leaves rows as they were of which only a part was changed.
    RedoSkipsSplices,
    /// Ghosts that a checkpoint has caught stay after opening.
    KeepGhosts,
    /// Values in overflow pages that a checkpoint has caught for old readers stay after opening.
    KeepOrphans,
    /// What was being built when the power went off stays after opening.
    KeepUnfinished,
    /// The catalogue's change and the trees that it makes stand in two records.
    CatalogApart,
    /// The record of a dropped table does not say that its trees are gone.
    DropUnlogged,
    /// A snapshot uses a table or an index that was made after its read point.
    UseMadeLater,
    /// Ghosts of a table that has been changed since are not collected.
    ForgetGhosts,
    /// An index that is built beside writers is not brought up to what they change.
    IndexMissesCatchUp,
    /// Opening leaves pages of trees that the tree directory does not name.
    KeepStrayPages,
    /// A build that has failed leaves its trees.
    KeepFailedBuild,
    /// Transactions that only read see what is not stable yet.
    ReadUnstable,
    /// A transaction begins at commits that are not published yet.
    BeginAhead,
    /// A refusal is told before what it stems from is stable.
    RefuseUnstable,
    /// Who still waits at a slot of the log's ring is forgotten when a later commit takes the slot.
    ForgetSleepers,
    /// A commit that fills a gap does not look for those who sleep behind it.
    LeaveGapSleepers,
    /// A number that is given up does not look for those who sleep behind it.
    LeaveVoidSleepers,
    /// Who waits for a commit sleeps without another look after it has registered.
    LookOnce,
    /// The log's thread leaves what is staged to an uncork when no worker is away, too.
    LeaveToNobody,
    /// A failure of the log wakes nobody.
    FailQuietly,
    /// A version in overflow pages is charged without them.
    VersionsEscapeCap,
    /// A scan with a limit takes as many rows of a leaf as are wanted, whether they are there or not.
    GhostCountsAgainstLimit,
    /// Who enters the gate looks whether it is closed before it is counted.
    LookBeforeCounting,
    /// Who opens the gate does not wake those who wait at it.
    OpenQuietly,
    /// A checkpoint that begins takes its mutex before it closes the gate.
    CheckpointBeforeGate,
    /// Who leaves the gate does not look whether somebody waits to close it.
    LeaveQuietly,
    /// Who leaves the gate wakes without the mutex under which the closer looks.
    WakeUnlocked,
}

#[cfg(test)]
pub(crate) use switch::{current, planted, with};

/// True if that bug is planted.
#[cfg(all(not(test), feature = "plants"))]
pub(crate) fn planted(plant: PlantedBug) -> bool {
    static NAME: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let name = NAME.get_or_init(|| std::env::var("SYNCLINE_PLANT").ok());
    name.as_ref().is_some_and(|name| *name == format!("{plant:?}"))
}

/// True if that bug is planted.
#[cfg(all(not(test), not(feature = "plants")))]
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is the constant false")]
pub(crate) fn planted(_plant: PlantedBug) -> bool {
    false
}

#[cfg(test)]
mod switch {
    use super::PlantedBug;
    use std::cell::Cell;

    thread_local! {
        static PLANTED: Cell<Option<PlantedBug>> = const { Cell::new(None) };
    }

    /// Plants a bug for whatever runs on this thread inside `body`.
    pub(crate) fn with<R>(plant: Option<PlantedBug>, body: impl FnOnce() -> R) -> R {
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

    /// The bug that is planted on this thread, to plant it on others.
    pub(crate) fn current() -> Option<PlantedBug> {
        PLANTED.get()
    }

    pub(crate) fn planted(plant: PlantedBug) -> bool {
        PLANTED.get() == Some(plant)
    }
}
