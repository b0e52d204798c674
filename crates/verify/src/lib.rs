//! Does a store keep its promises?
//!
//! | module | the question |
//! |---|---|
//! | [`durability`] | is what was acknowledged still there? |
//! | [`isolation`] | did transactions stay apart? |
//! | [`disk`] | does a disk keep what it synced, when its plug is pulled? |
//! | [`power`] | what could a loss of power leave of these files? |
//!
//! Nothing here prints; findings are results, an [`Error`] means that there is none.

pub mod disk;
pub mod durability;
mod error;
pub mod isolation;
pub mod power;
mod words;

pub use error::{Error, Result};
