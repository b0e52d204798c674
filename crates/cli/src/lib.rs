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

mod args;
mod commands;
mod interrupt;
mod private_servers;
mod program;
mod recording_mount;
mod registry;
mod secrets;

pub use program::{main, main_with};
