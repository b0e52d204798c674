//! `syncline verify`: one file per subcommand, and the record of a finding.
//!
//! | file | what it holds |
//! |---|---|
//! | `verb.rs` | dispatches to the subcommands |
//! | `disk.rs`, `witness.rs`, `durability.rs`, `isolation.rs` | one subcommand each |
//! | `record.rs`, `scratch.rs` | the record of a finding; a directory that is removed at the end |

mod disk;
mod durability;
mod isolation;
mod record;
mod scratch;
mod verb;
mod witness;

pub(crate) use verb::{CHILD, verify};
