//! Deterministic simulation of the whole database: one thread, one seed, the same steps each time.
//!
//! A *harness* is a simulated disk with a database on it, and an *oracle* that records what every commit did.
//! An *episode* is a number of random steps: single statements of several sessions, commits, waits for some
//! of the tickets, definitions of tables and indexes, checkpoints and backups step by step, until a power
//! loss or a fault. Then crash images of every kind are opened and compared with the oracle, the opening
//! itself is interrupted at its I/Os, two levels deep, and the next episode starts from one of the images. In
//! some images a file is missing, emptied, zeroed or truncated: such a database must be refused, or hold
//! everything all the same.
//!
//! What must hold:
//! 1. An opened database holds exactly what the first `p` commits did, in the order of their numbers,
//!    each whole; `p` is not before any commit that was acknowledged.
//! 2. Opening again, also after an interrupted opening, gives the same.
//! 3. `verify` reports nothing, and no ghost of a deleted row is left.
//! 4. The answers to a transaction fit the state at its read point; if it is serializable and commits writes,
//!    also the state just before its own commit. A refusal is justified. An index entry that a scan returns
//!    leads to its row as the transaction sees it, or to the refusal that its commit would get.
//! 5. A backup that is complete survives a power loss at once, and holds its commit's state.
//! 6. With an archive, any backup is restored to any commit since then that a crash has left.
//!
//! | file | what it holds |
//! |---|---|
//! | `harness.rs` | the disk, the options, opening |
//! | `oracle.rs` | the effects of commits, and the check of an opened database |
//! | `rows.rs` | typed rows, keys and patches at random |
//! | `transaction.rs`, `client.rs` | a transaction as the oracle sees it; a session that runs it |
//! | `episode.rs`, `statement.rs`, `definitions.rs` | the steps of an episode |
//! | `backups.rs`, `restores.rs` | backups whose steps run between the others; restores of them |
//! | `concurrent_steps.rs` | a second thread's work between the steps of a commit |
//! | `executor_pass.rs` | an executor's pass: a batch held and released |
//! | `online_index_build.rs` | an index built concurrently with a writer |
//! | `corruption.rs` | files that are lost or changed after a crash |
//! | `search.rs` | from a seed to a violation, or none |
//! | `exhaustive.rs` | a power loss at every I/O of a small episode, and of its openings |
//! | `planted_bugs.rs`, `seeds.rs` | the positive control of the simulation; the search over many seeds |
//!
//! A failing seed is replayed with
//!
//! ```text
//! SYNCLINE_SEED=n cargo test -p syncline-engine --lib database::simulation::seeds -- --nocapture
//! ```
//!
//! `SYNCLINE_SEEDS=count` tries n new seeds, or those from `SYNCLINE_FROM=n` on, and `SYNCLINE_THREADS=count`
//! spreads them over threads. With `--profile long-tests` a core does about ten thousand cycles of crash and
//! recovery a second, about forty of them per seed: a million cycles are 25,000 seeds, or two minutes on one
//! core of a quiet machine. Without optimization it takes eight times as long.

mod backups;
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
mod restores;
mod rows;
mod search;
mod seeds;
mod statement;
mod transaction;
