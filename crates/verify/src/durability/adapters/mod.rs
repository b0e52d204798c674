//! The adapters, one file per store; `server.rs` holds what servers share.
//!
//! | file | what it holds |
//! |---|---|
//! | `engine.rs`, `sqlite.rs`, `rocksdb.rs`, `derby.rs` | embedded stores |
//! | `postgres.rs`, `mariadb.rs` | servers |
//! | `server.rs` | what servers share |

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
use crate::error::{Error, Result};

/// All adapters of this build.
pub(super) static ADAPTERS: &[&dyn Adapter] = &[
    &engine::Engine,
    &sqlite::Sqlite,
    &postgres::POSTGRES,
    &mariadb::MARIADB,
    #[cfg(feature = "jdbc")]
    &derby::Derby,
    #[cfg(feature = "rocksdb")]
    &rocksdb::Rocksdb,
];

/// Stores that need another build: name, and the feature of that build.
const OF_OTHER_BUILDS: [(&str, &str); 2] = [("derby", "jdbc"), ("rocksdb", "rocksdb")];

/// The adapter of a store, by name.
pub(super) fn of(store: &str) -> Result<&'static dyn Adapter> {
    let found = ADAPTERS.iter().find(|one| one.name() == store);
    found.copied().ok_or_else(|| {
        let known: Vec<_> = ADAPTERS.iter().map(|one| one.name()).collect();
        let known = known.join(", ");
        let mut of_others = OF_OTHER_BUILDS.iter();
        Error::cannot(match of_others.find(|(name, _)| *name == store) {
            Some((_, feature)) => format!(
                "verify durability supports {store} only in builds with the feature {feature}; this one supports {known}"
            ),
            None => format!("verify durability does not support {store}; it supports {known}"),
        })
    })
}
