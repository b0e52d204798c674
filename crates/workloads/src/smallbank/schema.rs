//! The workload itself: its tables, rows and operations.

use super::check;
use super::options::{Mix, NAMES, Options};
use super::transactions::{SmallBankClient, Tally};
use crate::distributions::Stream;
use syncline_contract::{
    Aggregate, Check, Decimal, Exact, Int, Kind, Load, Lock, Nullable, Path, Plan, Range, Read,
    Rows, Session, Set, Stop, Table, TableId, Text, Value, Workload, Write,
};

/// Decimal places of money.
const SCALE: u8 = 2;
/// Length of a name.
pub(super) const NAME_BYTES: usize = 64;
/// The opening balance of an account, in hundredths.
const OPENING: std::ops::RangeInclusive<i64> = 1_000_000..=5_000_000;

/// An amount in hundredths.
#[inline]
pub(super) fn money(units: i64) -> Decimal {
    Decimal { units, scale: SCALE }
}

/// The operations on one kind of account.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfAccount {
    pub(super) read: Read<(Int,), (Exact,)>,
    pub(super) read_for_update: Read<(Int,), (Exact,)>,
    pub(super) add: Write<(Int, Exact)>,
    pub(super) set: Write<(Int, Exact)>,
    pub(super) sum: Read<(), (Nullable<Exact>,)>,
    pub(super) least: Read<(), (Nullable<Exact>,)>,
    pub(super) count: Read<(), (Int,)>,
}

/// The operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operations {
    pub(super) find: Read<(Text,), (Int,)>,
    pub(super) savings: OfAccount,
    pub(super) checking: OfAccount,
}

/// The `SmallBank` workload.
#[derive(Debug)]
pub struct SmallBank {
    pub(super) options: Options,
    plan: Plan,
    accounts: TableId,
    savings: TableId,
    checking: TableId,
    pub(super) operations: Operations,
}

impl SmallBank {
    /// Its name.
    pub const NAME: &'static str = "smallbank";

    /// The workload with these options.
    pub fn new(options: Options) -> SmallBank {
        let mut plan = Plan::new();
        let accounts =
            Table::new("accounts").text("name", NAME_BYTES as u32).column("custid", Kind::Int);
        let accounts = plan.table(accounts.key(&["name"]));
        let balances = |name| {
            let table = Table::new(name).column("custid", Kind::Int);
            table.column("bal", Kind::Decimal { scale: SCALE }).key(&["custid"])
        };
        let savings = plan.table(balances("savings"));
        let checking = plan.table(balances("checking"));
        let operations = Operations {
            find: plan.get("find customer", accounts, &["custid"], Lock::None),
            savings: of_account(savings, &mut plan),
            checking: of_account(checking, &mut plan),
        };
        SmallBank { options, plan, accounts, savings, checking, operations }
    }

    /// The opening balance of an account, in hundredths.
    fn opening(table: TableId, customer: u64) -> i64 {
        let purpose = if table.0 == 1 { "savings" } else { "checking" };
        Stream::of_load(purpose, customer).between(*OPENING.start(), *OPENING.end())
    }

    /// The sum of all opening balances, in hundredths.
    pub(super) fn opening_all(&self) -> i64 {
        let of = |customer| {
            SmallBank::opening(self.savings, customer) + SmallBank::opening(self.checking, customer)
        };
        (0..self.options.customers).map(of).sum()
    }
}

fn of_account(table: TableId, plan: &mut Plan) -> OfAccount {
    let name = plan.tables()[table.0].name.clone();
    let column = plan.tables()[table.0].id("bal");
    let path = Path::by_key(table, 0, Range::All);
    OfAccount {
        read: plan.get(format!("read {name}"), table, &["bal"], Lock::None),
        read_for_update: plan.get(format!("read {name} for update"), table, &["bal"], Lock::Update),
        add: plan.update(format!("add to {name}"), table, &[("bal", Set::Add)]),
        set: plan.update(format!("set {name}"), table, &[("bal", Set::To)]),
        sum: plan.aggregate(format!("sum {name}"), path, Aggregate::Sum(column)),
        least: plan.aggregate(format!("least {name}"), path, Aggregate::Min(column)),
        count: plan.aggregate(format!("count {name}"), path, Aggregate::Count),
    }
}

/// A customer's name: the number as 64 digits.
#[inline]
pub(super) fn write_name(customer: u64, name: &mut [u8; NAME_BYTES]) {
    let mut rest = customer;
    for digit in name.iter_mut().rev().take(20) {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

impl Workload for SmallBank {
    type Client = SmallBankClient;

    fn name(&self) -> &'static str {
        SmallBank::NAME
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.options.pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        match self.options.mix {
            Mix::Icde2008 => &NAMES[..5],
            Mix::BenchBase => &NAMES,
        }
    }

    /// An amalgamation of empty accounts changes nothing.
    fn always_writes(&self, transaction: usize) -> bool {
        !matches!(NAMES[transaction], "balance" | "amalgamate")
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn loads(&self) -> Vec<Load> {
        let units = self.options.customers;
        [self.accounts, self.savings, self.checking].map(|table| Load { table, units }).to_vec()
    }

    fn load_unit(&self, table: TableId, number: u64, batch: &mut Rows) {
        let id = Value::Int(number as i64);
        if table == self.accounts {
            let mut name = [b'0'; NAME_BYTES];
            write_name(number, &mut name);
            let name = str::from_utf8(&name).expect("digits are text");
            batch.push_row(&[Value::Text(name), id]);
        } else {
            let opening = money(SmallBank::opening(table, number));
            batch.push_row(&[id, Value::Decimal(opening)]);
        }
    }

    fn client(&self, number: usize, _clients: usize, seed: u64) -> SmallBankClient {
        SmallBankClient::new(self, number, seed)
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

#[cfg(test)]
mod tests {
    use super::{NAME_BYTES, SmallBank, write_name};
    use syncline_contract::{Rows, Value, Workload};

    #[test]
    fn names_ascend_with_their_numbers() {
        let name = |customer| {
            let mut name = [b'0'; NAME_BYTES];
            write_name(customer, &mut name);
            String::from_utf8(name.to_vec()).unwrap()
        };
        assert!(name(9) < name(10) && name(99_999) < name(100_000));
        assert_eq!(name(17_999).parse(), Ok(17_999));
        // A name is written over another in place.
        let mut again = name(17_999).into_bytes().try_into().unwrap();
        write_name(5, &mut again);
        assert_eq!(&again[..], name(5).as_bytes());
    }

    #[test]
    fn the_opening_sum_is_that_of_the_rows() {
        let load =
            SmallBank::new(super::Options { customers: 20, hot: 0, ..super::Options::default() });
        let mut sum = 0;
        for table in &load.loads()[1..] {
            let mut rows = Rows::new(2);
            for number in 0..table.units {
                load.load_unit(table.table, number, &mut rows);
            }
            for row in rows.iter() {
                let Value::Decimal(balance) = row.value(1) else { panic!("money") };
                assert!((1_000_000..=5_000_000).contains(&balance.units));
                sum += balance.units;
            }
        }
        assert_eq!(load.opening_all(), sum);
    }
}
