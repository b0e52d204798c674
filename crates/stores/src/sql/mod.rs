//! Generates the SQL text of a plan for every SQL store: tables, and one statement for each operation.
//!
//! | file | what it holds |
//! |---|---|
//! | `dialect.rs` | the differences between products, as data: one [`Dialect`] for each |
//! | `text.rs` | the statement builder: quoted names, placeholders and their order |
//! | `tables.rs` | the statements that create the tables and indexes |
//! | `statement.rs` | the statement of an operation |
//! | `users.rs` | statements of a user's script |
//!
//! 1. There is one generator: a product that needs another text adds a field to [`Dialect`], not a
//!    copy.
//! 2. Every name is quoted, so that none can be a product's keyword.
//! 3. Numbered placeholders have the plan's numbers. A dialect without numbers gets its parameters in
//!    the order of the text: [`Statement::order`] maps each placeholder to the plan's parameter.

mod dialect;
mod statement;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod text;
mod users;

pub use dialect::{
    ColumnTypes, Dialect, MYSQL, POSTGRES, Placeholder, SQLITE, Upsert, VaryingType,
};
pub use text::{Sql, Statement};
