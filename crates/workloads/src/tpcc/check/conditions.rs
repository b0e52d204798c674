//! The conditions, one check each.

use super::super::scale::{DISTRICTS, Scale};
use super::super::tally::{CountBounds, NewOrders, Tally};
use super::check_helpers::{amount, not_applicable};
use super::district::{District, OfOrders};
use super::order_scan::{Piece, walk};
use super::payments::{self, Payments};
use super::queries::CheckQueries;
use crate::violations::Violations;
use syncline_contract::{AccessPattern, Check, RequestTracker, Session, Stop, Transaction};

const CONDITIONS: [&str; 12] = [
    "condition 1: the sum of each warehouse is that of its districts",
    "condition 2: the next order number follows the greatest of orders and of new orders",
    "condition 3: the new orders of each district are numbered without a gap",
    "condition 4: each district has as many lines as its orders say",
    "condition 5: each order has a carrier or a new order, and not both",
    "condition 6: each order has as many lines as it says",
    "condition 7: lines have a delivery date if their order has a carrier, and only then",
    "condition 8: the sum of each warehouse is that of its history",
    "condition 9: the sum of each district is that of its history",
    "condition 10: each balance is what was delivered less what history says was paid",
    "condition 11: orders less new orders are those loaded as delivered and those delivered since",
    "condition 12: each balance and what the customer has paid are what was delivered",
];
const ORDERED: &str =
    "every acknowledged new order is there, and orders are numbered without a gap";
const PAID: &str = "history has the loaded and the acknowledged payments and no other";
const DELIVERED: &str = "the loaded and the acknowledged deliveries are there and no other";

const NOT_FRESH: &str = "the rows come from an earlier run, so their number is unknown";

/// The names of the checks.
pub(crate) fn names() -> Vec<&'static str> {
    let mut names = CONDITIONS.to_vec();
    names.extend([ORDERED, PAID, DELIVERED]);
    names
}

/// Runs all checks. `is_fresh` says that this run has loaded the rows.
pub(crate) async fn check<S: Session>(
    queries: &CheckQueries,
    scale: Scale,
    is_fresh: bool,
    tallies: &[Tally],
    session: &mut S,
) -> Result<Vec<Check>, Stop> {
    let payments = payments::payments(queries, scale, session).await?;
    let mut found = CheckState::new(scale, is_fresh, tallies);
    for warehouse in 1..=scale.warehouses {
        found.warehouse(queries, warehouse, &payments, session).await?;
    }
    Ok(found.checks(&payments))
}

/// The results so far.
#[derive(Debug)]
struct CheckState<'t> {
    scale: Scale,
    is_fresh: bool,
    tallies: &'t [Tally],
    wrong: [Violations; 12],
    of_orders: OfOrders,
    ordered: Violations,
    /// Number of orders with a carrier.
    carried: i64,
    piece: Piece,
}

