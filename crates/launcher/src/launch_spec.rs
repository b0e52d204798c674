//! What the user requests: a product and its settings.

use crate::error::Error;
use crate::product::Product;
use std::path::PathBuf;
use syncline_contract::{Durability, OptionForm, encoded};

/// A requested private server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchSpec {
    /// The product.
    pub product: Product,
    /// What its commits wait for.
    pub durability: Durability,
    /// The size of its cache in bytes; `None` for the product's default.
    pub cache_bytes: Option<u64>,
    /// The processors it may use, in the syntax of `taskset`: "0" or "0-1"; `None` for all.
    pub cpus: Option<String>,
    /// The directory in which its own is made; `None` for the current directory.
    pub directory: Option<PathBuf>,
    /// Options for the Java virtual machine, if the product runs in one.
    pub jvm: Vec<String>,
    /// Jar files, if the product consists of them.
    pub jars: Vec<PathBuf>,
    /// Options of the URL that belong to the target and are passed to it.
    pub target_options: Vec<(String, String)>,
}

impl LaunchSpec {
    /// A server of the product at durability `data`, otherwise with the product's defaults.
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

    /// The URL that the server's target would have, with a port on which nobody listens. It allows a dry run
    /// without a server.
    pub fn placeholder_url(&self) -> String {
        (self.product.launcher().placeholder_url)(self)
    }

    /// Refuses a request for which the product has no settings.
    pub fn check_supported(&self) -> Result<(), Error> {
        let (product, launcher) = (self.product, self.product.launcher());
        let checked = if product != Product::Derby && !self.jvm.is_empty() {
            Err("jvm: only derby runs in a Java virtual machine".to_owned())
        } else {
            (launcher.check_supported)(self)
        };
        checked.map_err(|what| Error { product: product.word(), what })
    }

    /// The options of a URL after that separator: the durability, then the target's own options.
    pub(crate) fn options(&self, separator: &str) -> String {
        let mut options = format!("{separator}durability={}", self.durability.word());
        for (name, value) in &self.target_options {
            options.push_str(&format!("&{name}={}", encoded(value)));
        }
        options
    }

    /// The message that refuses a durability for which the product has no settings.
    pub(crate) fn refused(&self, why: &str) -> String {
        format!("durability={}: {why}", self.durability.word())
    }
}

/// The form of a number of bytes: `1048576`, `512k`, `512m`, `2g`.
#[derive(Clone, Copy, Debug)]
pub struct ByteSize;

impl OptionForm<u64> for ByteSize {
    const TAKES: &'static str = "bytes, also as 512m or 2g";

    fn read(text: &str) -> Option<u64> {
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

    fn text(value: &u64) -> String {
        value.to_string()
    }
}

/// The form of a list of processors: `0`, `0-1`, `0,2`.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorList;

impl OptionForm<String> for ProcessorList {
    const TAKES: &'static str = "processors, as 0 or 0-1 or 0,2";

    fn read(text: &str) -> Option<String> {
        let is_allowed = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b',');
        let is_list =
            text.starts_with(|first: char| first.is_ascii_digit()) && text.bytes().all(is_allowed);
        is_list.then(|| text.to_owned())
    }

    fn text(value: &String) -> String {
        value.clone()
    }
}

/// The form of options of a Java virtual machine, each of which begins with `-X` or `-D`. A comma separates
/// two options only if another such option follows, so that an option may contain commas.
#[derive(Clone, Copy, Debug)]
pub struct JvmOptions;

impl OptionForm<Vec<String>> for JvmOptions {
    const TAKES: &'static str =
        "options of a JVM with commas between, as -XX:TieredStopAtLevel=1,-Xmx1g";

    fn read(text: &str) -> Option<Vec<String>> {
        let begins_option = |text: &str| text.starts_with("-X") || text.starts_with("-D");
        let mut options: Vec<String> = Vec::new();
        for part in text.split(',') {
            match options.last_mut() {
                _ if begins_option(part) => options.push(part.to_owned()),
                Some(option) => {
                    option.push(',');
                    option.push_str(part);
                }
                None => return None,
            }
        }
        Some(options)
    }

    fn text(value: &Vec<String>) -> String {
        value.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::{ByteSize, JvmOptions};
    use syncline_contract::OptionForm;

    #[test]
    fn options_of_a_jvm_may_contain_commas() {
        let options = JvmOptions::read("-XX:+UseSerialGC,-Xlog:gc,gc+age,-Da=b").unwrap();
        assert_eq!(options, ["-XX:+UseSerialGC", "-Xlog:gc,gc+age", "-Da=b"]);
        for invalid in ["", "-jar", "x,-Xmx1g"] {
            assert_eq!(JvmOptions::read(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn sizes_are_parsed_as_bytes() {
        assert_eq!(ByteSize::read("2g"), Some(2 << 30));
        assert_eq!(ByteSize::read("4096"), Some(4096));
        for invalid in ["", "m", "0", "1.5g", "99999999999g"] {
            assert_eq!(ByteSize::read(invalid), None, "{invalid}");
        }
    }
}
