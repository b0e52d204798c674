//! What every option, variable and file of the imitated tools does here: the one place from which
//! `docs/compatibility.md` is written, and against which the parsers are tested.
//!
//! | file | what it holds |
//! |---|---|
//! | `entries.rs` | the options, variables and files |
//! | `tests.rs` | what holds them to the tools' lists, to the parsers and to the page |
//!
//! 1. An option is used, refused by its name, or ignored with a warning; nothing is silent.
//! 2. The names are those of the tools themselves: lists taken from their own help are in `coverage/`, each
//!    with the tool's version, and where a tool is installed its help is compared with them again.

mod entries;
mod tests;
