//! The outcomes of a client's numbered transactions: a counter, and the numbers of the unknown ones.

use syncline_contract::Ending;

/// The outcomes of the transactions that a client numbers from zero. One that was rolled back leaves nothing
/// behind, so that the next transaction takes its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcomes {
    count: u64,
    /// The numbers of transactions with an unknown outcome, ascending.
    unknown: Vec<u64>,
}

/// The outcome of a transaction, as reported to its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Acknowledged,
    Unknown,
    /// Rolled back or never performed.
    Absent,
}

impl Outcomes {
    /// Upper bound of the numbers of transactions that were acknowledged or have an unknown outcome: the
    /// number of the next one.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Records how the transaction of number [`count`](Outcomes::count) ended.
    #[inline]
    pub(crate) fn record(&mut self, ending: Ending) {
        match ending {
            Ending::Committed => self.count += 1,
            // Its number is free for the next transaction.
            Ending::Undone => {}
            Ending::Unknown => {
                self.unknown.push(self.count);
                self.count += 1;
            }
        }
    }

    /// The outcome of the transaction with this number.
    pub(crate) fn of(&self, number: u64) -> Outcome {
        if self.unknown.binary_search(&number).is_ok() {
            Outcome::Unknown
        } else if number < self.count {
            Outcome::Acknowledged
        } else {
            Outcome::Absent
        }
    }
}
