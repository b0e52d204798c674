//! Latest: the newest key is the most frequent, and older ones fall off like YCSB's Zipf.

use super::gray_zipf::Gray;
use super::stream::Stream;

/// Latest over a growing number of keys.
#[derive(Clone, Debug)]
pub(crate) struct Latest(Gray);

impl Latest {
    /// With YCSB's exponent 0.99, or another between 0 and 1.
    pub(crate) fn new(keys: u64, theta: f64) -> Latest {
        Latest(Gray::new(keys, theta))
    }

    /// The number of a key among the `keys` readable now.
    #[inline]
    pub(crate) fn draw(&mut self, stream: &mut Stream, keys: u64) -> u64 {
        self.0.over(keys);
        (keys - 1).saturating_sub(self.0.draw(stream))
    }
}

#[cfg(test)]
mod tests {
    use super::Latest;
    use crate::distributions::Stream;
    use crate::distributions::chi_square::fits;

    #[test]
    fn a_million_draws_fit_the_exact_shares_from_the_newest_down() {
        let (mut latest, mut stream) = (Latest::new(10, 0.99), Stream::of_client(4, 0, "latest"));
        let mut counts = vec![0; 2_000];
        for _ in 0..1_000_000 {
            counts[latest.draw(&mut stream, 2_000) as usize] += 1;
        }
        let shares = |latest: &Latest| -> Vec<f64> {
            (0..2_000).rev().map(|age| latest.0.share(age)).collect()
        };
        let verdict = fits(&counts, &shares(&latest));
        assert!(verdict.holds(), "{verdict:?}");
        let mut wrong = Latest::new(10, 0.96);
        wrong.0.over(2_000);
        assert!(!fits(&counts, &shares(&wrong)).holds());
    }

    #[test]
    fn the_newest_of_a_growing_table_is_always_drawn_from() {
        let (mut latest, mut stream) = (Latest::new(1, 0.99), Stream::of_client(5, 0, "latest"));
        for keys in 1..3_000 {
            assert!(latest.draw(&mut stream, keys) < keys);
        }
    }
}
