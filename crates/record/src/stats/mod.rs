//! The statistics that records and views use; pure functions over finite figures.

mod summary;
mod wilson_interval;

pub use summary::{median, percentile, range};
pub use wilson_interval::share_range;
