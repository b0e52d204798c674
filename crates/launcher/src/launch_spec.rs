//! The launch spec of a private server: a product and its settings, as the user requests them.

use crate::error::Error;
use crate::product::Product;
use std::path::PathBuf;
use syncline_contract::{Durability, encoded};

/// The requested private server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchSpec {
    /// The product.
    pub product: Product,
    /// The durability level of its commits.
    pub durability: Durability,
    /// The size of its cache in bytes; `None` keeps the product's default.
    pub cache_bytes: Option<u64>,
    /// The processors that it may use, as `taskset` lists them: "0" or "0-1"; `None` for all.
    pub cpus: Option<String>,
    /// The parent of the server's directory; `None` for the current directory.
    pub directory: Option<PathBuf>,
    /// Options of the Java virtual machine, for a product that runs in one.
    pub jvm: Vec<String>,
    /// Jar files, for a product that consists of them.
    pub jars: Vec<PathBuf>,
    /// Options of the URL that belong to the target and are passed to it.
    pub handed_on: Vec<(String, String)>,
}

impl LaunchSpec {
    /// A product with durability `data` and the product's defaults otherwise.
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

    /// The target's URL for this spec at a port where no server listens, for dry runs without a server.
    pub fn url_of_none(&self) -> String {
        (self.product.launcher().url_of_none)(self)
    }

    /// Refuses requirements for which the product has no setting.
    pub fn fits(&self) -> Result<(), Error> {
        let (product, launcher) = (self.product, self.product.launcher());
        let supported = if product != Product::Derby && !self.jvm.is_empty() {
            Err("jvm: only derby runs in a Java virtual machine".to_owned())
        } else {
            (launcher.fits)(self)
        };
        supported.map_err(|what| Error { product: product.word(), what })
    }

    /// The options of a URL from `separator` on: the durability, then the options passed to the target.
    pub(crate) fn options(&self, separator: &str) -> String {
        let mut options = format!("{separator}durability={}", self.durability.word());
        for (name, value) in &self.handed_on {
            options.push_str(&format!("&{name}={}", encoded(value)));
        }
        options
    }

    /// The message for a durability that the product does not support.
    pub(crate) fn refused(&self, why: &str) -> String {
        format!("durability={}: {why}", self.durability.word())
    }
}

/// Parses a number of bytes: `1048576`, `512k`, `512m`, `2g`.
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

/// Checks a list of processors: `0`, `0-1`, `0,2`.
pub fn processors(text: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b',');
    let sane = text.starts_with(|first: char| first.is_ascii_digit()) && text.bytes().all(plain);
    sane.then(|| text.to_owned())
}

/// Splits options of a Java virtual machine, each of which begins with `-X` or `-D`. Only a comma before
/// another such option separates two, so that an option may contain commas.
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
    fn jvm_options_may_contain_commas() {
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
