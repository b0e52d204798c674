//! The few statistics that views rest on; pure functions over finite figures.

mod chance;
mod share;
mod summary;

pub use chance::chance_of_ranks;
pub use share::share_range;
pub use summary::{Range, median, percentile, range};
