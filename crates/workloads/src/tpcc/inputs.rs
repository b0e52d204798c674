//! The distributions behind the inputs of every transaction.

use super::customer::{Customer, CustomerKey};
use super::load::{LAST_NAME_CONSTANT, LOADED_AT_US};
use super::names::LAST_NAMES;
use super::options::Options;
use super::scale::{DISTRICTS, Scale};
use crate::distributions::{Nurand, Stream, run_constant};
use syncline_contract::Decimal;

/// Masks of the distributions: the A of clause 2.1.6.
const NAME_MASK: i64 = 255;
const CUSTOMER_MASK: i64 = 1_023;
const ITEM_MASK: i64 = 8_191;

/// The generated date advances by a second per transaction.
const DATE_STEP_US: i64 = 1_000_000;

/// An amount of money in hundredths.
#[inline]
pub(super) fn money(units: i64) -> Decimal {
    Decimal { units, scale: 2 }
}

/// A tax or discount in ten-thousandths.
#[inline]
pub(super) fn rate(units: i64) -> Decimal {
    Decimal { units, scale: 4 }
}

/// The distribution of last names at this scale.
pub(super) fn last_names(scale: &Scale, constant: i64) -> Nurand {
    // A district with fewer customers than there are names uses the first names only.
    let names = LAST_NAMES.min(scale.customers);
    Nurand::new(NAME_MASK, constant, 0, names - 1)
}

/// A client's inputs.
#[derive(Debug)]
pub(super) struct Inputs {
    pub(super) stream: Stream,
    pub(super) scale: Scale,
    /// The client's warehouse.
    pub(super) home: i64,
    by_name_percent: u64,
    names: Nurand,
    customers: Nurand,
    items: Nurand,
    date_us: i64,
}

impl Inputs {
    pub(super) fn new(options: &Options, home: i64, number: usize, seed: u64) -> Inputs {
        let scale = options.scale();
        // The constants belong to the run: they are the same for all clients.
        let mut of_run = Stream::of_client(seed, 0, "constants");
        let name_constant = run_constant(LAST_NAME_CONSTANT, &mut of_run);
        let customer_constant = of_run.between(0, CUSTOMER_MASK);
        let item_constant = of_run.between(0, ITEM_MASK);
        Inputs {
            stream: Stream::of_client(seed, number, "inputs"),
            scale,
            home,
            by_name_percent: options.profile.by_name_percent(),
            names: last_names(&scale, name_constant),
            customers: Nurand::new(CUSTOMER_MASK, customer_constant, 1, scale.customers),
            items: Nurand::new(ITEM_MASK, item_constant, 1, scale.items),
            date_us: LOADED_AT_US,
        }
    }

    /// The generated date.
    #[inline]
    pub(super) fn date_us(&mut self) -> i64 {
        self.date_us += DATE_STEP_US;
        self.date_us
    }

    #[inline]
    pub(super) fn district(&mut self) -> i64 {
        self.stream.between(1, DISTRICTS)
    }

    #[inline]
    pub(super) fn customer(&mut self) -> i64 {
        self.customers.draw(&mut self.stream)
    }

    #[inline]
    pub(super) fn item(&mut self) -> i64 {
        self.items.draw(&mut self.stream)
    }

    /// True in this percentage of draws, if there is another warehouse.
    #[inline]
    pub(super) fn is_remote(&mut self, percent: u64) -> bool {
        self.scale.warehouses > 1 && self.stream.percent(percent)
    }

    /// Any warehouse except home; there must be one.
    #[inline]
    pub(super) fn other_warehouse(&mut self) -> i64 {
        let other = self.stream.between(1, self.scale.warehouses - 1);
        other + i64::from(other >= self.home)
    }

    /// A customer of a district, selected by number or by last name.
    pub(super) fn selected_customer(&mut self, warehouse: i64, district: i64) -> Customer {
        let key = if self.stream.percent(self.by_name_percent) {
            CustomerKey::LastName(self.names.draw(&mut self.stream))
        } else {
            CustomerKey::Number(self.customer())
        };
        Customer { warehouse, district, key }
    }
}

#[cfg(test)]
mod tests {
    use super::{CustomerKey, Inputs};
    use crate::tpcc::Options;
    use syncline_contract::OptionArgs;

    fn inputs(pairs: &[(&str, &str)]) -> Inputs {
        let pairs: Vec<_> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let given = OptionArgs::new("workload tpcc".to_owned(), Options::LISTING, &pairs).unwrap();
        Inputs::new(&Options::parse(&given).unwrap(), 3, 2, 5)
    }

    #[test]
    fn other_warehouses_exclude_home_and_a_single_one_has_no_remote() {
        let mut four = inputs(&[("warehouses", "4")]);
        let mut drawn: Vec<_> = (0..1_000).map(|_| four.other_warehouse()).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, [1, 2, 4]);
        let remote = (0..100_000).filter(|_| four.is_remote(15)).count();
        assert!((14_000..16_000).contains(&remote), "{remote}");
        let mut one = inputs(&[]);
        assert!((0..1_000).all(|_| !one.is_remote(100)));
    }

    #[test]
    fn customers_are_selected_by_name_as_in_the_profile() {
        for (profile, percent) in [("spec", 60), ("k2", 40)] {
            let mut inputs = inputs(&[("profile", profile)]);
            let by_name = |inputs: &mut Inputs| {
                matches!(inputs.selected_customer(1, 1).key, CustomerKey::LastName(_))
            };
            let count = (0..100_000).filter(|_| by_name(&mut inputs)).count();
            let expected = percent * 1_000;
            assert!((expected - 1_000..expected + 1_000).contains(&count), "{count}");
        }
    }
}
