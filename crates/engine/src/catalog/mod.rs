//! The catalogue: which tables and indexes there are, as rows of tree 1.
//!
//! Rows of the tree; numbers in keys are big-endian, in values little-endian:
//!
//! | key | value |
//! |---|---|
//! | 0 | format 1, next object (u32), next tree (u32) |
//! | 1, object (u32) | a table: format 1, state, tree (u32), generation (u32), name, key, columns |
//! | 2, object (u32) | an index: format 1, state, tree (u32), table's object (u32), name, unique (0 or 1), key |
//!
//! | part | bytes |
//! |---|---|
//! | name | 1 length, the UTF-8 bytes |
//! | key | 1 count; each: 2 column, 1 flags (bit 0 descending, bit 1 nulls first), 1 collation (0 binary) |
//! | columns | 2 count; each: name, 1 kind, 1 scale, 1 flags (bit 0 nullable, bit 1 default), 2 since, default |
//! | default | fixed kinds: 8 bits; text and bytes: 2 length, the bytes |
//!
//! Kinds: 1 integer, 2 float, 3 decimal, 4 text, 5 bytes, 6 timestamp.
//!
//! States: `ready` (in use) is the only one that is written. Earlier programs also left `building` and
//! `dropping` behind when they were cut off; opening drops the trees of those.
//!
//! Invariants:
//! 1. Object numbers and tree numbers are given once and never again, whatever becomes of them. Numbers
//!    of what was never committed are spent in memory; opening spends those that the data file names.
//! 2. A ready table's name is its own; so is an index's within its table.
//! 3. A table's generation rises with each change of its definition or of its indexes.
//! 4. The order of a table's indexes is the order of their object numbers.
//! 5. A [`Catalog`] is a value: a change makes another one, and [`Catalog::changes_to`] says which rows of
//!    tree 1 tell them apart. So nothing in memory is to be undone when such a commit fails. Catalogues
//!    share what is equal in them, and a change names its tables: it costs what it changes, and a
//!    logarithm of all tables.

mod bytes;
mod change;
mod codec;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod table;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use table::{IndexEntry, TableEntry};
pub(crate) use value::{CATALOG_TREE, Catalog};
