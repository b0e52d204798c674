//! The endings of a client's transactions, for the checks.

use super::scale::DISTRICTS;
use syncline_contract::Ending;

/// The number of acknowledged items, and of those with unknown outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CountBounds {
    pub(super) acknowledged: u64,
    pub(super) unknown: u64,
}

impl CountBounds {
    /// Adds an ending: `count` items if committed, at most `most` if unknown.
    #[inline]
    pub(super) fn ended(&mut self, ending: Ending, count: u64, most: u64) {
        match ending {
            Ending::Committed => self.acknowledged += count,
            Ending::Undone => {}
            Ending::Unknown => self.unknown += most,
        }
    }

    pub(super) fn add(&mut self, other: CountBounds) {
        self.acknowledged += other.acknowledged;
        self.unknown += other.unknown;
    }

    /// True if the store may hold this many.
    pub(super) fn allows(&self, count: u64) -> bool {
        (self.acknowledged..=self.acknowledged + self.unknown).contains(&count)
    }
}

/// The new orders of one client in one district.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NewOrders {
    pub(super) bounds: CountBounds,
    /// The greatest number of an acknowledged order; zero if there is none.
    pub(super) newest: i64,
}

/// What the checks need from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    pub(super) home: i64,
    /// By district of the home warehouse.
    pub(super) ordered: [NewOrders; DISTRICTS as usize],
    pub(super) payments: CountBounds,
    /// Counts orders, not deliveries.
    pub(super) delivered: CountBounds,
}

impl Tally {
    pub(super) fn new(home: i64) -> Tally {
        Tally {
            home,
            ordered: [NewOrders::default(); DISTRICTS as usize],
            payments: CountBounds::default(),
            delivered: CountBounds::default(),
        }
    }

    /// Adds the ending of a new-order.
    #[inline]
    pub(super) fn new_order(&mut self, ending: Ending, district: i64, number: i64) {
        let ordered = &mut self.ordered[district as usize - 1];
        ordered.bounds.ended(ending, 1, 1);
        if ending == Ending::Committed {
            ordered.newest = ordered.newest.max(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CountBounds, Tally};
    use syncline_contract::Ending;

    #[test]
    fn unknown_endings_widen_the_bounds_and_undone_ones_do_not() {
        let mut bounds = CountBounds::default();
        bounds.ended(Ending::Committed, 7, 10);
        bounds.ended(Ending::Undone, 7, 10);
        bounds.ended(Ending::Unknown, 7, 10);
        assert!([7, 17].into_iter().all(|count| bounds.allows(count)));
        assert!([6, 18].into_iter().all(|count| !bounds.allows(count)));
        let mut tally = Tally::new(1);
        tally.new_order(Ending::Committed, 10, 3_001);
        tally.new_order(Ending::Unknown, 10, 3_002);
        assert_eq!(tally.ordered[9].newest, 3_001);
        assert_eq!(tally.ordered[9].bounds.unknown, 1);
    }
}
