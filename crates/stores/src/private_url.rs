//! The URL of a private server: `postgres:private?durability=data&cache=512m`.

use crate::any_target::AnyTarget;
use crate::error::Error;
use crate::url::{Listing, Url};
use syncline_contract::{Durability, options};
use syncline_launcher::{ByteSize, JvmOptions, LaunchSpec, ProcessorList, Product};

options! {
    /// The options of a private server; the others of its URL belong to its target.
    #[derive(Debug)]
    struct ServerOptions {
        durability: Durability as "none, os, data or full, if the product supports it" = "data",
            "the server is configured for it, and its settings are read back";
        cache: u64 as ByteSize = ["the product's own"],
            "shared_buffers, innodb_buffer_pool_size, derby.storage.pageCacheSize";
        cpus: String as ProcessorList = ["all"], "pins the server to them";
        jvm: Vec<String> as JvmOptions = ["the JVM's own"],
            "passed to the JVM that the server runs in";
    }
}

/// The launch spec of a URL `PRODUCT:private?options`; `None` if it does not have that form. Options
/// that neither the server nor its target supports are refused here, before anything is started.
pub fn launch_spec(url: &str) -> Option<Result<LaunchSpec, Error>> {
    let place = url.split_once('?').map_or(url, |(place, _)| place);
    let (name, path) = place.split_once(':')?;
    let product = Product::from_word(name).filter(|_| path == "private")?;
    let spec = parse(product, url).and_then(|spec| {
        spec.check_supported()?;
        // The other options are checked by the target; opening it changes nothing.
        AnyTarget::open(&spec.placeholder_url())?;
        Ok(spec)
    });
    Some(spec)
}

fn parse(product: Product, url: &str) -> Result<LaunchSpec, Error> {
    let url = Url::parse(url)?;
    let (own, target_options): (Vec<_>, Vec<_>) = url
        .pairs
        .into_iter()
        .partition(|(name, _)| ServerOptions::LISTING.iter().any(|option| option.name == name));
    let listing = Listing {
        name: product.word(),
        what: "",
        form: "PRODUCT:private?options",
        options: ServerOptions::LISTING,
    };
    let url = Url { pairs: own, ..url };
    let given = url.option_args(&listing)?;
    let ServerOptions { durability, cache, cpus, jvm } = ServerOptions::read(&given)?;
    Ok(LaunchSpec {
        durability,
        cache_bytes: cache,
        cpus,
        jvm: jvm.unwrap_or_default(),
        target_options,
        ..LaunchSpec::new(product)
    })
}

#[cfg(test)]
mod tests {
    use super::{launch_spec, parse};
    use syncline_contract::Durability;
    use syncline_launcher::Product;

    #[test]
    fn a_private_url_is_parsed_and_passes_other_options_on() {
        let url = "postgres:private?durability=os&cache=512m&cpus=0-1&isolation=serializable";
        let spec = launch_spec(url).unwrap().unwrap();
        assert_eq!(spec.product, Product::Postgres);
        assert_eq!(spec.durability, Durability::Os);
        assert_eq!(spec.cache_bytes, Some(512 << 20));
        assert_eq!(spec.cpus.as_deref(), Some("0-1"));
        let target = spec.placeholder_url();
        assert!(target.ends_with("?durability=os&isolation=serializable"), "{target}");
    }

    #[test]
    fn unsupported_options_are_refused_before_a_server_is_started() {
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
    fn other_urls_are_not_private_servers() {
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
        let spec = parse(Product::Derby, url).unwrap();
        assert_eq!(spec.jvm, ["-XX:TieredStopAtLevel=1", "-Xint"]);
    }
}
