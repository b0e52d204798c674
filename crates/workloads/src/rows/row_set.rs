//! Sets of rows, represented by their number and a sum over their identities, so that millions of rows are
//! compared in two words; exchanging one row for another changes the sum.
//!
//! Rows with unknown outcomes may be present or absent. An unknown insert is recognized by its identity and
//! left out of the sum; with an unknown delete, only the number of rows is judged.

use crate::distributions::mixed;
use syncline_contract::{Check, CheckOutcome};

/// A set of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowSet {
    count: u64,
    sum: u64,
}

impl RowSet {
    /// Adds a row.
    #[inline]
    pub(crate) fn add(&mut self, identity: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(mixed(identity));
    }

    /// Adds the rows of another set.
    pub(crate) fn merge(&mut self, other: RowSet) {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// Removes the rows of another set, which must all be in this one.
    fn without(self, other: RowSet) -> RowSet {
        RowSet {
            count: self.count.saturating_sub(other.count),
            sum: self.sum.wrapping_sub(other.sum),
        }
    }
}

/// The rows expected after a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected {
    /// Rows that were loaded or whose insert was acknowledged.
    pub(crate) present: RowSet,
    /// Rows whose delete was acknowledged.
    pub(crate) deleted: RowSet,
    /// Identities of rows whose insert has an unknown outcome.
    pub(crate) perhaps: Vec<u64>,
    /// Number of deletes with an unknown outcome.
    pub(crate) perhaps_deleted: u64,
}

impl Expected {
    /// The name of the check.
    pub(crate) const NAME: &'static str =
        "every loaded and acknowledged row is there, and no other";

    /// Prepares for [`Expected::counts`].
    pub(crate) fn sort(&mut self) {
        self.perhaps.sort_unstable();
    }

    /// True if a found row belongs to the set that [`Expected::check`] judges; false for one with an unknown
    /// outcome.
    #[inline]
    pub(crate) fn counts(&self, identity: u64) -> bool {
        self.perhaps.binary_search(&identity).is_err()
    }

    /// Compares the found rows, as counted, with the expected ones.
    pub(crate) fn check(&self, found: RowSet) -> Check {
        Check { name: Expected::NAME.to_owned(), outcome: self.judge(found) }
    }

    fn judge(&self, found: RowSet) -> CheckOutcome {
        let should = self.present.without(self.deleted);
        let least = should.count.saturating_sub(self.perhaps_deleted);
        if (least..=should.count).contains(&found.count) {
            if found.sum == should.sum || self.perhaps_deleted > 0 {
                return CheckOutcome::Held;
            }
            let what = "the number of rows is as expected, but some rows differ";
            return CheckOutcome::Violated(what.to_owned());
        }
        let most = should.count;
        let should = if least < most { format!("{least} to {most}") } else { most.to_string() };
        CheckOutcome::Violated(format!("{} rows exist instead of {should}", found.count))
    }
}

#[cfg(test)]
mod tests {
    use super::{CheckOutcome, Expected, RowSet};

    fn set(identities: &[u64]) -> RowSet {
        let mut set = RowSet::default();
        for identity in identities {
            set.add(*identity);
        }
        set
    }

    fn held(expected: &Expected, found: &[u64]) -> bool {
        let mut rows = RowSet::default();
        let counted = found.iter().filter(|identity| expected.counts(**identity));
        counted.for_each(|identity| rows.add(*identity));
        expected.check(rows).outcome == CheckOutcome::Held
    }

    #[test]
    fn missing_additional_and_exchanged_rows_are_detected() {
        let expected =
            Expected { present: set(&[1, 2, 3, 4]), deleted: set(&[4]), ..Expected::default() };
        assert!(held(&expected, &[3, 1, 2]));
        for wrong in [&[1, 2][..], &[1, 2, 3, 4], &[1, 2, 5], &[1, 1, 2]] {
            assert!(!held(&expected, wrong), "{wrong:?}");
        }
    }

    #[test]
    fn a_row_of_unknown_outcome_may_exist_or_not() {
        let mut expected =
            Expected { present: set(&[1, 2]), perhaps: vec![9, 7], ..Expected::default() };
        expected.sort();
        for held_too in [&[1, 2][..], &[1, 2, 9], &[1, 2, 7, 9]] {
            assert!(held(&expected, held_too));
        }
        assert!(!held(&expected, &[1, 9]) && !held(&expected, &[1, 2, 8]));
        expected.perhaps_deleted = 1;
        assert!(held(&expected, &[2]) && !held(&expected, &[]));
    }
}
