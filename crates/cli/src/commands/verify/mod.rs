//! `syncline verify`: findings, their records, and their sentences. One file a verb.

mod disk;
mod durability;
mod isolation;
mod record;
mod scratch;
mod verb;
mod witness;

pub(crate) use verb::{CHILD, verify};
