//! The checks after a run of built-in scripts: balances that agree, and one row of history for every
//! acknowledged transaction that writes one. If rows come from earlier runs, the growth is judged. The
//! guarantees of user scripts are unknown, so they are not checked.

use super::builtin::Moves;
use super::client::Tally;
use super::options::{Owner, Program};
use super::tables::Tables;
use syncline_contract::{
    AccessPattern, Aggregate, Check, CheckOutcome, Int, Nullable, Path, Plan, Range, Read,
    RequestTracker, Session, Stop, TableId, Transaction,
};

const ALL_AGREE: &str = "accounts, tellers, branches and history hold the same sum";
const HISTORY_AGREES: &str = "accounts and history hold the same sum, tellers and branches too";
const HISTORY_IS_WHOLE: &str =
    "history holds a row for every acknowledged transaction, and no other";
const OF_THE_USER: &str = "what the scripts promise";

type Sum = Read<(), (Nullable<Int>,)>;

/// The operations of the checks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sums {
    accounts: Sum,
    tellers: Sum,
    branches: Sum,
    history: Sum,
    rows: Read<(), (Int,)>,
}

/// The sums and counts that they return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BalanceTotals {
    accounts: i64,
    tellers: i64,
    branches: i64,
    history: i64,
    rows: i64,
}

impl Sums {
    /// Declares the operations.
    pub(super) fn declare(plan: &mut Plan, tables: Tables) -> Sums {
        let mut sum = |table: TableId, column: &str| -> Sum {
            let column = plan.tables()[table.0].id(column);
            plan.aggregate("sum of balances", all(table), Aggregate::Sum(column))
        };
        let accounts = sum(tables.accounts, "abalance");
        let tellers = sum(tables.tellers, "tbalance");
        let branches = sum(tables.branches, "bbalance");
        let history = sum(tables.history, "delta");
        Sums {
            accounts,
            tellers,
            branches,
            history,
            rows: plan.aggregate("count history", all(tables.history), Aggregate::Count),
        }
    }

    async fn ask<S: Session>(&self, session: &mut S) -> Result<BalanceTotals, Stop> {
        let mut requests = RequestTracker::new(false);
        session.begin(AccessPattern::ReadOnly);
        let mut transaction = Transaction::new(session, &mut requests);
        let sums = [self.accounts, self.tellers, self.branches, self.history];
        let mut found = [0; 4];
        for (sum, found) in sums.iter().zip(&mut found) {
            let (value,) = transaction.read(sum, ()).await?;
            *found = value.unwrap_or(0);
        }
        let (rows,) = transaction.read(&self.rows, ()).await?;
        session.commit().await?;
        let [accounts, tellers, branches, history] = found;
        Ok(BalanceTotals { accounts, tellers, branches, history, rows })
    }
}

impl BalanceTotals {
    /// The growth since `before`.
    fn since(self, before: BalanceTotals) -> BalanceTotals {
        let grown = i64::wrapping_sub;
        BalanceTotals {
            accounts: grown(self.accounts, before.accounts),
            tellers: grown(self.tellers, before.tellers),
            branches: grown(self.branches, before.branches),
            history: grown(self.history, before.history),
            rows: grown(self.rows, before.rows),
        }
    }
}

fn all(table: TableId) -> Path {
    Path::by_key(table, 0, Range::All)
}

/// The names of the checks for these scripts.
pub(super) fn names(program: &Program) -> Vec<&'static str> {
    if program.sums.is_none() {
        return vec![OF_THE_USER];
    }
    vec![balances(program), HISTORY_IS_WHOLE]
}

fn balances(program: &Program) -> &'static str {
    if program.moves.contains(&Some(Moves::Accounts)) { HISTORY_AGREES } else { ALL_AGREE }
}

/// The totals before a run; none if its scripts are not checked.
pub(super) async fn totals<S: Session>(
    program: &Program,
    session: &mut S,
) -> Result<Option<BalanceTotals>, Stop> {
    match &program.sums {
        Some(sums) => sums.ask(session).await.map(Some),
        None => Ok(None),
    }
}

/// Runs the checks; `before` holds the totals before the run.
pub(super) async fn check<S: Session>(
    program: &Program,
    owner: Owner,
    before: BalanceTotals,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let Some(sums) = &program.sums else {
        let why = if program.moves.iter().any(Option::is_none) {
            "the guarantees of user scripts are unknown"
        } else if owner == Owner::User {
            "the tables belong to the user, so others may change them"
        } else {
            "check=none was set"
        };
        return Ok(vec![Check {
            name: OF_THE_USER.to_owned(),
            outcome: CheckOutcome::NotApplicable(why.to_owned()),
        }]);
    };
    let found = sums.ask(session).await?.since(before);
    let named = |name: &str, outcome| Check { name: name.to_owned(), outcome };
    let name = balances(program);
    Ok(vec![
        named(name, agree(found, name == ALL_AGREE)),
        named(HISTORY_IS_WHOLE, whole(found, tallies)),
    ])
}

