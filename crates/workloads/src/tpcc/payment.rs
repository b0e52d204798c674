//! Payment: a customer pays, and the year-to-date sums of warehouse and district grow (clause 2.5).
//!
//! The sums are increased without being read, so that payments in one warehouse do not conflict in a store
//! that can add, except for the read of the warehouse's name.

use super::customer::{ByName, Customer};
use super::inputs::{Inputs, money};
use super::schema::{CUSTOMER_DATA_BYTES, Tables};
use std::fmt::Write as _;
use std::hint::black_box;
use syncline_contract::{
    Exact, Int, Lock, Plan, Read, Session, Set, Stop, Text, Timestamp, Transaction, Write,
};

/// Percentage of payments by customers of another warehouse.
const REMOTE_PERCENT: u64 = 15;

/// A name and an address.
type Address = (Text, Text, Text, Text, Text, Text);

/// What a terminal shows of a customer: names, address, phone, since, credit, limit, discount, balance.
type CustomerDisplay =
    (Text, Text, Text, Text, Text, Text, Text, Text, Text, Timestamp, Text, Exact, Exact, Exact);

type HistoryRow = (Int, Int, Int, Int, Int, Timestamp, Exact, Text);

/// The operations.
#[derive(Debug)]
pub(super) struct Operations {
    by_name: ByName,
    warehouse: Read<(Int,), Address>,
    district: Read<(Int, Int), Address>,
    customer: Read<(Int, Int, Int), CustomerDisplay>,
    data: Read<(Int, Int, Int), (Text,)>,
    warehouse_sum: Write<(Int, Exact)>,
    district_sum: Write<(Int, Int, Exact)>,
    pay: Write<(Int, Int, Int, Exact, Exact, Int)>,
    note: Write<(Int, Int, Int, Text)>,
    history: Write<HistoryRow>,
}

impl Operations {
    pub(super) fn declare(plan: &mut Plan, tables: &Tables, by_name: ByName) -> Operations {
        let warehouse = ["w_name", "w_street_1", "w_street_2", "w_city", "w_state", "w_zip"];
        let district = ["d_name", "d_street_1", "d_street_2", "d_city", "d_state", "d_zip"];
        let shown = [
            "c_first",
            "c_middle",
            "c_last",
            "c_street_1",
            "c_street_2",
            "c_city",
            "c_state",
            "c_zip",
            "c_phone",
            "c_since",
            "c_credit",
            "c_credit_lim",
            "c_discount",
            "c_balance",
        ];
        let (customer, none, update) = (tables.customer, Lock::None, Lock::Update);
        let pay =
            [("c_balance", Set::Add), ("c_ytd_payment", Set::Add), ("c_payment_cnt", Set::Add)];
        Operations {
            by_name,
            warehouse: plan.get("read warehouse", tables.warehouse, &warehouse, none),
            district: plan.get("read district", tables.district, &district, none),
            customer: plan.get("read customer", customer, &shown, update),
            data: plan.get("read customer data", customer, &["c_data"], update),
            warehouse_sum: plan.update(
                "add to warehouse",
                tables.warehouse,
                &[("w_ytd", Set::Add)],
            ),
            district_sum: plan.update("add to district", tables.district, &[("d_ytd", Set::Add)]),
            pay: plan.update("pay", customer, &pay),
            note: plan.update("note payment", customer, &[("c_data", Set::To)]),
            history: plan.insert("insert history", tables.history),
        }
    }
}

/// The drawn payment and its buffers.
#[derive(Debug)]
pub(super) struct Payment {
    home: i64,
    district: i64,
    customer: Customer,
    amount: i64,
    date_us: i64,
    /// The text of the history row.
    names: String,
    /// The new data of a customer with bad credit.
    data: String,
}

impl Payment {
    pub(super) fn new(customer: Customer) -> Payment {
        Payment {
            home: 0,
            district: 0,
            customer,
            amount: 0,
            date_us: 0,
            names: String::new(),
            data: String::with_capacity(2 * CUSTOMER_DATA_BYTES),
        }
    }

