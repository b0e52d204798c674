//! What a user may choose.

use super::schema::SmallBank;
use crate::error::Error;
use syncline_contract::{OptionArgs, OptionListing};

/// Which transactions are drawn how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Five transactions, each as often.
    Icde2008,
    /// Six, with `BenchBase`'s weights.
    BenchBase,
}

impl Mix {
    /// Both.
    pub const ALL: [Mix; 2] = [Mix::Icde2008, Mix::BenchBase];

    /// The word of the option.
    pub fn word(self) -> &'static str {
        match self {
            Mix::Icde2008 => "icde2008",
            Mix::BenchBase => "benchbase",
        }
    }

    /// The weights of the transactions, in the order of [`NAMES`].
    pub(super) fn weights(self) -> [u64; 6] {
        match self {
            Mix::Icde2008 => [20, 20, 20, 20, 20, 0],
            Mix::BenchBase => [15, 15, 15, 15, 15, 25],
        }
    }
}

/// The transactions.
pub(super) const NAMES: [&str; 6] = [
    "balance",
    "deposit checking",
    "transact savings",
    "write check",
    "amalgamate",
    "send payment",
];

/// What a user may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Customers; at least 2.
    pub customers: u64,
    /// Customers that are hot; fewer than all.
    pub hot: u64,
    /// Of a hundred customers drawn, so many are hot.
    pub hot_percent: u64,
    /// Which transactions are drawn how often.
    pub mix: Mix,
}

impl Default for Options {
    fn default() -> Options {
        Options { customers: 18_000, hot: 1_000, hot_percent: 90, mix: Mix::Icde2008 }
    }
}

impl Options {
    /// Customers that may be drawn at all: without hot ones or with both kinds every customer, else those
    /// of the only kind that is drawn.
    fn drawable(&self) -> u64 {
        match (self.hot, self.hot_percent) {
            (0, _) => self.customers,
            (_, 0) => self.customers - self.hot,
            (_, 100) => self.hot,
            _ => self.customers,
        }
    }

    /// The options for a listing.
    pub const LISTING: &'static [OptionListing] = &[
        OptionListing {
            name: "customers",
            takes: "a whole number from 2 to 100000000",
            default: "18000",
            meaning: "customers, each with a savings and a checking account",
        },
        OptionListing {
            name: "hot",
            takes: "a whole number from 0 to 100000000",
            default: "1000",
            meaning: "customers that are hot; 0 draws all alike",
        },
        OptionListing {
            name: "hot_percent",
            takes: "a whole number from 0 to 100",
            default: "90",
            meaning: "percentage of draws that take a hot customer",
        },
        OptionListing {
            name: "mix",
            takes: "icde2008 or benchbase",
            default: "icde2008",
            meaning: "which transactions are drawn how often",
        },
    ];

    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let defaults = Options::default();
        let mix = given.word("mix", &Mix::ALL, Mix::word)?;
        let options = Options {
            customers: given.number("customers", 2..=100_000_000)?.unwrap_or(defaults.customers),
            hot: given.number("hot", 0..=100_000_000)?.unwrap_or(defaults.hot),
            hot_percent: given.number("hot_percent", 0..=100)?.unwrap_or(defaults.hot_percent),
            mix: mix.unwrap_or(defaults.mix),
        };
        let excluded = |what| Err(Error::Excluded { workload: SmallBank::NAME, what });
        if options.hot >= options.customers {
            return excluded("hot with as few customers, since some must not be hot");
        }
        if options.drawable() < 2 {
            return excluded(
                "hot_percent with those customers, since transactions between two of them need two that \
                 may be drawn",
            );
        }
        Ok(options)
    }
}
