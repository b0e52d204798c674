//! What was found wrong of one check: how often, and the first instance in words.

use syncline_contract::{Check, CheckOutcome};

/// Counted findings.
#[derive(Debug, Default)]
pub(super) struct Wrong {
    count: u64,
    first: Option<String>,
}

impl Wrong {
    /// One more finding.
    pub(super) fn add(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some(what());
        }
    }

    /// A finding unless it is as it should be.
    pub(super) fn unless(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.add(what);
        }
    }

    /// Findings of the same check from elsewhere.
    pub(super) fn append(&mut self, other: Wrong) {
        self.count += other.count;
        self.first = self.first.take().or(other.first);
    }

    /// The check of that name.
    pub(super) fn check(self, name: &str) -> Check {
        let outcome = match self.first {
            None => CheckOutcome::Held,
            Some(first) if self.count == 1 => CheckOutcome::Violated(first),
            Some(first) => {
                CheckOutcome::Violated(format!("{} times; the first: {first}", self.count))
            }
        };
        Check {
            name: name.to_owned(),
            outcome,
        }
    }
}

/// A check that could not be made.
pub(super) fn not_applicable(name: &str, why: &str) -> Check {
    Check {
        name: name.to_owned(),
        outcome: CheckOutcome::NotApplicable(why.to_owned()),
    }
}

/// An amount in hundredths, as people write it.
pub(super) fn amount(units: i64) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let units = units.unsigned_abs();
    format!("{sign}{}.{:02}", units / 100, units % 100)
}

#[cfg(test)]
mod tests {
    use super::{Wrong, amount};
    use syncline_contract::CheckOutcome;

    #[test]
    fn the_first_finding_is_said_and_all_are_counted() {
        let mut wrong = Wrong::default();
        wrong.unless(true, || unreachable!("it holds"));
        wrong.add(|| "one".to_owned());
        wrong.add(|| "two".to_owned());
        let said = CheckOutcome::Violated("2 times; the first: one".to_owned());
        assert_eq!(wrong.check("a").outcome, said);
        assert_eq!(Wrong::default().check("a").outcome, CheckOutcome::Held);
        assert_eq!(
            (amount(-1_005), amount(7)),
            ("-10.05".into(), "0.07".into())
        );
    }
}
