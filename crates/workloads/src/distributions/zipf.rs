//! Exact Zipf: item k of n, counted from 1, is drawn with a probability proportional to `k^-theta`.
//!
//! By rejection inversion (Hörmann and Derflinger 1996): the integral of the hat function is inverted, and a
//! draw is accepted if it falls below the histogram, which nearly all do. There is no table, so a billion
//! items cost the same as ten.

use super::stream::Stream;

/// Zipf over a number of items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zipf {
    items: f64,
    theta: f64,
    /// The hat's integral at the left end of the first item and at the right end of the last.
    first: f64,
    last: f64,
    /// Draws up to this distance right of their item's middle are accepted without a test.
    sure: f64,
}

impl Zipf {
    /// Over at least one item; `theta` is above zero.
    pub(crate) fn new(items: u64, theta: f64) -> Zipf {
        assert!(items > 0 && theta > 0.0, "Zipf needs items and an exponent");
        let mut zipf = Zipf { items: items as f64, theta, first: 0.0, last: 0.0, sure: 0.0 };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(zipf.items + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.height(2.0));
        zipf
    }

    /// An item, counted from zero; the first is the most frequent.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        loop {
            let area = self.last + stream.unit() * (self.first - self.last);
            let place = self.inverse(area);
            let item = (place + 0.5).floor().clamp(1.0, self.items);
            let accepted =
                item - place <= self.sure || area >= self.integral(item + 0.5) - self.height(item);
            if accepted {
                return item as u64 - 1;
            }
        }
    }

    fn height(&self, x: f64) -> f64 {
        x.powf(-self.theta)
    }

    /// The integral of the height from 1 to x.
    fn integral(&self, x: f64) -> f64 {
        let rest = 1.0 - self.theta;
        if rest.abs() < 1e-12 { x.ln() } else { (x.powf(rest) - 1.0) / rest }
    }

    /// The point where the integral reaches this area.
    #[inline]
    fn inverse(&self, area: f64) -> f64 {
        let rest = 1.0 - self.theta;
        if rest.abs() < 1e-12 { area.exp() } else { (1.0 + area * rest).max(0.0).powf(1.0 / rest) }
    }
}

#[cfg(test)]
mod tests {
    use super::Zipf;
    use crate::distributions::Stream;
    use crate::distributions::chi_square::fits;
    use crate::distributions::zeta::Zeta;

    fn counts(items: u64, theta: f64) -> Vec<u64> {
        let (zipf, mut stream) = (Zipf::new(items, theta), Stream::of_client(1, 0, "zipf"));
        let mut counts = vec![0; items as usize];
        for _ in 0..1_000_000 {
            counts[zipf.draw(&mut stream) as usize] += 1;
        }
        counts
    }

    fn shares(items: u64, theta: f64) -> Vec<f64> {
        let sum = Zeta::new(theta).of(items);
        (1..=items).map(|item| (item as f64).powf(-theta) / sum).collect()
    }

    #[test]
    fn a_million_draws_fit_the_exact_shares() {
        for (items, theta) in
            [(1, 0.99), (2, 0.99), (1_000, 0.99), (50_000, 0.5), (300, 1.0), (300, 2.5)]
        {
            let verdict = fits(&counts(items, theta), &shares(items, theta));
            assert!(verdict.holds(), "{items} items, theta {theta}: {verdict:?}");
        }
    }

    #[test]
    fn draws_of_another_exponent_do_not_fit() {
        let verdict = fits(&counts(1_000, 0.99), &shares(1_000, 0.97));
        assert!(!verdict.holds(), "{verdict:?}");
    }
}
