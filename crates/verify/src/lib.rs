//! Tests whether a store keeps its promises.
//!
//! | module | the question it answers |
//! |---|---|
//! | [`durability`] | is everything that was acknowledged still there? |
//! | [`isolation`] | were concurrent transactions isolated from each other? |
//! | [`disk`] | does a disk keep what it synced when its plug is pulled? |
//! | [`power`] | which states can a power loss leave a set of files in? |
//!
//! Nothing here prints. Results are findings; an [`Error`] means that there is no finding.

pub mod disk;
pub mod durability;
mod error;
pub mod isolation;
pub mod power;
mod words;

pub use error::{Error, Result};
