//! The names of managed schemas (or databases), `syncline_<id>`, and their mark.
//!
//! With the name alone, we could drop a schema that happens to have such a name. So the creator of a
//! schema marks it with [`MARK`] (a comment on the schema, or a table of that name in it), and only a
//! schema with both a name of our form and the mark is reused or dropped.

use crate::error::Error;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The text of the mark: the comment on a managed schema, or the content of its marking table.
pub const MARK: &str = "made by Syncline, which may drop it";

/// The digest that follows the mark, of the statements that created a schema's tables, so that a later
/// run knows whether they are the ones it needs: their SHA-256 in hexadecimal.
pub fn digest_of_tables(statements: &[String]) -> String {
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(statements.join("\n")) {
        digits += &format!("{byte:02x}");
    }
    digits
}

/// How often, 50 ms apart, to check whether a schema is in use: a server ends the sessions of a killed
/// process with a short delay.
pub const SESSION_END_CHECKS: usize = 20;
/// The pause between two of these checks.
pub(crate) const SESSION_END_PAUSE: Duration = Duration::from_millis(50);

const PREFIX: &str = "syncline_";
/// The maximum length of a name that every server accepts.
const LENGTH_MAX: usize = 63;

/// A name of our form: lower case letters, digits and underscores after `syncline_`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SchemaName(String);

impl SchemaName {
    /// A name that no other run has, on this machine or another: from the time, the process, a count.
    pub fn fresh() -> SchemaName {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        // A clock before 1970 still yields a name; the process and the count make it unique.
        let micros = since.map_or(0, |since| since.as_micros());
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        SchemaName(format!("{PREFIX}{micros:x}_{:x}_{count:x}", std::process::id()))
    }

    /// A name that a user chose for permanent rows, with or without the prefix.
    pub fn chosen(name: &str) -> Result<SchemaName, Error> {
        let rest = name.strip_prefix(PREFIX).unwrap_or(name);
        SchemaName::of(&format!("{PREFIX}{rest}"))
            .ok_or_else(|| Error::SchemaName { name: name.to_owned() })
    }

    /// The name, if it has our form.
    pub fn of(name: &str) -> Option<SchemaName> {
        let rest = name.strip_prefix(PREFIX)?;
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let is_valid = !rest.is_empty() && name.len() <= LENGTH_MAX && rest.bytes().all(plain);
        is_valid.then(|| SchemaName(name.to_owned()))
    }

    /// The name as it is sent to the server.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{SchemaName, digest_of_tables};

    #[test]
    fn other_tables_have_another_digest() {
        let tables = ["CREATE TABLE a".to_owned(), "CREATE TABLE b".to_owned()];
        let digest = digest_of_tables(&tables);
        assert_eq!(digest.len(), 64);
        assert_eq!(digest, digest_of_tables(&tables));
        assert_ne!(digest, digest_of_tables(&tables[..1]));
    }

    #[test]
    fn only_names_of_our_form_are_accepted() {
        assert!(SchemaName::of("syncline_1a").is_some());
        for other in [
            "public",
            "syncline",
            "syncline_",
            "Syncline_1",
            "syncline_1; DROP",
            "syncline_\"x",
            "x_syncline_1",
        ] {
            assert_eq!(SchemaName::of(other), None, "{other}");
        }
        let long = format!("syncline_{}", "x".repeat(60));
        assert_eq!(SchemaName::of(&long), None);
    }

    #[test]
    fn a_chosen_name_gets_the_prefix_once() {
        assert_eq!(SchemaName::chosen("bench").unwrap().as_str(), "syncline_bench");
        assert_eq!(SchemaName::chosen("syncline_bench").unwrap().as_str(), "syncline_bench");
        let refused = SchemaName::chosen("Bench!").unwrap_err().to_string();
        assert!(refused.contains("Bench!"), "{refused}");
    }

    #[test]
    fn fresh_names_are_valid_and_differ() {
        let (one, two) = (SchemaName::fresh(), SchemaName::fresh());
        assert_ne!(one, two);
        assert_eq!(SchemaName::of(one.as_str()), Some(one));
    }
}
