//! Median, range and percentile of a few figures.

use crate::Range;

/// The middle figure, or the mean of the middle two; `None` without finite figures.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The least and the most; `None` without finite figures.
pub fn range(values: &[f64]) -> Option<Range> {
    let sorted = sorted(values);
    Some(Range { least: *sorted.first()?, most: *sorted.last()? })
}

/// The smallest figure that at least `part` (0 to 1) of all do not exceed; `None` without finite figures.
pub fn percentile(values: &[f64], part: f64) -> Option<f64> {
    let sorted = sorted(values);
    let rank = (part.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// Drops values that are not finite.
fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::{Range, median, percentile, range};

    #[test]
    fn medians_of_odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::NAN, 5.0]), Some(5.0));
    }

    #[test]
    fn ranges_meet_where_they_share_a_point() {
        let low = range(&[2.0, 1.0]).unwrap();
        assert_eq!(low, Range { least: 1.0, most: 2.0 });
        assert!(low.overlaps(Range { least: 2.0, most: 3.0 }));
        assert!(!low.overlaps(Range { least: 2.1, most: 3.0 }));
        assert_eq!(range(&[f64::INFINITY]), None);
    }

    #[test]
    fn percentiles_are_figures_that_occurred() {
        let values = [10.0, 20.0, 30.0, 40.0];
        assert_eq!(percentile(&values, 0.0), Some(10.0));
        assert_eq!(percentile(&values, 0.5), Some(20.0));
        assert_eq!(percentile(&values, 0.51), Some(30.0));
        assert_eq!(percentile(&values, 1.0), Some(40.0));
        assert_eq!(percentile(&[], 0.5), None);
    }
}
