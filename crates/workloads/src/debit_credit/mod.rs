//! Debit-credit: a sum moves through an account, its teller and its branch, and into a history.
//!
//! Sources: the TPC-A and TPC-B standards (revisions 2.0 of 1994), pgbench's built-in scripts, Derby's
//! bank load (`BankTransactionClient`) and Berkeley DB's example `ex_tpcb`. Rules of all profiles:
//!
//! 1. Four tables: `branches`, `tellers` (10 a branch), `accounts` (`accounts` a branch, 100,000 by the
//!    standards) and `history`, which has no key. Row widths, at 4 bytes an identifier and 8 a balance
//!    or time, are 100 bytes, and 50 in the history.
//! 2. One transaction adds a signed delta to a balance of each table and writes what it did into the
//!    history. Balances are changed by an addition in the store (`Set::Add`); with `branch=read-write`
//!    the branch is read for update and written back, so that a hot row shows as conflicts.
//! 3. Where tellers belong to branches, the branch is the teller's.
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
//! `tpca` differs from `tpcb` in its arrivals: in a closed loop each client is a terminal that thinks,
//! exponentially distributed with a mean of 10 s, before each transaction; in an open loop transactions
//! arrive at the rate of the plan. Both judge 90 % of the responses by 2 s. Both say how their rate
//! stands to what their scale allows, one transaction a second for each branch.
//!
//! Over a network each statement of pgbench's three profiles waits for the answer to the one before, as
//! pgbench sends them; those of the others share round trips.
//!
//! Deviations: the space for 30 or 90 days of history is not reserved. Derby declares a teller's balance
//! too narrow and takes a delta of five digits. The time in a history row is a count, so that equal seeds
//! give equal rows. `ex_tpcb` reads each record and writes it back, and keeps a loaded history.

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
