//! The check of the history row by row: what its rows say of each branch, teller and account, against
//! what these hold.
//!
//! 1. A history row and the balances that it tells of change in one transaction, so that nothing is
//!    admitted for what is not known.
//! 2. Branches, and the accounts of each branch together, are compared all; single tellers and accounts
//!    up to [`SINGLES`] of each, evenly spread over those that the history names.
//! 3. All rows are taken in one answer: a history of more than [`ROWS_MOST`] is not read, and the check
//!    says so. Sums over all of it are compared by the other checks whatever its length.

use super::profile::Rules;
use super::schema::DebitCredit;
use super::tables::{SumBetween, TELLERS};
use crate::check_reader::CheckReader;
use crate::violations::Violations;
use std::collections::BTreeMap;
use syncline_contract::{Check, CheckOutcome, Session, Stop};

pub(super) const BY_KEY: &str =
    "history, summed by branch, teller and account, is what each of them holds";

/// Rows that are read at most: their answer stands in memory, about 100 bytes each.
const ROWS_MOST: i64 = 1_000_000;
/// Tellers, and accounts, that are looked at one by one at most.
const SINGLES: usize = 1_000;

/// What history says that each key was given, by part: accounts, tellers, branches.
type HistorySums = [BTreeMap<i64, i64>; 3];

/// Runs it; `branches` is what the accounts, tellers and balance of each branch hold.
pub(super) async fn check<S: Session>(
    of: &DebitCredit,
    branches: &[[i64; 3]],
    rows: i64,
    reader: &mut CheckReader<'_, S>,
) -> Result<Check, Stop> {
    if rows > ROWS_MOST {
        let why = format!("history has {rows} rows, more than {ROWS_MOST}, and is not read whole");
        return Ok(Check { name: BY_KEY.to_owned(), outcome: CheckOutcome::NotApplicable(why) });
    }
    let mut given = HistorySums::default();
    let taken = |(teller, branch, account, delta)| {
        for (sums, key) in given.iter_mut().zip([account, teller, branch]) {
            *sums.entry(key).or_default() += delta;
        }
    };
    reader.each(&of.check_queries.history_all, (), taken).await?;
    let mut wrong = Violations::default();
    by_branch(of, &given, branches, &mut wrong);
    let rules = of.options.rules();
    let moved = rules.steps.parts();
    let singles: [(&SumBetween, &str); 2] =
        [(&of.check_queries.accounts, "account"), (&of.check_queries.tellers, "teller")];
    for (part, (read, word)) in singles.into_iter().enumerate().take(moved) {
        for (key, sum) in spread(&given[part]) {
            let held = reader.one(read, (key, key), |(sum,)| sum.unwrap_or(0)).await?;
            let held = held - rules.opening_balance;
            wrong.unless(held == sum, || {
                format!("{word} {key} holds {held} and history says {sum}")
            });
        }
    }
    Ok(wrong.check(BY_KEY))
}

/// Compares the parts of every branch that transactions move.
fn by_branch(of: &DebitCredit, given: &HistorySums, branches: &[[i64; 3]], wrong: &mut Violations) {
    let rules = of.options.rules();
    let of_branch = [of.options.accounts, TELLERS, 1];
    let words = ["accounts", "tellers", "balance"];
    for part in 0..rules.steps.parts() {
        let sums = sums_of_branches(rules, &given[part], of_branch[part], branches.len());
        let Some(sums) = sums else {
            let word = words[part];
            wrong.unless(false, || format!("history names {word} that there are not"));
            continue;
        };
        for (branch, (sum, held)) in sums.iter().zip(branches).enumerate() {
            wrong.unless(*sum == held[part], || {
                format!(
                    "{} of branch number {branch}: {} and history says {sum}",
                    words[part], held[part]
                )
            });
        }
    }
}

/// The sums of each branch's keys, of which it has so many; none if a key is of no branch.
fn sums_of_branches(
    rules: &Rules,
    given: &BTreeMap<i64, i64>,
    of_branch: u64,
    branches: usize,
) -> Option<Vec<i64>> {
    let mut sums = vec![0; branches];
    for (key, sum) in given {
        let place = key.checked_sub(rules.first_id)?.div_euclid(of_branch as i64);
        *sums.get_mut(usize::try_from(place).ok()?)? += sum;
    }
    Some(sums)
}

/// At most [`SINGLES`] of the keys, evenly spread.
fn spread(given: &BTreeMap<i64, i64>) -> impl Iterator<Item = (i64, i64)> {
    let step = given.len().div_ceil(SINGLES).max(1);
    given.iter().step_by(step).map(|(key, sum)| (*key, *sum))
}

#[cfg(test)]
mod tests {
    use super::{SINGLES, spread, sums_of_branches};
    use crate::debit_credit::{DebitCredit, Options};
    use std::collections::BTreeMap;

    #[test]
    fn keys_belong_to_branches_by_their_place() {
        let of = DebitCredit::new(Options::default());
        let rules = of.options.rules();
        let first = rules.first_id;
        let given = BTreeMap::from([(first, 5), (first + 9, 7), (first + 10, -3)]);
        let sums = |branches| sums_of_branches(rules, &given, 10, branches);
        assert_eq!(sums(2), Some(vec![12, -3]));
        assert_eq!(sums(1), None, "the last is of no branch");
        let before = BTreeMap::from([(first - 1, 1)]);
        assert_eq!(sums_of_branches(rules, &before, 10, 2), None);
    }

    #[test]
    fn of_many_keys_some_are_taken_from_all_over() {
        let keys = |count: i64| (0..count).map(|key| (key, key)).collect::<BTreeMap<_, _>>();
        assert_eq!(spread(&keys(7)).count(), 7);
        let taken: Vec<_> = spread(&keys(10_500)).map(|(key, _)| key).collect();
        assert!(taken.len() <= SINGLES && taken.len() > SINGLES / 2);
        assert!(taken[taken.len() - 1] > 10_000);
    }
}
