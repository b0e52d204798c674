//! How many rows there are, and which unit of a load is whose.

/// Districts of a warehouse.
pub(super) const DISTRICTS: i64 = 10;

/// The most lines of an order; the fewest are five.
pub(super) const LINES_MAX: usize = 15;

/// What is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    /// Warehouses.
    pub(super) warehouses: i64,
    /// Items, and stock rows of a warehouse.
    pub(super) items: i64,
    /// Customers of a district, and its orders: one each.
    pub(super) customers: i64,
}

/// A row of a district: the whole place of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowPosition {
    pub(super) warehouse: i64,
    pub(super) district: i64,
    /// From 1 on, in the district.
    pub(super) number: i64,
}

impl Scale {
    pub(super) const ITEMS: i64 = 100_000;
    pub(super) const CUSTOMERS: i64 = 3_000;

    /// True if it is TPC-C's but for the number of warehouses.
    pub(super) fn is_of_the_spec(&self) -> bool {
        (self.items, self.customers) == (Scale::ITEMS, Scale::CUSTOMERS)
    }

    /// Districts of all warehouses.
    pub(super) fn districts(&self) -> i64 {
        self.warehouses * DISTRICTS
    }

    /// How many loaded orders of a district are delivered, the first ones: 2,100 of 3,000.
    pub(super) fn delivered(&self) -> i64 {
        self.customers * 7 / 10
    }

    /// The row that unit `unit` is, where each district has `rows`.
    pub(super) fn place(unit: u64, rows: i64) -> RowPosition {
        let (district, number) = (unit as i64 / rows, unit as i64 % rows);
        RowPosition {
            warehouse: district / DISTRICTS + 1,
            district: district % DISTRICTS + 1,
            number: number + 1,
        }
    }

    /// The position of a district among all, if there is one of those numbers.
    pub(super) fn district_at(&self, warehouse: i64, district: i64) -> Option<usize> {
        let there =
            (1..=self.warehouses).contains(&warehouse) && (1..=DISTRICTS).contains(&district);
        there.then(|| ((warehouse - 1) * DISTRICTS + district - 1) as usize)
    }

    /// The position of a customer in its district, if there is one of that number.
    pub(super) fn customer_at(&self, customer: i64) -> Option<usize> {
        (1..=self.customers).contains(&customer).then(|| customer as usize - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{RowPosition, Scale};

    #[test]
    fn units_and_positions_name_the_same_rows() {
        let scale = Scale { warehouses: 2, items: 100, customers: 30 };
        let last = RowPosition { warehouse: 2, district: 10, number: 30 };
        assert_eq!(Scale::place(20 * 30 - 1, 30), last);
        assert_eq!(scale.district_at(2, 10), Some(19));
        assert_eq!(scale.district_at(3, 1), None);
        assert_eq!(scale.district_at(1, 0), None);
        assert_eq!((scale.customer_at(30), scale.customer_at(31)), (Some(29), None));
        assert_eq!(scale.delivered(), 21);
    }
}
