//! Stock-level: counts the distinct items in a district's last 20 orders that are low in stock; reads only
//! (clause 2.8).

use super::inputs::Inputs;
use super::schema::Tables;
use std::hint::black_box;
use syncline_contract::{By, Int, Lock, Path, Plan, Range, Read, Session, Side, Stop, Transaction};

/// Number of orders that are read.
const ORDERS: i64 = 20;

/// The operations.
#[derive(Debug)]
pub(super) struct Operations {
    next: Read<(Int, Int), (Int,)>,
    stock: Read<(Int, Int, Int, Int), (Int, Int)>,
}

impl Operations {
    pub(super) fn declare(plan: &mut Plan, tables: &Tables) -> Operations {
        let lines = Path { table: tables.order_line, by: By::Key, equal: 2, range: Range::Between };
        // The supplier of a line does not matter: the stock is the home warehouse's.
        let on = [("ol_w_id", "s_w_id"), ("ol_i_id", "s_i_id")];
        let columns = [(Side::Right, "s_i_id"), (Side::Right, "s_quantity")];
        let next = ["d_next_o_id"];
        Operations {
            next: plan.get("read newest order number", tables.district, &next, Lock::None),
            stock: plan.join("read stock of recent orders", lines, tables.stock, &on, &columns),
        }
    }
}

/// The drawn stock-level and its buffer.
#[derive(Debug, Default)]
pub(super) struct StockLevel {
    home: i64,
    district: i64,
    threshold: i64,
    low: Vec<i64>,
}

impl StockLevel {
    pub(super) fn draw(&mut self, inputs: &mut Inputs, district: i64) {
        self.home = inputs.home;
        self.district = district;
        self.threshold = inputs.stream.between(10, 20);
    }

    #[inline]
    pub(super) async fn perform<S: Session>(
        &mut self,
        operations: &Operations,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (home, district) = (self.home, self.district);
        let (next,) = transaction.read(&operations.next, (home, district)).await?;
        let orders = (home, district, next - ORDERS, next - 1);
        transaction.ask(&operations.stock, orders)?;
        self.low.clear();
        for row in transaction.answers(&operations.stock).await? {
            let (item, quantity) = row?;
            if quantity < self.threshold {
                self.low.push(item);
            }
        }
        self.low.sort_unstable();
        self.low.dedup();
        black_box(self.low.len());
        Ok(())
    }
}
