//! The program `syncline`: arguments and wiring.
//!
//! [`main`] is the program with its built-in targets. [`main_with`] is the same program with one more target,
//! `mine`, a store of your own:
//!
//! ```no_run
//! # fn my_store() -> impl syncline_contract::Target { syncline_stores::null::Null::default() }
//! fn main() -> std::process::ExitCode {
//!     syncline_cli::main_with("mine", my_store())
//! }
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `main.rs`, `program.rs` | the program; how it starts and ends |
//! | `args/`, `commands/` | the command line; the commands |
//! | `registry.rs`, `private_servers.rs` | the targets that a command can open; the private servers that it started |
//! | `interrupt.rs`, `secrets.rs`, `recording_mount.rs` | Ctrl-C and SIGTERM; passwords on the command line; refuses the file system of `verify durability` |

mod args;
mod commands;
mod interrupt;
mod private_servers;
mod program;
mod recording_mount;
mod registry;
mod secrets;

pub use program::{main, main_with};
