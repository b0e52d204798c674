//! The catalogue: the definitions of tables and indexes, as rows of tree 1.
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
//! | columns | 2 count; each: name, 1 kind, 1 scale, 1 flags (bit 0 nullable, 1 default, 2 removed), 2 since, default |
//! | default | fixed kinds: 8 bits; text and bytes: 2 length, the bytes |
//!
//! Kinds: 1 integer, 2 float, 3 decimal, 4 text, 5 bytes, 6 timestamp.
//!
//! States: `ready` (in use) is the only one that is written. Earlier programs also left `building` and
//! `dropping` when they were interrupted; opening drops the trees of those.
//!
//! Invariants:
//! 1. Object numbers and tree numbers are used once and never again. Numbers of definitions that were never
//!    committed are used up in memory; opening uses up those that the data file names.
//! 2. A ready table's name is unique; so is an index's within its table.
//! 3. A table's generation increases with each change of its definition or of its indexes.
//! 4. The order of a table's indexes is the order of their object numbers.
//! 5. A [`Catalog`] is a value: a change makes a new one, and [`Catalog::changes_to`] returns the rows of
//!    tree 1 that differ. So nothing in memory has to be undone when such a commit fails. Catalogues share
//!    their equal parts, and a change names its tables: its cost depends on the changed tables and
//!    logarithmically on all tables.
//!    logarithm of all tables.
//!
//! | file | contents |
//! |---|---|
//! | `value`, `table` | the catalogue in memory, and its tables and indexes |
//! | `change` | changes, each of which makes a new catalogue |
//! | `codec`, `bytes` | its rows, encoded and decoded |
//! | `fuzzing`, `tests` | fuzzing, tests |

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
