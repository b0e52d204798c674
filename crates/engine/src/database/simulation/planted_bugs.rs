//! The positive control of the simulation: it must find every planted bug within a budget of seeds. Without a
//! planted bug it must find nothing in the seeds of the plain search.

use super::harness::{Tally, has_archive};
use super::search::search;
use crate::seeds::finds;

finds! {
    |seed| search(seed, &mut Tally::default());
    acknowledging_before_the_sync_is_found: AcknowledgeBeforeSync within 300,
    a_swallowed_sync_error_is_found: SwallowSyncError within 400,
    a_swallowed_sync_error_of_the_data_file_is_found: SwallowDataSyncError within 1_000,
    a_root_before_its_log_is_durable_is_found: RootBeforeDurable within 300,
    slots_freed_before_the_root_is_stable_are_found: FreeBeforeRootStable within 300,
    a_missing_pre_image_is_found: SkipPreImage within 300,
    a_missing_before_image_is_found: SkipBeforeImage within 300,
    collecting_without_checking_readers_is_found: CollectBlindly within 300,
    segments_released_before_the_root_is_stable_are_found: ReleaseBeforeRoot within 300,
    freed_images_of_a_backup_are_found: FreeHeldImages within 300,
    a_backup_of_changing_pages_is_found: BackupReadsNewest within 300,
    a_backup_whose_log_begins_too_late_is_found: BackupLogBehind within 300,
    a_snapshot_without_the_closed_gate_is_found: SnapshotWithoutGate within 300,
    a_tree_directory_missing_from_the_checkpoint_is_found: TreeDirectoryNotInCheckpoint within 300,
    freed_pages_that_stay_are_found: ForgetFreedPages within 600,
    replay_from_one_too_late_is_found: ReplayTooLate within 300,
    redo_that_skips_deletes_is_found: RedoSkipsDeletes within 300,
    redo_that_skips_splices_is_found: RedoSkipsSplices within 300,
    ghosts_that_stay_are_found: KeepGhosts within 300,
    orphaned_long_values_are_found: KeepOrphans within 300,
    extents_without_their_end_are_found: TrimExtents within 300,
    captured_extents_of_uncommitted_values_are_found: CaptureDetachedExtents within 300,
    an_extent_that_no_row_holds_is_found: KeepLastExtent within 300,
    unfinished_objects_that_stay_are_found: KeepUnfinished within 300,
    evicted_changes_are_found: EvictDirty within 60,
    images_that_arrive_too_late_are_found: PlaceOldImage within 600,
    pages_of_unfinished_trees_that_stay_are_found: KeepStrayPages within 300,
    a_catalogue_apart_from_its_trees_is_found: CatalogApart within 400,
    a_drop_that_is_not_in_the_log_is_found: DropUnlogged within 300,
    using_what_was_made_later_is_found: UseBeforeCreation within 300,
    forgotten_ghosts_are_found: ForgetGhosts within 300,
    a_failed_build_that_stays_is_found: KeepFailedBuild within 300,
    a_segment_that_is_dropped_early_is_found: SegmentDroppedEarly within 300,
    a_hole_in_the_segments_is_found: HoleInSegments within 300,
    inserts_over_stored_rows_that_are_overlaid_are_found: OverlayBlindly within 300,
    reading_what_is_not_stable_is_found: ReadUnstable within 300,
    a_refusal_before_its_reason_is_stable_is_found: RefuseUnstable within 300,
}

// Frequent compactions.
finds! {
    |seed| search(4 * seed + 2, &mut Tally::default());
    changed_pages_that_a_compaction_moves_are_found: MoveDirtyPages within 300,
    a_file_cut_before_its_root_is_stable_is_found: CutBeforeRoot within 3_000,
}

// An archive.
finds! {
    |seed| if has_archive(seed) { search(seed, &mut Tally::default()) } else { Ok(()) };
    a_tree_left_by_an_interrupted_build_is_found: KeepTreeOfNumber within 6_000,
    a_load_past_the_log_is_found: LoadUnlogged within 300,
    a_restore_past_its_time_is_found: RestorePastTime within 300,
    trees_freed_in_the_middle_of_a_restore_are_found: FreeUnnamedBetween within 1_000,
}
