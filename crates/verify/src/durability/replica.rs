//! A replica of a server that others use: the same product and version, with the same settings for commits,
//! in a private store that can be killed. The live server itself is only read.
//!
//! Only listed settings are copied: nothing that runs programs (`archive_command`), names paths or hosts, or
//! sizes memory gets into the replica, whatever the server reports. A value must be plain. Values that equal
//! the product's default are left out, so that a setting of known behaviour is recognized.

use super::child_protocol::Settings;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use syncline_contract::StoreObservation;

/// A setting that is copied: its name, and the values that mean the product's default.
type Copied = (&'static str, &'static [&'static str]);

/// Settings of PostgreSQL that affect commits.
const POSTGRES: &[Copied] = &[
    ("commit_delay", &["0"]),
    ("commit_siblings", &["5"]),
    ("fsync", &["on"]),
    ("full_page_writes", &["on"]),
    // The others differ from `on` only in their use of standbys, which a replica does not have.
    ("synchronous_commit", &["on", "local", "remote_write", "remote_apply"]),
    ("wal_compression", &["off"]),
    ("wal_sync_method", &["fdatasync"]),
    ("wal_writer_delay", &["200ms"]),
];

/// Settings of MariaDB that affect commits.
const MARIADB: &[Copied] = &[
    ("innodb_doublewrite", &["ON", "1"]),
    ("innodb_flush_log_at_timeout", &["1"]),
    ("innodb_flush_log_at_trx_commit", &["1"]),
    // The default since 10.6; the value of an older server is copied.
    ("innodb_flush_method", &["O_DIRECT"]),
    ("innodb_use_atomic_writes", &["ON", "1"]),
];

/// Settings that also affect commits but are not copied: name, harmless values, and the difference.
const LEFT: &[(&str, &[&str], &str)] = &[
    (
        "synchronous_standby_names",
        &[""],
        "the replica has no standby, so its commits do not wait for one",
    ),
    ("wal_level", &["replica", "logical"], "the replica writes its log as for a standby"),
    (
        "data_checksums",
        &["on"],
        "the replica uses checksums, and detects damage that the live server would miss",
    ),
    (
        "log_bin",
        &["OFF", "0"],
        "the replica has no binary log, so its commits do not span two logs",
    ),
    (
        "rpl_semi_sync_master_enabled",
        &["OFF", "0"],
        "the copy has no replicas, so its commits do not wait for one",
    ),
    (
        "wsrep_on",
        &["OFF", "0"],
        "the copy is not part of a cluster, which certifies commits and may restore what a node has lost",
    ),
    ("innodb_encrypt_log", &["OFF", "0"], "the replica does not encrypt its log"),
    (
        "innodb_page_size",
        &["16384"],
        "the replica's pages have 16 KiB, and may be torn at other places",
    ),
];

/// How a replica was derived from a live server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replica {
    /// The server's URL, without secrets.
    pub of: String,
    /// The product of the live server.
    pub product: String,
    /// Its version.
    pub version: String,
    /// Settings that were copied, as `name=value`; all others have the product's defaults.
    pub copied: Vec<String>,
    /// The differences from the live server, one clause each.
    pub different: Vec<String>,
}

/// The configuration of a replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaConfig {
    /// The store: "postgres".
    pub store: &'static str,
    /// Its options.
    pub options: String,
    /// How it was derived.
    pub replica: Replica,
}