    pub(super) fn draw(&mut self, inputs: &mut Inputs) {
        self.home = inputs.home;
        self.district = inputs.district();
        let (warehouse, district) = if inputs.is_remote(REMOTE_PERCENT) {
            (inputs.other_warehouse(), inputs.district())
        } else {
            (self.home, self.district)
        };
        self.customer = inputs.selected_customer(warehouse, district);
        self.amount = inputs.stream.between(100, 500_000);
        self.date_us = inputs.date_us();
    }

    #[inline]
    pub(super) async fn perform<S: Session>(
        &mut self,
        operations: &Operations,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let (warehouse, district) = (self.customer.warehouse, self.customer.district);
        transaction.ask(&operations.warehouse, (self.home,))?;
        transaction.ask(&operations.district, (self.home, self.district))?;
        self.customer.ask(operations.by_name, transaction)?;
        self.names.clear();
        let address = transaction.answer(&operations.warehouse).await?;
        self.names.push_str(black_box(address).0);
        self.names.push_str("    ");
        let address = transaction.answer(&operations.district).await?;
        self.names.push_str(black_box(address).0);
        let number = self.customer.number(operations.by_name, transaction).await?;
        let key = (warehouse, district, number);
        let shown = transaction.read(&operations.customer, key).await?;
        let has_bad_credit = black_box(shown).10 == "BC";
        if has_bad_credit {
            let (data,) = transaction.read(&operations.data, key).await?;
            note(&mut self.data, (key, self.home, self.district), self.amount, data);
        }
        self.write(operations, transaction, number, has_bad_credit)
    }

    fn write<S: Session>(
        &self,
        operations: &Operations,
        transaction: &mut Transaction<'_, S>,
        number: i64,
        has_bad_credit: bool,
    ) -> Result<(), Stop> {
        let (warehouse, district) = (self.customer.warehouse, self.customer.district);
        let amount = money(self.amount);
        let pay = (warehouse, district, number, money(-self.amount), amount, 1);
        transaction.write(&operations.pay, pay)?;
        if has_bad_credit {
            let note = (warehouse, district, number, self.data.as_str());
            transaction.write(&operations.note, note)?;
        }
        let history = (
            number,
            district,
            warehouse,
            self.district,
            self.home,
            self.date_us,
            amount,
            self.names.as_str(),
        );
        transaction.write(&operations.history, history)?;
        transaction.write(&operations.district_sum, (self.home, self.district, amount))?;
        transaction.write(&operations.warehouse_sum, (self.home, amount))
    }
}

/// The data of a customer with bad credit: this payment, followed by as much of the old data as fits.
fn note(
    data: &mut String,
    ((warehouse, district, number), home, at): ((i64, i64, i64), i64, i64),
    amount: i64,
    before: &str,
) {
    data.clear();
    let (units, cents) = (amount / 100, amount % 100);
    write!(data, "{number} {district} {warehouse} {at} {home} {units}.{cents:02}|")
        .expect("text is always written");
    data.push_str(before);
    data.truncate(data.floor_char_boundary(CUSTOMER_DATA_BYTES));
}

#[cfg(test)]
mod tests {
    use super::{CUSTOMER_DATA_BYTES, note};

    #[test]
    fn a_note_precedes_the_old_data_which_is_truncated() {
        let mut data = String::new();
        note(&mut data, ((2, 3, 77), 1, 5), 12_345, "before");
        assert_eq!(data, "77 3 2 5 1 123.45|before");
        note(&mut data, ((2, 3, 77), 1, 5), 100, &"x".repeat(CUSTOMER_DATA_BYTES));
        assert!(data.starts_with("77 3 2 5 1 1.00|xx"));
        assert_eq!(data.len(), CUSTOMER_DATA_BYTES);
    }
}
