//! The contents of a district, and the conditions that are decided for one order at a time.

use super::super::scale::Scale;
use super::order_scan::{Order, Piece};
use crate::violations::Violations;

/// The numbers in a table, in ascending order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) count: i64,
    pub(super) least: i64,
    pub(super) most: i64,
}

impl Numbers {
    fn see(&mut self, number: i64) {
        if self.count == 0 {
            self.least = number;
        }
        self.count += 1;
        self.most = number;
    }

    /// True if no number between the first and the last is missing.
    pub(super) fn are_without_gap(&self) -> bool {
        self.count == 0
            || i128::from(self.most) - i128::from(self.least) + 1 == i128::from(self.count)
    }
}

/// The conditions on single orders, over all districts.
#[derive(Debug, Default)]
pub(super) struct OfOrders {
    pub(super) five: Violations,
    pub(super) six: Violations,
    pub(super) seven: Violations,
    /// Orders of nonexistent customers.
    pub(super) ten: Violations,
}

/// A district.
#[derive(Debug)]
pub(super) struct District {
    /// Warehouse and district.
    pub(super) key: (i64, i64),
    pub(super) orders: Numbers,
    pub(super) new_orders: Numbers,
    /// Number of lines recorded in orders, and number of existing lines.
    pub(super) line_counts: i64,
    pub(super) lines: i64,
    /// Orders with a carrier, and those of them that were loaded without one.
    pub(super) carried: i64,
    pub(super) carried_since: i64,
    /// Amounts of delivered lines by customer, in hundredths.
    pub(super) arrived: Vec<i64>,
    scale: Scale,
    pub(super) of_orders: OfOrders,
}

impl District {
    pub(super) fn new(scale: Scale, key: (i64, i64), of_orders: OfOrders) -> District {
        District {
            key,
            orders: Numbers::default(),
            new_orders: Numbers::default(),
            line_counts: 0,
            lines: 0,
            carried: 0,
            carried_since: 0,
            arrived: vec![0; scale.customers as usize],
            scale,
            of_orders,
        }
    }

    /// Adds the next piece of the scan.
    pub(super) fn take(&mut self, piece: &Piece) {
        let (warehouse, district) = self.key;
        let mut waiting = piece.new_orders.iter().copied().peekable();
        for order in &piece.orders {
            while let Some(stray) = waiting.next_if(|number| *number < order.number) {
                self.stray(stray);
            }
            let is_new = waiting.next_if_eq(&order.number).is_some();
            self.order(order, is_new);
        }
        waiting.for_each(|stray| self.stray(stray));
        piece.new_orders.iter().for_each(|number| self.new_orders.see(*number));
        self.lines += piece.lines;
        if piece.stray_lines > 0 {
            let lines = piece.stray_lines;
            self.of_orders.six.add(|| {
                format!(
                    "{lines} lines of district {district} of warehouse {warehouse} belong to no order"
                )
            });
        }
    }

    /// Records a new order without an order.
    fn stray(&mut self, number: i64) {
        let whose = words(self.key, number);
        self.of_orders.five.add(|| format!("{whose} is a new order without an order"));
    }

    fn order(&mut self, order: &Order, is_new: bool) {
        self.orders.see(order.number);
        self.line_counts += order.line_count;
        self.carried += i64::from(order.is_carried);
        let is_since = order.number > self.scale.delivered();
        self.carried_since += i64::from(order.is_carried && is_since);
        let (key, of) = (self.key, &mut self.of_orders);
        let whose = || words(key, order.number);
        if order.is_carried == is_new {
            let (carrier, new) = (or_no(order.is_carried), or_no(is_new));
            of.five.add(|| format!("{} has {carrier} carrier and {new} new order", whose()));
        }
        if order.lines != order.line_count {
            let (says, lines) = (order.line_count, order.lines);
            of.six.add(|| format!("{} records {says} lines, but has {lines}", whose()));
        }
        let arrived = if order.is_carried { order.lines } else { 0 };
        if order.arrived != arrived {
            let (dated, carrier) = (order.arrived, or_no(order.is_carried));
            of.seven.add(|| {
                let lines = order.lines;
                format!(
                    "{} has {carrier} carrier, but {dated} of {lines} lines have a delivery date",
                    whose()
                )
            });
        }
        if let Some(customer) = self.scale.customer_at(order.customer) {
            self.arrived[customer] += order.arrived_amount;
        } else {
            let customer = order.customer;
            of.ten
                .add(|| format!("{} belongs to customer {customer}, who does not exist", whose()));
        }
    }
}

fn or_no(there: bool) -> &'static str {
    if there { "a" } else { "no" }
}

fn words((warehouse, district): (i64, i64), order: i64) -> String {
    format!("order {order} of district {district} of warehouse {warehouse}")
}
