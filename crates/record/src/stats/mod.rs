//! The few statistics that records and views rest on; pure functions over finite figures.

mod summary;
mod wilson_interval;

pub use summary::{median, percentile, range};
pub use wilson_interval::share_range;
