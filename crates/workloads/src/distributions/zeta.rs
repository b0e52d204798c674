//! Generalized harmonic numbers, `zeta(n) = 1 + 2^-theta + ... + n^-theta`, for any n in constant time.
//!
//! The first [`HEAD`] partial sums are stored; the rest follows from the Euler-Maclaurin formula, whose error
//! there is far below the precision of a float. So a count that grows by one per insert costs one power, and
//! 10^10 items cost the same as 10^4.

use std::sync::Arc;

/// Number of stored partial sums.
const HEAD: usize = 1_024;

/// The sums of one exponent.
#[derive(Clone, Debug)]
pub(crate) struct Zeta {
    theta: f64,
    /// `head[n - 1]` is the sum of n terms.
    head: Arc<[f64]>,
}

impl Zeta {
    /// For an exponent of at least 0.
    pub(crate) fn new(theta: f64) -> Zeta {
        let terms = (1..=HEAD).map(|item| (item as f64).powf(-theta));
        let sums = terms.scan(0.0, |sum, term| {
            *sum += term;
            Some(*sum)
        });
        Zeta { theta, head: sums.collect() }
    }

    /// The exponent.
    #[inline]
    pub(crate) fn theta(&self) -> f64 {
        self.theta
    }

    /// The sum of n terms.
    #[inline]
    pub(crate) fn of(&self, n: u64) -> f64 {
        if n == 0 {
            return 0.0;
        }
        match self.head.get(n as usize - 1) {
            Some(sum) => *sum,
            None => self.head[HEAD - 1] + self.beyond(n as f64),
        }
    }

    /// The sum of the terms after the head: the integral, half the ends, and two corrections by derivatives.
    #[inline]
    fn beyond(&self, to: f64) -> f64 {
        let (theta, from) = (self.theta, HEAD as f64);
        let end = |x: f64| {
            let term = x.powf(-theta);
            let integral =
                if (theta - 1.0).abs() < 1e-12 { x.ln() } else { x * term / (1.0 - theta) };
            let slope = -theta * term / x;
            let third = -theta * (theta + 1.0) * (theta + 2.0) * term / (x * x * x);
            integral + term / 2.0 + slope / 12.0 - third / 720.0
        };
        end(to) - end(from)
    }
}

#[cfg(test)]
mod tests {
    use super::Zeta;

    #[test]
    fn zeta_is_the_sum_of_its_terms() {
        for theta in [0.2, 0.5, 0.99, 1.0, 1.3] {
            let zeta = Zeta::new(theta);
            let mut sum = 0.0;
            for n in 1..=300_000_u64 {
                sum += (n as f64).powf(-theta);
                if n.is_power_of_two() || n == 1_025 || n == 300_000 {
                    let off = (zeta.of(n) - sum).abs() / sum;
                    assert!(off < 1e-11, "theta {theta}, {n} terms: off by {off}");
                }
            }
        }
    }

    #[test]
    fn zeta_matches_ycsbs_stored_sum() {
        let off = Zeta::new(0.99).of(10_000_000_000) - 26.469_028_201_783_02;
        assert!(off.abs() < 1e-8, "{off}");
    }
}
