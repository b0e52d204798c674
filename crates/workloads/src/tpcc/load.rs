//! The initial rows, by the population rules of clause 4.3.3.1.
//!
//! A unit is one row, or the lines of one order. Each is generated from its number alone, in the order of its
//! table's key. Values on which two tables must agree (the number of lines of an order) are drawn first, from
//! the same stream.

use super::inputs::{last_names, money, rate};
use super::names::{LAST_NAMES, Texts, digits, last_name, zip};
use super::permutation::permuted;
use super::scale::{DISTRICTS, RowPosition, Scale};
use super::schema::Tables;
use crate::distributions::{Nurand, Stream};
use syncline_contract::{Decimal, Load, Rows, TableId, Value};

/// The constant of the loaded last names; those of runs differ from it as required.
pub(super) const LAST_NAME_CONSTANT: i64 = 157;

/// The date of all loaded rows: 2025-01-01, in microseconds since 1970.
pub(super) const LOADED_AT_US: i64 = 1_735_689_600_000_000;

/// The one payment of every customer.
const PAID: i64 = 1_000;

/// Generates rows.
#[derive(Debug)]
pub(super) struct Loader {
    scale: Scale,
    tables: Tables,
    texts: Texts,
    names: Nurand,
}

impl Loader {
    pub(super) fn new(scale: Scale, tables: Tables) -> Loader {
        Loader { scale, tables, texts: Texts::new(), names: last_names(&scale, LAST_NAME_CONSTANT) }
    }

    /// Units by table, in the order of loading.
    pub(super) fn loads(&self) -> Vec<Load> {
        let (scale, tables) = (self.scale, self.tables);
        let of_customers = scale.districts() * scale.customers;
        let new = scale.customers - scale.delivered();
        let units = [
            (tables.item, scale.items),
            (tables.warehouse, scale.warehouses),
            (tables.district, scale.districts()),
            (tables.customer, of_customers),
            (tables.history, of_customers),
            (tables.orders, of_customers),
            (tables.new_order, scale.districts() * new),
            (tables.order_line, of_customers),
            (tables.stock, scale.warehouses * scale.items),
        ];
        let load = |(table, units)| Load { table, units: units as u64 };
        units.map(load).to_vec()
    }

    /// Appends the rows of a unit.
    pub(super) fn unit(&self, table: TableId, unit: u64, rows: &mut Rows) {
        let (scale, tables) = (self.scale, self.tables);
        let place = Scale::place(unit, scale.customers);
        match table {
            t if t == tables.item => self.item(unit, rows),
            t if t == tables.warehouse => self.warehouse(unit, rows),
            t if t == tables.district => self.district(unit, rows),
            t if t == tables.customer => self.customer(unit, place, rows),
            t if t == tables.history => self.history(unit, place, rows),
            t if t == tables.orders => self.order(unit, place, rows),
            t if t == tables.order_line => self.lines(unit, place, rows),
            t if t == tables.stock => self.stock(unit, rows),
            _ => self.new_order(unit, rows),
        }
    }

    fn item(&self, unit: u64, rows: &mut Rows) {
        let mut stream = Stream::of_load("item", unit);
        int(rows, unit as i64 + 1);
        int(rows, stream.between(1, 10_000));
        text(rows, self.texts.between(&mut stream, 14, 24));
        exact(rows, money(stream.between(100, 10_000)));
        text(rows, self.texts.data(&mut stream, &mut [0; 50]));
    }

    fn warehouse(&self, unit: u64, rows: &mut Rows) {
        let mut stream = Stream::of_load("warehouse", unit);
        int(rows, unit as i64 + 1);
        text(rows, self.texts.between(&mut stream, 6, 10));
        self.address(&mut stream, rows);
        exact(rows, rate(stream.between(0, 2_000)));
        exact(rows, money(DISTRICTS * self.scale.customers * PAID));
    }

    fn district(&self, unit: u64, rows: &mut Rows) {
        let mut stream = Stream::of_load("district", unit);
        int(rows, unit as i64 / DISTRICTS + 1);
        int(rows, unit as i64 % DISTRICTS + 1);
        text(rows, self.texts.between(&mut stream, 6, 10));
        self.address(&mut stream, rows);
        exact(rows, rate(stream.between(0, 2_000)));
        exact(rows, money(self.scale.customers * PAID));
        int(rows, self.scale.customers + 1);
    }

