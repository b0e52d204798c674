//! Concurrent transactions: puts and removals of random keys in an initially empty table; some of them abort
//! on purpose.
//!
//! Source: bigdata's `StressTestConcurrent` of 2007. Rules:
//!
//! 1. One table with keys of `key_len` random bytes, empty at first. A transaction consists of `nops`
//!    operations: 89 % put a value under a random key, existing or not, 11 % remove a key.
//! 2. `aborts` percent of the transactions, 11 in the source, abort themselves.
//! 3. A value identifies the client that wrote it, its transaction and its operation.
//!
//! The operations of a transaction follow from the seed, the client and the number of the transaction, so the
//! check regenerates them instead of remembering them. It compares the table with the possible results of the
//! transactions:
//!
//! - for one client, a later committed transaction overrides an earlier one;
//! - between clients every order is possible, because the actual order is unknown;
//! - a transaction with an unknown outcome may have happened or not.
//!
//! So a key holds the last operation of some client that was not followed by a committed one of that client;
//! and it is absent only if that operation was a removal, or if no committed transaction touched it. Without
//! the order of commits nothing more can be said. This is checked for all keys whose hash is in a fraction
//! chosen so that at most 4 million operations are remembered. For the other keys, each value must be the
//! last one under its key in a transaction that was not rolled back.
//!
//! Deviations: the source counted its aborts as commits too; here an abort is neither a commit nor a failure.
//! Its values were five random bytes. Every record contains the failures by cause, and the aborts separately.

mod check;
mod operations;
mod schema;
mod transactions;

pub use schema::{ConcurrentTx, Options};
pub use transactions::{ConcurrentTxClient, Tally};
