//! The metrics that collectors own: one owner for each, so that nothing is counted twice.

use syncline_profile::Metric;

/// A set of metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MetricSet {
    /// One bit per metric, by its position in [`Metric::ALL`].
    bits: u64,
}

impl MetricSet {
    pub(crate) fn add(&mut self, metrics: &[Metric]) {
        for metric in metrics {
            self.bits |= bit(*metric);
        }
    }

    pub(crate) fn has(self, metric: Metric) -> bool {
        self.bits & bit(metric) != 0
    }
}

fn bit(metric: Metric) -> u64 {
    let place = Metric::ALL.iter().position(|other| *other == metric);
    place.map_or(0, |place| 1 << place)
}

#[cfg(test)]
mod tests {
    use super::MetricSet;
    use syncline_profile::Metric;

    #[test]
    fn only_added_metrics_are_in_the_set() {
        let mut taken = MetricSet::default();
        taken.add(&[Metric::CpuUser, Metric::GarbageCollection]);
        let had = Metric::ALL.into_iter().filter(|metric| taken.has(*metric));
        let expected = [Metric::CpuUser, Metric::GarbageCollection];
        assert_eq!(had.collect::<Vec<_>>(), expected);
    }
}
