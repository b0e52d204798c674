//! Join: all rows of a small table with the rows of a large one with equal keys; Derby's load.
//!
//! Source: Derby's `IndexJoinClient` and `WisconsinFiller`, whose figures were published for 10,000 and
//! 1,000 rows, joined to 1,000; the tables are those of the Wisconsin benchmark (1983). Rules:
//!
//! 1. Table `tenktup1` with `rows` rows and `onektup` with `joined` rows have the 13 integer and 3 text
//!    columns of that benchmark: `unique1` and `unique2` are permutations of the row numbers, the others
//!    follow from `unique1`.
//! 2. A transaction joins them on `unique1` and fetches every column of every resulting row.
//! 3. `by=key` makes `unique1` the primary key. `by=index` makes `unique2` the primary key and adds a
//!    unique index on `unique1`, as in the source.
//!
//! The check verifies the answer of each transaction: as many rows as the small table has, with equal keys,
//! each key once.
//!
//! Deviations: of the source's indexes, only the one used is created.

mod schema;
mod transactions;
mod wisconsin_rows;

pub use crate::lookup::By;
pub use schema::{Join, Options};
pub use transactions::{JoinClient, Tally};
