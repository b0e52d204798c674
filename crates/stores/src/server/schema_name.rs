//! The names of our own schemas (or databases): `syncline_<id>`, and the mark by which they are known.
//!
//! A name alone would let us drop what somebody else happened to call so. So whoever makes a schema
//! marks it with [`MARK`] (a comment on the schema, or a table of that name in it), and only what has
//! both a name of ours and the mark is reused or dropped.

use crate::error::Error;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The words of the mark: the comment on a schema of ours, or what stands in its marking table.
pub const MARK: &str = "made by Syncline, which may drop it";

/// What stands behind the mark for the statements that made a schema's tables, so that a later run knows
/// whether they are those that it needs: their SHA-256 in hexadecimal digits.
pub fn digest_of_tables(statements: &[String]) -> String {
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(statements.join("\n")) {
        digits += &format!("{byte:02x}");
    }
    digits
}

/// How often we look, 50 ms apart, whether a schema is in use: a server ends the sessions of
/// a process that was killed a moment after it is gone.
pub const FAREWELL_LOOKS: usize = 20;
/// See [`FAREWELL_LOOKS`].
pub(crate) const FAREWELL_PAUSE: Duration = Duration::from_millis(50);

const PREFIX: &str = "syncline_";
/// What every server takes as a name.
const LENGTH_MAX: usize = 63;

/// A name of our own: lower case letters, digits and underscores after `syncline_`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SchemaName(String);

impl SchemaName {
    /// One that no other run has, on this machine or another: the time, the process, a count.
    pub fn fresh() -> SchemaName {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        // A clock before 1970 still gives a name; the process and the count tell it from others.
        let micros = since.map_or(0, |since| since.as_micros());
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        SchemaName(format!("{PREFIX}{micros:x}_{:x}_{count:x}", std::process::id()))
    }

    /// A name that a user chose for rows that stay, with or without the prefix.
    pub fn chosen(name: &str) -> Result<SchemaName, Error> {
        let rest = name.strip_prefix(PREFIX).unwrap_or(name);
        SchemaName::of(&format!("{PREFIX}{rest}"))
            .ok_or_else(|| Error::SchemaName { name: name.to_owned() })
    }

    /// The name, if it is one of ours.
    pub fn of(name: &str) -> Option<SchemaName> {
        let rest = name.strip_prefix(PREFIX)?;
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let ours = !rest.is_empty() && name.len() <= LENGTH_MAX && rest.bytes().all(plain);
        ours.then(|| SchemaName(name.to_owned()))
    }

    /// As it is sent to the server.
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
    fn only_our_own_names_are_ours() {
        assert!(SchemaName::of("syncline_1a").is_some());
        for foreign in [
            "public",
            "syncline",
            "syncline_",
            "Syncline_1",
            "syncline_1; DROP",
            "syncline_\"x",
            "x_syncline_1",
        ] {
            assert_eq!(SchemaName::of(foreign), None, "{foreign}");
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
    fn fresh_names_are_ours_and_differ() {
        let (one, two) = (SchemaName::fresh(), SchemaName::fresh());
        assert_ne!(one, two);
        assert_eq!(SchemaName::of(one.as_str()), Some(one));
    }
}
