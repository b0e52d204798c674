//! Delivery: the oldest new order of each of ten districts goes to its customer (clause 2.7).
//!
//! A delivery is performed in batches of districts, one transaction each. A district without a new order is
//! skipped. In profile k2 districts are districts with repetition; one that is districts again within a
//! batch is served again after the first round, so that it delivers the next order.

use super::inputs::{Inputs, money};
use super::options::Profile;
use super::scale::DISTRICTS;
use super::schema::Tables;
use syncline_contract::{
    Exact, Int, Limit, Lock, Nullable, Path, Plan, Range, Read, Scan, Session, Set, Stop,
    Timestamp, Transaction, Write,
};

/// The operations.
#[derive(Debug)]
pub(super) struct Operations {
    oldest: Read<(Int, Int), (Int,)>,
    order: Read<(Int, Int, Int), (Int,)>,
    lines: Read<(Int, Int, Int), (Int, Exact)>,
    take: Write<(Int, Int, Int)>,
    carry: Write<(Int, Int, Int, Nullable<Int>)>,
    arrive: Write<(Int, Int, Int, Int, Nullable<Timestamp>)>,
    charge: Write<(Int, Int, Int, Exact, Int)>,
}

impl Operations {
    pub(super) fn declare(plan: &mut Plan, tables: &Tables) -> Operations {
        let locked = |path, limit, columns| Scan {
            lock: Lock::Update,
            ..Scan::ascending(path, limit, columns)
        };
        let of_district = Path::by_key(tables.new_order, 2, Range::All);
        let oldest = locked(of_district, Limit::Fixed(1), &["no_o_id"]);
        let lines = locked(tables.lines_of_an_order(), Limit::None, &["ol_number", "ol_amount"]);
        let charge = [("c_balance", Set::Add), ("c_delivery_cnt", Set::Add)];
        let arrive = [("ol_delivery_d", Set::To)];
        Operations {
            oldest: plan.scan("find oldest new order", oldest),
            order: plan.get("read order", tables.orders, &["o_c_id"], Lock::Update),
            lines: plan.scan("read lines to deliver", lines),
            take: plan.delete("delete new order", tables.new_order),
            carry: plan.update("set carrier", tables.orders, &[("o_carrier_id", Set::To)]),
            arrive: plan.update("set delivery date", tables.order_line, &arrive),
            charge: plan.update("charge customer", tables.customer, &charge),
        }
    }
}

/// A list of districts, at most all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Districts {
    list: [i64; DISTRICTS as usize],
    count: usize,
}

impl Districts {
    fn add(&mut self, district: i64) {
        self.list[self.count] = district;
        self.count += 1;
    }

    fn all(&self) -> &[i64] {
        &self.list[..self.count]
    }

    /// The first occurrence of each district, and the repetitions.
    fn split(self) -> (Districts, Districts) {
        let (mut first, mut again) = (Districts::default(), Districts::default());
        for district in self.all() {
            if first.all().contains(district) {
                again.add(*district);
            } else {
                first.add(*district);
            }
        }
        (first, again)
    }
}

/// The districts of one transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Batch {
    home: i64,
    districts: Districts,
    carrier: i64,
    date_us: i64,
}

/// An order being delivered.
#[derive(Clone, Copy, Debug, Default)]
struct Parcel {
    district: i64,
    order: i64,
    customer: i64,
    amount: i64,
    /// Number of its line numbers in the buffer.
    lines: usize,
}

/// The current batch and its buffers.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    batch: Batch,
    parcels: Vec<Parcel>,
    lines: Vec<i64>,
    /// Number of orders that the batch has delivered.
    pub(super) delivered: u64,
}

/// Draws a delivery and passes on its batches.
pub(super) fn draw(
    inputs: &mut Inputs,
    profile: Profile,
    districts_a_batch: u64,
    mut batch_is: impl FnMut(Batch),
) {
    let mut batch = Batch {
        home: inputs.home,
        districts: Districts::default(),
        carrier: inputs.stream.between(1, 10),
        date_us: inputs.date_us(),
    };
    for turn in 1..=DISTRICTS {
        batch.districts.add(match profile {
            Profile::Spec => turn,
            Profile::K2 => inputs.district(),
        });
        if batch.districts.count as u64 == districts_a_batch || turn == DISTRICTS {
            batch_is(batch);
            batch.districts = Districts::default();
        }
    }
}

impl Delivery {
    /// Starts a batch.
    pub(super) fn start(&mut self, batch: Batch) {
        self.batch = batch;
    }

    /// The most orders that the batch delivers.
    pub(super) fn orders_max(&self) -> u64 {
        self.batch.districts.count as u64
    }

    #[inline]
    pub(super) async fn perform<S: Session>(
        &mut self,
        operations: &Operations,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        self.delivered = 0;
        let mut left = self.batch.districts;
        while left.count > 0 {
            let (now, later) = left.split();
            self.find(&now, operations, transaction).await?;
            self.open(operations, transaction).await?;
            self.write(operations, transaction)?;
            self.delivered += self.parcels.len() as u64;
            left = later;
        }
        Ok(())
    }

    /// Finds the oldest new order of each district.
    async fn find<S: Session>(
        &mut self,
        districts: &Districts,
        operations: &Operations,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        for district in districts.all() {
            transaction.ask(&operations.oldest, (self.batch.home, *district))?;
        }
        self.parcels.clear();
        for district in districts.all() {
            let oldest = transaction.answer_if_any(&operations.oldest).await?;
            self.parcels.extend(oldest.map(|(order,)| Parcel {
                district: *district,
                order,
                ..Parcel::default()
            }));
        }
        Ok(())
    }

    /// Reads the customers and the lines of the orders.
    async fn open<S: Session>(
        &mut self,
        operations: &Operations,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let home = self.batch.home;
        for parcel in &self.parcels {
            let key = (home, parcel.district, parcel.order);
            transaction.ask(&operations.order, key)?;
            transaction.ask(&operations.lines, key)?;
        }
        self.lines.clear();
        for parcel in &mut self.parcels {
            (parcel.customer,) = transaction.answer(&operations.order).await?;
            for line in transaction.answers(&operations.lines).await? {
                let (number, amount) = line?;
                self.lines.push(number);
                parcel.lines += 1;
                parcel.amount += amount.units;
            }
        }
        Ok(())
    }

    fn write<S: Session>(
        &self,
        operations: &Operations,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let Batch { home, carrier, date_us, .. } = self.batch;
        let mut lines = self.lines.iter();
        for parcel in &self.parcels {
            let (district, order) = (parcel.district, parcel.order);
            transaction.write(&operations.take, (home, district, order))?;
            let carried = (home, district, order, Some(carrier));
            transaction.write(&operations.carry, carried)?;
            for number in lines.by_ref().take(parcel.lines) {
                let arrived = (home, district, order, *number, Some(date_us));
                transaction.write(&operations.arrive, arrived)?;
            }
            let charged = (home, district, parcel.customer, money(parcel.amount), 1);
            transaction.write(&operations.charge, charged)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Districts;

    #[test]
    fn a_repeated_district_is_served_in_a_later_round() {
        let mut districts = Districts::default();
        for district in [3, 1, 3, 3, 2] {
            districts.add(district);
        }
        let (first, again) = districts.split();
        assert_eq!((first.all(), again.all()), (&[3, 1, 2][..], &[3, 3][..]));
        let (second, last) = again.split();
        assert_eq!((second.all(), last.all()), (&[3][..], &[3][..]));
    }
}
