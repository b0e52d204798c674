//! What a user asks for: a product, and what its settings are to be.

use super::launch_command::LaunchCommand;
use super::server_directory::ServerDirectory;
use super::{derby, etcd, mariadb, postgres, redis};
use crate::any_target::AnyTarget;
use crate::error::Error;
use crate::url::{Listing, Url, encoded};
use std::path::PathBuf;
use syncline_contract::{Durability, OptionListing};

/// The port of a server that nobody has started.
const NO_PORT: u16 = 1;
/// The user of last resort.
pub(super) const NOBODY: &str = "nobody";

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

    pub(super) fn recipe(
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
    pub(super) fn user(self) -> &'static str {
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

const OPTIONS: &[OptionListing] = &[
    OptionListing {
        name: "durability",
        takes: "none, os, data or full, of those that the product has",
        default: "data",
        meaning: "the server's settings are for it, and read back",
    },
    OptionListing {
        name: "cache",
        takes: "bytes, also as 512m or 2g",
        default: "the product's own",
        meaning: "shared_buffers, innodb_buffer_pool_size, derby.storage.pageCacheSize",
    },
    OptionListing {
        name: "cpus",
        takes: "processors, as 0 or 0-1 or 0,2",
        default: "all",
        meaning: "pins the server to them",
    },
    OptionListing {
        name: "jvm",
        takes: "options of a JVM with commas between, as -XX:TieredStopAtLevel=1,-Xmx1g",
        default: "the JVM's own",
        meaning: "hands them to the JVM that the server runs in",
    },
];

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

    /// Of a URL `PRODUCT:private?options`; none if it is not of that form. What neither the server nor
    /// its target can honour is refused here, before anything is started.
    pub fn of_url(url: &str) -> Option<Result<LaunchSpec, Error>> {
        let place = url.split_once('?').map_or(url, |(place, _)| place);
        let (name, path) = place.split_once(':')?;
        let product = Product::from_word(name).filter(|_| path == "private")?;
        let wanted = LaunchSpec::parse(product, url).and_then(|wanted| {
            wanted.fits()?;
            // What is handed on is the target's to refuse; opening touches nothing.
            AnyTarget::open(&product.url_of_none(&wanted))?;
            Ok(wanted)
        });
        Some(wanted)
    }

    /// The URL of the target that its server would have, at a port at which nobody listens: what says what
    /// would be done there, without a server.
    pub fn url_of_none(&self) -> String {
        self.product.url_of_none(self)
    }

    /// Refuses what the product has no settings for.
    pub(super) fn fits(&self) -> Result<(), Error> {
        let product = self.product;
        product.fits(self).map_err(|what| Error::Private { product: product.word(), what })
    }

    fn parse(product: Product, url: &str) -> Result<LaunchSpec, Error> {
        let url = Url::parse(url)?;
        let (own, handed_on): (Vec<_>, Vec<_>) = url
            .pairs
            .into_iter()
            .partition(|(name, _)| OPTIONS.iter().any(|option| option.name == name));
        let listing = Listing {
            name: product.word(),
            what: "",
            form: "PRODUCT:private?options",
            options: OPTIONS,
        };
        let url = Url { pairs: own, ..url };
        let given = url.given(&listing)?;
        let durability = given.word("durability", &Durability::ALL, Durability::word)?;
        Ok(LaunchSpec {
            durability: durability.unwrap_or(Durability::Data),
            cache_bytes: given.parsed("cache", bytes)?,
            cpus: given.parsed("cpus", processors)?,
            jvm: given.parsed("jvm", jvm_options)?.unwrap_or_default(),
            handed_on,
            ..LaunchSpec::new(product)
        })
    }

    /// Options of a URL: those that say what was wanted, then those handed on; from `?` on.
    pub(super) fn options(&self, separator: &str) -> String {
        let mut options = format!("{separator}durability={}", self.durability.word());
        for (name, value) in &self.handed_on {
            options.push_str(&format!("&{name}={}", encoded(value)));
        }
        options
    }

    /// A durability that the product has no settings for.
    pub(super) fn refused(&self, why: &str) -> String {
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
    use super::{LaunchSpec, Product, bytes, jvm_options};
    use syncline_contract::Durability;

    #[test]
    fn a_private_url_says_what_is_wanted_and_hands_the_rest_on() {
        let url = "postgres:private?durability=os&cache=512m&cpus=0-1&isolation=serializable";
        let wanted = LaunchSpec::of_url(url).unwrap().unwrap();
        assert_eq!(wanted.product, Product::Postgres);
        assert_eq!(wanted.durability, Durability::Os);
        assert_eq!(wanted.cache_bytes, Some(512 << 20));
        assert_eq!(wanted.cpus.as_deref(), Some("0-1"));
        assert_eq!(wanted.options("?"), "?durability=os&isolation=serializable");
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_before_a_server_is_started() {
        for (url, why) in [
            ("mariadb:private?durability=full", "durability=full"),
            ("redis:private?durability=full", "durability=full"),
            ("redis:private?cache=64m", "cache"),
            ("etcd:private?durability=none", "durability=none"),
            ("etcd:private?cache=64m", "cache"),
            ("derby:private?durability=os", "durability=os"),
            ("derby:private?jvm=C1", "jvm"),
            ("postgres:private?jvm=-Xmx1g", "only derby runs in a Java"),
            ("postgres:private?isolation=strict", "isolation"),
            ("mariadb:private?speed=much", "speed"),
            ("redis:private?scans=perhaps", "scans"),
            ("etcd:private?isolation=serializable", "isolation"),
        ] {
            let refused = LaunchSpec::of_url(url).unwrap().unwrap_err().to_string();
            assert!(refused.contains(why), "{url}: {refused}");
        }
        for url in ["mariadb:private?durability=data", "etcd:private", "redis:private?scans=no"] {
            LaunchSpec::of_url(url).unwrap().unwrap();
        }
    }

    #[test]
    fn other_urls_are_nobodys_private_server() {
        for url in ["postgres://host/private", "sqlite:private", "postgres", "postgres:privates"] {
            assert!(LaunchSpec::of_url(url).is_none(), "{url}");
        }
        let why = LaunchSpec::of_url("redis:private?cache=much").unwrap().unwrap_err();
        assert!(why.to_string().contains("cache"), "{why}");
        assert!(LaunchSpec::of_url("redis:private?cpus=0;reboot").unwrap().is_err());
    }

    #[test]
    fn options_of_a_jvm_may_hold_commas() {
        let options = jvm_options("-XX:+UseSerialGC,-Xlog:gc,gc+age,-Da=b").unwrap();
        assert_eq!(options, ["-XX:+UseSerialGC", "-Xlog:gc,gc+age", "-Da=b"]);
        for wrong in ["", "-jar", "x,-Xmx1g"] {
            assert_eq!(jvm_options(wrong), None, "{wrong}");
        }
        let url = "derby:private?jvm=-XX:TieredStopAtLevel=1,-Xint&cpus=0";
        let wanted = LaunchSpec::parse(Product::Derby, url).unwrap();
        assert_eq!(wanted.jvm, ["-XX:TieredStopAtLevel=1", "-Xint"]);
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
