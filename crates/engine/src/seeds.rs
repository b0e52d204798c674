//! Seeds of simulations: which are asked for, and whether they find planted bugs.

use crate::plant::{Plant, with};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The number in an environment variable, if it is set.
pub(crate) fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What a search has found; a failed assertion is found, too.
pub(crate) fn caught(search: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    match catch_unwind(AssertUnwindSafe(search)) {
        Ok(searched) => searched,
        Err(panic) => {
            let what = panic.downcast_ref::<String>().map(String::as_str);
            let what = what.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!(
                "an assertion failed: {}",
                what.unwrap_or("unknown")
            ))
        }
    }
}

/// The first seed below the budget that shows the bug, and how.
pub(crate) fn first_that_finds(
    plant: Plant,
    budget: u64,
    search: impl Fn(u64) -> Result<(), String>,
) -> Option<(u64, String)> {
    let found = |seed| {
        caught(|| with(Some(plant), || search(seed)))
            .err()
            .map(|why| (seed, why))
    };
    (0..budget).find_map(found)
}

/// A test for each planted bug: `search`, given a seed, must find it within a budget of seeds.
macro_rules! finds {
    ($search:expr; $($name:ident: $plant:ident within $budget:literal,)*) => {
        $(
            #[test]
            fn $name() {
                let plant = crate::plant::Plant::$plant;
                let found = crate::seeds::first_that_finds(plant, $budget, $search);
                let (seed, why) = found.expect("the simulation finds the planted bug");
                println!("{plant:?}: seed {seed}: {why}");
            }
        )*
    };
}

pub(crate) use finds;
