//! What a user may choose.

use crate::error::Error;
use syncline_contract::{OptionArgs, options, words};

words! {
    /// How unevenly accounts are drawn.
    pub enum Profile {
        /// Zipf with 1.5.
        Zipf15 = "1.5",
        /// Zipf with 1.2.
        Zipf12 = "1.2",
        /// Zipf with 0.9.
        Zipf09 = "0.9",
        /// Each as often.
        Uniform = "uniform",
    }
}

impl Profile {
    /// The exponent; none if all are drawn alike.
    pub(super) fn theta(self) -> Option<f64> {
        match self {
            Profile::Zipf15 => Some(1.5),
            Profile::Zipf12 => Some(1.2),
            Profile::Zipf09 => Some(0.9),
            Profile::Uniform => None,
        }
    }
}

options! {
    /// What a user may choose.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Options {
        pub accounts: u64 = 100_000 in 2..=100_000_000, "accounts";
        pub balance: u64 = 1_000_000 in 0..=1_000_000_000, "the opening balance of each account";
        pub profile: Profile = "1.5", "the exponent of Zipf by which accounts are drawn, or uniform";
    }
}

impl Options {
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        Ok(Options::read(given)?)
    }
}
