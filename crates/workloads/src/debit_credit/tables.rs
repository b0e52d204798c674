//! The tables, and the operations of transactions and checks.

use super::profile::Rules;
use syncline_contract::{
    Aggregate, Int, Kind, Limit, Lock, Nullable, Path, Plan, Range, Read, Scan, Set, Table,
    TableId, Text, Timestamp, Write,
};

/// Tellers per branch.
pub(super) const TELLERS: u64 = 10;
/// The columns of a history row: the keys and the delta.
const HISTORY: [&str; 4] = ["tid", "bid", "aid", "delta"];
pub(super) const BRANCH_FILLER_BYTES: usize = 88;
pub(super) const ACCOUNT_FILLER_BYTES: usize = 84;

/// The tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    pub(super) branches: TableId,
    pub(super) tellers: TableId,
    pub(super) accounts: TableId,
    history: TableId,
}

/// The insert of a history row.
#[derive(Clone, Copy, Debug)]
pub(super) enum NewHistory {
    /// Teller, branch, account, delta, time, filler.
    Timed(Write<(Int, Int, Int, Int, Timestamp, Nullable<Text>)>),
    /// Teller, branch, account, delta, filler.
    Untimed(Write<(Int, Int, Int, Int, Nullable<Text>)>),
}

/// The operations of transactions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operations {
    pub(super) add_to_account: Write<(Int, Int)>,
    pub(super) read_account: Read<(Int,), (Int,)>,
    pub(super) add_to_teller: Write<(Int, Int)>,
    pub(super) add_to_branch: Write<(Int, Int)>,
    pub(super) read_branch: Read<(Int,), (Int,)>,
    pub(super) write_branch: Write<(Int, Int)>,
    pub(super) new_history: NewHistory,
}

/// The sum of a column over a range of keys; null over no rows.
pub(super) type SumBetween = Read<(Int, Int), (Nullable<Int>,)>;

/// The operations of the check.
#[derive(Debug)]
pub(super) struct CheckQueries {
    pub(super) accounts: SumBetween,
    pub(super) tellers: SumBetween,
    pub(super) branches: SumBetween,
    pub(super) history: Read<(), (Nullable<Int>,)>,
    pub(super) history_rows: Read<(), (Int,)>,
    /// Teller, branch, account and delta of every row.
    pub(super) history_all: Read<(), (Int, Int, Int, Int)>,
}

pub(super) fn tables(rules: &Rules, plan: &mut Plan) -> Tables {
    let keyed = |name, id, balance, bytes: usize| {
        let mut table = Table::new(name).column(id, Kind::Int);
        if name != "branches" {
            table = table.column("bid", Kind::Int);
        }
        let table = table.column(balance, Kind::Int);
        table.text("filler", bytes as u32).nullable().key(&[id])
    };
    let mut history =
        HISTORY.iter().fold(Table::new("history"), |table, id| table.column(*id, Kind::Int));
    if rules.timed {
        history = history.column("mtime", Kind::Timestamp);
    }
    let history = history.text("filler", rules.history_filler_bytes as u32).nullable();
    Tables {
        branches: plan.table(keyed("branches", "bid", "bbalance", BRANCH_FILLER_BYTES)),
        tellers: plan.table(keyed("tellers", "tid", "tbalance", ACCOUNT_FILLER_BYTES)),
        accounts: plan.table(keyed("accounts", "aid", "abalance", ACCOUNT_FILLER_BYTES)),
        history: plan.table(history),
    }
}

pub(super) fn operations(tables: &Tables, rules: &Rules, plan: &mut Plan) -> Operations {
    let (accounts, tellers, branches) = (tables.accounts, tables.tellers, tables.branches);
    Operations {
        add_to_account: plan.update("add to account", accounts, &[("abalance", Set::Add)]),
        read_account: plan.get("read account", accounts, &["abalance"], Lock::None),
        add_to_teller: plan.update("add to teller", tellers, &[("tbalance", Set::Add)]),
        add_to_branch: plan.update("add to branch", branches, &[("bbalance", Set::Add)]),
        read_branch: plan.get("read branch", branches, &["bbalance"], Lock::Update),
        write_branch: plan.update("write branch", branches, &[("bbalance", Set::To)]),
        new_history: if rules.timed {
            NewHistory::Timed(plan.insert("insert history", tables.history))
        } else {
            NewHistory::Untimed(plan.insert("insert history", tables.history))
        },
    }
}

pub(super) fn check_queries(tables: &Tables, plan: &mut Plan) -> CheckQueries {
    let path = |table, range| Path::by_key(table, 0, range);
    let sum =
        |plan: &Plan, table: TableId, column| Aggregate::Sum(plan.tables()[table.0].id(column));
    let mut between = |name: &'static str, table, column| {
        let function = sum(plan, table, column);
        plan.aggregate(name, path(table, Range::Between), function)
    };
    let accounts = between("sum accounts", tables.accounts, "abalance");
    let tellers = between("sum tellers", tables.tellers, "tbalance");
    let branches = between("sum branches", tables.branches, "bbalance");
    let deltas = sum(plan, tables.history, "delta");
    let all = path(tables.history, Range::All);
    CheckQueries {
        accounts,
        tellers,
        branches,
        history: plan.aggregate("sum history", all, deltas),
        history_rows: plan.aggregate("count history", all, Aggregate::Count),
        history_all: plan.scan("read history", Scan::ascending(all, Limit::None, &HISTORY)),
    }
}
