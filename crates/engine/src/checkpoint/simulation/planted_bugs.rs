//! The simulation's own test: it must find every planted bug within a budget of seeds, and must find
//! nothing in the same seeds without it.

use super::search::{Tally, search};
use crate::plant::{Plant, with};

/// The first seed below the budget that shows the bug.
fn first_seed_that_finds(plant: Plant, budget: u64) -> Option<(u64, String)> {
    // A planted bug may also trip an assertion; that is found too.
    let found = |seed| {
        let searched =
            std::panic::catch_unwind(|| with(Some(plant), || search(seed, &mut Tally::default())));
        match searched {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some((seed, why)),
            Err(_) => Some((seed, "an assertion failed".to_owned())),
        }
    };
    (0..budget).find_map(found)
}

macro_rules! finds {
    ($($name:ident: $plant:ident within $budget:literal,)*) => {
        $(
            #[test]
            fn $name() {
                let found = first_seed_that_finds(Plant::$plant, $budget);
                let (seed, why) = found.expect("the simulation finds the planted bug");
                println!("{:?}: seed {seed}: {why}", Plant::$plant);
            }
        )*
    };
}

finds! {
    a_slot_taken_twice_is_found: ReusePendingSlot within 20,
    a_root_before_its_pages_is_found: RootBeforePages within 20,
    a_root_before_the_horizon_is_found: RootBeforeHorizon within 20,
    slots_freed_before_the_root_is_stable_are_found: FreeBeforeRootStable within 50,
    skipped_page_checksums_are_found: SkipPageChecksum within 50,
    roots_in_one_block_are_found: RootsInOneBlock within 100,
    a_swallowed_sync_error_is_found: SwallowDataSyncError within 100,
    a_root_that_is_not_made_sure_of_is_found: SkipRestatement within 300,
}
