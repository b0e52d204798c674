//! Checks that do not apply, and amounts in words.

use syncline_contract::{Check, CheckOutcome};

/// A check that does not apply.
pub(super) fn not_applicable(name: &str, why: &str) -> Check {
    Check { name: name.to_owned(), outcome: CheckOutcome::NotApplicable(why.to_owned()) }
}

/// An amount in hundredths, with a decimal point.
pub(super) fn amount(units: i64) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let units = units.unsigned_abs();
    format!("{sign}{}.{:02}", units / 100, units % 100)
}

#[cfg(test)]
mod tests {
    use super::amount;

    #[test]
    fn amounts_have_two_decimals() {
        assert_eq!((amount(-1_005), amount(7)), ("-10.05".into(), "0.07".into()));
    }
}
