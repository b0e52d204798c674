//! Zipf as in YCSB, by the formula of Gray et al. (SIGMOD 1994): fast, and close to Zipf.
//!
//! The first two items are exact; the others come from a smooth curve through the ends, so some are off by a
//! few percent. Use this for comparisons with YCSB, which has just these shares, and
//! [`Zipf`](super::zipf::Zipf) for exact Zipf.

use super::stream::Stream;
use super::zeta::Zeta;

/// YCSB's Zipf over a number of items that can grow.
#[derive(Clone, Debug)]
pub(crate) struct Gray {
    zeta: Zeta,
    /// `1 / (1 - theta)`.
    alpha: f64,
    /// True for the usual exponent 0.99, for which `alpha` is 100.
    is_hundred: bool,
    /// Draws below this give the second item; draws below 1 give the first.
    second: f64,
    items: u64,
    sum: f64,
    eta: f64,
}

impl Gray {
    /// Over at least one item; `theta` is between 0 and 1.
    pub(crate) fn new(items: u64, theta: f64) -> Gray {
        assert!(theta > 0.0 && theta < 1.0, "the formula needs an exponent between 0 and 1");
        let mut gray = Gray {
            zeta: Zeta::new(theta),
            alpha: 1.0 / (1.0 - theta),
            is_hundred: (theta - 0.99).abs() < 1e-12,
            second: 1.0 + 0.5_f64.powf(theta),
            items: 0,
            sum: 0.0,
            eta: 0.0,
        };
        gray.over(items);
        gray
    }

    /// The same with a given sum of shares instead of the computed one.
    pub(crate) fn with_sum(items: u64, theta: f64, sum: f64) -> Gray {
        let mut gray = Gray::new(items, theta);
        gray.sum = sum;
        gray.eta = gray.eta();
        gray
    }

    /// Changes the number of items.
    #[inline]
    pub(crate) fn over(&mut self, items: u64) {
        if items != self.items {
            self.resize(items);
        }
    }

    // If this is inlined, its logarithms are computed before draws that change nothing.
    #[inline(never)]
    fn resize(&mut self, items: u64) {
        self.items = items.max(1);
        self.sum = self.zeta.of(self.items);
        self.eta = self.eta();
    }

    /// The number of items.
    #[cfg(test)]
    pub(crate) fn items(&self) -> u64 {
        self.items
    }

    /// An item, counted from zero; the first is the most frequent.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        let unit = stream.unit();
        let scaled = unit * self.sum;
        if scaled < 1.0 {
            return 0;
        }
        let last = self.items - 1;
        if scaled < self.second {
            return last.min(1);
        }
        let place = self.eta * unit - self.eta + 1.0;
        let curve = if self.is_hundred { hundredth_power(place) } else { place.powf(self.alpha) };
        // Signed, because the processor has an instruction for that; the value is never negative.
        let item = (self.items as i64 as f64 * curve) as i64;
        (item as u64).min(last)
    }

    fn eta(&self) -> f64 {
        // With one or two items the curve is never used, and its formula would divide by zero.
        if self.items <= 2 {
            return 0.0;
        }
        let rest = 1.0 - self.zeta.theta();
        let ends = 1.0 - (2.0 / self.items as f64).powf(rest);
        ends / (1.0 - self.zeta.of(2) / self.sum)
    }

    /// The exact share of draws for an item, from the inverse of the formula.
    #[cfg(test)]
    pub(crate) fn share(&self, item: u64) -> f64 {
        let (first, second) = (1.0 / self.sum, self.second / self.sum);
        let rest = 1.0 - self.zeta.theta();
        let from = |item: u64| {
            let place = (item as f64 / self.items as f64).powf(rest);
            ((place - 1.0 + self.eta) / self.eta).clamp(second, 1.0)
        };
        let on_the_curve = if self.items <= 2 {
            0.0
        } else if item == 0 {
            from(1) - second
        } else if item + 1 == self.items {
            1.0 - from(item)
        } else {
            from(item + 1) - from(item)
        };
        match item {
            0 => first + on_the_curve,
            1 => second - first + on_the_curve,
            _ => on_the_curve,
        }
    }
}

/// Eight multiplications, a fraction of the cost of a general power.
#[inline]
fn hundredth_power(x: f64) -> f64 {
    let fourth = (x * x) * (x * x);
    let sixteenth = (fourth * fourth) * (fourth * fourth);
    let thirty_second = sixteenth * sixteenth;
    (thirty_second * thirty_second) * (thirty_second * fourth)
}

#[cfg(test)]
mod tests {
    use super::{Gray, hundredth_power};
    use crate::distributions::Stream;
    use crate::distributions::chi_square::fits;

    fn counts(gray: &Gray) -> Vec<u64> {
        let mut stream = Stream::of_client(2, 0, "gray");
        let mut counts = vec![0; gray.items() as usize];
        for _ in 0..1_000_000 {
            counts[gray.draw(&mut stream) as usize] += 1;
        }
        counts
    }

    fn shares(gray: &Gray) -> Vec<f64> {
        (0..gray.items()).map(|item| gray.share(item)).collect()
    }

    #[test]
    fn a_million_draws_fit_the_formula_s_own_shares() {
        for (items, theta) in [(1, 0.99), (2, 0.99), (3, 0.99), (1_000, 0.99), (20_000, 0.7)] {
            let gray = Gray::new(items, theta);
            let verdict = fits(&counts(&gray), &shares(&gray));
            assert!(verdict.holds(), "{items} items, theta {theta}: {verdict:?}");
        }
        let wrong = fits(&counts(&Gray::new(1_000, 0.99)), &shares(&Gray::new(1_000, 0.97)));
        assert!(!wrong.holds(), "{wrong:?}");
    }

    #[test]
    fn the_hundredth_power_is_one() {
        for x in [0.0, 0.5, 0.799_85, 0.99, 1.0] {
            let off = hundredth_power(x) - f64::powf(x, 100.0);
            assert!(off.abs() <= 1e-13 * x, "{x}: {off}");
        }
    }

    #[test]
    fn its_shares_are_near_zipf_s_and_not_those() {
        let gray = Gray::new(1_000, 0.99);
        let sum: f64 = shares(&gray).iter().sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        let zipf = |item: u64| ((item + 1) as f64).powf(-0.99) / gray.sum;
        for item in [0, 1] {
            assert!((gray.share(item) / zipf(item) - 1.0).abs() < 1e-9);
        }
        let third = gray.share(2) / zipf(2);
        assert!((1.02..1.3).contains(&third), "{third}");
    }

    #[test]
    fn a_grown_count_equals_a_new_one() {
        let mut grown = Gray::new(1, 0.99);
        for items in 2..5_000 {
            grown.over(items);
        }
        let fresh = Gray::new(4_999, 0.99);
        assert!((grown.sum - fresh.sum).abs() < 1e-12 && (grown.eta - fresh.eta).abs() < 1e-12);
    }
}
