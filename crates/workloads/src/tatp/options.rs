//! What a user may choose.

use super::input::Distribution;
use crate::error::Error;
use syncline_contract::{OptionArgs, options, words};

words! {
    /// How a subscriber is found by number.
    pub enum Lookup {
        /// Through a unique index of the subscribers.
        Index = "index",
        /// Through a table of its own.
        Table = "table",
    }
}

options! {
    /// What a user may choose.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Options {
        pub subscribers: u64 = 100_000 in 1..=100_000_000, "subscribers";
        pub distribution: Distribution = "non-uniform", "how subscribers are drawn";
        pub lookup: Lookup = "index",
            "how a subscriber is found by number; table is for stores without indexes";
    }
}

impl Options {
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        Ok(Options::read(given)?)
    }
}