/// The replica of an observed server; `of` is its URL without secrets.
pub fn like(of: &str, observed: &StoreObservation) -> Result<ReplicaConfig> {
    let (store, copied) = match &*observed.product {
        "PostgreSQL" => ("postgres", POSTGRES),
        "MariaDB" => ("mariadb", MARIADB),
        other => {
            return Err(Error::cannot(format!(
                "{of} is {other}; --like makes replicas of PostgreSQL and MariaDB only"
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
                different.push(format!(
                    "{name} has the product's default, because the live server did not report it"
                ));
            }
            Some(value) if default.contains(&&*value) => {}
            Some(value) if is_plain(&value) => options.push(format!("{name}={value}")),
            Some(_) => different
                .push(format!("{name} has the product's default, because the live server's value is not a plain word")),
        }
    }
    let others = LEFT
        .iter()
        .filter(|(name, alike, _)| value(name).is_some_and(|value| !alike.contains(&&*value)));
    different.extend(others.map(|(name, _, why)| format!("{name}: {why}")));
    Ok(ReplicaConfig {
        store,
        options: options.join("&"),
        replica: Replica {
            of: of.to_owned(),
            product: observed.product.clone(),
            version: observed.version.clone(),
            copied: options,
            different,
        },
    })
}

impl Replica {
    /// Fails if another major version is installed here: the replica would be a different store.
    pub(super) fn must_fit(&self, settings: &Settings) -> Result<()> {
        let (live, here) = (number(&self.version), number(&settings.version));
        if major(&self.product, live) == major(&self.product, here) {
            return Ok(());
        }
        Err(Error::cannot(format!(
            "{} is {} {live}, but {here} is installed here, and another major version would prove nothing about \
             it; install that version, or run this command where it is installed",
            self.of, self.product
        )))
    }

    /// How it was derived, in a sentence.
    pub(super) fn words(&self) -> String {
        let copied = match &*self.copied.join(", ") {
            "" => "all its settings for commits are the product's defaults".to_owned(),
            copied => format!("copied: {copied}"),
        };
        let different = match &*self.different.join("; ") {
            "" => String::new(),
            different => format!(" Differences: {different}."),
        };
        format!(
            "This is a temporary replica of {} ({} {}), which was only read; {copied}. Its memory and its log \
             are kept small, so that files are written often.{different}",
            self.of,
            self.product,
            number(&self.version)
        )
    }
}

/// The version number within a longer version text.
fn number(version: &str) -> &str {
    let start = version.find(|letter: char| letter.is_ascii_digit());
    let rest = &version[start.unwrap_or(0)..];
    rest.split([' ', ',', '(']).next().unwrap_or(rest)
}

/// The part of a version that determines the file format: for PostgreSQL since 10 the first number, otherwise
/// the first two.
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
            source: "a test".to_owned(),
        });
        let observed = StoreObservation {
            product: product.to_owned(),
            version: "PostgreSQL 15.6 (Debian 15.6-0+deb12u1) on x86_64".to_owned(),
            log_location: LogLocation::Nowhere("a test".to_owned()),
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
    fn settings_for_commits_are_copied_unless_they_are_defaults() {
        let config = of(
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
        let config = config.unwrap();
        assert_eq!(config.store, "postgres");
        assert_eq!(config.options, "commit_delay=17&synchronous_commit=off");
        let words = config.replica.words();
        assert!(words.contains("replica of postgres://host/db (PostgreSQL 15.6"), "{words}");
        assert!(words.contains("wal_level: the replica writes"), "{words}");
        assert!(words.contains("full_page_writes has the product's default"), "{words}");
        let plain = of("PostgreSQL", &[("synchronous_commit", "remote_apply")]).unwrap();
        assert_eq!(plain.options, "");
    }

    #[test]
    fn settings_that_run_programs_or_name_paths_are_not_copied() {
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
            let config = of("PostgreSQL", &[(name, value)]).unwrap();
            assert_eq!(config.options, "", "{name}={value}");
        }
        let why = of("CockroachDB", &[]).unwrap_err();
        assert!(why.contains("PostgreSQL and MariaDB only"), "{why}");
    }

    #[test]
    fn another_major_version_is_refused() {
        let config = of("PostgreSQL", &[]).unwrap().replica;
        let settings =
            |version: &str| Settings { version: version.to_owned(), ..Settings::default() };
        assert!(config.must_fit(&settings("15.14")).is_ok());
        let why = config.must_fit(&settings("16.1")).unwrap_err().to_string();
        assert!(why.contains("16.1 is installed here"), "{why}");
        assert_eq!(major("MariaDB", "10.11.6-MariaDB-0+deb12u1"), ["10", "11"]);
        assert_ne!(major("MariaDB", "10.6.1"), major("MariaDB", "10.11.1"));
        assert_eq!(major("PostgreSQL", "9.6.2"), ["9", "6"]);
        assert_eq!(major("PostgreSQL", "unknown"), ["", ""]);
    }
}
