//! `syncline verify`: findings, their records, and their sentences. One file a verb.

mod durability;
mod isolation;
mod record;
mod scratch;
mod verb;

pub(crate) use verb::{CHILD, verify};
