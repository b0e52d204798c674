//! SQLite, built from source into the program: by threads, each client with a connection of its own,
//! or by a queue, all clients through one connection and one commit a pass.
//!
//! | file | what stands in it |
//! |---|---|
//! | `settings.rs` | the options of the URL and what SQLite is told for them |
//! | `database_files.rs` | the files: claimed, refused if not ours, removed |
//! | `connection.rs` | opening a connection, setting it and reading back that it is set |
//! | `sql.rs` | the plan as SQL text, by the common generator |
//! | `raw.rs` | a connection together with its prepared statements (the one `unsafe`) |
//! | `execute.rs` | an operation's values in, its rows out |
//! | `failure.rs` | SQLite's result codes as stops |
//! | `session.rs` | a client by threads |
//! | `queue.rs` | the group commit and a client of the queue |
//! | `target.rs` | both as targets, and what they say of themselves |
//!
//! Durability: `os` is synchronous OFF (or NORMAL under WAL), `data` FULL, `full` EXTRA; `none` is
//! `journal=memory` alone, since SQLite always hands its writes to the operating system. Each connection
//! reads its settings back before it is used, because synchronous belongs to the connection, not to the file.
//!
//! Transactions: a single operation runs in SQLite's autocommit, so that it is committed when its
//! `send` returns; a read-only transaction runs under BEGIN, any other under BEGIN IMMEDIATE: one that
//! starts reading and then writes would be refused by a writer in between without any waiting.
//!
//! Waiting: SQLite's own busy handler sleeps 1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50 and then 100 ms
//! between tries, so who waits longer tries less often, and many threads starve some of their number.
//! That is what a program gets that sets a busy time-out, hence the default here; `wait=even` tries
//! each millisecond instead. Evidence says which.

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
