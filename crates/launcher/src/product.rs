//! The products that can run as private servers.

use crate::launcher::Launcher;
use crate::{derby, etcd, mariadb, postgres, redis};

/// A product that can run as a private server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// PostgreSQL, from Debian's packages.
    Postgres,
    /// MariaDB.
    Mariadb,
    /// Redis.
    Redis,
    /// etcd, one member.
    Etcd,
    /// Derby's network server.
    Derby,
}

impl Product {
    /// All of them.
    pub const ALL: [Product; 5] =
        [Product::Postgres, Product::Mariadb, Product::Redis, Product::Etcd, Product::Derby];

    /// Its name, which is also the first word of its URL.
    pub fn word(self) -> &'static str {
        self.launcher().word
    }

    /// The product with this name.
    pub fn from_word(word: &str) -> Option<Product> {
        Product::ALL.into_iter().find(|product| product.word() == word)
    }

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
