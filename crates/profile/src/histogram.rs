//! Durations of events over the whole store, counted by powers of two.
//!
//! Stacks hold sums; only the histogram shows whether a sum is many short waits or a few long ones.

use crate::metric::Metric;
use serde::{Deserialize, Serialize};

/// Durations of the events of a metric whose quantity is time, not split by stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// The metric.
    pub metric: Metric,
    /// At position `i`: the number of events of at least 2^i and less than 2^(i+1) nanoseconds; shorter
    /// events count at position 0. No zeros at its end.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// Takes counts by powers of two, with or without zeros at their end.
    pub fn new(metric: Metric, mut counts: Vec<u64>) -> Histogram {
        let used = counts.iter().rposition(|count| *count > 0);
        counts.truncate(used.map_or(0, |last| last + 1));
        Histogram { metric, counts }
    }

    /// The number of events.
    pub fn events(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;
    use crate::Metric;

    #[test]
    fn zeros_after_the_longest_event_are_left_out() {
        let histogram = Histogram::new(Metric::OffCpu, vec![0, 3, 0, 1, 0, 0]);
        assert_eq!(histogram.counts, [0, 3, 0, 1]);
        assert_eq!(histogram.events(), 4);
        assert!(Histogram::new(Metric::OffCpu, vec![0; 64]).counts.is_empty());
    }
}
