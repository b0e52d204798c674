//! Short: one point operation in each of 1 to 8 tables, to see what a transaction costs to start, and
//! each table and index in it.
//!
//! Source: the cost of starting a transaction, and an index within it, that the bigdata performance notes
//! ask about; the grid is ours. Rules:
//!
//! 1. `tables` tables of `rows` rows: a key from 0 on, a count, and `indexes` integer columns, each with a
//!    unique index.
//! 2. One transaction draws a number and goes to the row of that number in every table. `do=read` reads
//!    it by its key, and once more through each index. `do=update` adds one to its count and gives every
//!    indexed column another value, so that each index must follow.
//! 3. The values of the indexed columns are the row's number plus a multiple of `rows`, the same in all
//!    columns and tables: so that they stay unique, and a transaction that happened in part shows.
//!
//! Cost of a start: the time at one table and no index, less that of each further one. Sweep `tables`
//! and `indexes` and compare with the null target.

mod check;
mod schema;
mod transactions;

pub use schema::{Do, Options, Short};
pub use transactions::{ShortClient, Tally};
