//! The URL of a private server: `postgres:private?durability=data&cache=512m`.

use crate::any_target::AnyTarget;
use crate::error::Error;
use crate::url::{Listing, Url};
use syncline_contract::{Durability, OptionListing};
use syncline_launcher::{LaunchSpec, Product, bytes, jvm_options, processors};

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

/// The launch spec of a URL `PRODUCT:private?options`; none if it is not of that form. What neither the
/// server nor its target can honour is refused here, before anything is started.
pub fn launch_spec(url: &str) -> Option<Result<LaunchSpec, Error>> {
    let place = url.split_once('?').map_or(url, |(place, _)| place);
    let (name, path) = place.split_once(':')?;
    let product = Product::from_word(name).filter(|_| path == "private")?;
    let wanted = parse(product, url).and_then(|wanted| {
        wanted.fits()?;
        // What is handed on is the target's to refuse; opening touches nothing.
        AnyTarget::open(&wanted.url_of_none())?;
        Ok(wanted)
    });
    Some(wanted)
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

#[cfg(test)]
mod tests {
    use super::{launch_spec, parse};
    use syncline_contract::Durability;
    use syncline_launcher::Product;

    #[test]
    fn a_private_url_says_what_is_wanted_and_hands_the_rest_on() {
        let url = "postgres:private?durability=os&cache=512m&cpus=0-1&isolation=serializable";
        let wanted = launch_spec(url).unwrap().unwrap();
        assert_eq!(wanted.product, Product::Postgres);
        assert_eq!(wanted.durability, Durability::Os);
        assert_eq!(wanted.cache_bytes, Some(512 << 20));
        assert_eq!(wanted.cpus.as_deref(), Some("0-1"));
        let target = wanted.url_of_none();
        assert!(target.ends_with("?durability=os&isolation=serializable"), "{target}");
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
            let refused = launch_spec(url).unwrap().unwrap_err().to_string();
            assert!(refused.contains(why), "{url}: {refused}");
        }
        for url in ["mariadb:private?durability=data", "etcd:private", "redis:private?scans=no"] {
            launch_spec(url).unwrap().unwrap();
        }
    }

    #[test]
    fn other_urls_are_nobodys_private_server() {
        for url in ["postgres://host/private", "sqlite:private", "postgres", "postgres:privates"] {
            assert!(launch_spec(url).is_none(), "{url}");
        }
        let why = launch_spec("redis:private?cache=much").unwrap().unwrap_err();
        assert!(why.to_string().contains("cache"), "{why}");
        assert!(launch_spec("redis:private?cpus=0;reboot").unwrap().is_err());
    }

    #[test]
    fn options_of_a_jvm_come_with_commas_in_a_url() {
        let url = "derby:private?jvm=-XX:TieredStopAtLevel=1,-Xint&cpus=0";
        let wanted = parse(Product::Derby, url).unwrap();
        assert_eq!(wanted.jvm, ["-XX:TieredStopAtLevel=1", "-Xint"]);
    }
}
