//! Expressions of `\set`, `\if` and `\elif`: read once into a tree, evaluated by each client.
//!
//! Operators by rising precedence, of one line equal ones:
//!
//! | operators | of one precedence |
//! |---|---|
//! | `OR` | from the left |
//! | `AND` | from the left |
//! | `NOT` | before its operand |
//! | `IS [NOT] NULL`, `TRUE` or `FALSE`; `ISNULL`, `NOTNULL` | after its operand |
//! | `=` `<>` `!=` `<` `<=` `>` `>=` | no two side by side |
//! | `|` `#` `&` `<<` `>>`, `~` before its operand | from the left |
//! | `+` `-` | from the left |
//! | `*` `/` `%` | from the left |
//! | `-` `+` before an operand | |
//!
//! Null in gives null out; `AND`, `OR` and `CASE` compute only what they need, so that null on the left
//! of `AND` and `OR` is the answer whatever stands on the right. Integers that overflow are an error,
//! integer division cuts off towards zero, shifts take their distance modulo 64.

mod evaluate;
mod parse;
mod token;
mod tree;

pub(super) use parse::parse;
pub(super) use tree::Expression;
