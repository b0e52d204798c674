//! The check of the history row by row: compares the sums of its rows for each branch, teller and account
//! with what these hold.
//!
//! 1. A history row and the balances it describes change in one transaction, so unknown outcomes permit no
//!    difference.
//! 2. All branches, and the accounts of each branch together, are compared; up to [`SINGLES`] individual
//!    tellers and accounts, evenly spread over those in the history.
//! 3. All rows are read in one answer: a history of more than [`ROWS_MOST`] rows is not read, and the check
//!    does not apply. The other checks compare its sums whatever its length.

use super::profile::Rules;
use super::schema::DebitCredit;
use super::tables::{SumBetween, TELLERS};
use crate::check_reader::CheckReader;
use crate::violations::Violations;
use std::collections::BTreeMap;
use syncline_contract::{Check, CheckOutcome, Session, Stop};

pub(super) const BY_KEY: &str =
    "history, summed by branch, teller and account, is what each of them holds";

/// The most rows that are read: the answer is in memory, about 100 bytes per row.
const ROWS_MOST: i64 = 1_000_000;
/// The most tellers and accounts that are compared individually.
const SINGLES: usize = 1_000;

/// The sum for each key in the history, by part: accounts, tellers, branches.
type HistorySums = [BTreeMap<i64, i64>; 3];

/// Runs the check; `branches` holds the sums of each branch's accounts, tellers and balance.
pub(super) async fn check<S: Session>(
    of: &DebitCredit,
    branches: &[[i64; 3]],
    rows: i64,
    reader: &mut CheckReader<'_, S>,
) -> Result<Check, Stop> {
    if rows > ROWS_MOST {
        let why = format!("history has {rows} rows; the check reads at most {ROWS_MOST}");
        return Ok(Check { name: BY_KEY.to_owned(), outcome: CheckOutcome::NotApplicable(why) });
    }
    let mut sums_in_history = HistorySums::default();
    let taken = |(teller, branch, account, delta)| {
        for (sums, key) in sums_in_history.iter_mut().zip([account, teller, branch]) {
            *sums.entry(key).or_default() += delta;
        }
    };
    reader.each(&of.check_queries.history_all, (), taken).await?;
    let mut wrong = Violations::default();
    by_branch(of, &sums_in_history, branches, &mut wrong);
    let rules = of.options.rules();
    let moved = rules.steps.parts();
    let singles: [(&SumBetween, &str); 2] =
        [(&of.check_queries.accounts, "account"), (&of.check_queries.tellers, "teller")];
    for (part, (read, word)) in singles.into_iter().enumerate().take(moved) {
        for (key, sum) in spread(&sums_in_history[part]) {
            let held = reader.one(read, (key, key), |(sum,)| sum.unwrap_or(0)).await?;
            let held = held - rules.opening_balance;
            wrong.unless(held == sum, || {
                format!("{word} {key} holds {held}, but history sums to {sum}")
            });
        }
    }
    Ok(wrong.check(BY_KEY))
}

/// Compares the parts of every branch that transactions change.
fn by_branch(
    of: &DebitCredit,
    sums_in_history: &HistorySums,
    branches: &[[i64; 3]],
    wrong: &mut Violations,
) {
    let rules = of.options.rules();
    let of_branch = [of.options.accounts, TELLERS, 1];
    let words = ["accounts", "tellers", "balance"];
    for part in 0..rules.steps.parts() {
        let sums = sums_of_branches(rules, &sums_in_history[part], of_branch[part], branches.len());
        let Some(sums) = sums else {
            let word = words[part];
            wrong.unless(false, || format!("history names {word} that do not exist"));
            continue;
        };
        for (branch, (sum, held)) in sums.iter().zip(branches).enumerate() {
            wrong.unless(*sum == held[part], || {
                format!(
                    "{} of branch number {branch}: {}, but history sums to {sum}",
                    words[part], held[part]
                )
            });
        }
    }
}

/// The sums of the keys of each branch, `of_branch` keys per branch; none if a key belongs to no branch.
fn sums_of_branches(
    rules: &Rules,
    sums_in_history: &BTreeMap<i64, i64>,
    of_branch: u64,
    branches: usize,
) -> Option<Vec<i64>> {
    let mut sums = vec![0; branches];
    for (key, sum) in sums_in_history {
        let place = key.checked_sub(rules.first_id)?.div_euclid(of_branch as i64);
        *sums.get_mut(usize::try_from(place).ok()?)? += sum;
    }
    Some(sums)
}

/// At most [`SINGLES`] keys, evenly spread.
fn spread(sums_in_history: &BTreeMap<i64, i64>) -> impl Iterator<Item = (i64, i64)> {
    let step = sums_in_history.len().div_ceil(SINGLES).max(1);
    sums_in_history.iter().step_by(step).map(|(key, sum)| (*key, *sum))
}

#[cfg(test)]
mod tests {
    use super::{SINGLES, spread, sums_of_branches};
    use crate::debit_credit::{DebitCredit, Options};
    use std::collections::BTreeMap;

    #[test]
    fn keys_belong_to_branches_by_position() {
        let of = DebitCredit::new(Options::default());
        let rules = of.options.rules();
        let first = rules.first_id;
        let sums_in_history = BTreeMap::from([(first, 5), (first + 9, 7), (first + 10, -3)]);
        let sums = |branches| sums_of_branches(rules, &sums_in_history, 10, branches);
        assert_eq!(sums(2), Some(vec![12, -3]));
        assert_eq!(sums(1), None, "the last key belongs to no branch");
        let before = BTreeMap::from([(first - 1, 1)]);
        assert_eq!(sums_of_branches(rules, &before, 10, 2), None);
    }

    #[test]
    fn a_sample_of_many_keys_is_evenly_spread() {
        let keys = |count: i64| (0..count).map(|key| (key, key)).collect::<BTreeMap<_, _>>();
        assert_eq!(spread(&keys(7)).count(), 7);
        let taken: Vec<_> = spread(&keys(10_500)).map(|(key, _)| key).collect();
        assert!(taken.len() <= SINGLES && taken.len() > SINGLES / 2);
        assert!(taken[taken.len() - 1] > 10_000);
    }
}
