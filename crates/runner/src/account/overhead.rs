//! What looking costs: throughput with the meter and without it.

/// A slice with the meter and one without it, one right behind the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverheadPair {
    /// Commits a second with the meter.
    pub metered_per_s: f64,
    /// Without it.
    pub unmetered_per_s: f64,
}
