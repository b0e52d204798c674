//! Our engine as far as it exists: its log, under tables in memory. Named `engine (log only)`.
//!
//! A transaction keeps its writes to itself until it commits; then they are applied to the tables, and
//! the rows as they are afterwards go into one log record. One that reads nothing before is not
//! looked at before either: a write of it that fits no row shows at its commit. Reads see the
//! newest applied rows, whoever wrote them and whether or not they are durable yet: no isolation is
//! claimed. Opening an existing log replays its records into the tables.
//!
//! | file | what stands in it |
//! |---|---|
//! | `settings.rs` | the options of the URL |
//! | `place.rs` | the directory: claimed, refused if not ours, removed |
//! | `codec.rs` | rows and keys as bytes; keys in the order of their values |
//! | `key.rs` | a key whose first bytes are compared as one number |
//! | `table.rs` | a table in memory |
//! | `merge.rs` | a scan over the parts of a table and the transaction's own rows |
//! | `writes.rs` | what a transaction has written and not committed |
//! | `apply.rs` | the writes made on the tables, all or none |
//! | `record.rs` | what stands in a log record |
//! | `store.rs` | log and tables: commit and replay |
//! | `prepared.rs` | the plan's operations, ready to be executed |
//! | `client.rs` | the transaction under way |
//! | `session.rs` | the session that runner and workload see |
//! | `target.rs` | the target, and what it says of itself |
//!
//! What it does not do: secondary indexes, joins, aggregates; the log is never cut, since nothing
//! else keeps the rows.

mod apply;
mod client;
mod codec;
mod key;
mod merge;
mod place;
mod prepared;
mod record;
mod session;
mod settings;
mod store;
mod table;
mod target;
mod writes;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod transaction_tests;

pub use session::EngineSession;
pub(crate) use settings::LISTING;
pub(crate) use target::open;
pub use target::{EngineLog, EngineWorker};
