//! The check: compares the bank's total with its opening total plus what clients have changed.

use super::schema::SmallBank;
use super::transactions::Tally;
use crate::check_reader::CheckReader;
use crate::violations::Violations;
use syncline_contract::{Check, Session, Stop};

const HELD: &str = "the bank holds what it opened with and what committed transactions brought";
const COVERED: &str = "no savings account is below zero";
const THERE: &str = "every customer has both accounts";

/// The names of the checks.
pub(super) fn names() -> [&'static str; 3] {
    [HELD, COVERED, THERE]
}

/// Runs all checks.
pub(super) async fn check<S: Session>(
    of: &SmallBank,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let mut reader = CheckReader::new(session);
    let (savings, checking) = (&of.operations.savings, &of.operations.checking);
    let mut there = Violations::default();
    let mut sum = 0;
    for (name, account) in [("savings", savings), ("checking", checking)] {
        let units = reader.one(&account.sum, (), |(sum,)| sum.map(|sum| sum.units)).await?;
        sum += units.unwrap_or(0);
        let rows = reader.one(&account.count, (), |(rows,)| rows).await?;
        there.unless(rows == of.options.customers as i64, || {
            format!("{rows} rows in {name} for {} customers", of.options.customers)
        });
    }
    let least = reader.one(&savings.least, (), |(least,)| least.map(|least| least.units)).await?;
    let mut covered = Violations::default();
    covered.unless(least.is_none_or(|least| least >= 0), || {
        format!("one holds {} hundredths", least.unwrap_or(0))
    });
    Ok(vec![
        held(of.opening_all(), tallies, sum).check(HELD),
        covered.check(COVERED),
        there.check(THERE),
    ])
}

/// Sums in hundredths. A transaction with an unknown outcome may have changed the total.
fn held(opening: i64, tallies: &[Tally], sum: i64) -> Violations {
    let brought: i64 = tallies.iter().map(|tally| tally.brought).sum();
    let unknown = || tallies.iter().flat_map(|tally| &tally.unknown).copied();
    let less: i64 = unknown().filter(|brings| *brings < 0).sum();
    let more: i64 = unknown().filter(|brings| *brings > 0).sum();
    let (least, most) = (opening + brought + less, opening + brought + more);
    let mut wrong = Violations::default();
    wrong.unless((least..=most).contains(&sum), || {
        format!("it holds {sum} hundredths instead of {least} to {most}")
    });
    wrong
}
