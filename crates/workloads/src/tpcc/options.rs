//! The options, and what a profile fixes.

use super::mix::{Order, Weights};
use super::scale::Scale;
use super::schema::Tpcc;
use crate::error::Error;
use syncline_contract::{OptionArgs, options, words};

words! {
    /// Whose rules are followed where sources differ.
    pub enum Profile {
        /// TPC-C's.
        Spec = "spec",
        /// Those of the K2 platform's client.
        K2 = "k2",
    }
}

impl Profile {
    /// The order in which weights are given.
    pub(super) fn order(self) -> Order {
        match self {
            Profile::Spec => Order::SPEC,
            Profile::K2 => Order::K2,
        }
    }

    /// Of a hundred customers, how many are chosen by last name.
    pub(super) fn by_name_percent(self) -> u64 {
        match self {
            Profile::Spec => 60,
            Profile::K2 => 40,
        }
    }
}

words! {
    /// Whether terminals wait as people do.
    pub enum Think {
        /// No waits: a closed loop.
        None = "none",
        /// Keying and thinking by clause 5.2.5.
        Spec = "spec",
    }
}

words! {
    /// When a delivery is performed.
    pub enum Delivery {
        /// As soon as it is drawn.
        Immediate = "immediate",
        /// After the terminal's next transaction.
        Deferred = "deferred",
    }
}

options! {
    /// The options of a tpcc run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Options {
        pub profile: Profile = "spec", "whose rules: TPC-C's, or those of the K2 platform's client";
        pub(super) warehouses: u64 = 1 in 1..=100_000, "the scale: about 100 MB each";
        pub(super) weights: Weights = "45,43,4,4,4",
            "shares of new-order, payment, order-status, delivery, stock-level; by profile=k2 in its order: \
             payment, order-status, delivery, new-order, stock-level, of 43,4,4,45,4";
        pub think: Think = "none",
            "whether terminals key and think as in TPC-C (give 10 clients a warehouse)";
        pub delivery: Delivery = "immediate",
            "when a delivery is performed: when it is drawn, or after the next transaction";
        pub delivery_batch: u64 = 10 in 1..=10,
            "districts that one transaction of a delivery serves; each batch counts as one";
        pub(super) items: u64 = 100_000 in 100..=100_000,
            "items, for trying out; another number than TPC-C's is said in the notice";
        pub(super) customers: u64 = 3_000 in 10..=3_000,
            "customers, and orders, of a district, for trying out; said likewise";
    }
}

impl Options {
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let profile = given.form::<Profile, Profile>("profile")?;
        let implied = match profile {
            Profile::Spec => &[][..],
            Profile::K2 => &[("weights", "43,4,4,45,4")],
        };
        let mut options = Options::read(&given.with_defaults(implied))?;
        options.weights = profile.order().read(options.weights);
        Ok(options)
    }

    /// With its weights in the order in which they are given.
    pub(super) fn as_given(self) -> Options {
        Options { weights: self.profile.order().written(self.weights), ..self }
    }

    pub(super) fn scale(&self) -> Scale {
        Scale {
            warehouses: self.warehouses as i64,
            items: self.items as i64,
            customers: self.customers as i64,
        }
    }

    /// The notice in every row of results.
    pub(super) fn notice(&self) -> &'static str {
        if self.scale().is_of_the_spec() { Tpcc::NOTICE } else { Tpcc::NOTICE_SMALLER }
    }
}
