//! An index of a folder of records: the summaries of all of them in a SQLite file, so that listing thousands
//! of records reads only those that changed.
//!
//! 1. The records are the truth. The index holds nothing else, and is made again when it is missing, damaged
//!    or of another version; it may be deleted at any time.
//! 2. A record is read again if its file's size or time of change is another one.
//! 3. In a folder that cannot be written, the index lives in memory for one command.
//! 4. Other programs may read the table `records`: its columns are those of
//!    [`syncline_record::SUMMARY_COLUMNS`], after `file`.
//!
//! | file | what it holds |
//! |---|---|
//! | `index` | opening, bringing up to date |
//! | `filter` | which records are wanted, as SQL |
//! | `error` | why the index could not be used |

mod error;
mod filter;
mod index;

pub use error::{Error, Result};
pub use filter::Filter;
pub use index::{FILE_NAME, Listing, RecordIndex};
