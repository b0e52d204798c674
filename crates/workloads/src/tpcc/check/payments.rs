//! The payments in history: by warehouse, district and customer, from one pass over it.

use super::super::scale::Scale;
use super::queries::CheckQueries;
use syncline_contract::{AccessPattern, RequestTracker, Session, Stop, Transaction};

/// The most rows of history that are read in one answer; each takes about 150 bytes of memory.
const ROWS_MAX: i64 = 16_000_000;

/// Sums of amounts in hundredths.
#[derive(Debug)]
pub(super) struct Payments {
    /// Number of rows.
    pub(super) rows: u64,
    /// By district of the payment, across all districts.
    pub(super) by_district: Vec<i64>,
    /// By district of the customer, across all, then by customer.
    by_customer: Vec<i64>,
    /// Rows with a nonexistent district or customer, and one of them in words.
    pub(super) unknown_rows: u64,
    pub(super) unknown_row: String,
    customers: usize,
}

impl Payments {
    fn new(scale: Scale) -> Payments {
        let (districts, customers) = (scale.districts() as usize, scale.customers as usize);
        Payments {
            rows: 0,
            by_district: vec![0; districts],
            by_customer: vec![0; districts * customers],
            unknown_rows: 0,
            unknown_row: String::new(),
            customers,
        }
    }

    /// The sums of a district's customers.
    pub(super) fn of_customers(&self, district: usize) -> &[i64] {
        &self.by_customer[district * self.customers..][..self.customers]
    }

    fn add(&mut self, scale: &Scale, customer: (i64, i64, i64), at: (i64, i64), amount: i64) {
        self.rows += 1;
        let (number, district, warehouse) = customer;
        let of = scale.district_at(warehouse, district);
        let of = of.zip(scale.customer_at(number));
        let at_district = scale.district_at(at.1, at.0);
        let (Some((home, number)), Some(place)) = (of, at_district) else {
            self.unknown_rows += 1;
            self.unknown_row = format!(
                "history has a payment of customer {number} of district {district} of warehouse \
                 {warehouse} in district {} of warehouse {}, not all of which exist",
                at.0, at.1
            );
            return;
        };
        self.by_district[place] += amount;
        self.by_customer[home * self.customers + number] += amount;
    }
}

/// Reads history; fails with the reason if it is too long.
pub(super) async fn payments<S: Session>(
    queries: &CheckQueries,
    scale: Scale,
    session: &mut S,
) -> Result<Result<Payments, String>, Stop> {
    let mut requests = RequestTracker::new(false);
    session.begin(AccessPattern::ReadOnly);
    let mut transaction = Transaction::new(session, &mut requests);
    let (rows,) = transaction.read(&queries.history_count, ()).await?;
    if rows > ROWS_MAX {
        session.commit().await?;
        return Ok(Err(format!("history has {rows} rows; the check reads at most {ROWS_MAX}")));
    }
    transaction.ask(&queries.history, ())?;
    let mut payments = Payments::new(scale);
    for row in transaction.answers(&queries.history).await? {
        let (customer, of_district, of_warehouse, district, warehouse, amount) = row?;
        let of = (customer, of_district, of_warehouse);
        payments.add(&scale, of, (district, warehouse), amount.units);
    }
    session.commit().await?;
    Ok(Ok(payments))
}
