//! The check: compares what every table holds, in total and by branch, with what clients were acknowledged.
//!
//! A transaction with an unknown outcome may have moved its sum or not, but the same in every table. So the
//! first two checks and the last one permit no difference, and the others permit the sums of unknown
//! transactions.

use super::history_check::{self, BY_KEY};
use super::options::Options;
use super::profile::{Rules, Steps};
use super::schema::DebitCredit;
use super::tables::{SumBetween, TELLERS};
use super::transactions::{BranchDelta, Tally};
use crate::check_reader::CheckReader;
use crate::violations::Violations;
use std::ops::RangeInclusive;
use syncline_contract::{Check, Session, Stop};

const EQUAL: &str = "accounts, tellers, branches and history hold the same sum";
const EQUAL_ACCOUNTS: &str = "accounts and history hold the same sum";
const UNTOUCHED: &str = "no balance was changed and there is no history";
const TELLERS_OF_BRANCH: &str = "each branch holds the sum of its tellers";
const COMMITTED: &str = "each branch, its tellers and its accounts hold what was committed to them";
const ROWS: &str = "history has a row for each committed transaction";

/// The parts of a branch, in the order of [`BranchDelta::branches`].
const PARTS: [&str; 3] = ["accounts", "tellers", "balance"];

/// The names of the checks.
pub(super) fn names(options: &Options) -> Vec<&'static str> {
    let Rules { steps, at_home, .. } = options.rules();
    let mut names = vec![name_of_equal(*steps)];
    names.extend(at_home.then_some(TELLERS_OF_BRANCH));
    names.extend([COMMITTED, ROWS, BY_KEY]);
    names
}

fn name_of_equal(steps: Steps) -> &'static str {
    match steps {
        Steps::SelectOnly => UNTOUCHED,
        Steps::SimpleUpdate => EQUAL_ACCOUNTS,
        Steps::Standard | Steps::Pgbench | Steps::Berkeley => EQUAL,
    }
}

/// Runs all checks.
pub(super) async fn check<S: Session>(
    of: &DebitCredit,
    tallies: Vec<Tally>,
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let mut reader = CheckReader::new(session);
    let totals = ReportedTotals::of(tallies, of.options.scale);
    let mut branches = Vec::new();
    for branch in 0..of.options.scale {
        branches.push(branch_held(of, branch, &mut reader).await?);
    }
    let history = reader.one(&of.check_queries.history, (), |(sum,)| sum.unwrap_or(0)).await?;
    let rows = reader.one(&of.check_queries.history_rows, (), |(rows,)| rows).await?;
    let rules = of.options.rules();
    let mut checks = vec![equal(rules.steps, &branches, history)];
    checks.extend(rules.at_home.then(|| tellers_of_branch(&branches)));
    checks.push(committed(&branches, &totals, rules.steps.parts()));
    checks.push(history_rows(rows, &totals));
    checks.push(history_check::check(of, &branches, rows, &mut reader).await?);
    Ok(checks)
}

/// The amounts by which a branch's accounts, its tellers and itself exceed their opening balances.
async fn branch_held<S: Session>(
    of: &DebitCredit,
    branch: u64,
    reader: &mut CheckReader<'_, S>,
) -> Result<[i64; 3], Stop> {
    let accounts = of.options.accounts;
    let reads: [(&SumBetween, u64); 3] = [
        (&of.check_queries.accounts, accounts),
        (&of.check_queries.tellers, TELLERS),
        (&of.check_queries.branches, 1),
    ];
    let rules = of.options.rules();
    let mut held = [0; 3];
    for (part, (read, rows)) in reads.into_iter().enumerate() {
        let first = rules.first_id + (branch * rows) as i64;
        let last = first + rows as i64 - 1;
        let sum = reader.one(read, (first, last), |(sum,)| sum.unwrap_or(0)).await?;
        held[part] = sum - rules.opening_balance * rows as i64;
    }
    Ok(held)
}

/// The sums of all clients' acknowledged and unknown transactions.
struct ReportedTotals {
    committed: Vec<[i64; 3]>,
    transactions: u64,
    unknown: Vec<BranchDelta>,
}

impl ReportedTotals {
    fn of(tallies: Vec<Tally>, scale: u64) -> ReportedTotals {
        let mut totals = ReportedTotals {
            committed: vec![[0; 3]; scale as usize],
            transactions: 0,
            unknown: Vec::new(),
        };
        for tally in tallies {
            for (sums, of) in totals.committed.iter_mut().zip(&tally.committed) {
                for (sum, of) in sums.iter_mut().zip(of) {
                    *sum += of;
                }
            }
            totals.transactions += tally.transactions;
            totals.unknown.extend(tally.unknown);
        }
        totals
    }

