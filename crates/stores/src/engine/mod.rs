//! Our engine in this process: typed tables on disk with group commit, or in memory only.
//!
//! A table of the plan is a table of the database, an index is an index. If the plan leaves the key to
//! the store, or has none, the target numbers the rows: the number is the key, or a first column that
//! the plan does not see. Each client is a session of the engine on the thread of its worker, and its
//! commit waits for a ticket, as a future or by blocking. Reads are executed at once, with one
//! exception: if clients are futures, reads by key are deferred until the first of their answers is
//! received. The deferred reads of a transaction are prefetched together, and in a read-only
//! transaction on a worker with many clients, also with those of the other clients, when the pass ends.
//!
//! | file | what it holds |
//! |---|---|
//! | `settings.rs` | the options of the URL |
//! | `database_directory.rs` | the directory: claimed, refused if unmanaged, removed |
//! | `store.rs` | the database and its tables: created and reopened |
//! | `prepared.rs` | the plan's operations, by positions in the database's tables |
//! | `values.rs` | values from the contract to the engine and back |
//! | `read.rs` | rows by key, along a path, and joined |
//! | `aggregate.rs` | aggregates over the rows of a path |
//! | `write.rs` | rows added, changed and deleted |
//! | `failure.rs` | maps errors of the engine to the end of a transaction |
//! | `session.rs` | a client |
//! | `worker.rs` | the state that clients of a worker share: the held log batch, and prefetched reads |
//! | `target.rs` | the target, and the settings that it reports |
//! | `tests/` | tests of the target |
//!
//! Limitation: under `isolation=snapshot` a locking read does not lock; a transaction that only reads
//! such a row is not validated against those that change it.

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
