//! The data file, behaviour by behaviour.

mod checkpoints;
mod damage;
mod fixture;
mod making;
