//! A plan as SQL text, for every store that speaks SQL: tables, and one statement an operation.
//!
//! | file | what stands in it |
//! |---|---|
//! | `dialect.rs` | where products differ, as data: one [`Dialect`] a product |
//! | `text.rs` | a statement as it grows: quoted names, placeholders and their order |
//! | `tables.rs` | what makes the tables and indexes |
//! | `statement.rs` | the statement of an operation |
//! | `users.rs` | a statement that a user brought |
//!
//! 1. One generator: a product that needs another text adds a field to [`Dialect`], not a copy.
//! 2. Every name is quoted, so no name can be mistaken for a product's keyword.
//! 3. Numbered placeholders bear the plan's numbers. A dialect without numbers gets its parameters in
//!    the order of the text: [`Statement::order`] says which of the plan's stands in each place.

mod dialect;
mod statement;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod users;

pub use dialect::{
    ColumnTypes, Dialect, MYSQL, POSTGRES, Placeholder, SQLITE, Upsert, VaryingType,
};
pub use text::{Sql, Statement};
