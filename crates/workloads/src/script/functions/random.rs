//! The random functions: integers between two bounds, uniform or skewed.
//!
//! - exponential: the density falls from the lower bound to the upper one by a factor of `exp(-parameter)`;
//! - gaussian: a standard normal number, redrawn until it is within `parameter` deviations, scaled to the
//!   interval;
//! - zipfian: the k-th number is `((k+1)/k)^parameter` times as likely as the next, by the rejection
//!   method of Devroye's "Non-Uniform Random Variate Generation", pages 550 and 551.

use crate::distributions::Stream;
use crate::script::value::Refusal;
use std::f64::consts::TAU;

/// The smallest parameter of a gaussian.
const GAUSSIAN_LEAST: f64 = 2.0;
/// The range of the parameter of a zipfian.
const ZIPFIAN: std::ops::RangeInclusive<f64> = 1.001..=1000.0;

/// An interval of integers, inclusive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    least: i64,
    /// Number of integers.
    count: i64,
}

impl Interval {
    /// An interval between two bounds; refuses an empty one, and one that is too large to count.
    pub(super) fn new(least: i64, most: i64) -> Result<Interval, Refusal> {
        if least > most {
            return Err(format!("a random number from {least} to {most} does not exist"));
        }
        let count = most.checked_sub(least).and_then(|span| span.checked_add(1));
        let too_large =
            || format!("the range of a random number from {least} to {most} is too large");
        let count = count.ok_or_else(too_large)?;
        Ok(Interval { least, count })
    }

    /// Uniform.
    #[inline]
    pub(super) fn even(self, random: &mut Stream) -> i64 {
        random.between(self.least, self.least + (self.count - 1))
    }

    /// Falls off from the lower bound.
    pub(super) fn exponential(self, parameter: f64, random: &mut Stream) -> Result<i64, Refusal> {
        if parameter.is_nan() || parameter <= 0.0 {
            return Err(format!(
                "the parameter of random_exponential is {parameter}; it must be above zero"
            ));
        }
        let cut = (-parameter).exp();
        let even = 1.0 - random.unit();
        Ok(self.at(-(cut + (1.0 - cut) * even).ln() / parameter))
    }

    /// Highest in the middle.
    pub(super) fn gaussian(self, parameter: f64, random: &mut Stream) -> Result<i64, Refusal> {
        if parameter.is_nan() || parameter < GAUSSIAN_LEAST {
            return Err(format!(
                "the parameter of random_gaussian is {parameter}; it must be at least 2"
            ));
        }
        loop {
            let (radius, angle) = (1.0 - random.unit(), 1.0 - random.unit());
            let normal = (-2.0 * radius.ln()).sqrt() * (TAU * angle).sin();
            if (-parameter..parameter).contains(&normal) {
                return Ok(self.at((normal + parameter) / (2.0 * parameter)));
            }
        }
    }

    /// By rank, starting at the lower bound.
    pub(super) fn zipfian(self, parameter: f64, random: &mut Stream) -> Result<i64, Refusal> {
        if !ZIPFIAN.contains(&parameter) {
            return Err(format!(
                "the parameter of random_zipfian is {parameter}; it must be from 1.001 to 1000"
            ));
        }
        Ok(self.least + (self.rank(parameter, random) - 1))
    }

    /// A rank, from 1 to the count.
    fn rank(self, parameter: f64, random: &mut Stream) -> i64 {
        if self.count == 1 {
            return 1;
        }
        let power = parameter - 1.0;
        let bound = 2_f64.powf(power);
        loop {
            let (inverse, accept) = (random.unit(), random.unit());
            let rank = inverse.powf(-1.0 / power).floor();
            let ratio = (1.0 + 1.0 / rank).powf(power);
            // For a rank beyond all bounds the left side is NaN, so it does not fit.
            let fits = accept * rank * (ratio - 1.0) / (bound - 1.0) <= ratio / bound;
            if fits && rank <= self.count as f64 {
                return (rank as i64).min(self.count);
            }
        }
    }

