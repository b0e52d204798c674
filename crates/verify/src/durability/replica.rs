//! A replica of a server that others use: the same product and version, the same settings as far as they bear
//! on what a commit is worth, in a private store that can be killed. The server itself is only looked at.
//!
//! What is copied is a list, a line a setting: nothing that runs programs (`archive_command`), names places
//! or hosts, or takes memory gets into it, whatever a server says. A value must be plain. What equals the
//! product's default is left out, so that a setting whose behaviour is known is recognised as such.

use super::child_protocol::Settings;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use syncline_contract::StoreObservation;

/// A setting that is copied: its name, and the values that mean the product's default.
type Copied = (&'static str, &'static [&'static str]);

/// Settings of PostgreSQL that bear on what a commit is worth.
const POSTGRES: &[Copied] = &[
    ("commit_delay", &["0"]),
    ("commit_siblings", &["5"]),
    ("fsync", &["on"]),
    ("full_page_writes", &["on"]),
    // The others differ from on by what a standby does, and a twin has none.
    ("synchronous_commit", &["on", "local", "remote_write", "remote_apply"]),
    ("wal_compression", &["off"]),
    ("wal_sync_method", &["fdatasync"]),
    ("wal_writer_delay", &["200ms"]),
];

/// Settings of MariaDB that bear on it.
const MARIADB: &[Copied] = &[
    ("innodb_doublewrite", &["ON", "1"]),
    ("innodb_flush_log_at_timeout", &["1"]),
    ("innodb_flush_log_at_trx_commit", &["1"]),
    // Since 10.6; before, what is told is copied.
    ("innodb_flush_method", &["O_DIRECT"]),
    ("innodb_use_atomic_writes", &["ON", "1"]),
];

/// Settings that bear on it too, and are not copied: why.
const LEFT: &[(&str, &[&str], &str)] = &[
    (
        "synchronous_standby_names",
        &[""],
        "a twin stands alone, so that its commits wait for no standby",
    ),
    ("wal_level", &["replica", "logical"], "a twin writes its log as for a standby"),
    ("data_checksums", &["on"], "a twin has checksums, and sees damage that this server would not"),
    (
        "log_bin",
        &["OFF", "0"],
        "a twin has no binary log, so that its commits are not those of two logs",
    ),
    (
        "rpl_semi_sync_master_enabled",
        &["OFF", "0"],
        "a twin stands alone, so that its commits wait for no replica",
    ),
    (
        "wsrep_on",
        &["OFF", "0"],
        "a twin is no node of a cluster, which certifies commits and may give back what a node has lost",
    ),
    ("innodb_encrypt_log", &["OFF", "0"], "a twin encrypts nothing"),
    ("innodb_page_size", &["16384"], "a twin's pages have 16 KiB, and may be torn elsewhere"),
];

/// What of a live server was taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replica {
    /// The server's URL, without secrets.
    pub of: String,
    /// What it is.
    pub product: String,
    /// Its version.
    pub version: String,
    /// Settings that were copied, as `name=value`; all others that may be are the product's own.
    pub copied: Vec<String>,
    /// What is different in the replica, a sentence each.
    pub different: Vec<String>,
}

/// What to verify in place of a server that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaConfig {
    /// The store: "postgres".
    pub store: &'static str,
    /// Its options.
    pub options: String,
    /// How it came about.
    pub twin: Replica,
}

/// The replica of a server that was looked at; `of` is its URL without secrets.
pub fn like(of: &str, observed: &StoreObservation) -> Result<ReplicaConfig> {
    let (store, copied) = match &*observed.product {
        "PostgreSQL" => ("postgres", POSTGRES),
        "MariaDB" => ("mariadb", MARIADB),
        other => {
            return Err(Error::cannot(format!(
                "{of} is {other}: of PostgreSQL and MariaDB a twin can be made, and of no other"
            )));
        }
    };
    let value = |name: &str| {
        let found = observed.settings.iter().find(|one| one.name == name);
        found.map(|one| one.value.replace(' ', ""))
    };
    let (mut options, mut different) = (Vec::new(), Vec::new());
    for (name, default) in copied {
        match value(name) {
            None => {
                different.push(format!("{name} is the product's own: the server did not tell it"));
            }
            Some(value) if default.contains(&&*value) => {}
            Some(value) if is_plain(&value) => options.push(format!("{name}={value}")),
            Some(_) => different
                .push(format!("{name} is the product's own: the server's value is no plain word")),
        }
    }
    let others = LEFT
        .iter()
        .filter(|(name, alike, _)| value(name).is_some_and(|value| !alike.contains(&&*value)));
    different.extend(others.map(|(name, _, why)| format!("{name}: {why}")));
    Ok(ReplicaConfig {
        store,
        options: options.join("&"),
        twin: Replica {
            of: of.to_owned(),
            product: observed.product.clone(),
            version: observed.version.clone(),
            copied: options,
            different,
        },
    })
}

impl Replica {
    /// Fails if what is installed here is another major version: its replica would be another store.
    pub(super) fn must_fit(&self, settings: &Settings) -> Result<()> {
        let (live, here) = (number(&self.version), number(&settings.version));
        if major(&self.product, live) == major(&self.product, here) {
            return Ok(());
        }
        Err(Error::cannot(format!(
            "{} is {} {live}, and {here} is installed here: a twin of another major version says nothing of \
             it; install that version, or verify it where it is",
            self.of, self.product
        )))
    }

