//! Seeds of simulations: which ones to run, and whether they find planted bugs.

use crate::planted_bug::{PlantedBug, with};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use syncline_instrument::clock;

/// The number in an environment variable, if it is set.
pub(crate) fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The seeds that the environment names: `SYNCLINE_SEED`, or `SYNCLINE_SEEDS` seeds from `SYNCLINE_FROM` on;
/// without `SYNCLINE_FROM` the first seed differs each time. `usual` if the environment names none.
pub(crate) fn asked_seeds(usual: impl FnOnce() -> Vec<u64>) -> Vec<u64> {
    match (asked("SYNCLINE_SEED"), asked("SYNCLINE_SEEDS")) {
        (Some(seed), _) => vec![seed],
        (None, Some(count)) => {
            let from = asked("SYNCLINE_FROM").unwrap_or_else(clock::wall);
            (0..count).map(|seed| from.wrapping_add(seed)).collect()
        }
        (None, None) => usual(),
    }
}

/// The number of threads that search seeds (`SYNCLINE_THREADS`, default 1).
pub(crate) fn asked_threads() -> u64 {
    asked("SYNCLINE_THREADS").unwrap_or(1)
}

/// Searches seeds on several threads until one finds something; returns the sum of all tallies and the
/// finding.
pub(crate) fn search_seeds<T: Default + Send>(
    (seeds, threads): (&[u64], u64),
    search: impl Fn(u64, &mut T) -> Result<(), String> + Sync,
    add: impl Fn(&mut T, &T) + Sync,
) -> (T, Option<String>) {
    let next = AtomicU64::new(0);
    let found = Mutex::new((T::default(), None));
    let work = || {
        let mut tally = T::default();
        while let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
            if let Err(why) = caught(|| search(seed, &mut tally)) {
                next.store(seeds.len() as u64, Ordering::Relaxed);
                let why = format!("seed {seed}: {why}; replay it with SYNCLINE_SEED={seed}");
                let mut found = found.lock().expect("no searcher panics");
                found.1.get_or_insert(why);
            }
        }
        add(&mut found.lock().expect("no searcher panics").0, &tally);
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    found.into_inner().expect("no searcher panics")
}

/// The result of a search; a failed assertion counts as a finding.
pub(crate) fn caught(search: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    match catch_unwind(AssertUnwindSafe(search)) {
        Ok(searched) => searched,
        Err(panic) => {
            let what = panic.downcast_ref::<String>().map(String::as_str);
            let what = what.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("an assertion failed: {}", what.unwrap_or("unknown")))
        }
    }
}

/// The first seed below the budget that reveals the bug, and how.
pub(crate) fn first_that_finds(
    plant: PlantedBug,
    budget: u64,
    search: impl Fn(u64) -> Result<(), String>,
) -> Option<(u64, String)> {
    let found = |seed| caught(|| with(Some(plant), || search(seed))).err().map(|why| (seed, why));
    (0..budget).find_map(found)
}

/// Generates a test per planted bug: `search` must find it within a budget of seeds.
macro_rules! finds {
    ($search:expr; $($name:ident: $plant:ident within $budget:literal,)*) => {
        $(
            #[test]
            fn $name() {
                let plant = crate::planted_bug::PlantedBug::$plant;
                let found = crate::seeds::first_that_finds(plant, $budget, $search);
                let (seed, why) = found.expect("the simulation finds the planted bug");
                println!("{plant:?}: seed {seed}: {why}");
            }
        )*
    };
}

pub(crate) use finds;
