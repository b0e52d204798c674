//! The effect of every option, variable and file of the imitated tools: the source of
//! `docs/compatibility.md`, and the reference of the parsers' tests.
//!
//! | file | what it holds |
//! |---|---|
//! | `entries.rs` | the options, variables and files |
//! | `tests.rs` | tests against the tools' own lists, the parsers and the page |
//!
//! 1. An option is used, refused by name, or ignored with a warning; none is ignored silently.
//! 2. The names come from the tools: `coverage/` holds lists from their own help, each with the tool's
//!    version. If a tool is installed, its help is compared with the list again.

mod entries;
mod tests;
