//! A terminal: its home warehouse, and its keying and thinking times (clause 5.2.5).

use super::mix::{DELIVERY, NEW_ORDER, ORDER_STATUS, PAYMENT, STOCK_LEVEL};
use super::options::{Profile, Think};
use super::scale::DISTRICTS;
use crate::distributions::Stream;

const SECOND_NS: u64 = 1_000_000_000;

/// Think times are limited to this multiple of their mean.
const THINK_MEANS_MAX: f64 = 10.0;

/// Seconds of keying, by transaction.
fn keying_s(kind: usize) -> u64 {
    match kind {
        NEW_ORDER => 18,
        PAYMENT => 3,
        ORDER_STATUS | DELIVERY | STOCK_LEVEL => 2,
        _ => unreachable!("there are five transactions"),
    }
}

/// Mean seconds of thinking, by transaction.
fn think_mean_s(kind: usize) -> f64 {
    match kind {
        NEW_ORDER | PAYMENT => 12.0,
        ORDER_STATUS => 10.0,
        DELIVERY | STOCK_LEVEL => 5.0,
        _ => unreachable!("there are five transactions"),
    }
}

/// The terminal of a client.
#[derive(Debug)]
pub(super) struct Terminal {
    /// Its warehouse.
    pub(super) home: i64,
    /// The district of its stock-levels.
    pub(super) district: i64,
    /// None if its user does not wait.
    waits: Option<Stream>,
}

impl Terminal {
    /// The terminal of a client. The terminals of a warehouse cycle through its districts; in profile k2 the
    /// district follows from the client's number alone.
    pub(super) fn new(
        number: usize,
        warehouses: i64,
        profile: Profile,
        think: Think,
        seed: u64,
    ) -> Terminal {
        let turn = match profile {
            Profile::Spec => number as i64 / warehouses,
            Profile::K2 => number as i64,
        };
        Terminal {
            home: number as i64 % warehouses + 1,
            district: turn % DISTRICTS + 1,
            waits: (think == Think::Spec).then(|| Stream::of_client(seed, number, "waits")),
        }
    }

    /// The keying time of a transaction, in nanoseconds.
    pub(super) fn keying_ns(&self, kind: usize) -> u64 {
        self.waits.as_ref().map_or(0, |_| keying_s(kind) * SECOND_NS)
    }

    /// Draws the think time after a transaction, in nanoseconds.
    pub(super) fn think_ns(&mut self, kind: usize) -> u64 {
        let mean = think_mean_s(kind);
        self.waits.as_mut().map_or(0, |stream| {
            let seconds = stream.exponential(mean).min(THINK_MEANS_MAX * mean);
            (seconds * SECOND_NS as f64) as u64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{NEW_ORDER, Profile, STOCK_LEVEL, Terminal, Think};

    fn terminal(number: usize, profile: Profile) -> (i64, i64) {
        let of = Terminal::new(number, 4, profile, Think::None, 1);
        (of.home, of.district)
    }

    #[test]
    fn ten_terminals_of_a_warehouse_have_its_ten_districts() {
        let mut places: Vec<_> = (0..40).map(|number| terminal(number, Profile::Spec)).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 40);
        assert_eq!(terminal(13, Profile::Spec), (2, 4));
        assert_eq!(terminal(13, Profile::K2), (2, 4));
        assert_eq!(terminal(14, Profile::K2), (3, 5));
    }

    #[test]
    fn think_times_have_their_mean_and_are_limited_to_ten_times_it() {
        let mut waiting = Terminal::new(0, 1, Profile::Spec, Think::Spec, 9);
        let draws: Vec<u64> = (0..200_000).map(|_| waiting.think_ns(NEW_ORDER)).collect();
        let mean_s = draws.iter().sum::<u64>() as f64 / 200_000.0 / 1e9;
        assert!((11.9..12.1).contains(&mean_s), "{mean_s}");
        assert_eq!(draws.iter().max(), Some(&120_000_000_000), "some draws reach the limit");
        assert_eq!(waiting.keying_ns(NEW_ORDER), 18_000_000_000);
        let mut hasty = Terminal::new(0, 1, Profile::Spec, Think::None, 9);
        assert_eq!((hasty.keying_ns(STOCK_LEVEL), hasty.think_ns(STOCK_LEVEL)), (0, 0));
    }
}
