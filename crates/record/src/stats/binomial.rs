//! What a number of samples can say about a percentile.
//!
//! Whether the 99th percentile is above a limit is the question whether more than 1 % of all values are above
//! it, and the count of values above the limit is binomial. Both ends are tested at 2.5 %, so that a decision
//! in either direction is wrong in at most one of forty cases. Values that follow each other closely in time
//! resemble each other, so that the true error is larger; callers sample at several separate times.

/// The probability of an error in one direction.
const ERROR: f64 = 0.025;

/// The quantile of the normal distribution that belongs to [`ERROR`].
const DEVIATIONS: f64 = 1.96;

/// How an observed share compares with an allowed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareSide {
    /// The true share is below the allowed one.
    Below,
    /// The true share is above the allowed one.
    Above,
    /// The samples decide neither.
    Undecided,
}

/// Compares the share of `count` among `samples` with the share `allowed`, which is between 0 and 1.
pub fn compare_share(count: u64, samples: u64, allowed: f64) -> ShareSide {
    if at_most(count, samples, allowed) <= ERROR {
        ShareSide::Below
    } else if count > 0 && 1.0 - at_most(count - 1, samples, allowed) <= ERROR {
        ShareSide::Above
    } else {
        ShareSide::Undecided
    }
}

/// The fewest samples whose largest value is above the quantile with a probability of 97.5 %: 6 for the
/// median, 368 for the 99th percentile, 36,887 for the 99.99th.
pub fn samples_for_quantile(quantile: f64) -> u64 {
    (ERROR.ln() / quantile.ln()).ceil() as u64
}

/// The quantiles of the sample between which the true quantile lies in 95 of 100 cases; `None` if there are
/// fewer samples than [`samples_for_quantile`].
pub fn quantile_interval(quantile: f64, samples: u64) -> Option<(f64, f64)> {
    if samples < samples_for_quantile(quantile) {
        return None;
    }
    let half = DEVIATIONS * (quantile * (1.0 - quantile) / samples as f64).sqrt();
    Some(((quantile - half).max(0.0), (quantile + half).min(1.0)))
}

/// The probability that at most `count` of `samples` values are of a kind whose share is `share`.
fn at_most(count: u64, samples: u64, share: f64) -> f64 {
    if count >= samples {
        return 1.0;
    }
    let odds = (share / (1.0 - share)).ln();
    let mut log = samples as f64 * (1.0 - share).ln();
    let mut sum = 0.0;
    for number in 0..=count {
        sum += log.exp();
        log += ((samples - number) as f64 / (number + 1) as f64).ln() + odds;
        // Beyond the mean the terms only fall; the rest would not change the sum.
        if number as f64 > samples as f64 * share && log < -60.0 {
            break;
        }
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::{ShareSide, at_most, compare_share, quantile_interval, samples_for_quantile};

    #[test]
    fn the_distribution_equals_its_definition() {
        assert!((at_most(0, 10, 0.1) - 0.9_f64.powi(10)).abs() < 1e-12);
        let two: f64 = 45.0 * 0.01 * 0.9_f64.powi(8) + 10.0 * 0.1 * 0.9_f64.powi(9);
        assert!((at_most(2, 10, 0.1) - two - 0.9_f64.powi(10)).abs() < 1e-12);
        assert!((at_most(10_000, 1_000_000, 0.01) - 0.5).abs() < 0.01, "no underflow");
        assert!((at_most(10, 10, 0.5) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_percentile_needs_enough_samples() {
        let needed = [0.5, 0.99, 0.999, 0.9999].map(samples_for_quantile);
        assert_eq!(needed, [6, 368, 3_688, 36_887]);
        assert_eq!(quantile_interval(0.99, 367), None);
        let (least, most) = quantile_interval(0.99, 10_000).unwrap();
        assert!(least > 0.987 && least < 0.989 && most > 0.991 && most < 0.993);
    }

    #[test]
    fn no_slow_sync_decides_once_the_percentile_is_resolved_and_a_share_on_the_limit_never_does() {
        assert_eq!(compare_share(0, 367, 0.01), ShareSide::Undecided);
        assert_eq!(compare_share(0, 368, 0.01), ShareSide::Below);
        assert_eq!(compare_share(100, 100, 0.01), ShareSide::Above);
        assert_eq!(compare_share(1, 10, 0.01), ShareSide::Undecided, "one of ten may be chance");
        assert_eq!(compare_share(2, 10, 0.01), ShareSide::Above);
        for samples in [1_000, 100_000] {
            assert_eq!(compare_share(samples / 100, samples, 0.01), ShareSide::Undecided);
            assert_eq!(compare_share(samples / 50, samples, 0.01), ShareSide::Above);
            assert_eq!(compare_share(samples / 500, samples, 0.01), ShareSide::Below);
        }
        assert_eq!(compare_share(0, 0, 0.01), ShareSide::Undecided, "nothing was measured");
    }
}
