//! Counts violations and keeps the first one in words: the basis of a check's outcome.

use syncline_contract::{Check, CheckOutcome};

/// The number of violations, and the first one in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Violations {
    count: u64,
    first: Option<String>,
}

impl Violations {
    /// Adds a violation.
    pub(crate) fn add(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some(what());
        }
    }

    /// Adds a violation unless the condition is true.
    pub(crate) fn unless(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        if !is_right {
            self.add(what);
        }
    }

    /// Adds the violations that were counted elsewhere.
    pub(crate) fn merge(&mut self, other: &Violations) {
        self.count += other.count;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }

    /// The check with this name, which holds if there is no violation.
    pub(crate) fn check(self, name: &str) -> Check {
        let outcome = match self.first {
            None => CheckOutcome::Held,
            Some(first) if self.count == 1 => CheckOutcome::Violated(first),
            Some(first) => {
                CheckOutcome::Violated(format!("{} times; the first: {first}", self.count))
            }
        };
        Check { name: name.to_owned(), outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::Violations;
    use syncline_contract::CheckOutcome;

    #[test]
    fn the_first_violation_is_reported_with_the_count() {
        let outcome = |wrong: &Violations| wrong.clone().check("name").outcome;
        let mut wrong = Violations::default();
        wrong.unless(true, || unreachable!("no violation"));
        assert_eq!(outcome(&wrong), CheckOutcome::Held);
        wrong.unless(false, || "one".to_owned());
        assert_eq!(outcome(&wrong), CheckOutcome::Violated("one".to_owned()));
        let mut both = Violations::default();
        both.merge(&wrong);
        wrong.add(|| "two".to_owned());
        both.merge(&wrong);
        let expected = CheckOutcome::Violated("3 times; the first: one".to_owned());
        assert_eq!(outcome(&both), expected);
    }
}
