//! What a user may choose.

use super::schema::SmallBank;
use crate::error::Error;
use syncline_contract::{OptionArgs, options, words};

words! {
    /// Which transactions are drawn how often.
    pub enum Mix {
        /// Five transactions, each as often.
        Icde2008 = "icde2008",
        /// Six, with `BenchBase`'s weights.
        BenchBase = "benchbase",
    }
}

impl Mix {
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

options! {
    /// What a user may choose.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Options {
        pub customers: u64 = 18_000 in 2..=100_000_000,
            "customers, each with a savings and a checking account";
        pub hot: u64 = 1_000 in 0..=100_000_000, "customers that are hot; 0 draws all alike";
        pub hot_percent: u64 = 90 in 0..=100, "percentage of draws that take a hot customer";
        pub mix: Mix = "icde2008", "which transactions are drawn how often";
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

    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let options = Options::read(given)?;
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
