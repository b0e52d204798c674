//! Dump and load: a database of the engine in a text form that other programs can read and write.
//!
//! A dump is JSON Lines in UTF-8: each line is one JSON value, and each ends with a line feed.
//!
//! ```text
//! {"syncline_dump":1}
//! {"table":"account","columns":[{"name":"id","kind":"int","nullable":false},…],"key":…,"indexes":[]}
//! [1,"ada","12.34",null]
//! [2,"bob","0.00","AAEC"]
//! {"rows":2}
//! {"tables":1,"rows":2,"crc32c":"8a9136aa"}
//! ```
//!
//! The first line names the format and its version. Then each table has a line with its definition (`table`),
//! a line for each row, in the order of the primary key, and a line with the number of its rows. The last
//! line has the number of tables and rows, and the CRC-32C of all bytes before it, in eight hexadecimal
//! digits. `docs/engine-dump.md` describes every field.
//!
//! Invariants:
//! 1. A dump holds the rows of one snapshot, with every value exactly: what is loaded from it equals what was
//!    dumped, except for the order in which columns were added.
//! 2. A dump that was cut off or changed anywhere is refused before anything is written to the database.
//! 3. A load that fails leaves the tables of the database as they were.
//! 4. Both need memory for one row, or one batch of rows, at a time.
//!
//! | file | contents |
//! |---|---|
//! | `write.rs` | writes a dump |
//! | `reader.rs` | reads one, line by line, and checks it |
//! | `load.rs` | loads one into a database |
//! | `definition.rs`, `cell.rs` | a table's definition, and one value, in JSON |
//! | `error.rs` | errors |

mod cell;
mod definition;
mod error;
mod load;
mod reader;
mod write;

pub use error::{Error, Result};
pub use load::{check, load};
pub use write::write;

/// The version of the format that this library writes, and the only one so far.
pub const VERSION: u64 = 1;

/// What a dump holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Tables.
    pub tables: u64,
    /// Rows of all tables.
    pub rows: u64,
}
