//! The numbers of rows, and the mapping from units of a load to rows.

/// Districts per warehouse.
pub(super) const DISTRICTS: i64 = 10;

/// The most lines of an order; the fewest are five.
pub(super) const LINES_MAX: usize = 15;

/// The size of the loaded data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    /// Warehouses.
    pub(super) warehouses: i64,
    /// Number of items, and of stock rows per warehouse.
    pub(super) items: i64,
    /// Customers per district, and orders per district: one each.
    pub(super) customers: i64,
}

/// The position of a row: warehouse, district and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowPosition {
    pub(super) warehouse: i64,
    pub(super) district: i64,
    /// The number in the district, from 1.
    pub(super) number: i64,
}

impl Scale {
    pub(super) const ITEMS: i64 = 100_000;
    pub(super) const CUSTOMERS: i64 = 3_000;

    /// True if everything except the number of warehouses is as in TPC-C.
    pub(super) fn is_of_the_spec(&self) -> bool {
        (self.items, self.customers) == (Scale::ITEMS, Scale::CUSTOMERS)
    }

    /// Number of districts in all warehouses.
    pub(super) fn districts(&self) -> i64 {
        self.warehouses * DISTRICTS
    }

    /// Number of loaded orders in a district that are delivered, the first ones: 2,100 of 3,000.
    pub(super) fn delivered(&self) -> i64 {
        self.customers * 7 / 10
    }

    /// The row for a unit, with `rows` rows per district.
    pub(super) fn place(unit: u64, rows: i64) -> RowPosition {
        let (district, number) = (unit as i64 / rows, unit as i64 % rows);
        RowPosition {
            warehouse: district / DISTRICTS + 1,
            district: district % DISTRICTS + 1,
            number: number + 1,
        }
    }

    /// The position of a district across all, if it exists.
    pub(super) fn district_at(&self, warehouse: i64, district: i64) -> Option<usize> {
        let there =
            (1..=self.warehouses).contains(&warehouse) && (1..=DISTRICTS).contains(&district);
        there.then(|| ((warehouse - 1) * DISTRICTS + district - 1) as usize)
    }

    /// The position of a customer in its district, if it exists.
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
