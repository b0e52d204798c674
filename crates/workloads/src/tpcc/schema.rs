//! Tables, operations, and the workload as the runner sees it.
//!
//! Columns are in the order of clause 1.3, except that keys come first, in key order. Tables are stored by
//! warehouse, district and number; two have a secondary index: customers by last and first name, orders by
//! customer.

use super::check::{self, CheckQueries};
use super::client::TpccClient;
use super::load::Loader;
use super::mix::{self, DELIVERY, NEW_ORDER, ORDER_STATUS, PAYMENT, STOCK_LEVEL};
use super::options::{self, Options, Think};
use super::tally::Tally;
use super::{customer, delivery, new_order, order_status, payment, stock_level};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_contract::{
    Check, Counts, Kind, Load, OwnFigure, Path, Plan, Range, ResponseBound, Rows, Session, Stop,
    Table, TableId, Workload,
};

/// The most bytes of a customer's data.
pub(super) const CUSTOMER_DATA_BYTES: usize = 500;

/// The maximum rate of new orders per minute and warehouse, with ten terminals that key and think as
/// prescribed.
const NEW_ORDERS_PER_MINUTE_MAX: f64 = 12.86;

const SECOND_NS: u64 = 1_000_000_000;

const MONEY: Kind = Kind::Decimal { scale: 2 };
const RATE: Kind = Kind::Decimal { scale: 4 };

/// The tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    pub(super) item: TableId,
    pub(super) warehouse: TableId,
    pub(super) district: TableId,
    pub(super) customer: TableId,
    pub(super) history: TableId,
    pub(super) orders: TableId,
    pub(super) new_order: TableId,
    pub(super) order_line: TableId,
    pub(super) stock: TableId,
}

impl Tables {
    fn declare(plan: &mut Plan) -> Tables {
        Tables {
            item: plan.table(item()),
            warehouse: plan.table(warehouse()),
            district: plan.table(district()),
            customer: plan.table(customer_table()),
            history: plan.table(history()),
            orders: plan.table(orders()),
            new_order: plan.table(new_order_table()),
            order_line: plan.table(order_line()),
            stock: plan.table(stock()),
        }
    }

    /// The path to the lines of one order.
    pub(super) fn lines_of_an_order(&self) -> Path {
        Path::by_key(self.order_line, 3, Range::All)
    }
}

fn item() -> Table {
    Table::new("item")
        .column("i_id", Kind::Int)
        .column("i_im_id", Kind::Int)
        .text("i_name", 24)
        .column("i_price", MONEY)
        .text("i_data", 50)
        .key(&["i_id"])
}

/// The columns of a name and an address, by their prefix.
fn address(table: Table, prefix: char) -> Table {
    table
        .text(format!("{prefix}_street_1"), 20)
        .text(format!("{prefix}_street_2"), 20)
        .text(format!("{prefix}_city"), 20)
        .text(format!("{prefix}_state"), 2)
        .text(format!("{prefix}_zip"), 9)
}

fn warehouse() -> Table {
    let named = Table::new("warehouse").column("w_id", Kind::Int).text("w_name", 10);
    address(named, 'w').column("w_tax", RATE).column("w_ytd", MONEY).key(&["w_id"])
}

fn district() -> Table {
    let named = Table::new("district")
        .column("d_w_id", Kind::Int)
        .column("d_id", Kind::Int)
        .text("d_name", 10);
    address(named, 'd')
        .column("d_tax", RATE)
        .column("d_ytd", MONEY)
        .column("d_next_o_id", Kind::Int)
        .key(&["d_w_id", "d_id"])
}

fn customer_table() -> Table {
    let named = Table::new("customer")
        .column("c_w_id", Kind::Int)
        .column("c_d_id", Kind::Int)
        .column("c_id", Kind::Int)
        .text("c_first", 16)
        .text("c_middle", 2)
        .text("c_last", 16);
    address(named, 'c')
        .text("c_phone", 16)
        .column("c_since", Kind::Timestamp)
        .text("c_credit", 2)
        .column("c_credit_lim", MONEY)
        .column("c_discount", RATE)
        .column("c_balance", MONEY)
        .column("c_ytd_payment", MONEY)
        .column("c_payment_cnt", Kind::Int)
        .column("c_delivery_cnt", Kind::Int)
        .text("c_data", CUSTOMER_DATA_BYTES as u32)
        .key(&["c_w_id", "c_d_id", "c_id"])
        .index("customer_by_name", &["c_w_id", "c_d_id", "c_last", "c_first"], false)
}

fn history() -> Table {
    Table::new("history")
        .column("h_c_id", Kind::Int)
        .column("h_c_d_id", Kind::Int)
        .column("h_c_w_id", Kind::Int)
        .column("h_d_id", Kind::Int)
        .column("h_w_id", Kind::Int)
        .column("h_date", Kind::Timestamp)
        .column("h_amount", MONEY)
        .text("h_data", 24)
}

