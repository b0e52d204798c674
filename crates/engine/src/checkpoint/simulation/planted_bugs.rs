//! Tests the simulation: it must find every planted bug within a budget of seeds, and must find nothing in
//! the same seeds without it.

use super::search::{Tally, search};
use crate::seeds::finds;

finds! {
    |seed| search(seed, &mut Tally::default());
    a_slot_taken_twice_is_found: ReusePendingSlot within 20,
    a_slot_freed_under_another_image_is_found: FreeSharedSlot within 20,
    an_image_that_its_next_write_begins_again_is_found: RestartImageInNextWrite within 20,
    a_root_before_its_pages_is_found: RootBeforePages within 20,
    a_root_before_the_log_is_durable_is_found: RootBeforeDurable within 20,
    slots_freed_before_the_root_is_stable_are_found: FreeBeforeRootStable within 50,
    skipped_page_checksums_are_found: SkipPageChecksum within 50,
    roots_in_one_block_are_found: RootsInOneBlock within 100,
    a_swallowed_sync_error_is_found: SwallowDataSyncError within 100,
    an_upgrade_that_keeps_map_pages_is_found: KeepOldMapPages within 100,
    a_root_that_opening_does_not_rewrite_is_found: SkipRestatement within 300,
}
