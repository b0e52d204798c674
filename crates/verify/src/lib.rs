//! Does a store keep its promises?
//!
//! | module | the question |
//! |---|---|
//! | [`power`] | what could a loss of power leave of these files? |
//!
//! Nothing here prints; findings are results, an [`Error`] means that there is none.

mod error;
pub mod power;

pub use error::{Error, Result};
