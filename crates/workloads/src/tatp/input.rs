//! The number input: a subscriber, and the parameters of a transaction.

use super::population::STARTS;
use crate::distributions::Stream;
use syncline_contract::words;

words! {
    /// The distribution of subscribers.
    pub enum Distribution {
        /// The rule of the benchmark's description.
        NonUniform = "non-uniform",
        /// All are equally likely.
        Uniform = "uniform",
    }
}

/// Draws subscribers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subscribers {
    count: u64,
    /// The rule's A; none if all are equally likely.
    mask: Option<u64>,
}

impl Subscribers {
    /// Over this many subscribers.
    pub(super) fn new(count: u64, distribution: Distribution) -> Subscribers {
        let mask = match count {
            0..=1_000_000 => 65_535,
            1_000_001..=10_000_000 => 1_048_575,
            _ => 2_097_151,
        };
        Subscribers { count, mask: (distribution == Distribution::NonUniform).then_some(mask) }
    }

    /// A subscriber's number, from 1.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> i64 {
        let even = stream.below(self.count) + 1;
        let number = match self.mask {
            None => even,
            Some(mask) => (stream.below(mask + 1) | even) % self.count + 1,
        };
        number as i64
    }
}

/// The parameters of a transaction; each transaction uses some of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Input {
    pub(super) s_id: i64,
    /// The type of an access or a special facility, 1 to 4.
    pub(super) kind: i64,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) bit: i64,
    pub(super) data: i64,
    pub(super) location: i64,
    /// The number to which calls are forwarded.
    pub(super) number: [u8; 15],
}

impl Input {
    /// Draws all parameters.
    #[inline]
    pub(super) fn draw(subscribers: &Subscribers, stream: &mut Stream) -> Input {
        let mut number = [b'0'; 15];
        let mut digits = stream.below(1_000_000_000_000_000);
        for digit in &mut number {
            *digit += (digits % 10) as u8;
            digits /= 10;
        }
        Input {
            s_id: subscribers.draw(stream),
            kind: stream.between(1, 4),
            start: STARTS[stream.below(3) as usize],
            end: stream.between(1, 24),
            bit: stream.between(0, 1),
            data: stream.between(0, 255),
            location: stream.between(1, u32::MAX.into()),
            number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Distribution, Subscribers};
    use crate::distributions::Stream;

    /// The sum of squared deviations from the expected counts, divided by those counts.
    fn chi_square(counts: &[u64], expected: &[f64]) -> f64 {
        let pairs = counts.iter().zip(expected);
        pairs.map(|(count, expected)| (*count as f64 - expected).powi(2) / expected).sum()
    }

    #[test]
    fn subscribers_follow_the_rule_exactly() {
        const DRAWS: u64 = 1_000_000;
        let (count, mask) = (12, 7);
        let mut expected = vec![0.0; count as usize];
        for number in 0..=mask {
            for even in 1..=count {
                expected[((number | even) % count) as usize] += DRAWS as f64 / (8 * count) as f64;
            }
        }
        let subscribers = Subscribers { count, mask: Some(mask) };
        let mut stream = Stream::of_client(1, 1, "test");
        let mut counts = vec![0; count as usize];
        for _ in 0..DRAWS {
            counts[subscribers.draw(&mut stream) as usize - 1] += 1;
        }
        let never = |place: &usize| expected[*place] == 0.0;
        assert!((0..12).filter(never).all(|place| counts[place] == 0));
        let (counts, expected): (Vec<u64>, Vec<f64>) =
            counts.into_iter().zip(expected).filter(|(_, expected)| *expected > 0.0).unzip();
        // At most eleven degrees of freedom: exceeds 31.3 for one seed in a thousand.
        assert!(chi_square(&counts, &expected) < 31.3, "{counts:?} {expected:?}");
    }

    #[test]
    fn the_rule_widens_with_the_subscribers() {
        let mask = |count| Subscribers::new(count, Distribution::NonUniform).mask;
        assert_eq!(mask(1_000_000), Some(65_535));
        assert_eq!(mask(1_000_001), Some(1_048_575));
        assert_eq!(mask(10_000_001), Some(2_097_151));
        let even = Subscribers::new(5, Distribution::Uniform);
        let mut stream = Stream::of_client(1, 1, "test");
        let mut counts = [0; 5];
        for _ in 0..50_000 {
            counts[even.draw(&mut stream) as usize - 1] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..=10_500).contains(count)), "{counts:?}");
    }
}
