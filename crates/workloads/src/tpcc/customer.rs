//! The customer of a payment or an order-status: selected by number, or by last name as the middle one of all
//! customers with that name, in the order of their first names (clause 2.5.2.2).

use super::names::last_name;
use super::schema::Tables;
use syncline_contract::{
    By, Failure, FailureKind, IndexId, Int, Limit, Path, Plan, Range, Read, Scan, Session, Stop,
    Text, Transaction,
};

/// How a customer is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CustomerKey {
    Number(i64),
    /// The number of a last name.
    LastName(i64),
}

/// A customer to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Customer {
    pub(super) warehouse: i64,
    pub(super) district: i64,
    pub(super) key: CustomerKey,
}

/// The numbers of the customers with a last name.
pub(super) type ByName = Read<(Int, Int, Text), (Int,)>;

/// Declares the read of the customers with a last name.
pub(super) fn declare(plan: &mut Plan, tables: &Tables) -> ByName {
    let path =
        Path { table: tables.customer, by: By::Index(IndexId(0)), equal: 3, range: Range::All };
    plan.scan("find customers by name", Scan::ascending(path, Limit::None, &["c_id"]))
}

impl Customer {
    /// Requests the customers with the last name, if the customer is selected that way.
    #[inline]
    pub(super) fn ask<S: Session>(
        &self,
        by_name: ByName,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        match self.key {
            CustomerKey::Number(_) => Ok(()),
            CustomerKey::LastName(name) => {
                transaction.ask(&by_name, (self.warehouse, self.district, last_name(name)))
            }
        }
    }

    /// The customer's number, after earlier requests have been answered.
    #[inline]
    pub(super) async fn number<S: Session>(
        &self,
        by_name: ByName,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<i64, Stop> {
        let name = match self.key {
            CustomerKey::Number(number) => return Ok(number),
            CustomerKey::LastName(name) => name,
        };
        let mut found = transaction.answers(&by_name).await?;
        // The n/2-th of n, counted from one and rounded up.
        let middle = found.len().saturating_sub(1) / 2;
        match found.nth(middle) {
            Some(row) => row.map(|(number,)| number),
            None => Err(no_customer(name)),
        }
    }
}

#[cold]
fn no_customer(name: i64) -> Stop {
    let what = format!(
        "the target returned no customer {}, although the workload loaded some",
        last_name(name)
    );
    Failure::new(FailureKind::Statement, what).into()
}
