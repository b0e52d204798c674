//! What looking cost: what the meter itself used up, and by how much the store was faster without it.

use super::schema_macro::described;

described! {
    /// What the meter used up of the processors in the window, and what it cost in throughput where that was
    /// weighed.
    pub struct LookingCost {
        /// Processor time of the threads that look.
        pub threads_ns: u64,
        /// Processor time of the meter's programs in the kernel, on all processors, while they were timed;
        /// null where there are none, or the kernel does not time them.
        pub programs_ns: Option<u64>,
        /// How much of the window they were timed for; null as above.
        pub programs_of_ns: Option<u64>,
        /// How much of the window they were attached for; null as above, and in records of old, where it was
        /// all of it.
        #[serde(default)]
        pub programs_attached_ns: Option<u64>,
        /// Both as a part of all the processor time that the machine had in the window. The interrupts by
        /// which processors and threads are looked at are not in it.
        pub share: Option<f64>,
        /// Slices of time with the meter and without it, of all repetitions in their order; empty where none
        /// were asked for. In records of old a pair is two runs.
        pub pairs: Vec<LookingPair>,
        /// Throughput with the meter over that without, of all pairs; null without any.
        pub throughput: Option<LookingRatio>,
    }

    /// A time with the meter and one without it, one right behind the other.
    #[derive(Copy)]
    pub struct LookingPair {
        /// Commits a second with the meter.
        pub metered_per_s: f64,
        /// Without it.
        pub unmetered_per_s: f64,
    }

    /// A ratio over several pairs.
    pub struct LookingRatio {
        /// The median.
        pub median: f64,
        /// The least.
        pub least: f64,
        /// The most.
        pub most: f64,
    }
}

impl LookingPair {
    /// With the meter over without.
    pub fn throughput(&self) -> f64 {
        self.metered_per_s / self.unmetered_per_s
    }
}
