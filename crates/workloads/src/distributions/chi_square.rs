//! Pearson's chi-square test, for tests of distributions: do counts fit exact shares?
//!
//! Significance 0.001: of draws that do fit, one sequence in a thousand would be rejected. Seeds are fixed,
//! so a test that passes keeps passing.

/// The result of a test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    statistic: f64,
    limit: f64,
}

impl Verdict {
    /// True if the counts are consistent with the shares.
    pub(crate) fn holds(&self) -> bool {
        self.statistic <= self.limit
    }
}

/// The upper 0.001 quantile of a normal distribution.
const DEVIATIONS: f64 = 3.090_232;

/// Neighbouring cells are merged up to this number of expected draws.
const EXPECTED_MIN: f64 = 10.0;

/// Tests counts against shares, which sum to one.
pub(crate) fn fits(counts: &[u64], shares: &[f64]) -> Verdict {
    assert_eq!(counts.len(), shares.len(), "one share per count");
    let total: f64 = counts.iter().sum::<u64>() as f64;
    let (mut statistic, mut groups) = (0.0, 0.0_f64);
    let (mut observed, mut expected) = (0.0, 0.0);
    let mut left = total;
    for (count, share) in counts.iter().zip(shares) {
        observed += *count as f64;
        expected += share * total;
        left -= share * total;
        // The last group also takes what would be too little for a separate group.
        if expected >= EXPECTED_MIN && left >= EXPECTED_MIN {
            statistic += (observed - expected) * (observed - expected) / expected;
            groups += 1.0;
            (observed, expected) = (0.0, 0.0);
        }
    }
    if expected > 0.0 {
        statistic += (observed - expected) * (observed - expected) / expected;
        groups += 1.0;
    } else if observed > 0.0 {
        statistic = f64::INFINITY;
    }
    Verdict { statistic, limit: limit(groups - 1.0) }
}

/// The 0.999 quantile of chi-square with this many degrees of freedom, after Wilson and Hilferty.
fn limit(freedom: f64) -> f64 {
    if freedom < 1.0 {
        return 1e-6;
    }
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + DEVIATIONS * spread.sqrt()).powi(3)
}

#[test]
fn the_limit_matches_published_tables() {
    for (freedom, table) in [(1.0, 10.83), (10.0, 29.59), (100.0, 149.45), (1_000.0, 1_143.92)] {
        let off = limit(freedom) / table - 1.0;
        assert!(off.abs() < 0.04, "{freedom}: {off}");
    }
    assert!(fits(&[500, 500], &[0.5, 0.5]).holds());
    assert!(!fits(&[600, 400], &[0.5, 0.5]).holds());
}
