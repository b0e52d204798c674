//! Pareto as in sysbench: a share h of the keys gets a share 1 - h of the draws, recursively.

use super::stream::Stream;

/// Pareto over a number of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pareto {
    keys: f64,
    power: f64,
}

impl Pareto {
    /// Over at least one key; `h` is between 0 and 1; 0.2 means "80 by 20".
    pub(crate) fn new(keys: u64, h: f64) -> Pareto {
        assert!(keys > 0 && h > 0.0 && h < 1.0, "h must be between 0 and 1");
        Pareto { keys: keys as f64, power: h.ln() / (1.0 - h).ln() }
    }

    /// A key's number; the first is the most frequent.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        (self.keys * stream.unit().powf(self.power)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Pareto;
    use crate::distributions::Stream;
    use crate::distributions::chi_square::fits;

    fn shares(keys: u64, h: f64) -> Vec<f64> {
        let power = (1.0 - h).ln() / h.ln();
        let at = |key: u64| (key as f64 / keys as f64).powf(power);
        (0..keys).map(|key| at(key + 1) - at(key)).collect()
    }

    #[test]
    fn a_million_draws_fit_the_exact_shares() {
        for (keys, h) in [(1, 0.2), (10, 0.2), (5_000, 0.2), (300, 0.45)] {
            let (pareto, mut stream) = (Pareto::new(keys, h), Stream::of_client(14, 0, "pareto"));
            let mut counts = vec![0; keys as usize];
            for _ in 0..1_000_000 {
                counts[pareto.draw(&mut stream) as usize] += 1;
            }
            let verdict = fits(&counts, &shares(keys, h));
            assert!(verdict.holds(), "{keys} keys, h {h}: {verdict:?}");
            if keys == 10 {
                let first: u64 = counts[..2].iter().sum();
                assert!((first as f64 / 1e6 - 0.8).abs() < 0.002, "80 by 20: {first}");
            }
        }
    }
}
