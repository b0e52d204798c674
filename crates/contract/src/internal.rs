//! A store's internal counts and times, if it keeps them: reads, scans, flushes.
//!
//! Times are grouped into classes that double: class `i` holds those from `2^i` to `2^(i+1)` nanoseconds;
//! class 0 also holds zero. So a percentile is known to a factor of two; it is interpolated as if times were
//! spread evenly in their class. Counts only grow, so two readings can be subtracted.

/// Number of classes; the last one also holds all longer times.
pub const TIME_CLASSES: usize = 40;

/// One kind of a store's internal work since the store was opened, under the store's own name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Internal {
    /// The work: "read", "flush".
    pub name: &'static str,
    /// Number of timed executions by duration; each represents `one_in` executions.
    pub classes: [u64; TIME_CLASSES],
    /// Sum of the timed durations, in nanoseconds.
    pub sum_ns: u64,
    /// One in this many executions was timed.
    pub one_in: u64,
}

impl Internal {
    /// The growth since an earlier reading of the same work.
    #[must_use]
    pub fn since(&self, before: &Internal) -> Internal {
        let grown = |class: usize| self.classes[class].saturating_sub(before.classes[class]);
        Internal {
            classes: std::array::from_fn(grown),
            sum_ns: self.sum_ns.saturating_sub(before.sum_ns),
            ..self.clone()
        }
    }

    /// Number of timed executions.
    pub fn timed(&self) -> u64 {
        self.classes.iter().sum()
    }

    /// Number of executions; an estimate if only some were timed.
    pub fn count(&self) -> u64 {
        self.timed() * self.one_in
    }

    /// The duration that a share (0 to 1) of the executions does not exceed; none without executions.
    pub fn quantile_ns(&self, share: f64) -> Option<f64> {
        let timed = self.timed();
        let target = share.clamp(0.0, 1.0) * timed as f64;
        let mut below = 0.0;
        for (class, count) in self.classes.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = *count as f64;
            if below + count >= target {
                let least = if class == 0 { 0.0 } else { (1_u64 << class) as f64 };
                let most = (1_u64 << (class + 1)) as f64;
                return Some(least + (most - least) * ((target - below) / count).clamp(0.0, 1.0));
            }
            below += count;
        }
        None
    }

    /// The mean duration; none without executions.
    pub fn mean_ns(&self) -> Option<f64> {
        let timed = self.timed();
        (timed > 0).then(|| self.sum_ns as f64 / timed as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::{Internal, TIME_CLASSES};

    fn of(classes: &[(usize, u64)]) -> Internal {
        let mut part = Internal { name: "read", classes: [0; TIME_CLASSES], sum_ns: 0, one_in: 64 };
        for (class, count) in classes {
            part.classes[*class] = *count;
        }
        part
    }

    #[test]
    fn a_quantile_lies_in_its_class() {
        let part = of(&[(10, 90), (20, 10)]);
        let half = part.quantile_ns(0.5).unwrap();
        assert!((1024.0..2048.0).contains(&half), "{half}");
        let tail = part.quantile_ns(0.99).unwrap();
        assert!((1_048_576.0..2_097_152.0).contains(&tail), "{tail}");
        assert_eq!((part.timed(), part.count()), (100, 6400));
        assert_eq!(of(&[]).quantile_ns(0.5), None);
        assert_eq!(of(&[]).mean_ns(), None);
    }

    #[test]
    fn readings_are_subtracted() {
        let (before, now) = (of(&[(3, 5)]), of(&[(3, 7), (4, 1)]));
        assert_eq!(now.since(&before), of(&[(3, 2), (4, 1)]));
    }
}
