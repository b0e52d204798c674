//! Rows: the columns outside the key, as the value in the table's tree.
//!
//! Format, numbers little-endian; n, f and v are the counts of nullable, fixed and variable columns of
//! the version (see `schema/layout.rs`):
//!
//! | bytes | contents |
//! |---|---|
//! | 2 | the schema's version in the lower 15 bits; the highest bit: ends are wide |
//! | (n + 7) / 8 | a bit for each nullable column, least first, 1 = null; unused bits are 0 |
//! | 8 f | the fixed columns; zero where null |
//! | (v - 1) w | where each variable column but the last ends, from the end of this part; w is 2, or 4 if wide |
//! | the rest | the variable columns' bytes; none where null |
//!
//! Invariants:
//! 1. A column is read from its own slot, whatever the others hold; a fixed one is changed in place.
//! 2. The row ends where its last variable column does, or with the fixed ones if there is none.
//! 3. Key columns are not in the row: they are in the key.
//! 4. A row of an older version is read as if it held the defaults of the columns added since.
//! 5. What a row holds of a removed column is never read; a new row holds nothing in its slot.
//! 6. No bytes make reading panic: undecodable ones are [`Malformed`].
//!
//! [`Malformed`]: super::key::Malformed

mod entry;
mod owned;
mod raw;
mod read;
#[cfg(test)]
mod tests;
mod text_runs;
mod write;

pub(crate) use entry::{Entries, Entry, entry_key, primary_key_of};
pub(crate) use owned::OwnedBytes;
pub(crate) use raw::{Raw, VERSION_MASK, WIDE, end_at, set_end};
pub(crate) use read::RowView;
pub use text_runs::{TextRun, Texts};
pub(crate) use write::{check, encode};
