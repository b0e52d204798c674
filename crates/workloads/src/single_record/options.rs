//! Which of the two workloads it is, and what a user may choose.

use super::schema::SingleRecord;
use crate::error::Error;
use crate::lookup::By;
use std::fmt::Debug;
use syncline_contract::{OptionArgs, OptionListing};

/// Which of the two workloads it is.
pub trait Access: Debug + Send + Sync + 'static {
    /// Its name.
    const NAME: &'static str;
    /// True if it writes.
    const WRITES: bool;
}

/// Reads.
#[derive(Debug)]
pub struct Reads;

/// Writes.
#[derive(Debug)]
pub struct Writes;

impl Access for Reads {
    const NAME: &'static str = "select";
    const WRITES: bool = false;
}

impl Access for Writes {
    const NAME: &'static str = "update";
    const WRITES: bool = true;
}

/// A random row is read.
pub type Select = SingleRecord<Reads>;

/// A random row gets another text.
pub type Update = SingleRecord<Writes>;

/// What a user may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Rows of a table.
    pub rows: u64,
    /// Tables.
    pub tables: u64,
    /// How a row is found.
    pub by: By,
}

impl Default for Options {
    fn default() -> Options {
        Options { rows: 100_000, tables: 1, by: By::Key }
    }
}

impl Options {
    /// The options for a listing.
    pub const LISTING: &'static [OptionListing] = &[
        OptionListing {
            name: "rows",
            takes: "a whole number from 1 to 100000000",
            default: "100000",
            meaning: "rows of a table",
        },
        OptionListing {
            name: "tables",
            takes: "a whole number from 1 to 256",
            default: "1",
            meaning: "tables, of which one is drawn; 32 of one row each are Derby's hot rows",
        },
        OptionListing {
            name: "by",
            takes: "key or index",
            default: "key",
            meaning: "how the row is found: by its primary key, or through a unique secondary index",
        },
    ];

    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        let defaults = Options::default();
        let by = given.word("by", &By::ALL, By::word)?;
        Ok(Options {
            rows: given.number("rows", 1..=100_000_000)?.unwrap_or(defaults.rows),
            tables: given.number("tables", 1..=256)?.unwrap_or(defaults.tables),
            by: by.unwrap_or(defaults.by),
        })
    }
}