fn orders() -> Table {
    Table::new("orders")
        .column("o_w_id", Kind::Int)
        .column("o_d_id", Kind::Int)
        .column("o_id", Kind::Int)
        .column("o_c_id", Kind::Int)
        .column("o_entry_d", Kind::Timestamp)
        .column("o_carrier_id", Kind::Int)
        .nullable()
        .column("o_ol_cnt", Kind::Int)
        .column("o_all_local", Kind::Int)
        .key(&["o_w_id", "o_d_id", "o_id"])
        .index("orders_by_customer", &["o_w_id", "o_d_id", "o_c_id", "o_id"], false)
}

fn new_order_table() -> Table {
    Table::new("new_order")
        .column("no_w_id", Kind::Int)
        .column("no_d_id", Kind::Int)
        .column("no_o_id", Kind::Int)
        .key(&["no_w_id", "no_d_id", "no_o_id"])
}

fn order_line() -> Table {
    Table::new("order_line")
        .column("ol_w_id", Kind::Int)
        .column("ol_d_id", Kind::Int)
        .column("ol_o_id", Kind::Int)
        .column("ol_number", Kind::Int)
        .column("ol_i_id", Kind::Int)
        .column("ol_supply_w_id", Kind::Int)
        .column("ol_delivery_d", Kind::Timestamp)
        .nullable()
        .column("ol_quantity", Kind::Int)
        .column("ol_amount", MONEY)
        .text("ol_dist_info", 24)
        .key(&["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"])
}

fn stock() -> Table {
    let counted = Table::new("stock")
        .column("s_w_id", Kind::Int)
        .column("s_i_id", Kind::Int)
        .column("s_quantity", Kind::Int);
    let texts = |table: Table, district: i64| table.text(format!("s_dist_{district:02}"), 24);
    (1..=super::scale::DISTRICTS)
        .fold(counted, texts)
        .column("s_ytd", Kind::Int)
        .column("s_order_cnt", Kind::Int)
        .column("s_remote_cnt", Kind::Int)
        .text("s_data", 50)
        .key(&["s_w_id", "s_i_id"])
}

/// The operations of each transaction.
#[derive(Debug)]
pub(super) struct Operations {
    pub(super) new_order: new_order::Operations,
    pub(super) payment: payment::Operations,
    pub(super) order_status: order_status::Operations,
    pub(super) delivery: delivery::Operations,
    pub(super) stock_level: stock_level::Operations,
}

/// The tpcc workload.
#[derive(Debug)]
pub struct Tpcc {
    pub(super) options: Options,
    plan: Plan,
    pub(super) operations: Arc<Operations>,
    loader: Loader,
    pub(super) queries: CheckQueries,
    /// True if this run has loaded the rows instead of continuing with those of an earlier run.
    is_fresh: AtomicBool,
}

impl Tpcc {
    /// Its name.
    pub const NAME: &'static str = "tpcc";

    pub(super) const NOTICE: &'static str =
        "derived from TPC-C, not comparable to published TPC results";
    pub(super) const NOTICE_SMALLER: &'static str = "derived from TPC-C, not comparable to published TPC \
         results; not scaled as TPC-C requires: fewer items or customers";

    /// The workload with these options.
    pub fn new(options: Options) -> Tpcc {
        let mut plan = Plan::new();
        let tables = Tables::declare(&mut plan);
        let by_name = customer::declare(&mut plan, &tables);
        let operations = Operations {
            new_order: new_order::Operations::declare(&mut plan, &tables),
            payment: payment::Operations::declare(&mut plan, &tables, by_name),
            order_status: order_status::Operations::declare(&mut plan, &tables, by_name),
            delivery: delivery::Operations::declare(&mut plan, &tables),
            stock_level: stock_level::Operations::declare(&mut plan, &tables),
        };
        let queries = CheckQueries::declare(&mut plan, &tables);
        Tpcc {
            options,
            plan,
            operations: Arc::new(operations),
            loader: Loader::new(options.scale(), tables),
            queries,
            is_fresh: AtomicBool::new(false),
        }
    }
}

impl Workload for Tpcc {
    type Client = TpccClient;