    fn address(&self, stream: &mut Stream, rows: &mut Rows) {
        for _ in 0..3 {
            text(rows, self.texts.between(stream, 10, 20));
        }
        text(rows, self.texts.of(stream, 2));
        text(rows, zip(stream, &mut [0; 9]));
    }

    fn customer(&self, unit: u64, place: RowPosition, rows: &mut Rows) {
        let mut stream = Stream::of_load("customer", unit);
        keys(rows, place);
        text(rows, self.texts.between(&mut stream, 8, 16));
        text(rows, "OE");
        // The first thousand customers have one name each, the others random ones.
        let name = if place.number <= LAST_NAMES {
            place.number - 1
        } else {
            self.names.draw(&mut stream)
        };
        text(rows, last_name(name));
        self.address(&mut stream, rows);
        text(rows, digits(&mut stream, &mut [0; 16]));
        rows.push(Value::Timestamp(LOADED_AT_US));
        text(rows, if stream.percent(10) { "BC" } else { "GC" });
        exact(rows, money(5_000_000));
        exact(rows, rate(stream.between(0, 5_000)));
        exact(rows, money(-PAID));
        exact(rows, money(PAID));
        int(rows, 1);
        int(rows, 0);
        text(rows, self.texts.between(&mut stream, 300, 500));
    }

    fn history(&self, unit: u64, place: RowPosition, rows: &mut Rows) {
        let mut stream = Stream::of_load("history", unit);
        int(rows, place.number);
        for _ in 0..2 {
            int(rows, place.district);
            int(rows, place.warehouse);
        }
        rows.push(Value::Timestamp(LOADED_AT_US));
        exact(rows, money(PAID));
        text(rows, self.texts.between(&mut stream, 12, 24));
    }

    fn order(&self, unit: u64, place: RowPosition, rows: &mut Rows) {
        let mut stream = Stream::of_load("order", unit);
        let lines = line_count(&mut stream);
        let customers = self.scale.customers as u64;
        let customer = permuted(unit % customers, customers, unit / customers);
        keys(rows, place);
        int(rows, customer as i64 + 1);
        rows.push(Value::Timestamp(LOADED_AT_US));
        if self.is_delivered(place) {
            int(rows, stream.between(1, 10));
        } else {
            rows.push(Value::Null);
        }
        int(rows, lines);
        int(rows, 1);
    }

    fn is_delivered(&self, order: RowPosition) -> bool {
        order.number <= self.scale.delivered()
    }

    fn new_order(&self, unit: u64, rows: &mut Rows) {
        let delivered = self.scale.delivered();
        let mut place = Scale::place(unit, self.scale.customers - delivered);
        place.number += delivered;
        keys(rows, place);
    }

    fn lines(&self, unit: u64, order: RowPosition, rows: &mut Rows) {
        let mut stream = Stream::of_load("order", unit);
        for number in 1..=line_count(&mut stream) {
            keys(rows, order);
            int(rows, number);
            int(rows, stream.between(1, self.scale.items));
            int(rows, order.warehouse);
            let is_delivered = self.is_delivered(order);
            let date = Value::Timestamp(LOADED_AT_US);
            rows.push(if is_delivered { date } else { Value::Null });
            int(rows, 5);
            let amount = if is_delivered { 0 } else { stream.between(1, 999_999) };
            exact(rows, money(amount));
            text(rows, self.texts.of(&mut stream, 24));
        }
    }

    fn stock(&self, unit: u64, rows: &mut Rows) {
        let mut stream = Stream::of_load("stock", unit);
        int(rows, unit as i64 / self.scale.items + 1);
        int(rows, unit as i64 % self.scale.items + 1);
        int(rows, stream.between(10, 100));
        for _ in 0..DISTRICTS {
            text(rows, self.texts.of(&mut stream, 24));
        }
        for _ in 0..3 {
            int(rows, 0);
        }
        text(rows, self.texts.data(&mut stream, &mut [0; 50]));
    }
}