impl<'t> CheckState<'t> {
    fn new(scale: Scale, is_fresh: bool, tallies: &'t [Tally]) -> CheckState<'t> {
        CheckState {
            scale,
            is_fresh,
            tallies,
            wrong: Default::default(),
            of_orders: OfOrders::default(),
            ordered: Violations::default(),
            carried: 0,
            piece: Piece::default(),
        }
    }

    /// The violations of a condition, by its number in the clause.
    fn condition(&mut self, number: usize) -> &mut Violations {
        &mut self.wrong[number - 1]
    }

    async fn warehouse<S: Session>(
        &mut self,
        queries: &CheckQueries,
        warehouse: i64,
        payments: &Result<Payments, String>,
        session: &mut S,
    ) -> Result<(), Stop> {
        let mut requests = RequestTracker::new(false);
        session.begin(AccessPattern::ReadOnly);
        let mut transaction = Transaction::new(session, &mut requests);
        let there = transaction.read_if_any(&queries.warehouse, (warehouse,)).await?;
        session.commit().await?;
        let sum = there.map(|(sum,)| sum.units);
        self.condition(1).unless(sum.is_some(), || format!("warehouse {warehouse} is gone"));
        let (mut of_districts, mut of_history) = (0, 0);
        for district in 1..=DISTRICTS {
            let key = (warehouse, district);
            of_districts += self.district(queries, key, payments, session).await?;
            let place = self.scale.district_at(warehouse, district);
            if let (Ok(payments), Some(place)) = (payments, place) {
                of_history += payments.by_district[place];
            }
        }
        let Some(sum) = sum else {
            return Ok(());
        };
        let differs = |what: &str, other: i64| {
            let (sum, other) = (amount(sum), amount(other));
            format!("warehouse {warehouse} has {sum}, but its {what} have {other}")
        };
        self.condition(1).unless(sum == of_districts, || differs("districts", of_districts));
        self.condition(8).unless(sum == of_history, || differs("history", of_history));
        Ok(())
    }

    /// Checks a district, in a separate transaction, and returns its sum.
    async fn district<S: Session>(
        &mut self,
        queries: &CheckQueries,
        key: (i64, i64),
        payments: &Result<Payments, String>,
        session: &mut S,
    ) -> Result<i64, Stop> {
        let mut requests = RequestTracker::new(false);
        session.begin(AccessPattern::ReadOnly);
        let mut transaction = Transaction::new(session, &mut requests);
        let row = transaction.read_if_any(&queries.district, key).await?;
        let row = row.map(|(sum, next)| (sum.units, next));
        let mut district = District::new(self.scale, key, std::mem::take(&mut self.of_orders));
        walk(queries, &mut district, &mut self.piece, &mut transaction).await?;
        self.of_orders = std::mem::take(&mut district.of_orders);
        self.numbers(&district, row.map(|(_, next)| next));
        self.carried += district.carried;
        let of = payments.as_ref().ok().zip(self.scale.district_at(key.0, key.1));
        if let (Some((sum, _)), Some((payments, place))) = (row, of) {
            let paid = payments.by_district[place];
            self.condition(9).unless(sum == paid, || {
                let (sum, paid) = (amount(sum), amount(paid));
                format!("{} has {sum}, but its history has {paid}", words(key))
            });
        }
        transaction.ask(&queries.customers, key)?;
        let paid = of.map(|(payments, place)| payments.of_customers(place));
        let mut seen = 0;
        for row in transaction.answers(&queries.customers).await? {
            let (number, balance, paid_sum) = row?;
            seen += 1;
            let place = self.scale.customer_at(number);
            let facts = Customer {
                balance: balance.units,
                paid_sum: paid_sum.units,
                arrived: place.map(|place| district.arrived[place]),
                paid: place.zip(paid).map(|(place, paid)| paid[place]),
            };
            self.customer(key, number, &facts);
        }
        session.commit().await?;
        let customers = self.scale.customers;
        self.condition(10).unless(seen == customers, || {
            format!("{} has {seen} of {customers} customers", words(key))
        });
        Ok(row.map_or(0, |(sum, _)| sum))
    }

    /// Checks the numbers of a district's orders; `next` is the next order's number.
    fn numbers(&mut self, district: &District, next: Option<i64>) {
        let (key, orders, new) = (district.key, district.orders, district.new_orders);
        let whose = || words(key);
        let Some(next) = next else {
            self.condition(2).add(|| format!("{} is gone", whose()));
            return;
        };
        let newest = next.saturating_sub(1);
        let fits = orders.most == newest && (new.count == 0 || new.most == newest);
        self.condition(2).unless(fits, || {
            let (orders, new) = (orders.most, new.most);
            format!(
                "{} numbers its next order {next}, but its greatest order is {orders} and its greatest new \
                 order {new}",
                whose()
            )
        });
        self.condition(3).unless(new.are_without_gap(), || {
            let (count, least, most) = (new.count, new.least, new.most);
            format!("{} has {count} new orders from {least} to {most}", whose())
        });
        let (says, lines) = (district.line_counts, district.lines);
        self.condition(4).unless(says == lines, || {
            format!("the orders of {} record {says} lines, but there are {lines}", whose())
        });
        let delivered = self.scale.delivered() + district.carried_since;
        self.condition(11).unless(orders.count - new.count == delivered, || {
            let (orders, new) = (orders.count, new.count);
            format!(
                "{} has {orders} orders and {new} new orders, but {delivered} were delivered",
                whose()
            )
        });
        self.acknowledged(district);
    }

    /// Compares a district's orders with the acknowledged new orders.
    fn acknowledged(&mut self, district: &District) {
        let (key, orders) = (district.key, district.orders);
        let of = ordered(self.tallies, key);
        let is_complete = orders.least == 1 && orders.are_without_gap();
        self.ordered.unless(is_complete, || {
            let (count, least, most) = (orders.count, orders.least, orders.most);
            format!("{} has {count} orders from {least} to {most}", words(key))
        });
        self.ordered.unless(of.newest <= orders.most, || {
            let (newest, most) = (of.newest, orders.most);
            format!("order {newest} of {} was acknowledged, but the greatest is {most}", words(key))
        });
        let added = u64::try_from(orders.count - self.scale.customers);
        let allowed = added.is_ok_and(|added| of.bounds.allows(added));
        self.ordered.unless(!self.is_fresh || allowed, || {
            let (count, loaded) = (orders.count, self.scale.customers);
            let CountBounds {
                acknowledged,
                unknown,
            } = of.bounds;
            format!(
                "{} has {count} orders, but {loaded} were loaded, {acknowledged} acknowledged, {unknown} \
                 have unknown outcomes",
                words(key)
            )
        });
    }

    fn customer(&mut self, key: (i64, i64), number: i64, of: &Customer) {
        let whose = || format!("customer {number} of {}", words(key));
        let Some(arrived) = of.arrived else {
            self.condition(10).add(|| format!("{} was never loaded", whose()));
            return;
        };
        let balance = amount(of.balance);
        if let Some(paid) = of.paid {
            self.condition(10).unless(of.balance == arrived - paid, || {
                let (arrived, paid) = (amount(arrived), amount(paid));
                format!(
                    "{} has {balance}, but {arrived} was delivered and {paid} paid according to history",
                    whose()
                )
            });
        }
        self.condition(12).unless(of.balance + of.paid_sum == arrived, || {
            let (arrived, paid) = (amount(arrived), amount(of.paid_sum));
            format!("{} has {balance} and has paid {paid}, but {arrived} was delivered", whose())
        });
    }

    fn checks(self, payments: &Result<Payments, String>) -> Vec<Check> {
        let bounds_of = |of: fn(&Tally) -> CountBounds| {
            let mut sum = CountBounds::default();
            self.tallies.iter().for_each(|tally| sum.add(of(tally)));
            sum
        };
        let districts = self.scale.districts();
        let paid = payments.as_ref().map(|payments| {
            let loaded = districts * self.scale.customers;
            let bounds = bounds_of(|tally| tally.payments);
            counted("payments", payments.rows as i64, loaded, bounds)
        });
        let paid = paid.map_err(Clone::clone);
        let delivered = counted(
            "delivered orders",
            self.carried,
            districts * self.scale.delivered(),
            bounds_of(|tally| tally.delivered),
        );
        let is_fresh = self.is_fresh;
        let mut wrong = self.wrong;
        let of = self.of_orders;
        (wrong[4], wrong[5], wrong[6]) = (of.five, of.six, of.seven);
        wrong[9].merge(&of.ten);
        if let Ok(payments) = payments {
            let first_unknown = || payments.unknown_row.clone();
            wrong[9].unless(payments.unknown_rows == 0, first_unknown);
        }
        let mut checks = Vec::new();
        for (number, (name, wrong)) in CONDITIONS.into_iter().zip(wrong).enumerate() {
            checks.push(match payments {
                Err(why) if (7..10).contains(&number) => not_applicable(name, why),
                _ => wrong.check(name),
            });
        }
        checks.push(self.ordered.check(ORDERED));
        for (name, wrong) in [(PAID, paid), (DELIVERED, Ok(delivered))] {
            checks.push(match wrong {
                _ if !is_fresh => not_applicable(name, NOT_FRESH),
                Ok(wrong) => wrong.check(name),
                Err(why) => not_applicable(name, &why),
            });
        }
        checks
    }
}

/// The amounts of a customer, in hundredths.
struct Customer {
    balance: i64,
    paid_sum: i64,
    /// The amount delivered; none for a customer who was never loaded.
    arrived: Option<i64>,
    /// The amount paid according to history; none if history was not read.
    paid: Option<i64>,
}

/// The acknowledged new orders of a district, of all clients.
fn ordered(tallies: &[Tally], (warehouse, district): (i64, i64)) -> NewOrders {
    let mut all = NewOrders::default();
    for tally in tallies.iter().filter(|tally| tally.home == warehouse) {
        let of = tally.ordered[district as usize - 1];
        all.bounds.add(of.bounds);
        all.newest = all.newest.max(of.newest);
    }
    all
}

/// Compares a count with the number loaded and acknowledged, plus at most the unknown ones.
fn counted(what: &str, count: i64, loaded: i64, bounds: CountBounds) -> Violations {
    let mut wrong = Violations::default();
    let added = u64::try_from(count - loaded);
    wrong.unless(added.is_ok_and(|added| bounds.allows(added)), || {
        let CountBounds {
            acknowledged,
            unknown,
        } = bounds;
        format!(
            "there are {count} {what}, but {loaded} were loaded, {acknowledged} acknowledged, {unknown} have \
             unknown outcomes"
        )
    });
    wrong
}

fn words((warehouse, district): (i64, i64)) -> String {
    format!("district {district} of warehouse {warehouse}")
}
