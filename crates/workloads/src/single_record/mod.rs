//! Single records: `select` reads a random row, `update` changes its text; Derby's loads.
//!
//! Source: Derby's `SingleRecordFiller`, `SingleRecordSelectClient` and `SingleRecordUpdateClient`, whose
//! figures were published for 100,000 rows of about 100 bytes by primary key. Rules:
//!
//! 1. `tables` tables have `rows` rows: an integer key from 0 and a text of 100 characters, one of 16 fixed
//!    ones. The row is drawn uniformly, and so is the table if there are several.
//! 2. `by=key` finds the row by its primary key. `by=index` adds a column that holds the keys in another
//!    order, with a unique index, and finds the row through it; an update then changes the row by the key
//!    that it found.
//! 3. A select is one statement and one transaction; so is an update by key.
//!
//! Derby's variants are options: its big tables are `rows=100000000`, its hot rows `tables=32 rows=1`.
//!
//! Deviations: Derby draws the sequence of the indexed column; here it is a fixed permutation. Derby does not
//! check what it reads; here every text is compared, and after updates every row must hold a text that may
//! have been written last.

mod check;
mod options;
mod schema;
mod transactions;
mod written_texts;

pub use crate::lookup::By;
pub use options::{Access, Options, Reads, Select, Update, Writes};
pub use schema::SingleRecord;
pub use transactions::{SingleRecordClient, Tally};
