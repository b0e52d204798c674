//! The few statistics that views rest on; pure functions over finite figures.

mod rank_test;
mod summary;
mod wilson_interval;

pub use rank_test::rank_test_p_value;
pub use summary::{Range, median, percentile, range};
pub use wilson_interval::share_range;
