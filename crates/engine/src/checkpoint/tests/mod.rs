//! The data file, behaviour by behaviour.

mod checkpoints;
mod creation;
mod damage;
mod fixture;
pub(super) mod format_2;
