//! The table of stores: what a URL's first word opens, and what a listing shows.
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
use crate::server::expanded;
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

/// Names that ask for encryption, and the targets that they open.
const ENCRYPTED: [(&str, &str); 2] = [("rediss", "redis"), ("etcds", "etcd")];

/// Every target there is.
pub fn listings() -> impl ExactSizeIterator<Item = &'static Listing> {
    STORES.iter().map(|store| store.listing)
}

/// Targets that a program need not have, and the features that build them in.
const FEATURES: [(&str, &str); 5] = [
    ("lmdb", "syncline-stores/lmdb"),
    ("redb", "syncline-stores/redb"),
    ("fjall", "syncline-stores/fjall"),
    ("rocksdb", "rocksdb"),
    ("jdbc", "jdbc"),
];

impl AnyTarget {
    /// The target of a URL. Touches nothing yet: what it needs, it makes when it is created.
    pub fn open(url: &str) -> Result<AnyTarget, Error> {
        let url = libpq::as_url(url)?;
        let url = expanded(&url, |name| std::env::var(name).ok())?;
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

/// Why this program has no target of that name.
fn absent(name: &str) -> Error {
    let feature = FEATURES.into_iter().find(|(known, _)| *known == name);
    if let Some((name, feature)) = feature {
        return Error::NotBuilt { name, feature };
    }
    let known: Vec<_> = listings().map(|listing| listing.name).collect();
    // What is not even a word may be a connection string, with a password in it.
    let is_word = |sign: char| sign.is_ascii_alphanumeric() || "+-._".contains(sign);
    let name = if name.chars().all(is_word) { name } else { "..." };
    Error::UnknownTarget { name: name.to_owned(), known: known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::absent;

    #[test]
    fn who_lacks_a_target_is_told_how_to_build_it_or_which_there_are() {
        let said = absent("jdbc").to_string();
        assert!(said.contains("build it with --features jdbc"), "{said}");
        let said = absent("fjall").to_string();
        assert!(said.contains("--features syncline-stores/fjall"), "{said}");
        // A.E8.
        let said = absent("hots=h password=secret").to_string();
        assert!(!said.contains("secret"), "{said}");
        let said = absent("nosuchstore").to_string();
        assert!(said.contains("nosuchstore") && said.contains("sqlite"), "{said}");
    }
}