/// The number of lines of an order; drawn before anything else.
fn line_count(stream: &mut Stream) -> i64 {
    stream.between(5, 15)
}

fn keys(rows: &mut Rows, place: RowPosition) {
    int(rows, place.warehouse);
    int(rows, place.district);
    int(rows, place.number);
}

fn int(rows: &mut Rows, number: i64) {
    rows.push(Value::Int(number));
}

fn exact(rows: &mut Rows, number: Decimal) {
    rows.push(Value::Decimal(number));
}

fn text(rows: &mut Rows, text: &str) {
    rows.push(Value::Text(text));
}

#[cfg(test)]
mod tests {
    use super::{Loader, Rows, Scale, Value};
    use crate::tpcc::schema::Tables;
    use std::collections::BTreeMap;
    use syncline_contract::TableId;

    const SCALE: Scale = Scale { warehouses: 1, items: 1_000, customers: 3_000 };

    fn loader() -> Loader {
        let table = TableId;
        let tables = Tables {
            item: table(0),
            warehouse: table(1),
            district: table(2),
            customer: table(3),
            history: table(4),
            orders: table(5),
            new_order: table(6),
            order_line: table(7),
            stock: table(8),
        };
        Loader::new(SCALE, tables)
    }

    fn rows(width: usize, units: u64, make: impl Fn(u64, &mut Rows)) -> Rows {
        let mut rows = Rows::new(width);
        (0..units).for_each(|unit| make(unit, &mut rows));
        rows
    }

    fn count(rows: &Rows, holds: impl Fn(Value<'_>) -> bool, column: usize) -> usize {
        rows.iter().filter(|row| holds(row.value(column))).count()
    }

    #[test]
    fn orders_and_lines_agree_and_the_last_nine_hundred_are_new() {
        let loader = loader();
        let orders = rows(8, 3_000, |unit, rows| {
            loader.order(unit, Scale::place(unit, 3_000), rows);
        });
        let lines = rows(10, 3_000, |unit, rows| {
            loader.lines(unit, Scale::place(unit, 3_000), rows);
        });
        assert_eq!(count(&orders, |carrier| carrier == Value::Null, 5), 900);
        let mut of_order = BTreeMap::new();
        for row in lines.iter() {
            let (Value::Int(order), Value::Decimal(amount)) = (row.value(2), row.value(8)) else {
                panic!("an order line has an order and an amount");
            };
            *of_order.entry(order).or_insert(0) += 1;
            assert_eq!(order <= 2_100, amount.units == 0);
            assert_eq!(order > 2_100, row.value(6) == Value::Null);
        }
        let mut customers = Vec::new();
        for row in orders.iter() {
            let (Value::Int(order), Value::Int(customer)) = (row.value(2), row.value(3)) else {
                panic!("an order has a customer");
            };
            assert_eq!(row.value(6), Value::Int(of_order[&order]));
            customers.push(customer);
        }
        customers.sort_unstable();
        assert_eq!(customers, (1..=3_000).collect::<Vec<i64>>());
        let mean = lines.len() as f64 / 3_000.0;
        assert!((9.7..10.3).contains(&mean), "{mean}");
    }

    #[test]
    fn customers_have_names_and_credits_by_the_rules() {
        let loader = loader();
        let customers = rows(21, 3_000, |unit, rows| {
            loader.customer(unit, Scale::place(unit, 3_000), rows);
        });
        assert_eq!(customers.row(371).value(5), Value::Text("PRICALLYOUGHT"));
        let bad = count(&customers, |credit| credit == Value::Text("BC"), 13);
        assert!((240..360).contains(&bad), "{bad} of 3000 have bad credit");
        let again = rows(21, 1, |_, rows| {
            loader.customer(2_999, Scale::place(2_999, 3_000), rows);
        });
        assert!(again.row(0).values().eq(customers.row(2_999).values()));
    }

    #[test]
    fn one_item_in_ten_is_original() {
        let loader = loader();
        let items = rows(5, 10_000, |unit, rows| loader.item(unit, rows));
        let original =
            |data: Value<'_>| matches!(data, Value::Text(text) if text.contains("ORIGINAL"));
        let found = count(&items, original, 4);
        assert!((900..1_100).contains(&found), "{found}");
    }
}
