//! Deterministic simulation of the whole database: one thread, one seed, the same steps each time.
//!
//! A *harness* is a simulated disk with a database on it, and an *oracle* that remembers what every commit
//! did. An *episode* is a number of random steps: statements of several sessions one by one, commits,
//! tickets waited for or not, definitions of tables and indexes, checkpoints step by step, until the power
//! goes off or a fault strikes. Then every kind of crash image is opened and held against the oracle, the
//! opening itself is cut at its I/Os, twice over, and one of the images goes on. Files of some images
//! vanish, or are emptied, zeroed or cut: such a database is refused, or holds everything all the same.
//!
//! What must hold:
//! 1. An opened database holds exactly what the first `p` commits did, in the order of their numbers,
//!    each whole; `p` is not before any commit that was acknowledged.
//! 2. Opening again, also after an opening that was cut, gives the same.
//! 3. `verify` finds nothing, and no ghost of a deleted row is left.
//! 4. What a transaction is told fits the state at its read point; if it is serializable and commits
//!    writes, also the state just before its own commit. A refusal is true. An index entry that a scan
//!    finds leads to its row as the transaction sees it, or to the refusal that its commit would be.
//!
//! | file | what stands in it |
//! |---|---|
//! | `harness.rs` | the disk, the options, opening |
//! | `oracle.rs` | what commits did, and what must be found |
//! | `rows.rs` | typed rows, keys and patches by random |
//! | `transaction.rs`, `client.rs` | a transaction as the oracle sees it; a session that runs it |
//! | `episode.rs`, `statement.rs`, `definitions.rs` | the steps of an episode |
//! | `concurrent_steps.rs` | what happens in the middle of a commit |
//! | `executor_pass.rs` | an executor's pass: the log corked and uncorked |
//! | `online_index_build.rs` | an index built beside a writer |
//! | `corruption.rs` | files that are lost after a crash |
//! | `search.rs` | from a seed to a violation, or none |
//! | `exhaustive.rs` | every cut of a small episode, and every cut of its openings |
//! | `planted_bugs.rs`, `seeds.rs` | the simulation's own test; the search over many seeds |
//!
//! A seed that fails is replayed by its number, here as
//!
//! ```text
//! SYNCLINE_SEED=n cargo test -p syncline-engine --lib database::simulation::seeds -- --nocapture
//! ```
//!
//! `SYNCLINE_SEEDS=count` tries so many fresh ones, or those from `SYNCLINE_FROM=n` on, and
//! `SYNCLINE_THREADS=count` does it on so many threads. With `--profile long-tests` a core does some ten
//! thousand cycles of crash and recovery a second, about forty of them a seed: a million cycles are 25,000
//! seeds, some two minutes on one core of a quiet machine. Unoptimized it is eight times as long.

mod client;
mod concurrent_steps;
mod corruption;
mod definitions;
mod episode;
mod executor_pass;
mod exhaustive;
mod harness;
mod online_index_build;
mod oracle;
mod planted_bugs;
mod rows;
mod search;
mod seeds;
mod statement;
mod transaction;
