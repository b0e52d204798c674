//! The probability that figures of equal settings differ by chance.
//!
//! If two settings are equal, every order of their repetitions is equally likely. One of the `C(a + b, a)`
//! orders has all of the first below all of the second: one in 20 with three repetitions a side, one in 70
//! with four, one in 252 with five. That is the reason to repeat.

/// Up to this many pairs of figures, orders are counted exactly.
const PAIRS_COUNTED: usize = 2_500;

/// The probability that, with equal settings, `lower` would lie as far below `higher` as it does, or farther:
/// the one-sided test of Mann, Whitney and Wilcoxon. Equal figures count against a difference.
pub(super) fn rank_test_p_value(lower: &[f64], higher: &[f64]) -> f64 {
    let against = |low: &f64| higher.iter().filter(|high| *high <= low).count();
    let inversions: usize = lower.iter().map(against).sum();
    let (n, m) = (lower.len(), higher.len());
    if n * m > PAIRS_COUNTED {
        return normal(inversions, n, m);
    }
    let orders = orders(n, m);
    let all: f64 = orders.iter().sum();
    orders.iter().take(inversions + 1).sum::<f64>() / all
}

/// The most inverted pairs of n and m figures that have a probability of at most `chance` if the settings are
/// equal; `None` if even none has a higher one.
pub(super) fn inversions_most(n: usize, m: usize, chance: f64) -> Option<usize> {
    let pairs = n * m;
    if pairs > PAIRS_COUNTED {
        return (0..pairs).take_while(|inversions| normal(*inversions, n, m) <= chance).last();
    }
    let orders = orders(n, m);
    let all: f64 = orders.iter().sum();
    let mut sum = 0.0;
    let below = orders.iter().take_while(|count| {
        sum += **count;
        sum / all <= chance
    });
    below.count().checked_sub(1)
}

/// The number of orders of n and m figures for each number of inverted pairs: the coefficients of the
/// Gaussian binomial.
fn orders(n: usize, m: usize) -> Vec<f64> {
    let most = n * m;
    let mut counts = vec![0.0; most + 1];
    counts[0] = 1.0;
    for step in 1..=n {
        for pairs in ((m + step)..=most).rev() {
            counts[pairs] -= counts[pairs - m - step];
        }
        for pairs in step..=most {
            counts[pairs] += counts[pairs - step];
        }
    }
    counts
}

/// The same for many figures, whose inversions are normally distributed.
fn normal(inversions: usize, n: usize, m: usize) -> f64 {
    let (n, m) = (n as f64, m as f64);
    let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
    let at = (inversions as f64 + 0.5 - n * m / 2.0) / deviation;
    // Abramowitz and Stegun 26.2.17, to 8e-8.
    let t = 1.0 / (1.0 + 0.231_641_9 * at.abs());
    let series = t
        * (0.319_381_530
            + t * (-0.356_563_782
                + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = (-at * at / 2.0).exp() / std::f64::consts::TAU.sqrt() * series;
    if at < 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::{inversions_most, normal, orders, rank_test_p_value};

    fn from(first: usize, count: usize) -> Vec<f64> {
        (first..first + count).map(|one| one as f64).collect()
    }

    #[test]
    fn all_of_one_side_below_the_other_is_one_order_of_all() {
        let apart = |n, m| rank_test_p_value(&from(0, n), &from(100, m));
        assert!((apart(3, 3) - 1.0 / 20.0).abs() < 1e-12);
        assert!((apart(4, 4) - 1.0 / 70.0).abs() < 1e-12);
        assert!((apart(5, 5) - 1.0 / 252.0).abs() < 1e-12);
        assert!((apart(5, 3) - apart(3, 5)).abs() < 1e-12);
    }

    #[test]
    fn each_inverted_pair_raises_the_probability() {
        let higher = from(10, 5);
        let one = rank_test_p_value(&[1.0, 2.0, 3.0, 4.0, 10.5], &higher);
        assert!((one - 2.0 / 252.0).abs() < 1e-12, "{one}");
        let equal = rank_test_p_value(&[1.0, 2.0, 3.0, 4.0, 10.0], &higher);
        assert!((equal - one).abs() < 1e-12, "equal figures count against");
        assert!(rank_test_p_value(&higher, &higher) > 0.5);
    }

    #[test]
    fn the_most_inversions_are_those_that_the_test_still_calls_different() {
        assert_eq!(inversions_most(3, 3, 0.02), None, "one order in 20");
        assert_eq!(inversions_most(4, 4, 0.02), Some(0), "one order in 70");
        assert_eq!(inversions_most(5, 5, 0.02), Some(2), "four orders in 252");
        let many = inversions_most(60, 60, 0.02).unwrap();
        assert!(normal(many, 60, 60) <= 0.02 && normal(many + 1, 60, 60) > 0.02);
    }

    #[test]
    fn the_normal_approximation_is_close_to_the_exact_count() {
        let counts = orders(20, 20);
        let all: f64 = counts.iter().sum();
        for inversions in [100, 150, 200, 250] {
            let counted: f64 = counts.iter().take(inversions + 1).sum::<f64>() / all;
            let close = normal(inversions, 20, 20);
            assert!((counted - close).abs() < 0.003, "{inversions}: {counted} {close}");
        }
        assert!(rank_test_p_value(&from(0, 60), &from(100, 60)) < 1e-9);
    }
}
