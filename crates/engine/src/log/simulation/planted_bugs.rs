//! Tests the simulation: it must find every planted bug within a budget of seeds, and must find nothing in
//! the same seeds without it.

use super::search::{Tally, search};
use crate::seeds::finds;

finds! {
    |seed| search(seed, &mut Tally::default());
    acknowledging_before_the_sync_is_found: AcknowledgeBeforeSync within 50,
    a_skipped_checksum_is_found: SkipChecksum within 200,
    a_skipped_directory_sync_is_found: SkipDirectorySync within 100,
    a_swallowed_sync_error_is_found: SwallowSyncError within 400,
    a_durable_lsn_past_a_gap_is_found: DurablePastGap within 200,
    a_header_after_its_frames_is_found: HeaderAfterFrames within 100,
    a_new_checksum_for_torn_bytes_is_found: ReChecksum within 200,
    a_group_off_by_one_is_found: GroupOffByOne within 50,
    old_frames_accepted_after_recovery_are_found: NoContinuesAfter within 1_000,
    a_log_of_another_database_is_found: AnyDatabase within 20,
    an_uncertain_tail_that_is_not_copied_is_found: SkipTailCopy within 100,
    damage_taken_for_the_end_is_found: TruncateDamage within 100,
    a_hole_in_the_segments_is_found: HoleInSegments within 100,
    a_piece_that_counts_as_a_record_is_found: FragmentCommits within 200,
    growth_that_is_not_synced_is_found: UnsyncedGrowth within 400,
}

// Files of different sizes.
finds! {
    |seed| search(4 * seed + 1, &mut Tally::default());
    a_free_file_that_is_emptied_to_lengthen_it_is_found: RefillFreeFile within 100,
    interrupted_growth_that_stays_is_found: KeepInterruptedGrowth within 300,
    a_tail_in_a_file_that_is_too_small_is_found: TailIntoSmallFile within 500,
}

// An archive.
finds! {
    |seed| search(4 * seed + 2, &mut Tally::default());
    a_file_that_is_free_before_its_segment_is_archived_is_found: FreeBeforeArchived within 200,
    a_segment_archived_under_its_own_name_is_found: ArchiveUnderItsName within 100,
    an_archived_segment_that_is_not_synced_is_found: ArchiveUnsynced within 100,
}

// A cap on all files.
finds! {
    |seed| search(4 * seed + 3, &mut Tally::default());
    a_cap_without_room_for_recovery_is_found: NoRoomForRecovery within 200,
    growth_past_the_cap_is_found: GrowPastCap within 200,
}
