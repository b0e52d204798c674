//! A count of something wrong, with the first instance in words: what a check is made from.

use syncline_contract::{Check, CheckOutcome};

/// How often something was wrong, and the first time in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Violations {
    count: u64,
    first: Option<String>,
}

impl Violations {
    /// Once more.
    pub(crate) fn add(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some(what());
        }
    }

    /// Once more unless that is true.
    pub(crate) fn unless(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        if !is_right {
            self.add(what);
        }
    }

    /// What somebody else has counted, too.
    pub(crate) fn merge(&mut self, other: &Violations) {
        self.count += other.count;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }

    /// The check of that name, which holds if nothing was wrong.
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
    fn the_first_of_several_is_told_with_their_count() {
        let outcome = |wrong: &Violations| wrong.clone().check("name").outcome;
        let mut wrong = Violations::default();
        wrong.unless(true, || unreachable!("nothing is wrong"));
        assert_eq!(outcome(&wrong), CheckOutcome::Held);
        wrong.unless(false, || "one".to_owned());
        assert_eq!(outcome(&wrong), CheckOutcome::Violated("one".to_owned()));
        let mut both = Violations::default();
        both.merge(&wrong);
        wrong.add(|| "two".to_owned());
        both.merge(&wrong);
        let said = CheckOutcome::Violated("3 times; the first: one".to_owned());
        assert_eq!(outcome(&both), said);
    }
}
