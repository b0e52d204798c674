//! Short: one point operation in each of 1 to 8 tables, to measure the cost of starting a transaction, and of
//! each table and index in it.
//!
//! Source: the bigdata performance notes ask for the cost of starting a transaction, and of each index in it;
//! the grid is Syncline's. Rules:
//!
//! 1. `tables` tables have `rows` rows: a key from 0, a count, and `indexes` integer columns, each with a
//!    unique index.
//! 2. A transaction draws a number and accesses the row with that number in every table. `do=read` reads it
//!    by its key, and again through each index. `do=update` adds one to its count and changes every indexed
//!    column, so that each index must be updated.
//! 3. The values of the indexed columns are the row's number plus a multiple of `rows`, the same in all
//!    columns and tables. So they stay unique, and a partial transaction is detected.
//!
//! The cost of a start is the time with one table and no index, minus that of each further one. Vary `tables`
//! and `indexes` and compare with the null target.

mod check;
mod schema;
mod transactions;

pub use schema::{Do, Options, Short};
pub use transactions::{ShortClient, Tally};
