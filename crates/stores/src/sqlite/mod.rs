//! SQLite, built from source into the program. Either each client is a thread with its own connection,
//! or all clients share a queue with one connection and one commit for each pass.
//!
//! | file | what it holds |
//! |---|---|
//! | `settings.rs` | the options of the URL, and the SQLite settings for them |
//! | `database_files.rs` | the files: claimed, refused if unmanaged, removed |
//! | `connection.rs` | opens a connection, applies the settings and verifies them |
//! | `dry_run.rs` | the statements that a run executes, for `--dry-run` |
//! | `sql.rs` | the plan as SQL text, from the common generator |
//! | `raw.rs` | a connection together with its prepared statements (the one `unsafe`) |
//! | `execute.rs` | an operation's values in, its rows out |
//! | `failure.rs` | maps SQLite's result codes to stops |
//! | `session.rs` | a client with its own connection |
//! | `queue.rs` | the group commit and a client of the queue |
//! | `target.rs` | both as targets, and the settings that they report |
//!
//! Durability: `os` is synchronous OFF (or NORMAL under WAL), `data` FULL, `full` EXTRA; `none` is
//! `journal=memory` only, since SQLite always passes its writes to the operating system. Each
//! connection reads its settings back before it is used, because synchronous belongs to the connection,
//! not to the file.
//!
//! Transactions: a single operation runs in SQLite's autocommit, so that it is committed when its
//! `send` returns; a read-only transaction runs under BEGIN, any other under BEGIN IMMEDIATE: one that
//! reads first and then writes would be refused without waiting if another writer came in between.
//!
//! Waiting: SQLite's own busy handler sleeps 1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50 and then 100 ms
//! between attempts, so a client that waits longer tries less often, and with many threads some starve.
//! Programs that set a busy time-out get this handler, so it is the default here; `wait=even` tries
//! each millisecond instead. The reported settings show which one is used.

mod connection;
mod database_files;
mod dry_run;
mod execute;
mod failure;
mod queue;
mod raw;
mod session;
mod settings;
mod sql;
mod target;

pub use queue::{QueueSession, QueueWorker};
pub use session::SqliteSession;
pub use settings::{Journal, Settings, Synchronous, Wait};
pub use target::{
    Assignment, ConnectionPerClient, SharedConnection, Sqlite, SqliteQueue, SqliteTarget,
};

pub(crate) use settings::LISTING;
pub(crate) use target::{OpenedSqlite, open};
