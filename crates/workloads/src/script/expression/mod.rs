//! Expressions of `\set`, `\if` and `\elif`: parsed once into a tree, evaluated by each client.
//!
//! Operators by rising precedence; those in one row have the same:
//!
//! | operators | associativity |
//! |---|---|
//! | `OR` | left |
//! | `AND` | left |
//! | `NOT` | prefix |
//! | `IS [NOT] NULL`, `TRUE` or `FALSE`; `ISNULL`, `NOTNULL` | postfix |
//! | `=` `<>` `!=` `<` `<=` `>` `>=` | none |
//! | `|` `#` `&` `<<` `>>`, prefix `~` | left |
//! | `+` `-` | left |
//! | `*` `/` `%` | left |
//! | `-` `+` | prefix |
//!
//! A null operand makes the result null. `AND`, `OR` and `CASE` compute only what they need, so null on the
//! left of `AND` and `OR` is the result whatever is on the right. Integer overflow is an error, integer
//! division truncates towards zero, shift distances are modulo 64.

mod evaluate;
mod parse;
mod token;
mod tree;

pub(super) use parse::parse;
pub(super) use tree::Expression;
