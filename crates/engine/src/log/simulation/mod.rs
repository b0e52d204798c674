//! Deterministic simulation of the log: one thread, one seed, the same steps each time.
//!
//! A *harness* is a simulated disk, a log on it, and an *oracle* that remembers which commits were published,
//! acknowledged and recovered. An *episode* is a number of random steps: commits, I/O requests begun,
//! performed and completed in any order, files prepared, commits released, until the power fails or a fault
//! occurs. Then every kind of crash image is recovered and checked against the oracle, recovery itself is
//! interrupted at its I/Os, twice in a row, and the next episode continues from one of the images. Files of
//! some images are lost or changed (`corruption`): such a log is refused, or everything is there
//! nevertheless.
//!
//! Planted bugs test that the simulation finds what it is meant to find: it must find each of them within a
//! budget of seeds. `SYNCLINE_SEED=n` replays a failing seed, and `SYNCLINE_SEEDS=count` tries more seeds
//! than the default ones.

pub(crate) mod corruption;
mod episode;
mod exhaustive;
mod oracle;
mod planted_bugs;
mod search;
