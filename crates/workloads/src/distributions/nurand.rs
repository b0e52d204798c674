//! `NURand`, the non-uniform distribution of TPC-C (clause 2.1.6): some values are drawn far more often than
//! others; a constant determines which.
//!
//! `NURand(A, x, y) = (((random(0, A) | random(x, y)) + C) mod (y - x + 1)) + x`. The constant for last names
//! differs between load and run, so that the most requested names are not those that most customers have.

use super::stream::Stream;

/// The distribution between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nurand {
    /// One less than a power of two.
    mask: i64,
    constant: i64,
    least: i64,
    most: i64,
}

impl Nurand {
    /// Between two bounds, inclusive. `mask` is the definition's A, `constant` its C.
    pub(crate) fn new(mask: i64, constant: i64, least: i64, most: i64) -> Nurand {
        assert!((mask + 1).count_ones() == 1, "A must be a power of two minus one");
        assert!((0..=mask).contains(&constant), "the constant must be from 0 to A");
        assert!(0 <= least && least <= most, "the bounds must be in order");
        Nurand { mask, constant, least, most }
    }

    /// One value.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream) -> i64 {
        let either = (stream.word() as i64 & self.mask) | stream.between(self.least, self.most);
        (either + self.constant) % (self.most - self.least + 1) + self.least
    }
}

/// A constant for last names in a run, with A = 255: it differs from that of the load by 65 to 119, except 96
/// and 112 (clause 2.1.6.1).
pub(crate) fn run_constant(load: i64, stream: &mut Stream) -> i64 {
    loop {
        let constant = stream.between(0, 255);
        let away = (constant - load).abs();
        if (65..=119).contains(&away) && away != 96 && away != 112 {
            return constant;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Nurand, run_constant};
    use crate::distributions::Stream;

    const DRAWS: u32 = 1_000_000;

    /// The probability of each value, from the definition, over all pairs of numbers.
    fn exact(of: Nurand) -> Vec<f64> {
        let span = of.most - of.least + 1;
        let mut counts = vec![0_u64; span as usize];
        for left in 0..=of.mask {
            for right in of.least..=of.most {
                counts[(((left | right) + of.constant) % span) as usize] += 1;
            }
        }
        let all = ((of.mask + 1) * span) as f64;
        counts.iter().map(|count| *count as f64 / all).collect()
    }

    fn chi_square(of: Nurand, expected: &[f64]) -> f64 {
        let mut stream = Stream::of_load("nurand", 7);
        let mut counts = vec![0_u32; expected.len()];
        for _ in 0..DRAWS {
            counts[(of.draw(&mut stream) - of.least) as usize] += 1;
        }
        let terms = counts.iter().zip(expected).map(|(count, share)| {
            let mean = share * f64::from(DRAWS);
            (f64::from(*count) - mean).powi(2) / mean
        });
        terms.sum()
    }

    #[test]
    fn draws_have_the_probabilities_of_the_definition() {
        for (mask, constant, least, most) in
            [(255, 0, 0, 999), (255, 173, 0, 999), (1023, 511, 1, 3000)]
        {
            let of = Nurand::new(mask, constant, least, most);
            let free = (most - least) as f64;
            let statistic = chi_square(of, &exact(of));
            // Six standard deviations above the mean of the chi-square distribution.
            let bound = free + 6.0 * (2.0 * free).sqrt();
            assert!(statistic < bound, "A {mask}: {statistic} of {bound}");
            // The same draws do not fit the probabilities of another constant.
            let other = Nurand::new(mask, (constant + 64) & mask, least, most);
            assert!(chi_square(of, &exact(other)) > 10.0 * bound, "A {mask}");
        }
    }

    #[test]
    fn every_allowed_constant_of_a_run_is_drawn_and_no_other() {
        let mut stream = Stream::of_load("constants", 1);
        let mut constants: Vec<i64> =
            (0..20_000).map(|_| (run_constant(127, &mut stream) - 127).abs()).collect();
        constants.sort_unstable();
        constants.dedup();
        let allowed: Vec<i64> = (65..=119).filter(|away| ![96, 112].contains(away)).collect();
        assert_eq!(constants, allowed);
    }
}
