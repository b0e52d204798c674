//! The products that can be started privately.

use crate::launcher::Launcher;
use crate::{derby, etcd, mariadb, postgres, redis};

/// A product that can be started privately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// PostgreSQL, from Debian's packages.
    Postgres,
    /// MariaDB.
    Mariadb,
    /// Redis.
    Redis,
    /// etcd with one member.
    Etcd,
    /// Derby's network server.
    Derby,
}

impl Product {
    /// All products.
    pub const ALL: [Product; 5] =
        [Product::Postgres, Product::Mariadb, Product::Redis, Product::Etcd, Product::Derby];

    /// The product's name, with which its URL begins.
    pub fn word(self) -> &'static str {
        self.launcher().word
    }

    /// The product with that name.
    pub fn from_word(word: &str) -> Option<Product> {
        Product::ALL.into_iter().find(|product| product.word() == word)
    }

    /// How it is started.
    pub(crate) fn launcher(self) -> &'static Launcher {
        match self {
            Product::Postgres => &postgres::LAUNCHER,
            Product::Mariadb => &mariadb::LAUNCHER,
            Product::Redis => &redis::LAUNCHER,
            Product::Etcd => &etcd::LAUNCHER,
            Product::Derby => &derby::LAUNCHER,
        }
    }
}
