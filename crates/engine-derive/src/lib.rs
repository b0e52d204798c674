//! The derive macro of `syncline-engine`: a struct as the rows of a table.
//!
//! Use it through that crate, with its feature `derive`: its documentation of the trait `TableRow` describes
//! the attributes. Invariants:
//!
//! 1. What is generated names everything by its whole path, so that names at the place of use do not matter.
//! 2. A wrong attribute is a compile error at the attribute, in one sentence.

mod fields;
mod table_row;

use syn::{DeriveInput, Error, parse_macro_input};

/// Implements `TableRow` for a struct with named fields: see that trait.
#[proc_macro_derive(TableRow, attributes(row))]
pub fn derive_table_row(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    table_row::generated(&input).unwrap_or_else(Error::into_compile_error).into()
}
