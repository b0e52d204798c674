//! The fields that every record starts with: format, kind, id and time.

use super::schema_macro::described;

/// The name of the format.
pub const FORMAT_NAME: &str = "syncline-record";

/// The version that this program writes, and the newest that it reads.
///
/// It goes up when a reader of the old version would misunderstand a new record. An additional field does
/// not raise it: readers ignore fields that they do not know.
pub const FORMAT_VERSION: u64 = 1;

described! {
    /// The format, so that any program can recognize the file.
    pub struct Format {
        /// Always "syncline-record".
        pub name: String,
        /// The version of the format; readers refuse a newer one.
        pub version: u64,
    }

    /// The fields that every record starts with.
    pub struct Identity {
        /// The format and its version.
        pub format: Format,
        /// "run", "probe", "observation" or "verification".
        pub kind: String,
        /// A short name of this record; two records are unlikely to share one.
        pub id: String,
        /// The id of the survey, which all of its records share; null if the record belongs to none.
        pub survey: Option<String>,
        /// The version of the program that measured.
        pub syncline: String,
        /// When the measurement began, UTC, in RFC 3339 format.
        pub started: String,
        /// The same in nanoseconds since 1970.
        pub started_wall_ns: u64,
        /// The command line that made the record; null if there was none, or it was removed to share the
        /// record.
        pub command: Option<String>,
        /// The tag that the user gave the record, such as the commit of the program under test; null if there
        /// is none, and in older records.
        #[serde(default)]
        pub tag: Option<String>,
    }
}

impl Format {
    /// The format this program writes.
    pub fn current() -> Format {
        Format { name: FORMAT_NAME.to_owned(), version: FORMAT_VERSION }
    }
}

impl Identity {
    /// The identity of a record that begins at `started_wall_ns`; `salt` distinguishes records that begin at
    /// the same time (a process id, a count).
    pub fn new(kind: &str, started_wall_ns: u64, salt: u64) -> Identity {
        Identity {
            format: Format::current(),
            kind: kind.to_owned(),
            id: short_id(started_wall_ns, salt),
            survey: None,
            syncline: env!("CARGO_PKG_VERSION").to_owned(),
            started: super::time::rfc3339(started_wall_ns),
            started_wall_ns,
            command: None,
            tag: None,
        }
    }
}

/// Five letters and digits that are likely to differ for different times and salts; none is easily misread.
fn short_id(wall_ns: u64, salt: u64) -> String {
    const ALPHABET: &[u8; 32] = b"23456789abcdefghijkmnpqrstuvwxyz";
    let mut mixed = wall_ns ^ salt.rotate_left(32);
    // The finisher of splitmix64: every bit of the input reaches every bit of the result.
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    (0..5).map(|position| char::from(ALPHABET[(mixed >> (position * 5)) as usize & 31])).collect()
}

#[cfg(test)]
mod tests {
    use super::{Identity, short_id};
    use std::collections::BTreeSet;

    #[test]
    fn ids_of_neighbouring_times_and_salts_differ() {
        let ids: BTreeSet<_> = (0..50)
            .flat_map(|time| {
                (0..4).map(move |salt| short_id(1_795_000_000_000_000_000 + time, salt))
            })
            .collect();
        assert_eq!(ids.len(), 200);
        assert!(ids.iter().all(|id| id.len() == 5));
    }

    #[test]
    fn an_identity_has_format_and_time() {
        let identity = Identity::new("run", 1_795_166_100_000_000_000, 7);
        assert_eq!(identity.format.name, "syncline-record");
        assert_eq!(identity.started, "2026-11-20T09:15:00Z");
        assert_eq!(identity.syncline, env!("CARGO_PKG_VERSION"));
    }
}
