//! Schemas: the columns of a table's rows, the primary key, and the indexes.
//!
//! A [`Schema`] is a table's whole definition. It is built with [`Schema::table`], checked once, and never
//! changes; a change of columns or indexes makes a new schema. Rows keep the version at which they were
//! written, so that columns can be added, renamed and removed without touching a row.
//!
//! Invariants, checked when a schema is made and when one is read back:
//! 1. Names of columns are unique in the table, names of indexes too; no name is empty or too long.
//! 2. The primary key has at least one column, names none twice, and none of its columns may be null.
//! 3. Versions never decrease from one column to the next: additions are at the end.
//! 4. A column that was added later may be null or has a default; no default is null.
//! 5. A removed column is in no key and no index.
//!
//! | file | what it holds |
//! |---|---|
//! | `builder.rs` | a chain of calls that ends in `build` |
//! | `definition.rs` | a table's definition, checked and prepared for use |
//! | `column.rs`, `value.rs`, `owned_value.rs` | columns, key columns and indexes; the values of columns |
//! | `date.rs`, `uuid.rs` | days of the calendar; UUIDs |
//! | `conversions.rs` | conversions between values and the types of Rust |
//! | `change.rs` | the next schema: a column added, renamed or removed, an index added or removed |
//! | `layout.rs`, `key_shape.rs` | the slots of columns in a row, for each version; the shape of a key |
//! | `random.rs`, `tests.rs` | random schemas and values for tests; tests |

mod builder;
mod change;
mod column;
mod conversions;
mod date;
mod definition;
mod key_shape;
mod layout;
mod owned_value;
#[cfg(test)]
pub(crate) mod random;
#[cfg(test)]
mod tests;
mod uuid;
mod value;

pub use builder::{Builder, KeyPart, asc, desc};
pub use column::{Collation, Column, Index, KeyColumn};
pub(crate) use column::{DefaultValue, RemovedColumn};
pub use conversions::{AsValue, ColumnType, FromValue};
pub use date::Date;
pub(crate) use definition::Definition;
pub use definition::Schema;
pub(crate) use key_shape::{KeyShape, Part};
pub(crate) use layout::{BLOCK_DEFAULT, BLOCK_NULLABLE, BLOCK_VARIABLE, ColumnSlot, Layout};
pub use owned_value::OwnedValue;
pub use uuid::Uuid;
pub use value::{Decimal, Kind, Value};
