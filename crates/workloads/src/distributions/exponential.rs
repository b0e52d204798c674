//! Exponential: a given share of the draws falls on a given share of the keys, counted from the newest.

use super::stream::Stream;

/// Exponential over a number of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exponential {
    /// The mean age of a drawn key.
    mean: f64,
}

impl Exponential {
    /// `percentile` percent of the draws fall on the newest `share` of the keys; in YCSB 95 on 0.8571428571.
    pub(crate) fn new(keys: u64, percentile: f64, share: f64) -> Exponential {
        let range = keys as f64 * share;
        let mean = range / -(1.0 - percentile / 100.0).ln();
        Exponential { mean }
    }

    /// The number of a key among the `keys` readable now; draws beyond the oldest are repeated.
    // If this is inlined, its logarithm is computed for the draws of other distributions too.
    #[inline(never)]
    pub(crate) fn draw(self, stream: &mut Stream, keys: u64) -> u64 {
        loop {
            let age = stream.exponential(self.mean) as u64;
            if age < keys {
                return keys - 1 - age;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Exponential;
    use crate::distributions::Stream;
    use crate::distributions::chi_square::fits;

    #[test]
    fn a_million_draws_fit_the_exact_shares() {
        let keys = 1_000_u32;
        let exponential = Exponential::new(u64::from(keys), 95.0, 0.857_142_857_1);
        let mut stream = Stream::of_client(7, 0, "exponential");
        let mut counts = vec![0; keys as usize];
        for _ in 0..1_000_000 {
            counts[exponential.draw(&mut stream, u64::from(keys)) as usize] += 1;
        }
        let shares = |percentile: f64| -> Vec<f64> {
            let mean = 857.142_857_1 / -(1.0_f64 - percentile / 100.0).ln();
            let below = |age: u32| 1.0 - (-f64::from(age) / mean).exp();
            let all = below(keys);
            let of = |age| (below(age + 1) - below(age)) / all;
            (0..keys).rev().map(of).collect()
        };
        let verdict = fits(&counts, &shares(95.0));
        assert!(verdict.holds(), "{verdict:?}");
        assert!(!fits(&counts, &shares(94.5)).holds());
    }
}
