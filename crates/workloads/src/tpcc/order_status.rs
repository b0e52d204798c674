//! Order-status: reads a customer's newest order and its lines (clause 2.6).

use super::customer::{ByName, Customer};
use super::inputs::Inputs;
use super::schema::Tables;
use std::hint::black_box;
use syncline_contract::{
    By, Exact, IndexId, Int, Limit, Lock, Nullable, Order, Path, Plan, Range, Read, Scan, Session,
    Stop, Text, Timestamp, Transaction,
};

/// Warehouse, district, and the number of a customer or an order.
type Key = (Int, Int, Int);

type Line = (Int, Int, Int, Exact, Nullable<Timestamp>);

/// The operations.
#[derive(Debug)]
pub(super) struct Operations {
    by_name: ByName,
    customer: Read<Key, (Text, Text, Text, Exact)>,
    newest: Read<Key, (Int, Timestamp, Nullable<Int>)>,
    lines: Read<Key, Line>,
}

impl Operations {
    pub(super) fn declare(plan: &mut Plan, tables: &Tables, by_name: ByName) -> Operations {
        let shown = ["c_first", "c_middle", "c_last", "c_balance"];
        let newest = Scan {
            path: Path {
                table: tables.orders,
                by: By::Index(IndexId(0)),
                equal: 3,
                range: Range::All,
            },
            order: Order::Descending,
            limit: Limit::Fixed(1),
            columns: &["o_id", "o_entry_d", "o_carrier_id"],
            lock: Lock::None,
        };
        let columns = ["ol_i_id", "ol_supply_w_id", "ol_quantity", "ol_amount", "ol_delivery_d"];
        let lines = Scan::ascending(tables.lines_of_an_order(), Limit::None, &columns);
        Operations {
            by_name,
            customer: plan.get("read balance", tables.customer, &shown, Lock::None),
            newest: plan.scan("find newest order", newest),
            lines: plan.scan("read order lines", lines),
        }
    }
}

/// The drawn order-status.
#[derive(Debug)]
pub(super) struct OrderStatus {
    customer: Customer,
}

impl OrderStatus {
    pub(super) fn new(customer: Customer) -> OrderStatus {
        OrderStatus { customer }
    }

    pub(super) fn draw(&mut self, inputs: &mut Inputs) {
        let district = inputs.district();
        self.customer = inputs.selected_customer(inputs.home, district);
    }

    #[inline]
    pub(super) async fn perform<S: Session>(
        &self,
        operations: &Operations,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (warehouse, district) = (self.customer.warehouse, self.customer.district);
        self.customer.ask(operations.by_name, transaction)?;
        let number = self.customer.number(operations.by_name, transaction).await?;
        let key = (warehouse, district, number);
        transaction.ask(&operations.customer, key)?;
        transaction.ask(&operations.newest, key)?;
        black_box(transaction.answer(&operations.customer).await?);
        let (order, date, carrier) = transaction.answer(&operations.newest).await?;
        black_box((date, carrier));
        transaction.ask(&operations.lines, (warehouse, district, order))?;
        for line in transaction.answers(&operations.lines).await? {
            black_box(line?);
        }
        Ok(())
    }
}
