//! Which of the two workloads it is, and what a user may choose.

use super::schema::SingleRecord;
use crate::error::Error;
use crate::lookup::By;
use std::fmt::Debug;
use syncline_contract::{OptionArgs, options};

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

options! {
    /// What a user may choose.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Options {
        pub rows: u64 = 100_000 in 1..=100_000_000, "rows of a table";
        pub tables: u64 = 1 in 1..=256,
            "tables, of which one is drawn; 32 of one row each are Derby's hot rows";
        pub by: By = "key",
            "how the row is found: by its primary key, or through a unique secondary index";
    }
}

impl Options {
    pub(crate) fn parse(given: &OptionArgs<'_>) -> Result<Options, Error> {
        Ok(Options::read(given)?)
    }
}
