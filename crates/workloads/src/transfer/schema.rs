//! The workload itself: its table, rows and operations.

use super::check;
use super::options::Options;
use super::transactions::{Tally, TransferClient};
use syncline_contract::{
    Aggregate, Check, Int, Kind, Load, Lock, Nullable, Path, Plan, Range, Read, Rows, Session, Set,
    Stop, Table, TableId, Value, Workload, Write,
};

/// The operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operations {
    /// The balance and the number of transfers of an account.
    pub(super) read: Read<(Int,), (Int, Int)>,
    pub(super) write: Write<(Int, Int, Int)>,
    pub(super) sum: Read<(), (Nullable<Int>,)>,
    pub(super) least: Read<(), (Nullable<Int>,)>,
    pub(super) transfers: Read<(), (Nullable<Int>,)>,
    pub(super) count: Read<(), (Int,)>,
}

/// The transfer workload.
#[derive(Debug)]
pub struct Transfer {
    pub(super) options: Options,
    plan: Plan,
    accounts: TableId,
    pub(super) operations: Operations,
}

impl Transfer {
    /// Its name.
    pub const NAME: &'static str = "transfer";

    /// The workload with these options.
    pub fn new(options: Options) -> Transfer {
        let mut plan = Plan::new();
        let table = Table::new("accounts").column("id", Kind::Int).column("balance", Kind::Int);
        let accounts = plan.table(table.column("transfers", Kind::Int).key(&["id"]));
        let of = |column: &str| plan.tables()[accounts.0].id(column);
        let (balance, transfers) = (of("balance"), of("transfers"));
        let path = Path::by_key(accounts, 0, Range::All);
        let operations = Operations {
            read: plan.get("read account", accounts, &["balance", "transfers"], Lock::Update),
            write: plan.update(
                "write account",
                accounts,
                &[("balance", Set::To), ("transfers", Set::To)],
            ),
            sum: plan.aggregate("sum balance", path, Aggregate::Sum(balance)),
            least: plan.aggregate("least balance", path, Aggregate::Min(balance)),
            transfers: plan.aggregate("sum transfers", path, Aggregate::Sum(transfers)),
            count: plan.aggregate("count accounts", path, Aggregate::Count),
        };
        Transfer { options, plan, accounts, operations }
    }
}

impl Workload for Transfer {
    type Client = TransferClient;

    fn name(&self) -> &'static str {
        Transfer::NAME
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.options.pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        &["transfer"]
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn loads(&self) -> Vec<Load> {
        vec![Load { table: self.accounts, units: self.options.accounts }]
    }

    fn load_unit(&self, _table: TableId, number: u64, batch: &mut Rows) {
        let balance = self.options.balance as i64;
        batch.push_row(&[Value::Int(number as i64), Value::Int(balance), Value::Int(0)]);
    }

    fn client(&self, number: usize, _clients: usize, seed: u64) -> TransferClient {
        TransferClient::new(self, number, seed)
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<Tally>,
        session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        check::check(self, &tallies, session).await
    }

    fn check_names(&self) -> Vec<&'static str> {
        check::names().to_vec()
    }
}
