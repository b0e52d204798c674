//! Scripts of pgbench, run unchanged on any store that takes user statements.
//!
//! Source: pgbench of PostgreSQL 15 to 17, its documentation and its output. Rules:
//!
//! 1. A transaction is one run of one script. Scripts are drawn by weight; a weight of 0 disables a script.
//! 2. A script's own `BEGIN` and `END` are sent as written. A statement outside them is a transaction of the
//!    store; a request of several statements (`\;`) is one transaction.
//! 3. Statements are prepared once, and `:name` is a parameter, as with `-M prepared`; or they are sent by
//!    the extended or the simple protocol, as with `-M extended` and `-M simple`, if the target supports it.
//! 4. A conflict rolls back the script's open transaction; a retry restores variables and random numbers to
//!    the start of the script.
//! 5. Expressions and functions give pgbench's values; random numbers have its distributions, but not its
//!    sequence.
//! 6. For built-in scripts, and scripts that name one of pgbench's tables, these tables are created and
//!    filled.
//!
//! Deviations: an unset variable in a statement is an error, not null or its own name. A null that `\gset`
//! stores stays null, while pgbench stores an empty text; other values keep their kind. A `:name` in quotes
//! is refused if it is a variable, because a parameter cannot be used there; with the simple protocol, its
//! value is inserted. `debug` prints nothing, and the output of `\shell` is discarded. Any error except a
//! conflict ends the run, not only one client. In a pipeline, answers are received at its end; whether its
//! statements share round trips depends on the target, and an embedded one runs them in sequence, each as a
//! transaction unless the script begins one.
//!
//! | file | what it holds |
//! |---|---|
//! | `options.rs` | options, and the scripts that they select |
//! | `lexer.rs` | splits a script into statements and commands |
//! | `parse.rs`, `statement.rs`, `meta_commands.rs`, `command.rs` | parses statements to operations, commands to steps |
//! | `simple_query.rs` | a statement with values inserted into its text |
//! | `expression/`, `functions/`, `value.rs`, `variables.rs` | the expressions of `\set` and `\if` |
//! | `builtin.rs`, `tables.rs` | the built-in scripts and their tables |
//! | `client.rs`, `interpreter.rs`, `shell.rs` | a client, and a running script |
//! | `schema.rs`, `check.rs` | the workload, and its checks |
//! | `error.rs` | errors in a script |

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
