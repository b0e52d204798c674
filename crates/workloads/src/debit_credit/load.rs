//! The initial rows, each generated from its number alone.

use super::profile::Filler;
use super::schema::DebitCredit;
use super::tables::{ACCOUNT_FILLER_BYTES, BRANCH_FILLER_BYTES, TELLERS, Tables};
use crate::distributions::Stream;
use syncline_contract::{Load, Rows, TableId, Value};

/// The number of rows of each table.
pub(super) fn loads(of: &DebitCredit) -> Vec<Load> {
    let Tables { branches, tellers, accounts, .. } = of.tables;
    let scale = of.options.scale;
    [(branches, scale), (tellers, scale * TELLERS), (accounts, scale * of.options.accounts)]
        .map(|(table, units)| Load { table, units })
        .to_vec()
}

/// Appends row `number`.
pub(super) fn unit(of: &DebitCredit, table: TableId, number: u64, batch: &mut Rows) {
    let rules = of.options.profile.rules();
    let id = |number: u64| Value::Int(rules.first_id + number as i64);
    let balance = Value::Int(rules.opening_balance);
    if table == of.tables.branches {
        with_filler::<BRANCH_FILLER_BYTES>(rules.filler, "branch", number, |filler| {
            batch.push_row(&[id(number), balance, filler]);
        });
    } else if table == of.tables.tellers {
        let branch = id(number / TELLERS);
        with_filler::<ACCOUNT_FILLER_BYTES>(rules.filler, "teller", number, |filler| {
            batch.push_row(&[id(number), branch, balance, filler]);
        });
    } else {
        let branch = id(number / of.options.accounts);
        with_filler::<ACCOUNT_FILLER_BYTES>(rules.filler, "account", number, |filler| {
            batch.push_row(&[id(number), branch, balance, filler]);
        });
    }
}

/// Passes the filler of a row to `push`.
fn with_filler<const BYTES: usize>(
    kind: Filler,
    purpose: &str,
    number: u64,
    push: impl FnOnce(Value<'_>),
) {
    let mut bytes = [b' '; BYTES];
    match kind {
        Filler::Blanks if purpose != "account" => return push(Value::Null),
        Filler::Blanks => {}
        Filler::Letters => Stream::of_load(purpose, number).fill(&mut bytes),
    }
    push(Value::Text(str::from_utf8(&bytes).expect("letters and blanks are text")));
}

#[cfg(test)]
mod tests {
    use crate::debit_credit::{DebitCredit, Options, Profile};
    use syncline_contract::{Rows, Value, Workload};

    #[test]
    fn rows_follow_the_scaling_rules() {
        for profile in Profile::ALL {
            let load = DebitCredit::new(Options { profile, scale: 2, ..Options::default() });
            let loads = load.loads();
            let units: Vec<u64> = loads.iter().map(|load| load.units).collect();
            assert_eq!(units, [2, 20, 200_000], "{profile:?}");
            let first = profile.rules().first_id;
            for (load_of, number, branch) in
                [(1, 9, 0), (1, 10, 1), (2, 99_999, 0), (2, 100_000, 1)]
            {
                let table = loads[load_of].table;
                let mut rows = Rows::new(load.plan().tables()[table.0].columns.len());
                load.load_unit(table, number, &mut rows);
                assert_eq!(rows.row(0).value(0), Value::Int(first + number as i64));
                assert_eq!(rows.row(0).value(1), Value::Int(first + branch));
            }
        }
    }

    #[test]
    fn a_row_depends_only_on_its_number() {
        let load = DebitCredit::new(Options::default());
        let table = load.loads()[2].table;
        let row = |number| {
            let mut rows = Rows::new(4);
            load.load_unit(table, number, &mut rows);
            format!("{:?}", rows.row(0))
        };
        assert_eq!(row(7), row(7));
        assert_ne!(row(7), row(8));
    }
}
