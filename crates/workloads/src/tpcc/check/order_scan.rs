//! Scans the orders of a district, with their lines and new orders, in pieces.
//!
//! A piece covers a hundred order numbers, requested from the three tables together. If all three return
//! nothing, the scan continues at the next number in any of them, so a distant number costs only one request.

use super::district::District;
use super::queries::CheckQueries;
use syncline_contract::{Session, Stop, Transaction};

/// Order numbers per piece; each order has at most fifteen lines.
const PIECE: i64 = 100;

/// An order with its lines so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) number: i64,
    pub(super) customer: i64,
    pub(super) is_carried: bool,
    /// Number of lines recorded in the order.
    pub(super) line_count: i64,
    /// Number of existing lines.
    pub(super) lines: i64,
    /// Lines with a delivery date, and the sum of their amounts in hundredths.
    pub(super) arrived: i64,
    pub(super) arrived_amount: i64,
}

/// The orders of a piece; reused for the next.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) orders: Vec<Order>,
    pub(super) new_orders: Vec<i64>,
    /// All lines, including those without an order.
    pub(super) lines: i64,
    pub(super) stray_lines: i64,
}

/// Scans a district.
pub(super) async fn walk<S: Session>(
    queries: &CheckQueries,
    district: &mut District,
    piece: &mut Piece,
    transaction: &mut Transaction<'_, S>,
) -> Result<(), Stop> {
    let mut from = i64::MIN;
    loop {
        let Some(first) = next(queries, district.key, from, transaction).await? else {
            return Ok(());
        };
        from = first;
        loop {
            let to = from.saturating_add(PIECE - 1);
            piece.read(queries, district.key, (from, to), transaction).await?;
            district.take(piece);
            let Some(next) = to.checked_add(1) else {
                return Ok(());
            };
            from = next;
            if piece.is_empty() {
                break;
            }
        }
    }
}

/// The smallest order number from a given one, in any of the tables.
async fn next<S: Session>(
    queries: &CheckQueries,
    (warehouse, district): (i64, i64),
    from: i64,
    transaction: &mut Transaction<'_, S>,
) -> Result<Option<i64>, Stop> {
    for first in &queries.first {
        transaction.ask(first, (warehouse, district, from))?;
    }
    let mut least: Option<i64> = None;
    for first in &queries.first {
        if let Some((number,)) = transaction.answer_if_any(first).await? {
            least = Some(least.map_or(number, |before| before.min(number)));
        }
    }
    Ok(least)
}

impl Piece {
    fn is_empty(&self) -> bool {
        self.orders.is_empty() && self.new_orders.is_empty() && self.lines == 0
    }

    async fn read<S: Session>(
        &mut self,
        queries: &CheckQueries,
        (warehouse, district): (i64, i64),
        (from, to): (i64, i64),
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let numbers = (warehouse, district, from, to);
        transaction.ask(&queries.orders, numbers)?;
        transaction.ask(&queries.new_orders, numbers)?;
        transaction.ask(&queries.lines, numbers)?;
        self.orders.clear();
        for row in transaction.answers(&queries.orders).await? {
            let (number, customer, carrier, line_count) = row?;
            self.orders.push(Order {
                number,
                customer,
                is_carried: carrier.is_some(),
                line_count,
                ..Order::default()
            });
        }
        self.new_orders.clear();
        for row in transaction.answers(&queries.new_orders).await? {
            self.new_orders.push(row?.0);
        }
        (self.lines, self.stray_lines) = (0, 0);
        let mut place = 0;
        for row in transaction.answers(&queries.lines).await? {
            let (order, date, amount) = row?;
            // Both lists ascend.
            while self.orders.get(place).is_some_and(|at| at.number < order) {
                place += 1;
            }
            self.lines += 1;
            match self.orders.get_mut(place).filter(|at| at.number == order) {
                Some(of) => {
                    of.lines += 1;
                    if date.is_some() {
                        of.arrived += 1;
                        of.arrived_amount += amount.units;
                    }
                }
                None => self.stray_lines += 1,
            }
        }
        Ok(())
    }
}