    /// How it came about, in a sentence.
    pub(super) fn words(&self) -> String {
        let copied = match &*self.copied.join(", ") {
            "" => "every setting that was looked at is the product's own".to_owned(),
            copied => format!("copied: {copied}"),
        };
        let different = match &*self.different.join("; ") {
            "" => String::new(),
            different => format!(" Different: {different}."),
        };
        format!(
            "This is a temporary copy of {} ({} {}), which was only read; {copied}. Its memory and its log \
             are kept small, so that files are written often.{different}",
            self.of,
            self.product,
            number(&self.version)
        )
    }
}

/// A version without the words around it.
fn number(version: &str) -> &str {
    let start = version.find(|letter: char| letter.is_ascii_digit());
    let rest = &version[start.unwrap_or(0)..];
    rest.split([' ', ',', '(']).next().unwrap_or(rest)
}

/// The part of a version that says which files it reads: of PostgreSQL one number since 10, of others two.
fn major<'v>(product: &str, version: &'v str) -> Vec<&'v str> {
    let numbers = number(version).split(|letter: char| !letter.is_ascii_digit());
    let mut numbers = numbers.take(2).collect::<Vec<_>>();
    let first = numbers.first().and_then(|first| first.parse::<u32>().ok());
    if product == "PostgreSQL" && first.is_some_and(|first| first >= 10) {
        numbers.truncate(1);
    }
    numbers
}

fn is_plain(value: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    !value.is_empty() && value.len() <= 40 && value.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::{ReplicaConfig, like, major};
    use crate::durability::child_protocol::Settings;
    use syncline_contract::{LogLocation, Setting, StoreObservation, StoreProcess};

    fn of(product: &str, settings: &[(&str, &str)]) -> Result<ReplicaConfig, String> {
        let settings = settings.iter().map(|(name, value)| Setting {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
            said_by: "a test".to_owned(),
        });
        let observed = StoreObservation {
            product: product.to_owned(),
            version: "PostgreSQL 15.6 (Debian 15.6-0+deb12u1) on x86_64".to_owned(),
            log_place: LogLocation::Nowhere("a test".to_owned()),
            process: StoreProcess::REMOTE,
            unseen_syncs: None,
            counters: Vec::new(),
            own_commits: 0,
            settings: settings.collect(),
            replication: Ok(Vec::new()),
        };
        like("postgres://host/db", &observed).map_err(|why| why.to_string())
    }

    #[test]
    fn what_bears_on_commits_is_copied_and_defaults_are_left_out() {
        let twin = of(
            "PostgreSQL",
            &[
                ("fsync", "on"),
                ("synchronous_commit", "off"),
                ("wal_writer_delay", "200 ms"),
                ("commit_delay", "17"),
                ("shared_buffers", "16384 8kB"),
                ("wal_level", "minimal"),
            ],
        );
        let twin = twin.unwrap();
        assert_eq!(twin.store, "postgres");
        assert_eq!(twin.options, "commit_delay=17&synchronous_commit=off");
        let words = twin.twin.words();
        assert!(words.contains("copy of postgres://host/db (PostgreSQL 15.6"), "{words}");
        assert!(words.contains("wal_level: a twin writes"), "{words}");
        assert!(words.contains("full_page_writes is the product's own"), "{words}");
        let plain = of("PostgreSQL", &[("synchronous_commit", "remote_apply")]).unwrap();
        assert_eq!(plain.options, "");
    }

    #[test]
    fn what_runs_programs_or_names_places_is_not_copied() {
        for (name, value) in [
            ("archive_command", "rm -rf /"),
            ("archive_library", "x"),
            ("restore_command", "cp"),
            ("data_directory", "/var/lib/postgresql"),
            ("shared_preload_libraries", "x"),
            ("listen_addresses", "0.0.0.0"),
            ("wal_sync_method", "fsync&archive_command=x"),
            ("wal_sync_method", "fsync --archive_command=x"),
            ("wal_sync_method", ""),
        ] {
            let twin = of("PostgreSQL", &[(name, value)]).unwrap();
            assert_eq!(twin.options, "", "{name}={value}");
        }
        let why = of("CockroachDB", &[]).unwrap_err();
        assert!(why.contains("of no other"), "{why}");
    }

    #[test]
    fn another_major_version_is_refused() {
        let twin = of("PostgreSQL", &[]).unwrap().twin;
        let settings =
            |version: &str| Settings { version: version.to_owned(), ..Settings::default() };
        assert!(twin.must_fit(&settings("15.14")).is_ok());
        let why = twin.must_fit(&settings("16.1")).unwrap_err().to_string();
        assert!(why.contains("16.1 is installed here"), "{why}");
        assert_eq!(major("MariaDB", "10.11.6-MariaDB-0+deb12u1"), ["10", "11"]);
        assert_ne!(major("MariaDB", "10.6.1"), major("MariaDB", "10.11.1"));
        assert_eq!(major("PostgreSQL", "9.6.2"), ["9", "6"]);
        assert_eq!(major("PostgreSQL", "unknown"), ["", ""]);
    }
}
