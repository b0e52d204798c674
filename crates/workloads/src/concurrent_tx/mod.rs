//! Concurrent transactions: puts and removals of random keys in an initially empty table, some of them
//! aborted on purpose.
//!
//! Source: bigdata's `StressTestConcurrent` of 2007. Rules:
//!
//! 1. One table of keys of `key_len` random bytes, empty at first. One transaction is `nops` operations:
//!    89 % put a value under a random key, whether it is there or not, 11 % remove one.
//! 2. `aborts` of a hundred transactions, 11 in the source, end by an abort of their own.
//! 3. A value says which client wrote it, in which of its transactions and operations.
//!
//! The operations of a transaction follow from seed, client and the number of the transaction, so that
//! the check makes them again instead of remembering any. It compares the table with what transactions
//! may have left:
//!
//! - of one client, a later committed transaction has the last word over an earlier one;
//! - between clients every order is possible, since nobody knows it;
//! - a transaction of unknown outcome may have happened or not.
//!
//! So a key holds the last operation of some client that was not followed by a committed one of that
//! client; and it is absent only if that is so of a removal, or if nothing committed has touched it. That
//! is all that can be said without knowing the order of commits. It is held for every key whose hash is
//! in a part of all, chosen so that at most 4 million operations are remembered while checking; of the
//! other keys, each value must be the last under its key of a transaction that was not undone.
//!
//! Deviations: the source counted its aborts as commits too; an abort here is neither a commit nor a
//! failure. Its values were five random bytes. Failures by cause are in every record, the aborts beside.

mod check;
mod operations;
mod schema;
mod transactions;

pub use schema::{ConcurrentTx, Options};
pub use transactions::{ConcurrentTxClient, Tally};
