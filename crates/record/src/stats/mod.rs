//! The statistics that records and views use; pure functions over finite figures.

mod binomial;
mod summary;
mod wilson_interval;
mod windows;

pub use binomial::{ShareSide, compare_share, quantile_interval, samples_for_quantile};
pub use summary::{median, percentile, range};
pub use wilson_interval::share_range;
pub use windows::{
    BLOCKS_LEAST, MeanInterval, REPETITIONS_LEAST, mean_interval, mean_interval_of_repetitions,
    outliers, warm_up,
};
