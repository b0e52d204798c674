//! Transfers between accounts, a few of which take part in most: two rows are read and written in each
//! serializable transaction.
//!
//! Source: the shape of `SpacetimeDB`'s public comparison of stores (`templates/keynote-2`, 2026): 100,000
//! accounts, drawn by Zipf with an exponent of 1.5, a sum moved from one to another if the balance allows it.
//! Its own figures come of clients that differ from store to store; here they are the same. Rules:
//!
//! 1. One table, `accounts`: the account's number, its balance, and how many transfers it has taken part in.
//! 2. A transfer draws two different accounts, each by true Zipf over all of them (the first is the most
//!    frequent), and a sum of 1 to 10. It reads both accounts for update, the lower number first, so that
//!    stores that lock rows do not deadlock. It aborts if the payer has less than the sum, and writes both
//!    rows otherwise.
//! 3. `profile` is the exponent: 1.5, where the first account takes part in two of three transfers, 1.2, 0.9,
//!    or `uniform`.
//!
//! The check: all money is there, no balance is below zero, and the accounts have counted each committed
//! transfer twice. The last finds commits that were acknowledged and lost, which moves no money.

mod check;
mod options;
mod schema;
mod transactions;

pub use options::{Options, Profile};
pub use schema::Transfer;
pub use transactions::{Tally, TransferClient};
