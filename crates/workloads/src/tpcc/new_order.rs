//! New-order: orders 5 to 15 items from stock (clause 2.4).
//!
//! All reads are requested together. One in a hundred new-orders names a nonexistent item in its last line:
//! what precedes that line is written, then everything is rolled back.

use super::inputs::{Inputs, money};
use super::names::is_original;
use super::scale::{DISTRICTS, LINES_MAX};
use super::schema::Tables;
use std::hint::black_box;
use syncline_contract::{
    Exact, Int, Lock, Nullable, Plan, Read, Session, Set, Stop, Text, Timestamp, Transaction, Write,
};

/// Percentage of new-orders that are rolled back, and of lines supplied by another warehouse.
const ROLLED_BACK_PERCENT: u64 = 1;
const REMOTE_PERCENT: u64 = 1;

/// Stock is refilled if less than this would remain.
const STOCK_LEAST: i64 = 10;
const STOCK_REFILL: i64 = 91;

/// Length of a stock row's text for each district.
const DIST_BYTES: usize = 24;

type Stock = Read<(Int, Int), (Int, Text, Text)>;
type OrderRow = (Int, Int, Int, Int, Timestamp, Nullable<Int>, Int, Int);
type LineRow = (Int, Int, Int, Int, Int, Int, Nullable<Timestamp>, Int, Exact, Text);

/// The operations.
#[derive(Debug)]
pub(super) struct Operations {
    warehouse: Read<(Int,), (Exact,)>,
    district: Read<(Int, Int), (Exact, Int)>,
    customer: Read<(Int, Int, Int), (Exact, Text, Text)>,
    item: Read<(Int,), (Exact, Text, Text)>,
    /// One for each district, reading its text.
    stock: [Stock; DISTRICTS as usize],
    take_number: Write<(Int, Int, Int)>,
    order: Write<OrderRow>,
    new_order: Write<(Int, Int, Int)>,
    take_stock: Write<(Int, Int, Int, Int, Int, Int)>,
    line: Write<LineRow>,
}

impl Operations {
    pub(super) fn declare(plan: &mut Plan, tables: &Tables) -> Operations {
        let stock = |district: usize, plan: &mut Plan| -> Stock {
            let text = format!("s_dist_{:02}", district + 1);
            let columns = ["s_quantity", text.as_str(), "s_data"];
            plan.get("read stock", tables.stock, &columns, Lock::Update)
        };
        let sets = [
            ("s_quantity", Set::To),
            ("s_ytd", Set::Add),
            ("s_order_cnt", Set::Add),
            ("s_remote_cnt", Set::Add),
        ];
        let number = [("d_next_o_id", Set::To)];
        Operations {
            warehouse: plan.get("read tax", tables.warehouse, &["w_tax"], Lock::None),
            district: plan.get(
                "read next order number",
                tables.district,
                &["d_tax", "d_next_o_id"],
                Lock::Update,
            ),
            customer: plan.get(
                "read discount",
                tables.customer,
                &["c_discount", "c_last", "c_credit"],
                Lock::None,
            ),
            item: plan.get("read item", tables.item, &["i_price", "i_name", "i_data"], Lock::None),
            stock: std::array::from_fn(|district| stock(district, plan)),
            take_number: plan.update("take order number", tables.district, &number),
            order: plan.insert("insert order", tables.orders),
            new_order: plan.insert("insert new order", tables.new_order),
            take_stock: plan.update("take from stock", tables.stock, &sets),
            line: plan.insert("insert order line", tables.order_line),
        }
    }
}

/// A drawn line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Line {
    item: i64,
    supplier: i64,
    quantity: i64,
}

/// The answers for a line.
#[derive(Clone, Copy, Debug, Default)]
struct LineAnswer {
    price: i64,
    /// The stock that remains after this line.
    left: i64,
    is_original: bool,
    text: [u8; DIST_BYTES],
    text_bytes: usize,
}

/// The drawn new-order and the answers to its reads.
#[derive(Debug, Default)]
pub(super) struct NewOrder {
    home: i64,
    district: i64,
    customer: i64,
    date_us: i64,
    lines: [Line; LINES_MAX],
    count: usize,
    rolls_back: bool,
    answers: [LineAnswer; LINES_MAX],
    /// The number of the order, once performed.
    pub(super) number: i64,
}

impl NewOrder {
    /// The district of the order.
    pub(super) fn district(&self) -> i64 {
        self.district
    }

    pub(super) fn draw(&mut self, inputs: &mut Inputs) {
        self.home = inputs.home;
        self.district = inputs.district();
        self.customer = inputs.customer();
        self.date_us = inputs.date_us();
        self.count = inputs.stream.between(5, LINES_MAX as i64) as usize;
        self.rolls_back = inputs.stream.percent(ROLLED_BACK_PERCENT);
        for line in &mut self.lines[..self.count] {
            line.item = inputs.item();
            line.supplier = if inputs.is_remote(REMOTE_PERCENT) {
                inputs.other_warehouse()
            } else {
                inputs.home
            };
            line.quantity = inputs.stream.between(1, 10);
        }
        if self.rolls_back {
            self.lines[self.count - 1].item = inputs.scale.items + 1;
        }
    }

