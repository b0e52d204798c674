//! sysbench's "special": some draws follow a bell curve over all keys, the others hit a few keys in the
//! middle.
//!
//! With its defaults (12, 1, 75) three of four draws fall on the middle hundredth of the keys. Its two quirks
//! are kept, so that shares match sysbench's: the bell never reaches the last key, and hot draws start a
//! quarter of the way into their range, because the number that selected them is reused.

use super::gaussian::mean;
use super::stream::Stream;

/// sysbench's "special" over a number of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Special {
    /// The last key's number.
    last: f64,
    draws: u64,
    /// The share of draws on the bell curve.
    bell: f64,
    /// The length of the hot range, and its start.
    hot: f64,
    first_hot: f64,
}

impl Special {
    /// Over at least one key: a bell curve as the mean of `draws` uniform draws; `keys_percent` percent of
    /// the keys are hot and get `draws_percent` percent of the draws.
    pub(crate) fn new(keys: u64, draws: u64, keys_percent: u64, draws_percent: u64) -> Special {
        assert!(keys > 0 && draws > 0, "there must be draws and keys");
        let last = (keys - 1) as f64;
        Special {
            last,
            draws,
            bell: 1.0 - draws_percent as f64 / 100.0,
            hot: last * keys_percent as f64 / 100.0 + 1.0,
            first_hot: last / 2.0 - last * keys_percent as f64 / 200.0,
        }
    }

    /// A key's number.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        let unit = stream.unit();
        if unit < self.bell && self.last > 0.0 {
            (mean(stream, self.draws) * self.last) as u64
        } else {
            (unit * self.hot + self.first_hot) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Special;
    use crate::distributions::Stream;
    use crate::distributions::chi_square::fits;
    use crate::distributions::gaussian::below;

    fn counts(special: &Special, keys: u64) -> Vec<u64> {
        let mut stream = Stream::of_client(12, 0, "special");
        let mut counts = vec![0; keys as usize];
        for _ in 0..1_000_000 {
            counts[special.draw(&mut stream) as usize] += 1;
        }
        counts
    }

    /// By the formulas of sysbench 1.0.20, in its own terms.
    fn shares(keys: u64, draws: u64, pct: f64, res: f64) -> Vec<f64> {
        let t = (keys - 1) as f64;
        let bell = 1.0 - res / 100.0;
        let at = |key: f64| below(key / t, draws);
        let (d, from) = (t * pct / 100.0, t / 2.0 - t * pct / 200.0);
        // Uniform, from where `unit` is the bell's share to where it is one.
        let (least, most) = (bell * (d + 1.0) + from, d + 1.0 + from);
        let hot = |key: f64| {
            let part = (key + 1.0).min(most) - key.max(least);
            part.max(0.0) / (most - least)
        };
        (0..keys)
            .map(|key| key as f64)
            .map(|key| bell * (at(key + 1.0) - at(key)) + (1.0 - bell) * hot(key))
            .collect()
    }

    #[test]
    fn a_million_draws_fit_the_exact_shares() {
        for (keys, pct, res) in [(2, 1, 75), (101, 1, 75), (10_000, 1, 75), (500, 20, 40)] {
            let special = Special::new(keys, 12, pct, res);
            let shares = shares(keys, 12, pct as f64, res as f64);
            let verdict = fits(&counts(&special, keys), &shares);
            assert!(verdict.holds(), "{keys} keys, {pct} %, {res} %: {verdict:?}");
        }
        let other =
            fits(&counts(&Special::new(10_000, 12, 1, 75), 10_000), &shares(10_000, 12, 1.0, 74.0));
        assert!(!other.holds(), "{other:?}");
    }

    #[test]
    fn every_draw_is_a_key() {
        let mut stream = Stream::of_client(13, 0, "special");
        for keys in [1, 2, 3, 1_000] {
            for (pct, res) in [(1, 75), (100, 100), (0, 0), (100, 0), (0, 100)] {
                let special = Special::new(keys, 12, pct, res);
                assert!((0..2_000).all(|_| special.draw(&mut stream) < keys));
            }
        }
    }
}
