//! Hotspot: a share of the draws goes evenly to the first keys, the rest evenly to the others.

use super::stream::Stream;

/// Hotspot over a number of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hotspot {
    hot: u64,
    cold: u64,
    hot_draws: f64,
}

impl Hotspot {
    /// Over at least one key: `hot_data` of the keys get `hot_draws` of the draws, both from 0 to 1.
    pub(crate) fn new(keys: u64, hot_data: f64, hot_draws: f64) -> Hotspot {
        let hot = (keys as f64 * hot_data) as u64;
        let cold = keys - hot.min(keys);
        // If one side has no keys, the other gets all draws.
        let hot_draws = match (hot, cold) {
            (0, _) => 0.0,
            (_, 0) => 1.0,
            _ => hot_draws,
        };
        Hotspot { hot, cold, hot_draws }
    }

    /// A key's number.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        if stream.unit() < self.hot_draws {
            stream.below(self.hot)
        } else {
            self.hot + stream.below(self.cold)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Hotspot;
    use crate::distributions::Stream;
    use crate::distributions::chi_square::fits;

    #[test]
    fn a_fifth_of_the_keys_gets_four_fifths_of_the_draws() {
        let (hotspot, mut stream) = (Hotspot::new(1_000, 0.2, 0.8), Stream::of_client(6, 0, "hot"));
        let mut counts = vec![0; 1_000];
        for _ in 0..1_000_000 {
            counts[hotspot.draw(&mut stream) as usize] += 1;
        }
        let shares = |hot: f64| -> Vec<f64> {
            let of = |key| {
                if key < 200 { hot / 200.0 } else { (1.0 - hot) / 800.0 }
            };
            (0..1_000).map(of).collect()
        };
        assert!(fits(&counts, &shares(0.8)).holds());
        assert!(!fits(&counts, &shares(0.79)).holds());
    }

    #[test]
    fn a_side_without_keys_is_never_drawn() {
        let mut stream = Stream::of_client(6, 0, "hot");
        for (data, draws) in [(0.0, 1.0), (1.0, 0.0), (0.5, 0.5)] {
            let hotspot = Hotspot::new(1, data, draws);
            assert!((0..100).all(|_| hotspot.draw(&mut stream) == 0));
        }
    }
}
