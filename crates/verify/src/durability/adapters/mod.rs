//! The adapters: a file a store.

mod engine;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod sqlite;

use super::adapter::Adapter;

/// Every adapter of this build.
pub(super) static ADAPTERS: &[&dyn Adapter] = &[
    &engine::Engine,
    &sqlite::Sqlite,
    #[cfg(feature = "rocksdb")]
    &rocksdb::Rocksdb,
];
