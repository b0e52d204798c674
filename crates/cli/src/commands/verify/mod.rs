//! `syncline verify`: one file per subcommand, and the record of a finding.

mod disk;
mod durability;
mod isolation;
mod record;
mod scratch;
mod verb;
mod witness;

pub(crate) use verb::{CHILD, verify};