    fn name(&self) -> &'static str {
        Tpcc::NAME
    }

    fn notice(&self) -> Option<&'static str> {
        Some(self.options.notice())
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        self.options.as_given().pairs()
    }

    fn transactions(&self) -> &'static [&'static str] {
        &mix::NAMES
    }

    /// A delivery may find no waiting order.
    fn always_writes(&self, transaction: usize) -> bool {
        matches!(transaction, NEW_ORDER | PAYMENT)
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn loads(&self) -> Vec<Load> {
        self.loader.loads()
    }

    fn load_unit(&self, table: TableId, number: u64, batch: &mut Rows) {
        if !self.is_fresh.load(Ordering::Relaxed) {
            self.is_fresh.store(true, Ordering::Relaxed);
        }
        self.loader.unit(table, number, batch);
    }

    fn loaded_as(&self) -> Option<String> {
        let scale = self.options.scale();
        Some(format!(
            "{} warehouses, {} items, {} customers a district",
            scale.warehouses, scale.items, scale.customers
        ))
    }

    fn run_begins(&self, _salt: u64) {
        self.is_fresh.store(false, Ordering::Relaxed);
    }

    fn client(&self, number: usize, _clients: usize, seed: u64) -> TpccClient {
        TpccClient::new(self, number, seed)
    }

    /// Clause 5.2.5.4, for transactions with a weight; a deferred delivery has eighty seconds.
    fn response_bounds(&self) -> Vec<ResponseBound> {
        let delivery_s = match self.options.delivery {
            options::Delivery::Immediate => 5,
            options::Delivery::Deferred => 80,
        };
        let seconds = [
            (NEW_ORDER, 5),
            (PAYMENT, 5),
            (ORDER_STATUS, 5),
            (DELIVERY, delivery_s),
            (STOCK_LEVEL, 20),
        ];
        let bound = |(transaction, seconds)| ResponseBound {
            transaction,
            percent: 90,
            within_ns: seconds * SECOND_NS,
        };
        let has_weight = |(kind, _): &(usize, u64)| self.options.weights.has(*kind);
        seconds.into_iter().filter(has_weight).map(bound).collect()
    }

    /// The efficiency is based on committed new orders, and on terminals that think. Without think time it
    /// would be exceeded by far, so the rate itself is given.
    fn figures(&self, counts: &Counts<'_>) -> Vec<OwnFigure> {
        if counts.seconds <= 0.0 {
            return Vec::new();
        }
        let per_minute = |count: u64| count as f64 * 60.0 / counts.seconds;
        let committed = per_minute(counts.committed[NEW_ORDER]);
        let entered = per_minute(counts.committed[NEW_ORDER] + counts.aborted[NEW_ORDER]);
        let of_one = committed / self.options.scale().warehouses as f64;
        let of = |unit, name, value| OwnFigure { name, unit, value };
        let figure = |name, value| of("", name, value);
        vec![
            figure("new orders/min", committed),
            figure("new orders/min, rolled-back ones included", entered),
            match self.options.think {
                Think::Spec => of(
                    "%",
                    "of 12.86 new orders/min per warehouse",
                    of_one / NEW_ORDERS_PER_MINUTE_MAX * 100.0,
                ),
                Think::None => figure(
                    "new orders/min per warehouse (no think time; with it the maximum is 12.86)",
                    of_one,
                ),
            },
        ]
    }

    async fn check<S: Session>(
        &self,
        tallies: Vec<Tally>,
        session: &mut S,
    ) -> Result<Vec<Check>, Stop> {
        let is_fresh = self.is_fresh.load(Ordering::Relaxed);
        check::check(&self.queries, self.options.scale(), is_fresh, &tallies, session).await
    }

    fn check_names(&self) -> Vec<&'static str> {
        check::names()
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Options, Tpcc};
    use syncline_contract::{OptionArgs, Rows, Workload};

    fn tpcc(pairs: &[(&str, &str)]) -> Tpcc {
        let pairs: Vec<_> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let given = OptionArgs::new("workload tpcc".to_owned(), Options::LISTING, &pairs).unwrap();
        Tpcc::new(Options::parse(&given).unwrap())
    }

    #[test]
    fn figures_count_rolled_back_orders_separately() {
        let counts = Counts {
            seconds: 30.0,
            clients: 1,
            committed: &[643, 1, 1, 1, 1],
            aborted: &[7, 0, 0, 0, 0],
        };
        for (think, last) in [("spec", 1_000.0), ("none", 128.6)] {
            let figures = tpcc(&[("warehouses", "10"), ("think", think)]).figures(&counts);
            assert_eq!(figures[2].unit == "%", think == "spec");
            let values = figures.iter().map(|figure| figure.value);
            for (value, expected) in values.zip([1_286.0, 1_300.0, last]) {
                assert!((value - expected).abs() < 1e-9, "{think}: {value}");
            }
        }
        let none = Counts { seconds: 0.0, ..counts };
        assert!(tpcc(&[]).figures(&none).is_empty());
    }

    #[test]
    fn the_notice_mentions_a_smaller_scale() {
        assert!(!tpcc(&[]).notice().unwrap().contains("not scaled"));
        for smaller in [("items", "1000"), ("customers", "30")] {
            assert!(tpcc(&[smaller]).notice().unwrap().contains("not scaled"));
        }
    }

    #[test]
    fn every_unit_of_every_table_fits_its_table() {
        let tpcc = tpcc(&[("items", "100"), ("customers", "20"), ("warehouses", "2")]);
        for load in tpcc.loads() {
            let table = &tpcc.plan().tables()[load.table.0];
            let mut rows = Rows::new(table.columns.len());
            for unit in 0..load.units {
                tpcc.load_unit(load.table, unit, &mut rows);
            }
            assert!(!rows.is_empty(), "{}", table.name);
            for row in rows.iter() {
                for (index, column) in table.columns.iter().enumerate() {
                    let kind = row.kind(index);
                    assert!(
                        kind == Some(column.kind) || kind.is_none() && column.nullable,
                        "{}.{}: {kind:?}",
                        table.name,
                        column.name
                    );
                    if let (Some(most), syncline_contract::Value::Text(text)) =
                        (column.bytes_max, row.value(index))
                    {
                        assert!(text.len() <= most as usize, "{}", column.name);
                    }
                }
            }
        }
    }
}
