//! The adapters: a file a store; `server.rs` holds what servers share.

#[cfg(feature = "jdbc")]
mod derby;
mod engine;
mod mariadb;
mod postgres;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod server;
mod sqlite;

use super::adapter::Adapter;

/// Every adapter of this build.
pub(super) static ADAPTERS: &[&dyn Adapter] = &[
    &engine::Engine,
    &sqlite::Sqlite,
    &postgres::Postgres,
    &mariadb::Mariadb,
    #[cfg(feature = "jdbc")]
    &derby::Derby,
    #[cfg(feature = "rocksdb")]
    &rocksdb::Rocksdb,
];
