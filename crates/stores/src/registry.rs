//! The table of stores: which target a URL's scheme opens, and the entries of listings.
//!
//! A new target is one line here and one in `any_target.rs`.

use crate::any_target::AnyTarget;
use crate::engine::{self, OpenedEngine};
use crate::error::Error;
use crate::etcd;
#[cfg(feature = "fjall")]
use crate::fjall;
#[cfg(feature = "jdbc")]
use crate::jdbc;
use crate::libpq;
#[cfg(feature = "lmdb")]
use crate::lmdb;
use crate::mysql;
use crate::null;
use crate::postgres;
#[cfg(feature = "redb")]
use crate::redb;
use crate::redis;
#[cfg(feature = "rocksdb")]
use crate::rocksdb;
use crate::server::expand_variables;
use crate::sqlite::{self, OpenedSqlite};
use crate::url::{Listing, Url};

/// How one store is listed and opened.
struct Store {
    listing: &'static Listing,
    open: fn(&Url) -> Result<AnyTarget, Error>,
}

const STORES: &[Store] = &[
    Store { listing: null::LISTING, open: |url| null::open(url).map(AnyTarget::Null) },
    Store { listing: engine::LISTING, open: |url| engine::open(url).map(AnyTarget::from) },
    Store { listing: sqlite::LISTING, open: |url| sqlite::open(url).map(AnyTarget::from) },
    Store { listing: postgres::LISTING, open: |url| postgres::open(url).map(AnyTarget::Postgres) },
    Store { listing: mysql::LISTING, open: |url| mysql::open(url).map(AnyTarget::Mysql) },
    Store {
        listing: mysql::MARIADB_LISTING,
        open: |url| mysql::open_mariadb(url).map(AnyTarget::Mysql),
    },
    #[cfg(feature = "lmdb")]
    Store { listing: lmdb::LISTING, open: |url| lmdb::open(url).map(AnyTarget::Lmdb) },
    #[cfg(feature = "redb")]
    Store { listing: redb::LISTING, open: |url| redb::open(url).map(AnyTarget::Redb) },
    #[cfg(feature = "fjall")]
    Store { listing: fjall::LISTING, open: |url| fjall::open(url).map(AnyTarget::Fjall) },
    #[cfg(feature = "rocksdb")]
    Store { listing: rocksdb::LISTING, open: |url| rocksdb::open(url).map(AnyTarget::Rocksdb) },
    Store { listing: etcd::LISTING, open: |url| etcd::open(url).map(AnyTarget::Etcd) },
    Store { listing: redis::LISTING, open: |url| redis::open(url).map(AnyTarget::Redis) },
    #[cfg(feature = "jdbc")]
    Store { listing: jdbc::LISTING, open: |url| jdbc::open(url).map(AnyTarget::Jdbc) },
];

/// Schemes that request encryption, and their targets.
const ENCRYPTED: [(&str, &str); 2] = [("rediss", "redis"), ("etcds", "etcd")];

/// All built-in targets.
pub fn listings() -> impl ExactSizeIterator<Item = &'static Listing> {
    STORES.iter().map(|store| store.listing)
}

/// Optional targets, and the features that enable them.
const FEATURES: [(&str, &str); 5] = [
    ("lmdb", "syncline-stores/lmdb"),
    ("redb", "syncline-stores/redb"),
    ("fjall", "syncline-stores/fjall"),
    ("rocksdb", "rocksdb"),
    ("jdbc", "jdbc"),
];

impl AnyTarget {
    /// Opens the target of a URL without changing anything: it creates its tables later, in `create`.
    pub fn open(url: &str) -> Result<AnyTarget, Error> {
        let url = libpq::as_url(url)?;
        let url = expand_variables(&url, |name| std::env::var(name).ok())?;
        let url = Url::parse(&url)?;
        let encrypted = ENCRYPTED.iter().find(|(name, _)| *name == url.name);
        let name = encrypted.map_or(url.name.as_str(), |(_, target)| target);
        let store = STORES.iter().find(|store| store.listing.name == name);
        (store.ok_or_else(|| absent(&url.name))?.open)(&url)
    }
}

impl From<OpenedEngine> for AnyTarget {
    fn from(opened: OpenedEngine) -> AnyTarget {
        match opened {
            OpenedEngine::OnDisk(engine) => AnyTarget::Engine(engine),
            OpenedEngine::Transient(engine) => AnyTarget::TransientEngine(engine),
        }
    }
}

impl From<OpenedSqlite> for AnyTarget {
    fn from(opened: OpenedSqlite) -> AnyTarget {
        match opened {
            OpenedSqlite::Threads(target) => AnyTarget::Sqlite(target),
            OpenedSqlite::Queue(target) => AnyTarget::SqliteQueue(target),
        }
    }
}

/// The error for a target that this program does not have.
fn absent(name: &str) -> Error {
    let feature = FEATURES.into_iter().find(|(known, _)| *known == name);
    if let Some((name, feature)) = feature {
        return Error::NotBuilt { name, feature };
    }
    let known: Vec<_> = listings().map(|listing| listing.name).collect();
    // A text that is not a word may be a connection string with a password in it.
    let is_word = |sign: char| sign.is_ascii_alphanumeric() || "+-._".contains(sign);
    let name = if name.chars().all(is_word) { name } else { "..." };
    Error::UnknownTarget { name: name.to_owned(), known: known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::absent;

    #[test]
    fn an_absent_target_is_reported_with_its_feature_or_the_alternatives() {
        let message = absent("jdbc").to_string();
        assert!(message.contains("build it with --features jdbc"), "{message}");
        let message = absent("fjall").to_string();
        assert!(message.contains("--features syncline-stores/fjall"), "{message}");
        // A.E8.
        let message = absent("hots=h password=secret").to_string();
        assert!(!message.contains("secret"), "{message}");
        let message = absent("nosuchstore").to_string();
        assert!(message.contains("nosuchstore") && message.contains("sqlite"), "{message}");
    }
}
