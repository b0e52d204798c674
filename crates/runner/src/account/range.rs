//! Median and range of a figure over several runs or slices.

/// Median and range of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The minimum.
    pub least: f64,
    /// The median; for an even number of figures, the mean of the two in the middle.
    pub median: f64,
    /// The maximum.
    pub most: f64,
}

impl Range {
    /// The range of the figures; `None` without any.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Range> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let upper = sorted.len() / 2;
        let lower = (sorted.len() - 1) / 2;
        Some(Range { least, median: f64::midpoint(sorted[lower], sorted[upper]), most })
    }

    /// True only if every figure of `self` is above every figure of `other`.
    pub fn above(&self, other: &Range) -> bool {
        self.least > other.most
    }
}

#[cfg(test)]
mod tests {
    use super::Range;

    #[test]
    fn overlapping_ranges_are_not_above_each_other() {
        let range = |figures: &[f64]| Range::of(figures.iter().copied()).unwrap();
        let slow = range(&[3.0, 1.0, 2.0]);
        assert_eq!((slow.least, slow.median, slow.most), (1.0, 2.0, 3.0));
        let even = range(&[1.0, 2.0, 3.0, 10.0]).median;
        assert!((even - 2.5).abs() < 1e-9);
        assert!(range(&[3.1, 9.0]).above(&slow));
        assert!(!range(&[3.0, 9.0]).above(&slow));
        assert!(!slow.above(&slow));
        assert_eq!(Range::of([]), None);
    }
}
