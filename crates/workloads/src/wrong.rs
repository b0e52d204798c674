//! A count of something wrong, with the first instance in words: what a check is made from.

use syncline_contract::{Check, CheckOutcome};

/// How often something was wrong, and the first time in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wrong {
    count: u64,
    first: Option<String>,
}

impl Wrong {
    /// Once more.
    pub(crate) fn add(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some(what());
        }
    }

    /// What somebody else has counted, too.
    pub(crate) fn merge(&mut self, other: &Wrong) {
        self.count += other.count;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }

    /// The check that holds if nothing was wrong; `of` is what is counted: "rows".
    pub(crate) fn check(self, name: &str, of: &str) -> Check {
        let outcome = match self.first {
            None => CheckOutcome::Held,
            Some(first) if self.count == 1 => CheckOutcome::Violated(first),
            Some(first) => {
                CheckOutcome::Violated(format!("{} {of}; the first: {first}", self.count))
            }
        };
        Check {
            name: name.to_owned(),
            outcome,
        }
    }
}
