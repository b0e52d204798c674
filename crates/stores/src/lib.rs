//! The stores under test: one file or folder for each store, one line for each store in two tables.
//!
//! [`AnyTarget`] is every built-in store as one type; [`AnyTarget::open`] creates one from a URL, and
//! [`listings`] lists the URLs. Opening changes nothing: a target creates its tables in
//! [`Target::create`](syncline_contract::Target::create), and refuses there what is not its own.
//!
//! | file | what it holds |
//! |---|---|
//! | `registry.rs`, `any_target.rs` | the table of stores; every built-in target as one type |
//! | `url.rs`, `private_url.rs`, `error.rs` | target URLs; the URL of a private server; errors of a URL |
//! | `postgres/`, `mysql/`, `redis/`, `etcd/` | servers, through our own implementations of their protocols |
//! | `jdbc/` | any store with a JDBC driver |
//! | `engine/`, `sqlite/`, `rocksdb/` | embedded stores of several files each |
//! | `fjall.rs`, `lmdb.rs`, `redb.rs`, `null.rs` | embedded stores, and the null target, of one file each |
//! | `directory.rs`, `directory_store.rs`, `path.rs`, `file_lock.rs` | the directory of an embedded store; its paths and its lock |
//! | `server/`, `wire/`, `libpq/` | what server targets share; their connections; libpq's parameters |
//! | `sql/` | the SQL text of a plan |
//! | `open_files.rs`, `transaction_phase.rs` | the open files of a process; the phase of a transaction in which an error occurred |
//! | `fuzzing.rs` | entry points for fuzzing |

mod any_target;
#[cfg(any(
    feature = "lmdb",
    feature = "redb",
    feature = "fjall",
    feature = "rocksdb",
    feature = "jdbc"
))]
mod directory;
#[cfg(any(feature = "lmdb", feature = "redb", feature = "fjall", feature = "rocksdb"))]
mod directory_store;
pub mod engine;
mod error;
pub mod etcd;
mod file_lock;
#[cfg(feature = "fjall")]
pub mod fjall;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "jdbc")]
pub mod jdbc;
pub mod libpq;
#[cfg(feature = "lmdb")]
pub mod lmdb;
pub mod mysql;
pub mod null;
mod open_files;
mod path;
pub mod postgres;
mod private_url;
#[cfg(feature = "redb")]
pub mod redb;
pub mod redis;
mod registry;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
pub mod server;
pub mod sql;
pub mod sqlite;
mod transaction_phase;
mod url;
pub mod wire;

pub use any_target::{AnySession, AnyTarget, AnyWorker};
pub use error::Error;
pub use private_url::launch_spec;
pub use registry::listings;
pub use url::Listing;
