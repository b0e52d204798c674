//! The overhead of the profiler: the processor time that it used, and how much faster the store was without
//! it.

use super::schema_macro::described;

described! {
    /// The processor time that the profiler used in the window, and its cost in throughput if an A/B test
    /// measured it.
    pub struct OverheadCost = "LookingCost" {
        /// Processor time of the profiler's threads.
        pub threads_ns: u64,
        /// Processor time of the profiler's programs in the kernel, on all processors, while they were timed;
        /// null if there are none, or the kernel does not time them.
        pub programs_ns: Option<u64>,
        /// The part of the window in which they were timed; null as above.
        pub programs_of_ns: Option<u64>,
        /// The part of the window in which they were attached; null as above, and in older records, where it
        /// was all of it.
        #[serde(default)]
        pub programs_attached_ns: Option<u64>,
        /// Both as a part of all processor time of the machine in the window. The interrupts that sample
        /// processors and threads are not included.
        pub share: Option<f64>,
        /// Slices with the profiler and without it, of all repetitions in their order; empty if none were
        /// requested. In older records a pair is two runs.
        pub pairs: Vec<OverheadPair>,
        /// Throughput with the profiler divided by that without, over all pairs; null without pairs.
        pub throughput: Option<OverheadRatio>,
    }

    /// A slice with the profiler and one without it, one right after the other.
    #[derive(Copy)]
    pub struct OverheadPair = "LookingPair" {
        /// Commits per second with the profiler.
        pub metered_per_s: f64,
        /// Commits per second without it.
        pub unmetered_per_s: f64,
    }

    /// A ratio over several pairs.
    pub struct OverheadRatio = "LookingRatio" {
        /// The median.
        pub median: f64,
        /// The least.
        pub least: f64,
        /// The most.
        pub most: f64,
    }
}

impl OverheadPair {
    /// Throughput with the profiler divided by that without.
    pub fn throughput(&self) -> f64 {
        self.metered_per_s / self.unmetered_per_s
    }
}
