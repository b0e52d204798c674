//! Scripts of pgbench, run as they are on any store that takes statements of its user.
//!
//! Source: pgbench of PostgreSQL 15 to 17, its documentation and its answers. Rules:
//!
//! 1. A transaction is one run of one script. Which one is drawn by weight; a weight of 0 leaves a script
//!    out.
//! 2. A script's own `BEGIN` and `END` are statements as written. A statement outside them is a
//!    transaction of the store; a request of several (`\;`) is one as a whole.
//! 3. Statements are prepared once, and `:name` is a parameter, as under `-M prepared`; or they are sent by
//!    the extended or the simple protocol, as under `-M extended` and `-M simple`, where the target can.
//! 4. A conflict undoes what the script has open; when the run tries it again, variables and random
//!    numbers are those of its beginning.
//! 5. Expressions and functions give pgbench's values; random numbers
//!    have its distributions, not its order.
//! 6. Built-in scripts, and scripts that name one of pgbench's tables, find these tables made and filled.
//!
//! Deviations: an unset variable in a statement is an error, not null or its own name. A null that
//! `\gset` stores stays null, where pgbench stores an empty text; other values keep their kind. A `:name`
//! in quotes is refused if it is a variable, since no parameter can stand there, but by the simple
//! protocol, which puts its value there. `debug` prints nothing,
//! and what `\shell` prints is thrown away. Any error but a conflict ends the run, not one client.
//! In a pipeline answers are taken at its end; whether its statements travel together is the target's
//! affair, and an embedded one runs them in sequence, each a transaction unless the script begins one.
//!
//! | file | what stands in it |
//! |---|---|
//! | `options.rs` | options, and the scripts that they choose |
//! | `lexer.rs` | a script cut into statements and commands |
//! | `parse.rs`, `statement.rs`, `meta_commands.rs`, `command.rs` | statements as operations, commands as steps |
//! | `simple_query.rs` | a statement with its values in its text |
//! | `expression/`, `functions/`, `value.rs`, `variables.rs` | what `\set` and `\if` compute |
//! | `builtin.rs`, `tables.rs` | the built-in scripts and their tables |
//! | `client.rs`, `interpreter.rs`, `shell.rs` | a client, and a script under way |
//! | `schema.rs`, `check.rs` | the workload, and what must be true afterwards |

mod builtin;
mod check;
mod client;
mod command;
mod error;
mod expression;
mod functions;
mod interpreter;
mod lexer;
mod meta_commands;
mod options;
mod parse;
mod schema;
mod shell;
mod simple_query;
mod statement;
mod tables;
mod value;
mod variables;

pub use builtin::{BUILTINS, Builtin};
pub use client::{ScriptClient, Tally};
pub use error::ScriptError;
pub use options::{Options, as_item};
pub use schema::Scripts;
