//! Distributions over powers of two: many threads add without a lock, and any thread may read at any time.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of classes: class `i` counts values in `[2^i, 2^(i+1))`; class 0 also counts zero.
pub const CLASSES: usize = 32;

/// A distribution over powers of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Values in each class.
    pub classes: [u64; CLASSES],
    /// All values.
    pub count: u64,
    /// The sum of the values.
    pub sum: u64,
    /// The largest value.
    pub max: u64,
}

impl Distribution {
    /// The mean; none if there are no values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

/// A distribution that several threads add to.
#[derive(Debug, Default)]
pub(crate) struct SharedDistribution {
    classes: [AtomicU64; CLASSES],
    sum: AtomicU64,
    max: AtomicU64,
}

impl SharedDistribution {
    pub(crate) fn add(&self, value: u64) {
        let class = value.max(1).ilog2().min(CLASSES as u32 - 1);
        self.classes[class as usize].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
        self.max.fetch_max(value, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Distribution {
        let classes = std::array::from_fn(|i| self.classes[i].load(Ordering::Relaxed));
        Distribution {
            classes,
            count: classes.iter().sum(),
            sum: self.sum.load(Ordering::Relaxed),
            max: self.max.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, Distribution, SharedDistribution};

    #[test]
    fn values_fall_into_their_powers_of_two() {
        let shared = SharedDistribution::default();
        for value in [0, 1, 2, 3, 4, 1 << 20, u64::MAX >> 1] {
            shared.add(value);
        }
        let got = shared.get();
        assert_eq!(got.classes[..3], [2, 2, 1]);
        assert_eq!((got.classes[20], got.classes[CLASSES - 1]), (1, 1));
        assert_eq!((got.count, got.max), (7, u64::MAX >> 1));
        assert_eq!(Distribution::default().mean(), None);
    }
}
