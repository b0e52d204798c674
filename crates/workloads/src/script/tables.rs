//! The four tables of pgbench and their initial rows.
//!
//! At scale s: s branches, 10 s tellers, 100,000 s accounts padded with blanks to about 100 bytes per row,
//! and an empty history. Balances start at zero.

use syncline_contract::{Kind, Load, Plan, Rows, Table, TableId, Value};

/// The names of the tables.
pub(super) const TABLES: [&str; 4] =
    ["pgbench_branches", "pgbench_tellers", "pgbench_accounts", "pgbench_history"];

/// Tellers per branch.
const TELLERS: u64 = 10;
/// Accounts per branch.
const ACCOUNTS: u64 = 100_000;

/// The fixed-width padding of an account.
const FILLER: &str =
    "                                                                                    ";

/// The tables in a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    pub(super) branches: TableId,
    pub(super) tellers: TableId,
    pub(super) accounts: TableId,
    pub(super) history: TableId,
}

impl Tables {
    /// Declares the tables.
    pub(super) fn declare(plan: &mut Plan) -> Tables {
        let int = |table: Table, name: &'static str| table.column(name, Kind::Int).nullable();
        let branches = Table::new("pgbench_branches").column("bid", Kind::Int);
        let branches = int(branches, "bbalance").text("filler", 88).nullable();
        let tellers = Table::new("pgbench_tellers").column("tid", Kind::Int);
        let tellers = int(int(tellers, "bid"), "tbalance");
        let accounts = Table::new("pgbench_accounts").column("aid", Kind::Int);
        let accounts = int(int(accounts, "bid"), "abalance");
        let columns = ["tid", "bid", "aid", "delta"].into_iter();
        let history = columns.fold(Table::new("pgbench_history"), int);
        let history = history.column("mtime", Kind::Timestamp).nullable();
        Tables {
            branches: plan.table(branches.key(&["bid"])),
            tellers: plan.table(tellers.text("filler", 84).nullable().key(&["tid"])),
            accounts: plan.table(accounts.text("filler", 84).nullable().key(&["aid"])),
            history: plan.table(history.text("filler", 22).nullable()),
        }
    }

    /// The loads of the tables.
    pub(super) fn loads(self, scale: u64) -> Vec<Load> {
        let load = |table, units| Load { table, units };
        vec![
            load(self.branches, scale),
            load(self.tellers, scale * TELLERS),
            load(self.accounts, scale * ACCOUNTS),
        ]
    }

    /// Appends row `number`, from 0, of a loaded table.
    pub(super) fn row(self, table: TableId, number: u64, batch: &mut Rows) {
        let id = Value::Int(number as i64 + 1);
        let branch = |of_each: u64| Value::Int((number / of_each) as i64 + 1);
        let zero = Value::Int(0);
        if table == self.branches {
            batch.push_row(&[id, zero, Value::Null]);
        } else if table == self.tellers {
            batch.push_row(&[id, branch(TELLERS), zero, Value::Null]);
        } else {
            assert!(table == self.accounts, "the history starts empty");
            batch.push_row(&[id, branch(ACCOUNTS), zero, Value::Text(FILLER)]);
        }
    }
}

const _: () = assert!(FILLER.len() == 84);

#[cfg(test)]
mod tests {
    use super::Tables;
    use syncline_contract::{Plan, Rows, Value};

    #[test]
    fn the_last_rows_belong_to_the_last_branch() {
        let mut plan = Plan::new();
        let tables = Tables::declare(&mut plan);
        let loads = tables.loads(3);
        let counts: Vec<_> = loads.iter().map(|load| load.units).collect();
        assert_eq!(counts, [3, 30, 300_000]);
        for load in &loads[1..] {
            let mut rows = Rows::new(4);
            tables.row(load.table, load.units - 1, &mut rows);
            let row = rows.row(0);
            assert_eq!(row.value(0), Value::Int(load.units as i64));
            assert_eq!(row.value(1), Value::Int(3));
        }
    }
}
