//! The options, and what a profile fixes.

use super::mix::{Order, Weights};
use super::scale::Scale;
use super::schema::Tpcc;
use crate::error::Error;
use syncline_contract::{OptionArgs, OptionListing};

/// Whose rules are followed where sources differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// TPC-C's.
    Spec,
    /// Those of the K2 platform's client.
    K2,
}

impl Profile {
    const ALL: [Profile; 2] = [Profile::Spec, Profile::K2];

    fn word(self) -> &'static str {
        match self {
            Profile::Spec => "spec",
            Profile::K2 => "k2",
        }
    }

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

/// Whether terminals wait as people do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// No waits: a closed loop.
    None,
    /// Keying and thinking by clause 5.2.5.
    Spec,
}

impl Think {
    const ALL: [Think; 2] = [Think::None, Think::Spec];

    fn word(self) -> &'static str {
        match self {
            Think::None => "none",
            Think::Spec => "spec",
        }
    }
}

/// When a delivery is performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// As soon as it is drawn.
    Immediate,
    /// After the terminal's next transaction.
    Deferred,
}

impl Delivery {
    const ALL: [Delivery; 2] = [Delivery::Immediate, Delivery::Deferred];

    fn word(self) -> &'static str {
        match self {
            Delivery::Immediate => "immediate",
            Delivery::Deferred => "deferred",
        }
    }
}

/// The options of a tpcc run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whose rules are followed.
    pub profile: Profile,
    pub(super) scale: Scale,
    pub(super) weights: Weights,
    /// Whether terminals wait.
    pub think: Think,
    /// When deliveries are performed.
    pub delivery: Delivery,
    /// Districts that one transaction of a delivery serves, 1 to 10.
    pub delivery_batch: u64,
}

impl Options {
    /// The options for a listing.
    pub const LISTING: &'static [OptionListing] = &[
        OptionListing {
            name: "profile",
            takes: "spec or k2",
            default: "spec",
            meaning: "whose rules: TPC-C's, or those of the K2 platform's client",
        },
        OptionListing {
            name: "warehouses",
            takes: "a whole number from 1 to 100000",
            default: "1",
            meaning: "the scale: about 100 MB each",
        },
        OptionListing {
            name: "weights",
            takes: "five whole numbers up to 10000 with commas, not all zero",
            default: "45,43,4,4,4",
            meaning: "shares of new-order, payment, order-status, delivery, stock-level; by profile=k2 \
                      in its order: payment, order-status, delivery, new-order, stock-level, of \
                      43,4,4,45,4",
        },
        OptionListing {
            name: "think",
            takes: "none or spec",
            default: "none",
            meaning: "whether terminals key and think as in TPC-C (give 10 clients a warehouse)",
        },
        OptionListing {
            name: "delivery",
            takes: "immediate or deferred",
            default: "immediate",
            meaning: "when a delivery is performed: when it is drawn, or after the next transaction",
        },
        OptionListing {
            name: "delivery_batch",
            takes: "a whole number from 1 to 10",
            default: "10",
            meaning: "districts that one transaction of a delivery serves; each batch counts as one",
        },
        OptionListing {
            name: "items",
            takes: "a whole number from 100 to 100000",
            default: "100000",
            meaning: "items, for trying out; another number than TPC-C's is said in the notice",
        },
        OptionListing {
            name: "customers",
            takes: "a whole number from 10 to 3000",
            default: "3000",
            meaning: "customers, and orders, of a district, for trying out; said likewise",
        },
    ];

    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let profile = given.word("profile", &Profile::ALL, Profile::word)?;
        let profile = profile.unwrap_or(Profile::Spec);
        let weights = given.parsed("weights", |text| profile.order().parse(text))?;
        let scale = Scale {
            warehouses: given.number("warehouses", 1..=100_000)?.unwrap_or(1) as i64,
            items: number(given, "items", 100, Scale::ITEMS)?,
            customers: number(given, "customers", 10, Scale::CUSTOMERS)?,
        };
        let think = given.word("think", &Think::ALL, Think::word)?;
        let delivery = given.word("delivery", &Delivery::ALL, Delivery::word)?;
        Ok(Options {
            profile,
            scale,
            weights: weights.unwrap_or(Weights::PUBLISHED),
            think: think.unwrap_or(Think::None),
            delivery: delivery.unwrap_or(Delivery::Immediate),
            delivery_batch: given.number("delivery_batch", 1..=10)?.unwrap_or(10),
        })
    }

    /// As given or defaulted.
    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        vec![
            ("profile", self.profile.word().to_owned()),
            ("warehouses", self.scale.warehouses.to_string()),
            ("weights", self.profile.order().words(&self.weights)),
            ("think", self.think.word().to_owned()),
            ("delivery", self.delivery.word().to_owned()),
            ("delivery_batch", self.delivery_batch.to_string()),
            ("items", self.scale.items.to_string()),
            ("customers", self.scale.customers.to_string()),
        ]
    }

    /// The notice that stands in every row of results.
    pub(super) fn notice(&self) -> &'static str {
        if self.scale.is_of_the_spec() { Tpcc::NOTICE } else { Tpcc::NOTICE_SMALLER }
    }
}

/// A number of rows, up to TPC-C's, which is the default.
fn number(
    given: &OptionArgs<'_>,
    option: &'static str,
    least: u64,
    of_the_spec: i64,
) -> Result<i64, Error> {
    let number = given.number(option, least..=of_the_spec as u64)?;
    Ok(number.map_or(of_the_spec, |number| number as i64))
}
