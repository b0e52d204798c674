//! Our engine as far as it exists: its log, under tables in memory. Named `engine (log only)`.
//!
//! A transaction keeps its writes to itself until it commits; then they are applied to the tables, and
//! the rows as they are afterwards go into one log record. Reads see the newest applied rows, whoever
//! wrote them and whether or not they are durable yet: no isolation is claimed. Opening an existing
//! log replays its records into the tables.
//!
//! | file | what stands in it |
//! |---|---|
//! | `settings.rs` | the options of the URL |
//! | `place.rs` | the directory: claimed, refused if not ours, removed |
//! | `codec.rs` | rows and keys as bytes; keys in the order of their values |
//! | `table.rs` | a table in memory |
//! | `writes.rs` | what a transaction has written and not committed |
//! | `store.rs` | log and tables: commit and replay |
//! | `session.rs` | a client |
//! | `target.rs` | the target, and what it says of itself |
//!
//! What it does not do: secondary indexes, joins, aggregates; the log is never cut, since nothing
//! else keeps the rows.

mod codec;
mod place;
mod session;
mod settings;
mod store;
mod table;
mod target;
mod writes;

#[cfg(test)]
mod tests;

pub use session::EngineSession;
pub(crate) use settings::LISTING;
pub(crate) use target::open;
pub use target::{EngineLog, EngineWorker};
