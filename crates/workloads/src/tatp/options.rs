//! What a user may choose.

use super::input::Distribution;
use crate::error::Error;
use syncline_contract::{OptionArgs, OptionListing};

/// How a subscriber is found by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Through a unique index of the subscribers.
    Index,
    /// Through a table of its own.
    Table,
}

impl Lookup {
    /// Both.
    pub const ALL: [Lookup; 2] = [Lookup::Index, Lookup::Table];

    /// The word of the option.
    pub fn word(self) -> &'static str {
        match self {
            Lookup::Index => "index",
            Lookup::Table => "table",
        }
    }
}

/// What a user may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Subscribers.
    pub subscribers: u64,
    /// How they are drawn.
    pub distribution: Distribution,
    /// How they are found by number.
    pub lookup: Lookup,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            subscribers: 100_000,
            distribution: Distribution::NonUniform,
            lookup: Lookup::Index,
        }
    }
}

impl Options {
    /// The options for a listing.
    pub const LISTING: &'static [OptionListing] = &[
        OptionListing {
            name: "subscribers",
            takes: "a whole number from 1 to 100000000",
            default: "100000",
            meaning: "subscribers",
        },
        OptionListing {
            name: "distribution",
            takes: "non-uniform or uniform",
            default: "non-uniform",
            meaning: "how subscribers are drawn",
        },
        OptionListing {
            name: "lookup",
            takes: "index or table",
            default: "index",
            meaning: "how a subscriber is found by number; table is for stores without indexes",
        },
    ];

    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let defaults = Options::default();
        let distribution = given.word("distribution", &Distribution::ALL, Distribution::word)?;
        let lookup = given.word("lookup", &Lookup::ALL, Lookup::word)?;
        let subscribers = given.number("subscribers", 1..=100_000_000)?;
        Ok(Options {
            subscribers: subscribers.unwrap_or(defaults.subscribers),
            distribution: distribution.unwrap_or(defaults.distribution),
            lookup: lookup.unwrap_or(defaults.lookup),
        })
    }
}
