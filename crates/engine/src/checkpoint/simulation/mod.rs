//! Deterministic simulation of the data file: one thread, one seed, the same steps each time.
//!
//! A *harness* is a simulated disk, a data file on it, and a *model*: the states that may be found when
//! the file is opened, as plain maps of pages. An *episode* is some checkpoints of synthetic pages until the
//! power goes off, a fault strikes, or something on the disk is spoiled. Then every kind of crash image
//! is opened and held against the model, and one of them goes on, so that cuts fall into openings and
//! into checkpoints after cut openings too.
//!
//! That the simulation sees what it looks for is tested by planted bugs: it must find each of them
//! within a budget of seeds. A seed that fails is replayed by its number, `SYNCLINE_SEED=n`; more seeds
//! than the usual ones are tried by `SYNCLINE_SEEDS=count`.

mod corruption;
mod exhaustive;
mod harness;
mod model;
mod planted_bugs;
mod search;
