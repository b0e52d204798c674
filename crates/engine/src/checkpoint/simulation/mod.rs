//! Deterministic simulation of the data file: one thread, one seed, the same steps each time.
//!
//! A *harness* is a simulated disk, a data file on it, and a *model*: the states that may be found when the
//! file is opened, as plain maps of pages. An *episode* is some checkpoints of synthetic pages until the
//! power fails, a fault is injected, or something on the disk is corrupted. Then every kind of crash image is
//! opened and checked against the model, and the next episode continues from one of them. So power losses
//! also hit openings, and checkpoints after interrupted openings.
//!
//! Planted bugs test that the simulation finds what it is meant to find: it must find each of them within a
//! budget of seeds. `SYNCLINE_SEED=n` replays a failing seed, and `SYNCLINE_SEEDS=count` tries more seeds
//! than the default ones.

mod corruption;
mod exhaustive;
mod harness;
mod model;
mod planted_bugs;
mod search;
