//! Deterministic simulation of the log: one thread, one seed, the same steps each time.
//!
//! A *harness* is a simulated disk, a log on it, and an *oracle* that remembers what was published,
//! acknowledged and handed out. An *episode* is a number of random steps: commits, I/O requests begun, done
//! and brought back in any order, files prepared, commits released, until the power goes off or a fault
//! strikes. Then every kind of crash image is recovered and held against the oracle, recovery itself is cut
//! at its I/Os, twice over, and one of the images goes on. Files of some images are lost or changed
//! (`spoil`): such a log is refused, or everything is there all the same.
//!
//! That the simulation sees what it looks for is tested by planted bugs: it must find each of them
//! within a budget of seeds. A seed that fails is replayed by its number, `SYNCLINE_SEED=n`; more seeds
//! than the usual ones are tried by `SYNCLINE_SEEDS=count`.

pub(crate) mod corruption;
mod episode;
mod exhaustive;
mod oracle;
mod planted_bugs;
mod search;
