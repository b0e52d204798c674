//! How far a figure that was sampled may be from the truth: intervals that hold it in 95 of 100 runs.
//!
//! Looks fall where they fall: of `n` looks, those at one place follow the binomial distribution, and in
//! a window of which only the length is given, Poisson's. Up to [`EXACT`] looks at a place the bounds are
//! solved from these (Clopper and Pearson; Garwood), which is right however few there are; beyond that
//! they come of approximations (Wilson; Wilson and Hilferty), which then differ by less than one look.
//! What is not seen in them: looks of one thread that hang together, and time that a machine was too
//! busy to look.

/// The bounds of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// It is hardly less.
    pub low: f64,
    /// It is hardly more.
    pub high: f64,
}

/// So many looks are counted out one by one.
const EXACT: u64 = 100;
/// In each tail lies one part in 40.
const TAIL: f64 = 0.025;
/// Standard deviations from the middle to the tail.
const Z: f64 = 1.959_963_984_540_054;
/// Halvings after which bounds do not move any more.
const HALVINGS: u32 = 60;

/// The share of `of` looks that `count` of them stand for; none without looks.
pub fn share(count: u64, of: u64) -> Option<Interval> {
    assert!(count <= of, "a part is no more than the whole");
    if of == 0 {
        return None;
    }
    if count > of / 2 {
        let rest = share(of - count, of)?;
        return Some(Interval {
            low: 1.0 - rest.high,
            high: 1.0 - rest.low,
        });
    }
    if count > EXACT {
        return Some(wilson(count as f64, of as f64));
    }
    let at_most = |seen: u64| move |chance: f64| binomial_at_most(seen, of, chance);
    Some(Interval {
        low: match count {
            0 => 0.0,
            _ => solve(at_most(count - 1), 1.0 - TAIL, 1.0),
        },
        high: solve(at_most(count), TAIL, 1.0),
    })
}

/// The expected number of events where `count` were seen.
pub fn events(count: u64) -> Interval {
    let seen = count as f64;
    if count > EXACT {
        return Interval {
            low: hilferty(seen, -Z),
            high: hilferty(seen + 1.0, Z),
        };
    }
    let most = 4.0 * seen + 10.0;
    let at_most = |seen: u64| move |mean: f64| poisson_at_most(seen, mean);
    Interval {
        low: match count {
            0 => 0.0,
            _ => solve(at_most(count - 1), 1.0 - TAIL, most),
        },
        high: solve(at_most(count), TAIL, most),
    }
}

/// What each of `transactions` had, of a weight that was scaled up from `count` looks; none without
/// looks, of which nothing is known, and without transactions.
pub fn per_transaction(weight: u64, count: u64, transactions: u64) -> Option<Interval> {
    if count == 0 || transactions == 0 {
        return None;
    }
    let events = events(count);
    let scale = weight as f64 / count as f64 / transactions as f64;
    Some(Interval {
        low: events.low * scale,
        high: events.high * scale,
    })
}

/// A point of Poisson's distribution, so many deviations from its middle.
fn hilferty(middle: f64, deviations: f64) -> f64 {
    let root = 1.0 - 1.0 / (9.0 * middle) + deviations / (3.0 * middle.sqrt());
    middle * root.powi(3)
}

fn wilson(count: f64, of: f64) -> Interval {
    let share = count / of;
    let square = Z * Z / of;
    let middle = share + square / 2.0;
    let half = Z * (share * (1.0 - share) / of + square / (4.0 * of)).sqrt();
    Interval {
        low: (middle - half) / (1.0 + square),
        high: (middle + half) / (1.0 + square),
    }
}

/// Where a function that falls from 1 at 0 has a value.
fn solve(falling: impl Fn(f64) -> f64, value: f64, most: f64) -> f64 {
    let (mut low, mut high) = (0.0, most);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if falling(middle) > value {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The chance of at most `seen` hits of `of`.
fn binomial_at_most(seen: u64, of: u64, chance: f64) -> f64 {
    if chance >= 1.0 {
        return if seen < of { 0.0 } else { 1.0 };
    }
    let mut term = (of as f64 * (-chance).ln_1p()).exp();
    let mut sum = term;
    for hit in 1..=seen {
        term *= (of - hit + 1) as f64 / hit as f64 * chance / (1.0 - chance);
        sum += term;
    }
    sum
}

/// The chance of at most `seen` events where `mean` are expected.
fn poisson_at_most(seen: u64, mean: f64) -> f64 {
    let mut term = (-mean).exp();
    let mut sum = term;
    for event in 1..=seen {
        term *= mean / event as f64;
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{Interval, events, per_transaction, share};

    fn near(interval: Interval, low: f64, high: f64, by: f64) {
        let off = (interval.low - low).abs().max((interval.high - high).abs());
        assert!(off < by, "{interval:?} is not {low} to {high}");
    }

    #[test]
    fn few_looks_have_the_exact_intervals_of_the_textbooks() {
        // Clopper and Pearson.
        near(share(0, 10).unwrap(), 0.0, 0.308_497, 1e-5);
        near(share(1, 10).unwrap(), 0.002_529, 0.445_016, 1e-5);
        near(share(10, 10).unwrap(), 0.691_503, 1.0, 1e-5);
        // Garwood.
        near(events(0), 0.0, 3.688_879, 1e-5);
        near(events(1), 0.025_318, 5.571_643, 1e-5);
        near(events(10), 4.795_389, 18.390_356, 1e-5);
    }

    #[test]
    fn exact_and_approximate_intervals_meet() {
        let (below, above) = (events(100), events(101));
        near(above, below.low + 1.0, below.high + 1.0, 0.1);
        let (below, above) = (share(100, 1_000).unwrap(), share(101, 1_000).unwrap());
        near(above, below.low + 0.001, below.high + 0.001, 0.001);
    }

    #[test]
    fn an_interval_holds_the_share_and_narrows_with_more_looks() {
        for (count, of) in [
            (0, 1),
            (1, 1),
            (3, 7),
            (150, 200),
            (200, 100_000),
            (1, 1 << 60),
        ] {
            let interval = share(count, of).unwrap();
            let middle = count as f64 / of as f64;
            assert!(
                interval.low <= middle && middle <= interval.high,
                "{count} of {of}"
            );
            assert!(
                0.0 <= interval.low && interval.high <= 1.0,
                "{count} of {of}"
            );
        }
        let width = |of| share(of / 10, of).map(|it| it.high - it.low).unwrap();
        assert!(width(10) > width(100) && width(100) > width(10_000));
        assert_eq!(share(0, 0), None);
    }

    #[test]
    fn amounts_of_a_transaction_scale_with_the_weight_of_a_look() {
        near(
            per_transaction(100_000, 10, 50).unwrap(),
            959.077_8,
            3_678.071,
            0.01,
        );
        assert_eq!(per_transaction(0, 0, 50), None);
        assert_eq!(per_transaction(5, 1, 0), None);
    }
}
