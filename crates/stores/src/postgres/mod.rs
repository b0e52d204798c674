//! PostgreSQL, and products that speak its protocol, as a target:
//! `postgres://user:password@host:port/database`.
//!
//! | file | what it holds |
//! |---|---|
//! | `settings.rs` | the options of a URL, and which combinations are valid |
//! | `product.rs` | where CockroachDB and YugabyteDB differ, as data; which product a server is |
//! | `login.rs` | the handshake: encryption, password, SCRAM |
//! | `protocol.rs` | a connection: messages out, messages in |
//! | `control.rs` | statements outside of measured transactions, one at a time, answers as text |
//! | `types.rs` | the supported types of columns, by number |
//! | `values.rs` | values to bytes and back |
//! | `prepared.rs` | a plan's operations, prepared once a session |
//! | `session.rs` | a client: transactions in as few round trips as they allow |
//! | `load.rs` | the bulk path: COPY in binary |
//! | `failure.rs` | what an error of the server means for a transaction |
//! | `preflight.rs` | the checks before a run, and what they refuse |
//! | `pooler.rs` | detects a pooler and refuses one in transaction mode |
//! | `connection_limit.rs` | how many connections are free |
//! | `reported_settings.rs` | durability and isolation, read back |
//! | `amcheck.rs` | tables and indexes checked by amcheck |
//! | `counters.rs` | the server's running counters, by version |
//! | `observation.rs` | one observation of a server in use |
//! | `own_sessions.rs` | sessions of this program: those in use, and those left by ended programs |
//! | `waits.rs` | sessions of a run that did not end: what they wait for |
//! | `schema.rs` | managed schemas: create, mark, reopen, remove, clean |
//! | `user_view.rs` | what a session of the user finds |
//! | `target.rs` | the target |
//! | `fuzzing.rs` | the decoders under fuzzing |
//!
//! Durability, as `durability=` requests it and the server reports it (a session sets only
//! `synchronous_commit`; `fsync` applies to the whole server and is only read):
//!
//! | word | sets | holds if the server reports |
//! |---|---|---|
//! | `data` | `synchronous_commit=on`, where it is off | `fsync=on` and `full_page_writes=on` |
//! | `os` | the same: a commit's log is written and not synced, or cannot repair a torn page | `fsync=off`, or `full_page_writes=off` |
//! | `none` | `synchronous_commit=off`: a commit is acknowledged before its log is written, so a crash of the server may lose the last moments, up to three times `wal_writer_delay` | any `fsync` |
//! | `full` | the same as `data` | the same as `data`, and `wal_sync_method` is `fsync`, `fsync_writethrough` or `open_sync`: metadata is synced too |
//!
//! Isolation: `read_committed`, `repeatable_read` (a snapshot in PostgreSQL) and `serializable`.
//!
//! 1. A pipelined transaction is sent in as few flushes as its reads allow: BEGIN goes with the first
//!    operation, COMMIT with the last, with one Sync a flush. With `pipeline=no` each statement is a
//!    round trip.
//! 2. Committed means: the server answered COMMIT with `COMMIT`, or completed a statement outside of a
//!    transaction block, and was ready again. (It answers `ROLLBACK`, as a success, to a COMMIT of a
//!    failed transaction.)
//! 3. A write's number of rows is checked when its answer is read; for pipelined writes that is at
//!    commit.
//! 4. In the steady state a session allocates nothing.
//! 5. A user's statements are prepared, parsed each time, or sent as simple queries, as the plan says
//!    ([`Plan::protocol`](syncline_contract::Plan::protocol)); unless they are prepared, no statement
//!    is.

mod amcheck;
mod connection_limit;
mod control;
mod counters;
mod failure;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod load;
mod login;
mod observation;
mod own_sessions;
mod pooler;
mod preflight;
mod prepared;
mod product;
mod protocol;
mod reported_settings;
mod schema;
mod session;
mod settings;
mod target;
mod types;
mod user_view;
mod values;
mod waits;

#[cfg(feature = "jdbc")]
pub(crate) use reported_settings::durability;
pub use session::PostgresSession;
pub use settings::LISTING;
pub use target::Postgres;
pub(crate) use target::open;
