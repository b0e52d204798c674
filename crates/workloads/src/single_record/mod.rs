//! Single records: `select` reads a random row, `update` gives it another text; Derby's loads.
//!
//! Source: Derby's `SingleRecordFiller`, `SingleRecordSelectClient` and `SingleRecordUpdateClient`, whose
//! figures were published for 100,000 rows of about 100 bytes by primary key. Rules:
//!
//! 1. `tables` tables of `rows` rows: an integer key from 0 on and a text of 100 characters, one of 16
//!    fixed ones. The row is drawn uniformly, and the table too where there are several.
//! 2. `by=key` finds the row by its primary key. `by=index` adds a column whose values are those of the
//!    key in another order, with a unique index, and finds the row through it; an update then changes the
//!    row of the key that it found.
//! 3. A select is one statement and a transaction of its own; an update likewise, by key.
//!
//! Derby's variants are options: its big tables are `rows=100000000`, its hot rows `tables=32 rows=1`.
//!
//! Deviations: Derby draws the sequence of the indexed column, here it is a fixed permutation. It does
//! not look at what it reads; here every text that is read is compared, and after updates every row must
//! hold a text that somebody may have written last.

mod check;
mod options;
mod schema;
mod transactions;
mod written_texts;

pub use crate::lookup::By;
pub use options::{Access, Options, Reads, Select, Update, Writes};
pub use schema::SingleRecord;
pub use transactions::{SingleRecordClient, Tally};
