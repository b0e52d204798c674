//! The check: money is neither made nor lost, and each committed transfer is counted by both its accounts.

use super::schema::Transfer;
use super::transactions::Tally;
use crate::check_reader::CheckReader;
use crate::violations::Violations;
use syncline_contract::{Check, Session, Stop};

const HELD: &str = "the accounts hold what they opened with";
const COVERED: &str = "no balance is below zero";
const COUNTED: &str = "both accounts of each committed transfer have counted it";
const THERE: &str = "every account is there";

/// The names of the checks.
pub(super) fn names() -> [&'static str; 4] {
    [HELD, COVERED, COUNTED, THERE]
}

/// Runs all checks.
pub(super) async fn check<S: Session>(
    of: &Transfer,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let mut reader = CheckReader::new(session);
    let operations = &of.operations;
    let sum = reader.one(&operations.sum, (), |(sum,)| sum).await?.unwrap_or(0);
    let least = reader.one(&operations.least, (), |(least,)| least).await?;
    let transfers = reader.one(&operations.transfers, (), |(sum,)| sum).await?.unwrap_or(0);
    let rows = reader.one(&operations.count, (), |(rows,)| rows).await?;
    let accounts = of.options.accounts as i64;
    let opened = accounts * of.options.balance as i64;
    let mut held = Violations::default();
    held.unless(sum == opened, || format!("they hold {sum} instead of {opened}"));
    let mut covered = Violations::default();
    covered
        .unless(least.is_none_or(|least| least >= 0), || format!("one is {}", least.unwrap_or(0)));
    let mut there = Violations::default();
    there.unless(rows == accounts, || format!("{rows} rows for {accounts} accounts"));
    Ok(vec![
        held.check(HELD),
        covered.check(COVERED),
        counted(tallies, transfers).check(COUNTED),
        there.check(THERE),
    ])
}

/// A transfer with an unknown outcome may have been counted, by both accounts or by none.
fn counted(tallies: &[Tally], found: i64) -> Violations {
    let committed: u64 = tallies.iter().map(|tally| tally.committed).sum();
    let unknown: u64 = tallies.iter().map(|tally| tally.unknown).sum();
    let least = 2 * committed as i64;
    let most = least + 2 * unknown as i64;
    let mut wrong = Violations::default();
    wrong.unless((least..=most).contains(&found) && found % 2 == 0, || {
        format!("they have counted {found} times instead of {least} to {most}")
    });
    wrong
}
