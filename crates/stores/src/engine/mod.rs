//! Our engine in this process: typed tables on disk with group commit, or in memory alone.
//!
//! A table of the plan is a table of the database, an index is an index. Where the plan leaves the key
//! to the store, or has none, the target counts rows up: the count is the key, or a first column that
//! the plan does not see. Each client is a session of the engine on the thread of its worker, and its
//! commit waits for a ticket, as a future or by blocking. What it reads it reads at once; but where clients
//! are futures, reads by key are made when the first of their answers is wanted: those that a transaction
//! asks for at once are gone ahead of together, and where it only reads and many clients share its worker,
//! with those of the others, when the pass ends.
//!
//! | file | what stands in it |
//! |---|---|
//! | `settings.rs` | the options of the URL |
//! | `database_directory.rs` | the directory: claimed, refused if not ours, removed |
//! | `store.rs` | the database and its tables: made, and opened again |
//! | `prepared.rs` | the plan's operations, by positions in the database's tables |
//! | `values.rs` | values from the contract to the engine and back |
//! | `read.rs` | rows by key, along a path, and joined |
//! | `aggregate.rs` | one figure over the rows of a path |
//! | `write.rs` | rows added, changed and deleted |
//! | `failure.rs` | how an error of the engine ends a transaction |
//! | `session.rs` | a client |
//! | `worker.rs` | what clients of a worker share: the cork of the log, and going ahead of reads |
//! | `target.rs` | the target, and what it says of itself |
//!
//! What it does not do: under `isolation=snapshot` a locking read does not lock; a transaction that
//! only reads such a row is not held against those who change it.

mod aggregate;
mod database_directory;
mod failure;
mod prepared;
mod read;
mod session;
mod settings;
mod store;
mod target;
mod values;
mod worker;
mod write;

#[cfg(test)]
mod tests;

pub use session::EngineSession;
pub(crate) use settings::LISTING;
pub use target::{Engine, EngineTarget, TransientEngine};
pub(crate) use target::{OpenedEngine, open};
pub use worker::EngineWorker;
