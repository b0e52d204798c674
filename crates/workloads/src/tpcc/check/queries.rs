//! The operations of the checks.

use super::super::schema::Tables;
use syncline_contract::{
    Aggregate, Exact, Int, Limit, Lock, Nullable, Path, Plan, Range, Read, Scan, TableId, Timestamp,
};

/// Rows of a district in a range of numbers, inclusive.
type Between<R> = Read<(Int, Int, Int, Int), R>;

/// The smallest number of a district, from a given one.
type First = Read<(Int, Int, Int), (Int,)>;

/// A history row: its customer's number, district and warehouse, its own district and warehouse, the amount.
pub(super) type HistoryRow = (Int, Int, Int, Int, Int, Exact);

/// The operations of the checks.
#[derive(Debug)]
pub(crate) struct CheckQueries {
    /// A warehouse's sum.
    pub(super) warehouse: Read<(Int,), (Exact,)>,
    /// A district's sum and next order number.
    pub(super) district: Read<(Int, Int), (Exact, Int)>,
    /// Customers: number, balance, sum of payments.
    pub(super) customers: Read<(Int, Int), (Int, Exact, Exact)>,
    pub(super) history_count: Read<(), (Int,)>,
    pub(super) history: Read<(), HistoryRow>,
    /// Orders: number, customer, carrier, lines.
    pub(super) orders: Between<(Int, Int, Nullable<Int>, Int)>,
    pub(super) new_orders: Between<(Int,)>,
    /// Lines: order, delivery date, amount.
    pub(super) lines: Between<(Int, Nullable<Timestamp>, Exact)>,
    /// For orders, new orders and lines.
    pub(super) first: [First; 3],
}

impl CheckQueries {
    pub(crate) fn declare(plan: &mut Plan, tables: &Tables) -> CheckQueries {
        let paid = ["c_id", "c_balance", "c_ytd_payment"];
        let order = ["o_id", "o_c_id", "o_carrier_id", "o_ol_cnt"];
        let line = ["ol_o_id", "ol_delivery_d", "ol_amount"];
        let of_history = ["h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id", "h_amount"];
        let warehouse = ["w_ytd"];
        let district = ["d_ytd", "d_next_o_id"];
        let all = Path::by_key(tables.history, 0, Range::All);
        let of_district = Path::by_key(tables.customer, 2, Range::All);
        let between = |table| Path::by_key(table, 2, Range::Between);
        CheckQueries {
            warehouse: plan.get("check warehouse", tables.warehouse, &warehouse, Lock::None),
            district: plan.get("check district", tables.district, &district, Lock::None),
            customers: plan.scan("check customers", all_rows(of_district, &paid)),
            history_count: plan.aggregate("count history", all, Aggregate::Count),
            history: plan.scan("check history", all_rows(all, &of_history)),
            orders: plan.scan("check orders", all_rows(between(tables.orders), &order)),
            new_orders: plan
                .scan("check new orders", all_rows(between(tables.new_order), &["no_o_id"])),
            lines: plan.scan("check lines", all_rows(between(tables.order_line), &line)),
            first: [
                plan.scan("find order from", first(tables.orders, &["o_id"])),
                plan.scan("find new order from", first(tables.new_order, &["no_o_id"])),
                plan.scan("find line from", first(tables.order_line, &["ol_o_id"])),
            ],
        }
    }
}

fn all_rows<'a>(path: Path, columns: &'a [&'a str]) -> Scan<'a> {
    Scan::ascending(path, Limit::None, columns)
}

fn first<'a>(table: TableId, columns: &'a [&'a str]) -> Scan<'a> {
    Scan::ascending(Path::by_key(table, 2, Range::From), Limit::Fixed(1), columns)
}
