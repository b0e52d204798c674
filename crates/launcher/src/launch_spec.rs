//! What a user asks for: a product, and what its settings are to be.

use crate::error::Error;
use crate::launch_command::LaunchCommand;
use crate::server_directory::ServerDirectory;
use crate::{derby, etcd, mariadb, postgres, redis};
use std::path::PathBuf;
use syncline_contract::{Durability, encoded};

/// The port of a server that nobody has started.
const NO_PORT: u16 = 1;
/// The user of last resort.
pub(crate) const NOBODY: &str = "nobody";

/// A product that can be started privately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// PostgreSQL, of Debian's packages.
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

    /// The word for it, also the first of its URL.
    pub fn word(self) -> &'static str {
        match self {
            Product::Postgres => "postgres",
            Product::Mariadb => "mariadb",
            Product::Redis => "redis",
            Product::Etcd => "etcd",
            Product::Derby => "derby",
        }
    }

    /// The product of that word.
    pub fn from_word(word: &str) -> Option<Product> {
        Product::ALL.into_iter().find(|product| product.word() == word)
    }

    pub(crate) fn recipe(
        self,
        wanted: &LaunchSpec,
        ground: &ServerDirectory,
    ) -> Result<LaunchCommand, String> {
        match self {
            Product::Postgres => postgres::recipe(wanted, ground),
            Product::Mariadb => mariadb::recipe(wanted, ground),
            Product::Redis => redis::recipe(wanted, ground),
            Product::Etcd => etcd::recipe(wanted, ground),
            Product::Derby => derby::recipe(wanted, ground),
        }
    }

    /// Refuses what the product has no settings for.
    fn fits(self, wanted: &LaunchSpec) -> Result<(), String> {
        if self != Product::Derby && !wanted.jvm.is_empty() {
            let what = "jvm: only derby runs in a Java virtual machine";
            return Err(what.to_owned());
        }
        match self {
            Product::Postgres => Ok(()),
            Product::Mariadb => mariadb::durable(wanted).map(drop),
            Product::Redis => redis::appends(wanted).map(drop),
            Product::Etcd => etcd::fits(wanted),
            Product::Derby => derby::durable(wanted).map(drop),
        }
    }

    /// The URL of one that nobody has started.
    fn url_of_none(self, wanted: &LaunchSpec) -> String {
        match self {
            Product::Postgres => postgres::url(wanted, NO_PORT, ""),
            Product::Mariadb => mariadb::url(wanted, NO_PORT, ""),
            Product::Redis => redis::url(wanted, NO_PORT, ""),
            Product::Etcd => etcd::url(wanted, "/nowhere"),
            Product::Derby => derby::url(wanted, NO_PORT, "", &[PathBuf::from("derbyclient.jar")]),
        }
    }

    /// The user that its package makes for it.
    pub(crate) fn user(self) -> &'static str {
        match self {
            Product::Postgres => "postgres",
            Product::Mariadb => "mysql",
            Product::Redis => "redis",
            Product::Etcd => "etcd",
            Product::Derby => NOBODY,
        }
    }
}

/// A private server that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchSpec {
    /// What.
    pub product: Product,
    /// What its commits shall wait for.
    pub durability: Durability,
    /// The size of its cache in bytes; none leaves the product's own.
    pub cache_bytes: Option<u64>,
    /// The processors it may use, as `taskset` lists them: "0" or "0-1"; none for all.
    pub cpus: Option<String>,
    /// The directory to make its own in; none for the current one.
    pub directory: Option<PathBuf>,
    /// Options of the Java virtual machine, of a product that runs in one.
    pub jvm: Vec<String>,
    /// Jar files of a product that is made of them.
    pub jars: Vec<PathBuf>,
    /// Options of the URL that are the target's own and are handed on to it.
    pub handed_on: Vec<(String, String)>,
}

impl LaunchSpec {
    /// Of a product, at the durability `data`, all else as the product has it.
    pub fn new(product: Product) -> LaunchSpec {
        LaunchSpec {
            product,
            durability: Durability::Data,
            cache_bytes: None,
            cpus: None,
            directory: None,
            jvm: Vec::new(),
            jars: Vec::new(),
            handed_on: Vec::new(),
        }
    }

    /// The URL of the target that its server would have, at a port at which nobody listens: what says what
    /// would be done there, without a server.
    pub fn url_of_none(&self) -> String {
        self.product.url_of_none(self)
    }

    /// Refuses what the product has no settings for.
    pub fn fits(&self) -> Result<(), Error> {
        let product = self.product;
        product.fits(self).map_err(|what| Error { product: product.word(), what })
    }

    /// Options of a URL: those that say what was wanted, then those handed on; from `?` on.
    pub(crate) fn options(&self, separator: &str) -> String {
        let mut options = format!("{separator}durability={}", self.durability.word());
        for (name, value) in &self.handed_on {
            options.push_str(&format!("&{name}={}", encoded(value)));
        }
        options
    }

    /// A durability that the product has no settings for.
    pub(crate) fn refused(&self, why: &str) -> String {
        format!("durability={}: {why}", self.durability.word())
    }
}

/// A number of bytes: `1048576`, `512k`, `512m`, `2g`.
pub fn bytes(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (digits, shift) = match lower.as_bytes().last()? {
        b'k' => (&lower[..lower.len() - 1], 10),
        b'm' => (&lower[..lower.len() - 1], 20),
        b'g' => (&lower[..lower.len() - 1], 30),
        _ => (lower.as_str(), 0),
    };
    let number: u64 = digits.parse().ok().filter(|number| *number > 0)?;
    number.checked_mul(1 << shift)
}

/// A list of processors: `0`, `0-1`, `0,2`.
pub fn processors(text: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b',');
    let sane = text.starts_with(|first: char| first.is_ascii_digit()) && text.bytes().all(plain);
    sane.then(|| text.to_owned())
}

/// Options of a Java virtual machine, each begun by `-X` or `-D`: a comma before another such option ends
/// one, so that a comma may stand within.
pub fn jvm_options(text: &str) -> Option<Vec<String>> {
    let begins = |text: &str| text.starts_with("-X") || text.starts_with("-D");
    let mut options: Vec<String> = Vec::new();
    for part in text.split(',') {
        match options.last_mut() {
            _ if begins(part) => options.push(part.to_owned()),
            Some(option) => {
                option.push(',');
                option.push_str(part);
            }
            None => return None,
        }
    }
    Some(options)
}

#[cfg(test)]
mod tests {
    use super::{bytes, jvm_options};

    #[test]
    fn options_of_a_jvm_may_hold_commas() {
        let options = jvm_options("-XX:+UseSerialGC,-Xlog:gc,gc+age,-Da=b").unwrap();
        assert_eq!(options, ["-XX:+UseSerialGC", "-Xlog:gc,gc+age", "-Da=b"]);
        for wrong in ["", "-jar", "x,-Xmx1g"] {
            assert_eq!(jvm_options(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_are_bytes() {
        assert_eq!(bytes("2g"), Some(2 << 30));
        assert_eq!(bytes("4096"), Some(4096));
        for wrong in ["", "m", "0", "1.5g", "99999999999g"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
