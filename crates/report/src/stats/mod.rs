//! The few statistics that views rest on; pure functions over finite figures.

mod chance;
mod summary;

pub use chance::chance_of_separation;
pub use summary::{Range, median, percentile, range};
