//! Join: all rows of a small table with those of a large one of equal key; Derby's load.
//!
//! Source: Derby's `IndexJoinClient` and `WisconsinFiller`, whose figures were published for 10,000 and
//! 1,000 rows, joined to 1,000; the tables are those of the Wisconsin benchmark (1983). Rules:
//!
//! 1. Tables `tenktup1` of `rows` rows and `onektup` of `joined` rows, of the 13 integer and 3 text
//!    columns of that benchmark: `unique1` and `unique2` are permutations of the row numbers, the others
//!    follow from `unique1`.
//! 2. One transaction joins them on `unique1` and fetches every column of every resulting row.
//! 3. `by=key` makes `unique1` the primary key. `by=index` makes `unique2` the primary key and puts a
//!    unique index on `unique1`, as in the source.
//!
//! The check counts what each transaction was answered: as many rows as the small table has, of equal
//! keys, each key once.
//!
//! Deviations: of the indexes that the source makes, only the one that is used.

mod schema;
mod transactions;
mod wisconsin_rows;

pub use crate::lookup::By;
pub use schema::{Join, Options};
pub use transactions::{JoinClient, Tally};