    /// The number at a fraction of the interval, from 0 to below 1; rounding must not leave the interval.
    fn at(self, share: f64) -> i64 {
        let step = (self.count as f64 * share) as i64;
        self.least + step.clamp(0, self.count - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::Interval;
    use crate::distributions::Stream;

    const DRAWS: u32 = 200_000;

    /// Pearson's sum over the classes of `shares`, for numbers drawn from 1 up.
    fn chi_square(shares: &[f64], mut draw: impl FnMut() -> i64) -> f64 {
        let mut counts = vec![0_u32; shares.len()];
        for _ in 0..DRAWS {
            counts[usize::try_from(draw() - 1).unwrap()] += 1;
        }
        let each = counts.iter().zip(shares).map(|(count, share)| {
            let expected = share * f64::from(DRAWS);
            (f64::from(*count) - expected).powi(2) / expected
        });
        each.sum()
    }

    fn ten() -> (Interval, Stream) {
        (Interval::new(1, 10).unwrap(), Stream::of_client(7, 0, "test"))
    }

    /// For nine degrees of freedom: exceeded by one correct generator in ten thousand.
    const MOST: f64 = 33.7;

    #[test]
    fn every_distribution_has_its_shape() {
        let (interval, mut random) = ten();
        let even = [0.1; 10];
        assert!(chi_square(&even, || interval.even(&mut random)) < MOST);
        let falls = |from: f64| 1.0 - (-2.5 * from).exp();
        let all = falls(1.0);
        let shares: Vec<f64> = (0..10)
            .map(|k| (falls(f64::from(k + 1) / 10.0) - falls(f64::from(k) / 10.0)) / all)
            .collect();
        let exponential = || interval.exponential(2.5, &mut random).unwrap();
        assert!(chi_square(&shares, exponential) < MOST);
        let weights: Vec<f64> = (1..=10).map(|k| f64::from(k).powf(-1.5)).collect();
        let sum: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        let zipfian = || interval.zipfian(1.5, &mut random).unwrap();
        assert!(chi_square(&shares, zipfian) < MOST);
        // The normal distribution between 0, 0.5, 1, 1.5, 2 and 2.5 deviations, from a table.
        let half = [0.191_462_5, 0.149_882_3, 0.091_848_1, 0.044_057_1, 0.016_540_5];
        let total: f64 = 2.0 * half.iter().sum::<f64>();
        let shares: Vec<f64> = half.iter().rev().chain(&half).map(|p| p / total).collect();
        let gaussian = || interval.gaussian(2.5, &mut random).unwrap();
        assert!(chi_square(&shares, gaussian) < MOST);
    }

    #[test]
    fn a_wrong_distribution_is_detected() {
        let (interval, mut random) = ten();
        let skewed: Vec<f64> = (0..10).map(|k| 0.1 + (f64::from(k) - 4.5) / 450.0).collect();
        assert!(chi_square(&skewed, || interval.even(&mut random)) > MOST);
    }

    #[test]
    fn bounds_and_parameters_are_those_of_pgbench() {
        let (_, mut random) = ten();
        assert!(Interval::new(5, 1).is_err());
        assert!(Interval::new(i64::MIN, i64::MAX).is_err());
        assert!(Interval::new(0, i64::MAX).is_err());
        let wide = Interval::new(1, i64::MAX).unwrap();
        for _ in 0..1000 {
            assert!(wide.even(&mut random) >= 1);
            assert!(wide.exponential(1e-9, &mut random).unwrap() >= 1);
            assert!(wide.zipfian(1.001, &mut random).unwrap() >= 1);
            assert!(wide.gaussian(2.0, &mut random).unwrap() >= 1);
        }
        let one = Interval::new(5, 5).unwrap();
        assert_eq!(one.even(&mut random), 5);
        assert_eq!(one.zipfian(2.0, &mut random), Ok(5));
        assert!(one.gaussian(1.5, &mut random).is_err());
        assert!(one.exponential(0.0, &mut random).is_err());
        assert!(one.zipfian(1.0, &mut random).is_err());
        assert!(one.zipfian(1001.0, &mut random).is_err());
    }
}