    #[inline]
    pub(super) async fn perform<S: Session>(
        &mut self,
        operations: &Operations,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        self.ask(operations, transaction)?;
        let (warehouse_tax,) = transaction.answer(&operations.warehouse).await?;
        let (district_tax, number) = transaction.answer(&operations.district).await?;
        let (discount, last, credit) = transaction.answer(&operations.customer).await?;
        black_box((last, credit));
        let (discount, taxes) = (discount.units, warehouse_tax.units + district_tax.units);
        self.number = number;
        for place in 0..self.count {
            let answers = transaction.answer_if_any(&operations.item).await?;
            // Only the drawn rollback may miss its item; it ends the transaction even if a target that
            // generates rows returns one.
            match answers {
                Some((price, name, data)) => {
                    black_box(name);
                    self.answers[place].price = price.units;
                    self.answers[place].is_original = is_original(data);
                }
                None if self.misses(place) => {}
                None => return Err(no_item(self.lines[place].item)),
            }
        }
        let stock = &operations.stock[self.district as usize - 1];
        for place in 0..self.known() {
            let (quantity, text, data) = transaction.answer(stock).await?;
            self.answers[place].is_original &= is_original(data);
            self.answers[place].keep_text(text);
            self.take(place, quantity);
        }
        black_box(self.total(taxes, discount));
        self.write(operations, transaction)?;
        if self.rolls_back {
            return Err(Stop::Abort);
        }
        Ok(())
    }

    fn ask<S: Session>(
        &self,
        operations: &Operations,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (home, district) = (self.home, self.district);
        transaction.ask(&operations.warehouse, (home,))?;
        transaction.ask(&operations.district, (home, district))?;
        transaction.ask(&operations.customer, (home, district, self.customer))?;
        for line in &self.lines[..self.count] {
            transaction.ask(&operations.item, (line.item,))?;
        }
        let stock = &operations.stock[district as usize - 1];
        for line in &self.lines[..self.known()] {
            transaction.ask(stock, (line.supplier, line.item))?;
        }
        Ok(())
    }

    /// Number of lines with existing items.
    fn known(&self) -> usize {
        self.count - usize::from(self.rolls_back)
    }

    fn misses(&self, place: usize) -> bool {
        self.rolls_back && place + 1 == self.count
    }

    /// Computes the stock that a line leaves. An item may be ordered twice, so a line starts from what the
    /// previous line with the same stock row has left.
    fn take(&mut self, place: usize, quantity: i64) {
        let line = self.lines[place];
        let same = |other: &Line| (other.item, other.supplier) == (line.item, line.supplier);
        let before = self.lines[..place].iter().rposition(same);
        let there = before.map_or(quantity, |before| self.answers[before].left);
        let left = there - line.quantity;
        self.answers[place].left = if left >= STOCK_LEAST { left } else { left + STOCK_REFILL };
    }

    /// The amount that the customer pays in hundredths, and the number of lines with original brands.
    fn total(&self, taxes: i64, discount: i64) -> (i64, usize) {
        let amounts = (0..self.known()).map(|place| self.amount(place));
        let sum: i64 = amounts.sum();
        let total = i128::from(sum) * i128::from(10_000 - discount) * i128::from(10_000 + taxes);
        let answers = &self.answers[..self.known()];
        let originals = answers.iter().filter(|line| line.is_original).count();
        ((total / 100_000_000) as i64, originals)
    }

    fn amount(&self, place: usize) -> i64 {
        self.answers[place].price * self.lines[place].quantity
    }

    fn write<S: Session>(
        &self,
        operations: &Operations,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (home, district, number) = (self.home, self.district, self.number);
        transaction.write(&operations.take_number, (home, district, number + 1))?;
        let lines = &self.lines[..self.count];
        let is_local = lines.iter().all(|line| line.supplier == home);
        let order = (
            home,
            district,
            number,
            self.customer,
            self.date_us,
            None,
            self.count as i64,
            i64::from(is_local),
        );
        transaction.write(&operations.order, order)?;
        transaction.write(&operations.new_order, (home, district, number))?;
        for (place, line) in self.lines[..self.known()].iter().enumerate() {
            let answers = &self.answers[place];
            let remote = i64::from(line.supplier != home);
            let stock = (line.supplier, line.item, answers.left, line.quantity, 1, remote);
            transaction.write(&operations.take_stock, stock)?;
            let row = (
                home,
                district,
                number,
                place as i64 + 1,
                line.item,
                line.supplier,
                None,
                line.quantity,
                money(self.amount(place)),
                answers.text(),
            );
            transaction.write(&operations.line, row)?;
        }
        Ok(())
    }
}

impl LineAnswer {
    fn keep_text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        self.text_bytes = bytes.len().min(DIST_BYTES);
        self.text[..self.text_bytes].copy_from_slice(&bytes[..self.text_bytes]);
    }

    fn text(&self) -> &str {
        str::from_utf8(&self.text[..self.text_bytes]).unwrap_or_default()
    }
}

#[cold]
fn no_item(item: i64) -> Stop {
    use syncline_contract::{Failure, FailureKind};
    let what = format!("the target returned no item {item}, although the workload loaded one");
    Failure::new(FailureKind::Statement, what).into()
}

#[cfg(test)]
mod tests {
    use super::{Line, NewOrder};

    #[test]
    fn stock_is_refilled_and_a_second_line_continues_from_the_first() {
        let mut order = NewOrder::default();
        let line = |item, quantity| Line { item, supplier: 1, quantity };
        for (place, line) in
            [line(7, 5), line(8, 5), line(7, 6), line(7, 1)].into_iter().enumerate()
        {
            order.lines[place] = line;
        }
        for place in 0..4 {
            order.take(place, 20);
        }
        let left: Vec<i64> = order.answers[..4].iter().map(|answers| answers.left).collect();
        assert_eq!(left, [15, 15, 100, 99]);
    }

    #[test]
    fn the_total_includes_discount_and_taxes() {
        let mut order = NewOrder { count: 1, ..NewOrder::default() };
        order.lines[0].quantity = 10;
        order.answers[0].price = 1_000;
        assert_eq!(order.total(1_000, 5_000), (5_500, 0));
    }
}
