//! PostgreSQL, and who speaks as it does, as a target: `postgres://user:password@host:port/database`.
//!
//! | file | what stands in it |
//! |---|---|
//! | `settings.rs` | the options of a URL, and which hold together |
//! | `product.rs` | where CockroachDB and YugabyteDB differ, as data; which one a server is |
//! | `login.rs` | the hand-shake: encryption, password, SCRAM |
//! | `protocol.rs` | a connection: messages out, messages in |
//! | `control.rs` | statements outside of transactions under test, one at a time, answers as text |
//! | `types.rs` | the types of columns that are understood, by number |
//! | `values.rs` | values to bytes and back |
//! | `prepared.rs` | a plan's operations, prepared once a session |
//! | `session.rs` | a client: transactions in as few round trips as they allow |
//! | `load.rs` | the bulk path: COPY in binary |
//! | `failure.rs` | what an error of the server means for a transaction |
//! | `preflight.rs` | what a server is asked first, and what is refused |
//! | `reported_settings.rs` | durability and isolation, read back |
//! | `amcheck.rs` | tables and indexes checked by amcheck |
//! | `counters.rs` | the server's own running counters, by version |
//! | `observation.rs` | one look at a server that works |
//! | `schema.rs` | our own schema: made, marked, found again, removed, cleaned |
//! | `user_view.rs` | what a session of the user's own finds |
//! | `target.rs` | the target |
//!
//! Durability, as `durability=` asks and the server answers (a session sets only `synchronous_commit`;
//! `fsync` is the whole server's, and is read):
//!
//! | word | asks for | holds if the server says |
//! |---|---|---|
//! | `data` | `synchronous_commit=on`, where it is off | `fsync=on` and `full_page_writes=on` |
//! | `os` | the same: a commit's log is written and not synced, or cannot mend a torn page | `fsync=off`, or `full_page_writes=off` |
//! | `none` | `synchronous_commit=off`: a commit is acknowledged before its log is written, so a crash of the server may lose the last moments, up to three times `wal_writer_delay` | any `fsync` |
//! | `full` | the same | the same, and `wal_sync_method` is `fsync`, `fsync_writethrough` or `open_sync`: metadata is synced too |
//!
//! Isolation: `read_committed`, `repeatable_read` (which is a snapshot there) and `serializable`.
//!
//! 1. A pipelined transaction is sent in as few flushes as its questions allow: BEGIN goes with the first,
//!    COMMIT with the last, one Sync a flush. With `pipeline=no` each statement is a round trip.
//! 2. Committed means: the server answered COMMIT with `COMMIT` (it answers `ROLLBACK`, as a success, to
//!    who commits a failed transaction), or a statement of its own with its end, and was ready again.
//! 3. A write's number of rows is checked when its answer is read, which of pipelined writes is at
//!    commit.
//! 4. In the steady state a session allocates nothing.
//! 5. A user's statements are prepared, parsed each time, or put into texts, as the plan says
//!    ([`Plan::protocol`](syncline_contract::Plan::protocol)); unless they are prepared, nothing is.

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
