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
}
