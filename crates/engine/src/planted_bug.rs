//! Planted bugs: deliberate mistakes that the simulations must find, each within its seed budget.
//!
//! They exist in the crate's own tests, where each is planted for one thread, and under the feature `plants`,
//! where the environment variable `SYNCLINE_PLANT` names one for the whole process, so that `syncline-verify`
//! can be tested on it. Otherwise [`planted`] is the constant `false`, and the compiler removes the code that
//! depends on it.

/// A deliberate bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "only tests plant them"))]
pub(crate) enum PlantedBug {
    /// At durability none a commit completes before all commits with lower numbers are published.
    AcknowledgeBehindGap,
    /// Commits complete when their write is launched.
    AcknowledgeBeforeSync,
    /// Recovery accepts a frame whose checksum is wrong.
    SkipChecksum,
    /// The names of new segment files are not made durable by a directory sync.
    SkipDirectorySync,
    /// A failed sync counts as successful.
    SwallowSyncError,
    /// The durable LSN follows the newest stable frame instead of the last one before the first gap.
    DurablePastGap,
    /// A segment's header is written only after its first frame.
    HeaderAfterFrames,
    /// Recovery copies a torn frame with a new, valid checksum.
    ReChecksum,
    /// A group completes one commit more than it holds.
    GroupOffByOne,
    /// Recovery continues in the old segment and does not check the chain.
    NoContinuesAfter,
    /// Recovery accepts frames of any database.
    AnyDatabase,
    /// Recovery does not copy the uncertain tail before it acknowledges anything.
    SkipTailCopy,
    /// Recovery continues in an empty segment although nothing says that its header is stable.
    TrustReadHeader,
    /// Recovery takes an unreadable stable frame for the end of the log.
    TruncateDamage,
    /// Recovery treats missing, blank or short files as files that never existed.
    HoleInSegments,
    /// Zeros added to a log file are not synced before its header names the new size.
    UnsyncedGrowth,
    /// A free log file is emptied before it is lengthened.
    RefillFreeFile,
    /// What an interrupted attempt to lengthen a log file has added stays when the file is used.
    KeepInterruptedGrowth,
    /// Recovery copies the tail into a free file without regard to its size.
    TailIntoSmallFile,
    /// At the log's cap no space is kept for recovery.
    NoRoomForRecovery,
    /// A log file may be made or lengthened past the log's cap.
    GrowPastCap,
    /// A released log file is free before its segment is archived.
    FreeBeforeArchived,
    /// A segment is written to the archive under its own name.
    ArchiveUnderItsName,
    /// A segment in the archive is not synced.
    ArchiveUnsynced,
    /// An iterator returns rows that it read ahead before a write of its transaction.
    KeepReadAhead,
    /// Redo makes no tree where an interrupted build left one of its number.
    KeepTreeOfNumber,
    /// With an archive, a table is loaded past the log.
    LoadUnlogged,
    /// A restore to a time goes past it.
    RestorePastTime,
    /// A restore frees unfinished trees each time it stores what it has redone.
    FreeUnnamedBetween,
    /// A record's piece counts as the whole record.
    FragmentCommits,
    /// A checkpoint uses a slot twice.
    ReusePendingSlot,
    /// A slot is free as soon as one of the images in it is superseded.
    FreeSharedSlot,
    /// A checkpoint begins an image again where its next write only continues it.
    RestartImageInNextWrite,
    /// A checkpoint's root is written before its pages are synced.
    RootBeforePages,
    /// A checkpoint's root is written before the log is durable up to its commit.
    RootBeforeDurable,
    /// The slots that a checkpoint supersedes are freed before its root is stable.
    FreeBeforeRootStable,
    /// Pages of the data file are accepted without checking them.
    SkipPageChecksum,
    /// Every root goes to the same block.
    RootsInOneBlock,
    /// A compaction moves the last images of pages that have changed since.
    MoveDirtyPages,
    /// A load takes an image that was moved meanwhile for damage.
    TrustOldEntry,
    /// A load in the background places an image that was read before its page changed.
    PlaceOldImage,
    /// The data file is cut before a root without the slots there is stable.
    CutBeforeRoot,
    /// A failed sync of the data file counts as successful.
    SwallowDataSyncError,
    /// Pages are evicted whether or not a checkpoint in force holds them as they are.
    EvictDirty,
    /// A leaf with locked rows is evicted.
    EvictLocked,
    /// The evidence of an evicted leaf names no commit.
    EvidenceWithoutNewest,
    /// A leaf that was evicted before it was latched counts as an empty one.
    MergeEvicted,
    /// Evidence stays when its leaf comes back or is freed.
    KeepEvidence,
    /// The first checkpoint of a file of format 2 keeps map pages in that format.
    KeepOldMapPages,
    /// Opening trusts the root that it reads and does not rewrite it.
    SkipRestatement,
    /// A commit takes its number before it has locked its rows.
    NumberBeforeLocks,
    /// A commit takes its number only after it has validated its reads.
    ValidateBeforeNumber,
    /// A commit is published before it is applied.
    PublishBeforeApply,
    /// A commit does not keep the versions that it replaces.
    SkipBeforeImage,
    /// An insert becomes visible only when it is applied, not when it is locked.
    GhostAtApply,
    /// Old versions are collected without checking who still reads them.
    CollectBlindly,
    /// Validation treats a row that another commit has locked as unchanged.
    LockNotChecked,
    /// New leaves and leaves read from disk get a counter that other leaves had.
    CounterReset,
    /// A split unlatches the left leaf between copying its upper half and truncating it.
    SplitUnlatched,
    /// A read or a change follows a hint without checking that the leaf covers its key.
    TrustHint,
    /// The first change of a page after the snapshot keeps no image for the checkpoint.
    SkipPreImage,
    /// An index keeps the entry of a row's old value.
    KeepOldEntry,
    /// An addition checks its bounds against the old value instead of the sum.
    BoundOfOldValue,
    /// A transaction sees its own inserts over existing rows, and the entries of both.
    OverlayBlindly,
    /// A table handle of another database is accepted.
    StaleHandle,
    /// A call that fails halfway leaves its earlier writes.
    KeepHalfCall,
    /// A checkpoint releases log segments at its snapshot, before its root is stable.
    ReleaseBeforeRoot,
    /// A log segment is dropped before a checkpoint that supersedes it is stable.
    SegmentDroppedEarly,
    /// A checkpoint takes its snapshot while commits are under way.
    SnapshotWithoutGate,
    /// A checkpoint does not list the trees.
    TreeDirectoryNotInCheckpoint,
    /// Pages that were freed before the snapshot stay in the data file.
    ForgetFreedPages,
    /// Redo begins one commit too late.
    ReplayTooLate,
    /// Redo does not delete rows.
    RedoSkipsDeletes,
    /// Redo ignores partial changes of rows.
    RedoSkipsSplices,
    /// Ghosts that a checkpoint has captured stay after opening.
    KeepGhosts,
    /// A checkpoint stores extents without the zeros at their end.
    TrimExtents,
    /// A checkpoint contains extents of values that are not committed yet.
    CaptureDetachedExtents,
    /// A value that is replaced or deleted keeps its last extent.
    KeepLastExtent,
    /// Long values that a checkpoint has captured for old readers stay after opening.
    KeepOrphans,
    /// Unfinished builds stay after opening.
    KeepUnfinished,
    /// The catalogue's change and the trees that it creates go into two log records.
    CatalogApart,
    /// The log record of a dropped table does not drop its trees.
    DropUnlogged,
    /// A snapshot uses a table or an index that was created after its read point.
    UseBeforeCreation,
    /// Ghosts of a table that has changed since are not collected.
    ForgetGhosts,
    /// An index built while writers run does not receive their changes.
    IndexMissesCatchUp,
    /// Opening keeps pages of trees that the tree directory does not name.
    KeepStrayPages,
    /// A failed build leaves its trees.
    KeepFailedBuild,
    /// Read-only transactions see commits that are not stable yet.
    ReadUnstable,
    /// A transaction begins at commits that are not published yet.
    BeginAhead,
    /// A refusal is reported before the commits that it depends on are stable.
    RefuseUnstable,
    /// Waiters at a slot of the log's ring are forgotten when a later commit takes the slot.
    ForgetWaiters,
    /// A commit that fills a gap does not wake the sleepers behind it.
    LeaveGapWaiters,
    /// A number that is given up does not wake the sleepers behind it.
    LeaveVoidWaiters,
    /// A thread that waits for a commit sleeps without checking again after it has registered.
    CheckOnce,
    /// The log's thread leaves staged commits to the end of a pass even when no worker is in one.
    LeaveToAbsentPass,
    /// A failure of the log wakes no waiter.
    FailWithoutWake,
    /// The cap on versions does not count the extents of a version.
    VersionsEscapeCap,
    /// A scan with a limit counts ghosts against the limit.
    GhostCountsAgainstLimit,
    /// A thread that enters the gate checks whether it is closed before it is counted.
    CheckBeforeCounting,
    /// Opening the gate does not wake the threads that wait at it.
    OpenWithoutWake,
    /// A checkpoint takes its mutex before it closes the gate.
    CheckpointBeforeGate,
    /// Slots of images that a backup reads are free once the images are superseded.
    FreeHeldImages,
    /// The log of a backup begins behind commits that its data file lacks.
    BackupLogBehind,
    /// A backup copies pages as the newest checkpoint has them.
    BackupReadsNewest,
    /// Leaving the gate does not check whether a thread waits to close it.
    LeaveWithoutWake,
    /// Leaving the gate wakes the closer without holding the mutex under which it checks.
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

    /// Plants a bug for all code that `body` runs on this thread.
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

    /// The bug that is planted on this thread, to plant it on other threads too.
    pub(crate) fn current() -> Option<PlantedBug> {
        PLANTED.get()
    }

    pub(crate) fn planted(plant: PlantedBug) -> bool {
        PLANTED.get() == Some(plant)
    }
}
