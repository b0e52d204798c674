//! A bell curve over the keys as in sysbench: the mean of a few uniform draws.

use super::stream::Stream;

/// A bell curve over a number of keys, highest in the middle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gaussian {
    keys: f64,
    draws: u64,
}

impl Gaussian {
    /// Over at least one key, as the mean of at least one uniform draw; sysbench takes 12.
    pub(crate) fn new(keys: u64, draws: u64) -> Gaussian {
        assert!(keys > 0 && draws > 0, "there must be draws and keys");
        Gaussian { keys: keys as f64, draws }
    }

    /// A key's number.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        (mean(stream, self.draws) * self.keys) as u64
    }
}

/// The mean of `draws` uniform draws from zero to one.
#[inline]
pub(super) fn mean(stream: &mut Stream, draws: u64) -> f64 {
    let sum: f64 = (0..draws).map(|_| stream.unit()).sum();
    sum / draws as f64
}

/// The probability that the mean of `draws` uniform draws is below `x`: the Irwin-Hall sum.
#[cfg(test)]
pub(super) fn below(x: f64, draws: u64) -> f64 {
    if x > 0.5 {
        // The terms of the sum alternate and grow; in its lower half they are small enough.
        return 1.0 - below(1.0 - x, draws);
    }
    let sum = x.max(0.0) * draws as f64;
    let (mut choose, mut all, mut factorial) = (1.0, 0.0, 1.0);
    for k in 0..=draws {
        factorial *= (k.max(1)) as f64;
        let rest = (sum - k as f64).max(0.0);
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        all += sign * choose * rest.powi(draws as i32);
        choose *= (draws - k) as f64 / (k + 1) as f64;
    }
    all / factorial
}

#[cfg(test)]
mod tests {
    use super::{Gaussian, below};
    use crate::distributions::Stream;
    use crate::distributions::chi_square::fits;

    fn shares(keys: u64, draws: u64) -> Vec<f64> {
        let at = |key: u64| below(key as f64 / keys as f64, draws);
        (0..keys).map(|key| at(key + 1) - at(key)).collect()
    }

    #[test]
    fn a_million_draws_fit_the_exact_shares() {
        for (keys, draws) in [(1, 12), (100, 12), (1_000, 12), (50, 1), (50, 3)] {
            let gaussian = Gaussian::new(keys, draws);
            let mut stream = Stream::of_client(11, 0, "gaussian");
            let mut counts = vec![0; keys as usize];
            for _ in 0..1_000_000 {
                counts[gaussian.draw(&mut stream) as usize] += 1;
            }
            let verdict = fits(&counts, &shares(keys, draws));
            assert!(verdict.holds(), "{keys} keys, {draws} draws: {verdict:?}");
            if keys == 1_000 {
                assert!(!fits(&counts, &shares(keys, 11)).holds());
            }
        }
    }
}