    /// The range of a branch's part.
    fn admitted(&self, branch: usize, part: usize) -> RangeInclusive<i64> {
        let committed = self.committed[branch][part];
        let of = |moved: &&BranchDelta| moved.branches[part] == branch as u64;
        let unknown = || self.unknown.iter().filter(of).map(|moved| moved.delta);
        let less: i64 = unknown().filter(|delta| *delta < 0).sum();
        let more: i64 = unknown().filter(|delta| *delta > 0).sum();
        committed + less..=committed + more
    }
}

fn equal(steps: Steps, branches: &[[i64; 3]], history: i64) -> Check {
    let of = |part: usize| branches.iter().map(|held| held[part]).sum::<i64>();
    let [accounts, tellers, balances] = [of(0), of(1), of(2)];
    let is_right = match steps {
        Steps::SelectOnly => [accounts, tellers, balances, history] == [0; 4],
        Steps::SimpleUpdate => accounts == history && [tellers, balances] == [0; 2],
        Steps::Standard | Steps::Pgbench | Steps::Berkeley => {
            accounts == tellers && tellers == balances && balances == history
        }
    };
    let mut wrong = Violations::default();
    wrong.unless(is_right, || {
        format!(
            "accounts hold {accounts}, tellers {tellers}, branches {balances}, history {history}"
        )
    });
    wrong.check(name_of_equal(steps))
}

fn tellers_of_branch(branches: &[[i64; 3]]) -> Check {
    let mut wrong = Violations::default();
    for (branch, [_, tellers, balance]) in branches.iter().enumerate() {
        wrong.unless(tellers == balance, || {
            format!("branch number {branch} holds {balance}, but its tellers hold {tellers}")
        });
    }
    wrong.check(TELLERS_OF_BRANCH)
}

fn committed(branches: &[[i64; 3]], totals: &ReportedTotals, parts: usize) -> Check {
    let mut wrong = Violations::default();
    for (branch, held) in branches.iter().enumerate() {
        for (part, held) in held.iter().enumerate() {
            let admitted = if part < parts { totals.admitted(branch, part) } else { 0..=0 };
            wrong.unless(admitted.contains(held), || {
                let (least, most) = admitted.into_inner();
                format!(
                    "{} of branch number {branch}: {held} instead of {least} to {most}",
                    PARTS[part]
                )
            });
        }
    }
    wrong.check(COMMITTED)
}

fn history_rows(rows: i64, totals: &ReportedTotals) -> Check {
    let least = totals.transactions as i64;
    let most = least + totals.unknown.len() as i64;
    let mut wrong = Violations::default();
    wrong.unless((least..=most).contains(&rows), || {
        format!("{rows} rows for {least} committed transactions and {} unfinished", most - least)
    });
    wrong.check(ROWS)
}

#[cfg(test)]
mod tests {
    use super::{BranchDelta, ReportedTotals, Tally, committed, history_rows};
    use syncline_contract::CheckOutcome;

    fn totals(unknown: &[i64]) -> ReportedTotals {
        let of = |delta: &i64| BranchDelta { branches: [1, 0, 0], delta: *delta };
        let tally = Tally {
            committed: vec![[5, 7, 7], [2, 0, 0]],
            transactions: 3,
            unknown: unknown.iter().map(of).collect(),
        };
        ReportedTotals::of(vec![tally], 2)
    }

    #[test]
    fn the_unknown_may_have_moved_or_not() {
        let of = totals(&[10, -4]);
        assert_eq!(of.admitted(1, 0), -2..=12);
        assert_eq!(of.admitted(0, 0), 5..=5);
        assert_eq!(of.admitted(0, 1), 3..=17);
        let outcome = |held: &[[i64; 3]]| committed(held, &of, 3).outcome;
        assert_eq!(outcome(&[[5, 17, 17], [12, 0, 0]]), CheckOutcome::Held);
        assert!(matches!(outcome(&[[5, 17, 17], [13, 0, 0]]), CheckOutcome::Violated(_)));
        assert_eq!(history_rows(5, &of).outcome, CheckOutcome::Held);
        assert_eq!(history_rows(3, &of).outcome, CheckOutcome::Held);
        for rows in [2, 6] {
            let outcome = history_rows(rows, &of).outcome;
            assert!(matches!(outcome, CheckOutcome::Violated(_)));
        }
    }
}
