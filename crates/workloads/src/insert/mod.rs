//! The insert workload: prepared inserts of an integer key and a varchar(100), and a commit every n.
//!
//! Source: the mail of 2002 that ran 10,000 prepared single-insert commits per database, and the
//! article of 2008 that varied how many inserts share a commit. Rules:
//!
//! 1. One table, `inserts(id, body)`; one transaction, "insert", of `commit_every` inserts.
//! 2. Keys are `ascending` (all clients append at one end, each at numbers of its own), `random` (the
//!    same numbers through a permutation of 63 bits, so spread evenly and still distinct) or given by
//!    the `server`.
//! 3. A body is 100 characters that follow from seed, client and row alone ([`Body`]): the check
//!    recomputes each instead of remembering any, and no store gains by compressing a filler.
//! 4. A transaction that was undone is tried again with the same numbers under a new draw, so that
//!    the acknowledged rows of a client are consecutive but for the transactions of unknown outcome.
//!
//! Deviations from the sources: they inserted from one client and a constant text; clients here are
//! as many as asked for and bodies differ. They could not tell a lost row; the check can.

mod body;
mod check;
mod keys;
mod schema;
mod transactions;

pub use body::{BODY_BYTES, Body};
pub use keys::Keys;
pub use schema::{Insert, Options};
pub use transactions::{InsertClient, Tally};