fn agree(found: BalanceTotals, all: bool) -> CheckOutcome {
    let BalanceTotals { accounts, tellers, branches, history, .. } = found;
    if accounts == history && tellers == branches && (!all || accounts == tellers) {
        CheckOutcome::Held
    } else {
        CheckOutcome::Violated(format!(
            "accounts hold {accounts}, tellers {tellers}, branches {branches}, history {history}"
        ))
    }
}

fn whole(found: BalanceTotals, tallies: &[Tally]) -> CheckOutcome {
    let written: u64 = tallies.iter().map(|tally| tally.written).sum();
    let unknown: u64 = tallies.iter().map(|tally| tally.unknown).sum();
    let rows = u64::try_from(found.rows).unwrap_or(0);
    if (written..=written + unknown).contains(&rows) {
        CheckOutcome::Held
    } else {
        CheckOutcome::Violated(format!(
            "{rows} rows, but {written} acknowledged and {unknown} with unknown outcomes"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{BalanceTotals, agree, whole};
    use crate::script::client::Tally;
    use crate::script::{Options, Scripts};
    use syncline_contract::conformance::block_on;
    use syncline_contract::{
        AccessPattern, Action, CheckOutcome, OperationId, OptionArgs, Plan, Rows, Session, Stop,
        Value, Workload,
    };

    /// A store in which the sums differ: 1 in branches, 2 in tellers, and so on.
    struct Skewed<'p> {
        plan: &'p Plan,
        rows: Rows,
    }

    impl Session for Skewed<'_> {
        fn begin(&mut self, _shape: AccessPattern) {}

        fn send(&mut self, operation: OperationId, _values: &[Value<'_>]) -> Result<(), Stop> {
            let Action::Aggregate { path, .. } = &self.plan.operation(operation).action else {
                panic!("only sums and counts are requested");
            };
            self.rows.reset(1);
            self.rows.push(Value::Int(path.table.0 as i64 + 1));
            Ok(())
        }

        async fn receive(&mut self) -> Result<&Rows, Stop> {
            Ok(&self.rows)
        }

        async fn commit(&mut self) -> Result<(), Stop> {
            Ok(())
        }

        async fn abort(&mut self) {}
    }

    #[test]
    fn a_store_whose_sums_differ_violates_both_checks() {
        let given = OptionArgs::new("workload script".to_owned(), Options::LISTING, &[]).unwrap();
        let scripts = Scripts::new(Options::parse(&given).unwrap());
        let mut session = Skewed { plan: scripts.plan(), rows: Rows::default() };
        let tallies = vec![Tally { written: 5, unknown: 0 }];
        let checks = block_on(&(), scripts.check(tallies, &mut session)).unwrap();
        let found = checks.into_iter().map(|check| match check.outcome {
            CheckOutcome::Violated(found) => found,
            other => panic!("{}: {other:?}", check.name),
        });
        let expected = [
            "accounts hold 3, tellers 2, branches 1, history 4",
            "4 rows, but 5 acknowledged and 0 with unknown outcomes",
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    const AGREED: BalanceTotals =
        BalanceTotals { accounts: -7, tellers: -7, branches: -7, history: -7, rows: 3 };

    #[test]
    fn any_differing_sum_is_detected() {
        assert_eq!(agree(AGREED, true), CheckOutcome::Held);
        let wrong = |change: fn(&mut BalanceTotals)| {
            let mut found = AGREED;
            change(&mut found);
            found
        };
        for found in [
            wrong(|found| found.accounts += 1),
            wrong(|found| found.tellers += 1),
            wrong(|found| found.branches += 1),
            wrong(|found| found.history += 1),
        ] {
            for all in [true, false] {
                let outcome = agree(found, all);
                assert!(matches!(outcome, CheckOutcome::Violated(_)), "{found:?}");
            }
        }
        let accounts_only = BalanceTotals { tellers: 0, branches: 0, ..AGREED };
        assert_eq!(agree(accounts_only, false), CheckOutcome::Held);
        assert_ne!(agree(accounts_only, true), CheckOutcome::Held);
    }

    #[test]
    fn with_kept_rows_only_the_growth_counts() {
        let before = BalanceTotals { accounts: 5, tellers: -1, branches: 9, history: 0, rows: 4 };
        let after = BalanceTotals { accounts: -2, tellers: -8, branches: 2, history: -7, rows: 7 };
        assert_eq!(after.since(before), AGREED);
    }

    #[test]
    fn a_missing_or_additional_row_is_detected() {
        let tally = |written, unknown| Tally { written, unknown };
        let outcome = |tallies: &[Tally]| whole(AGREED, tallies);
        assert_eq!(outcome(&[tally(1, 0), tally(2, 0)]), CheckOutcome::Held);
        assert_eq!(outcome(&[tally(2, 1)]), CheckOutcome::Held);
        assert_eq!(outcome(&[tally(3, 1)]), CheckOutcome::Held);
        assert!(matches!(outcome(&[tally(4, 0)]), CheckOutcome::Violated(_)));
        assert!(matches!(outcome(&[tally(1, 1)]), CheckOutcome::Violated(_)));
    }
}
