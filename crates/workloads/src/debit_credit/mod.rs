//! Debit-credit: a sum moves through an account, its teller and its branch, and is recorded in a history.
//!
//! Sources: the TPC-A and TPC-B standards (revisions 2.0 of 1994), pgbench's built-in scripts, Derby's
//! bank load (`BankTransactionClient`) and Berkeley DB's example `ex_tpcb`. Rules of all profiles:
//!
//! 1. Four tables: `branches`, `tellers` (10 per branch), `accounts` (`accounts` per branch, 100,000 in the
//!    standards) and `history`, which has no key. Row widths, with 4 bytes per identifier and 8 per balance
//!    or time, are 100 bytes, and 50 in the history.
//! 2. A transaction adds a signed delta to one balance in each table and records that in the history.
//!    Balances are changed by an addition in the store (`Set::Add`); with `branch=read-write`, the branch is
//!    read for update and written back, so that a hot row causes conflicts.
//! 3. If tellers belong to branches, the branch is the teller's.
//!
//! | profile | steps in order | account | delta | filler | opens with |
//! |---|---|---|---|---|---|
//! | `tpcb`, `tpca` | account, history, teller, branch, balance | 85 % of the branch, else of another | -999,999 to 999,999 | letters | 0 |
//! | `derby` | the same | the same | -99,999 to 99,999 | letters | 0 |
//! | `pgbench` | account, balance, teller, branch, history | any, all three independent | -5,000 to 5,000 | none; accounts 84 blanks | 0 |
//! | `pgbench-simple-update` | account, balance, history | the same | the same | the same | 0 |
//! | `pgbench-select-only` | balance | the same | - | the same | 0 |
//! | `berkeley` | account, branch, teller, history | any, all three independent | always 10 | letters; history rows of 100 bytes without a time | 500,000 |
//!
//! `tpca` differs from `tpcb` in its arrivals: in a closed loop each client is a terminal that thinks before
//! each transaction, exponentially distributed with a mean of 10 s; in an open loop transactions arrive at
//! the planned rate. Both require 90 % of the responses within 2 s. Both report the ratio of their rate to
//! what their scale permits, one transaction per second for each branch.
//!
//! Over a network, each statement of pgbench's three profiles waits for the answer to the previous one, as in
//! pgbench; those of the others share round trips.
//!
//! Deviations: no space is reserved for 30 or 90 days of history. Derby declares a teller's balance too
//! narrow, so its delta has five digits. The time in a history row is a counter, so that equal seeds give
//! equal rows. `ex_tpcb` reads each record and writes it back, and has an initial history.
//!
//! | file | what it holds |
//! |---|---|
//! | `options.rs`, `profile.rs` | options; the profiles as data |
//! | `schema.rs`, `tables.rs` | the workload; its tables and operations |
//! | `load.rs`, `transactions.rs` | the initial rows; the client |
//! | `check.rs`, `history_check.rs` | the checks; the check of the history row by row |

mod check;
mod history_check;
mod load;
mod options;
mod profile;
mod schema;
mod tables;
mod transactions;

pub use options::{Branch, Options, Think};
pub use profile::Profile;
pub use schema::DebitCredit;
pub use transactions::{DebitCreditClient, Tally};
