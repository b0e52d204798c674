//! Whether a directory is fast and safe enough for a product, and the figures behind that verdict.
//!
//! 1. A percentile that the samples do not resolve is null; `samples` says how many there were.
//! 2. A threshold has its source, and its verdict is drawn from counts of syncs, not from a rounded figure.
//! 3. A directory that does not keep what it syncs is unfit, however fast it is.

use super::schema_macro::described;

described! {
    /// A distribution of times in nanoseconds, of which only what the samples resolve has a value.
    #[derive(Copy)]
    pub struct ResolvedLatency {
        /// The number of times measured.
        pub samples: u64,
        /// Half were no longer; null with fewer than 6 samples.
        pub p50: Option<u64>,
        /// 90 % were no longer; null with fewer than 36 samples.
        pub p90: Option<u64>,
        /// 99 % were no longer; null with fewer than 368 samples.
        pub p99: Option<u64>,
        /// The lower end of the 95 % confidence interval of `p99`; null if that is.
        pub p99_least: Option<u64>,
        /// The upper end of the 95 % confidence interval of `p99`; null if that is.
        pub p99_most: Option<u64>,
        /// 99.9 % were no longer; null with fewer than 3,688 samples.
        pub p999: Option<u64>,
        /// 99.99 % were no longer; null with fewer than 36,887 samples.
        pub p9999: Option<u64>,
        /// The longest; null without samples.
        pub max: Option<u64>,
        /// The arithmetic mean; null without samples.
        pub mean: Option<f64>,
    }

    /// One measurement of a write shape without a pause.
    pub struct FitnessWindow {
        /// Its start, nanoseconds from the start of the probe of this directory.
        pub start_ns: u64,
        /// How long it took.
        pub elapsed_ns: u64,
        /// Completed operations, each with its syncs.
        pub syncs: u64,
        /// Operations per second.
        pub rate_per_s: f64,
        /// How long one operation took.
        pub latency_ns: ResolvedLatency,
    }

    /// A limit that a product or its documentation states, and whether it is met.
    pub struct FitnessThreshold {
        /// What is limited: "p99", "mean" or "rate".
        pub statistic: String,
        /// The limit in `unit`: an upper one for times, a lower one for rates.
        pub value: f64,
        /// "ms", "us" or "per second".
        pub unit: String,
        /// True if a miss makes the directory unfit; false for a recommendation.
        pub required: bool,
        /// Where the limit is published.
        pub source: String,
        /// The measured value in the same unit, of the window with the worst one; null if not resolved.
        pub measured: Option<f64>,
        /// Operations of all windows that took longer than the limit; null for a rate.
        pub above: Option<u64>,
        /// "fit", "unfit" or "not known".
        pub word: String,
        /// The reason in one sentence.
        pub reason: String,
    }

    /// The figures of one way in which a product writes.
    pub struct FitnessShape {
        /// A short name: "wal".
        pub name: String,
        /// What the product does, and what is repeated here.
        pub about: String,
        /// Where the product does so.
        pub source: String,
        /// The writes of one operation in words: "2300 B, next, fdatasync".
        pub operation: String,
        /// "overwrite", "unwritten extents" or "append".
        pub file_state: String,
        /// The windows, in the order of time; empty if not measured.
        pub windows: Vec<FitnessWindow>,
        /// The window with the worst figures, counted from 1; null if not measured.
        pub worst_window: Option<u64>,
        /// All windows together; null if not measured.
        pub latency_ns: Option<ResolvedLatency>,
        /// The limits for this shape.
        pub thresholds: Vec<FitnessThreshold>,
        /// Why it was not measured, or not completely; null if it was.
        pub reason: Option<String>,
    }

    /// The verdict on a directory for one product.
    pub struct Fitness {
        /// The product, as it is named on the command line.
        pub product: String,
        /// The product's own name.
        pub title: String,
        /// "fit", "unfit" or "not known".
        pub word: String,
        /// Why, in one sentence.
        pub reason: String,
        /// What follows for the product, in one sentence; null if nothing was measured.
        pub consequence: Option<String>,
        /// What limits the verdict, one sentence each.
        pub limits: Vec<String>,
        /// What would help, one sentence each; empty if it is fit.
        pub remedies: Vec<String>,
        /// The load that ran beside the measurement; null if there was none.
        pub beside: Option<String>,
        /// The figures of each way in which it writes.
        pub shapes: Vec<FitnessShape>,
    }
}
