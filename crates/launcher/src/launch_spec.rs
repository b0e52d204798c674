//! What a user asks for: a product, and what its settings are to be.

use crate::error::Error;
use crate::product::Product;
use std::path::PathBuf;
use syncline_contract::{Durability, encoded};

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
    pub target_options: Vec<(String, String)>,
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
            target_options: Vec::new(),
        }
    }

    /// The URL of the target that its server would have, at a port at which nobody listens: what says what
    /// would be done there, without a server.
    pub fn url_of_none(&self) -> String {
        (self.product.launcher().url_of_none)(self)
    }

    /// Refuses what the product has no settings for.
    pub fn fits(&self) -> Result<(), Error> {
        let (product, launcher) = (self.product, self.product.launcher());
        let is_understood = if product != Product::Derby && !self.jvm.is_empty() {
            Err("jvm: only derby runs in a Java virtual machine".to_owned())
        } else {
            (launcher.fits)(self)
        };
        is_understood.map_err(|what| Error { product: product.word(), what })
    }

    /// Options of a URL: those that say what was wanted, then those handed on; from `?` on.
    pub(crate) fn options(&self, separator: &str) -> String {
        let mut options = format!("{separator}durability={}", self.durability.word());
        for (name, value) in &self.target_options {
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
