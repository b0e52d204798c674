//! The options of the URL, and the server settings that they require.
//!
//! How a commit is synced is set for the whole server; a session cannot change it. So a requested
//! durability is compared with the server's settings, and refused with the setting that would provide
//! it.

use super::defaults;
use super::server_key::ServerKey;
use crate::error::Error;
use crate::server::{self, Address, AddressForm, SchemaName};
use crate::url::{Listing, Url};
use crate::wire::TlsMode;
use std::path::{Path, PathBuf};
use std::time::Duration;
use syncline_contract::{Durability, Isolation, YesOrNo, options, words};

words! {
    /// The isolation level, as the option names it; weakest first.
    pub enum IsolationLevel {
        /// Each statement reads what was committed before it.
        ReadCommitted = "read-committed",
        /// `InnoDB`'s default: plain reads use one snapshot, taken by the first of them; locking reads and
        /// writes see the newest rows, so that an update may find a value that no read has returned.
        RepeatableRead = "repeatable-read",
        /// The same with `innodb_snapshot_isolation` (`MariaDB`): locking a row that has changed since the
        /// snapshot fails.
        Snapshot = "snapshot",
        /// Plain reads also lock the rows that they read.
        Serializable = "serializable",
    }
}

impl IsolationLevel {
    /// The server's words in SET TRANSACTION.
    pub(super) fn level(self) -> &'static str {
        match self {
            IsolationLevel::ReadCommitted => "READ COMMITTED",
            IsolationLevel::RepeatableRead | IsolationLevel::Snapshot => "REPEATABLE READ",
            IsolationLevel::Serializable => "SERIALIZABLE",
        }
    }

    /// The level in the contract's terms.
    pub(super) fn isolation(self) -> Isolation {
        match self {
            IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
            IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
            IsolationLevel::Snapshot => Isolation::Snapshot,
            IsolationLevel::Serializable => Isolation::Serializable,
        }
    }
}

/// All settings of a URL.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) address: Address,
    pub(super) connect_timeout: Duration,
    pub(super) durability: Durability,
    pub(super) isolation_level: IsolationLevel,
    pub(super) tls: TlsMode,
    pub(super) tls_roots: Option<PathBuf>,
    /// The server's RSA key that encrypts a password on an unencrypted connection.
    pub(super) server_key: Option<ServerKey>,
    /// The password may be sent in clear over encryption without verification.
    pub(super) cleartext: bool,
    /// The permanent database that the URL names.
    pub(super) schema: Option<SchemaName>,
    /// How long a statement waits for a row lock; `None` leaves it to the server.
    pub(super) lock_wait_s: Option<u32>,
    /// True if other sessions may be active during the run.
    pub(super) live: bool,
}

const FORM: AddressForm = AddressForm {
    form: "mysql://user:password@host:port?options, or mysql://user@?socket=PATH",
    port: 3306,
    password_variable: "MYSQL_PWD",
    socket_file: |_port| "mysqld.sock".to_owned(),
};

options! {
    /// The options of a `mysql:` or `mariadb:` URL.
    #[derive(Debug)]
    struct UrlOptions and [server::CONNECT_TIMEOUT] {
        durability: Durability = "data",
            "compared with innodb_flush_log_at_trx_commit (0, 2, 1), sync_binlog and how InnoDB syncs";
        isolation: IsolationLevel = "repeatable-read",
            "set for each session and read back; snapshot is for MariaDB only";
        ..[server::SOCKET, server::PASSWORD_FILE];
        defaults_file ("defaults-file"): String as "the path of an option file, such as ~/.my.cnf written out"
            = ["none is read"],
            "host, port, socket, user, password and database from its [client] section, where the URL \
             omits them";
        tls: TlsMode = "prefer",
            "whether TCP is encrypted, and how the certificate is verified";
        tls_roots: String as "the path of a PEM file" = ["the system's"],
            "the root certificates that are trusted";
        server_key: String as "ask, or the path of a PEM file" = ["none: such a log-in is refused"],
            "the RSA key with which caching_sha2_password encrypts the password on a connection without \
             TLS; ask trusts any key that the server sends";
        cleartext: bool as YesOrNo = "no",
            "sends the password itself over encryption without verification (tls=prefer, require), \
             if the server requests it; over verified TLS or a Unix socket it is sent in any case";
        ..[server::SCHEMA];
        lock_wait_s: u32 = ["the server's innodb_lock_wait_timeout, 50"] in 1..=3_600,
            "longest wait for a row's lock, after which a conflict is counted";
        live: bool as YesOrNo = "no",
            "allow other active sessions";
    }
}

/// The entry of `mysql:` in `syncline list targets`.
pub(crate) const LISTING: &Listing = &Listing {
    name: "mysql",
    what: "MySQL with InnoDB, a server",
    form: FORM.form,
    options: UrlOptions::LISTING,
};

/// The entry of `mariadb:` in `syncline list targets`.
pub(crate) const MARIADB_LISTING: &Listing = &Listing {
    name: "mariadb",
    what: "MariaDB with InnoDB, a server",
    form: "mariadb://user:password@host:port?options, or mariadb://user@?socket=PATH",
    options: UrlOptions::LISTING,
};

impl Settings {
    /// Parses a URL.
    pub(super) fn parse(url: &Url, listing: &'static Listing) -> Result<Settings, Error> {
        let given = url.option_args(listing)?;
        let options = UrlOptions::read(&given)?;
        let server_key = options.server_key.as_deref().map(|value| {
            ServerKey::of_option(value).map_err(|why| Error::NotHonoured {
                target: listing.name,
                what: format!("server_key: {why}"),
            })
        });
        let mut address = Address::of(url, &FORM)?;
        if let Some(file) = &options.defaults_file {
            let place = url.raw_path.as_deref().unwrap_or_default();
            let authority = place.trim_start_matches('/').split('/').next().unwrap_or_default();
            let host = authority.rsplit('@').next().unwrap_or_default();
            let named = !host.is_empty() || given.has(server::SOCKET.name);
            defaults::fill(&mut address, Path::new(file), named, listing.name)?;
        }
        Ok(Settings {
            address,
            connect_timeout: server::connect_timeout(&given)?,
            durability: options.durability,
            isolation_level: options.isolation,
            tls: options.tls,
            tls_roots: options.tls_roots.map(PathBuf::from),
            server_key: server_key.transpose()?,
            cleartext: options.cleartext,
            schema: url.option(server::SCHEMA.name).map(SchemaName::chosen).transpose()?,
            lock_wait_s: options.lock_wait_s,
            live: options.live,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{IsolationLevel, LISTING, Settings};
    use crate::server::Host;
    use crate::url::Url;
    use crate::wire::TlsMode;
    use syncline_contract::Durability;

    fn of(url: &str) -> Result<Settings, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        Settings::parse(&url, LISTING).map_err(|error| error.to_string())
    }

    #[test]
    fn a_url_sets_every_option() {
        let bare = of("mysql://root@localhost").unwrap();
        assert_eq!(bare.address.host, Host::Tcp("localhost".to_owned(), 3306));
        assert_eq!(
            (bare.durability, bare.isolation_level, bare.tls, bare.live),
            (Durability::Data, IsolationLevel::RepeatableRead, TlsMode::Prefer, false)
        );
        let full = of(
            "mysql://bob:pw@h:1/?durability=os&isolation=snapshot&tls=verify-full&tls_roots=/r.pem\
             &schema=bench&lock_wait_s=3&live=yes",
        )
        .unwrap();
        assert_eq!(
            (full.durability, full.isolation_level, full.tls, full.live),
            (Durability::Os, IsolationLevel::Snapshot, TlsMode::VerifyFull, true)
        );
        assert_eq!(full.schema.unwrap().as_str(), "syncline_bench");
        assert_eq!((full.lock_wait_s, full.tls_roots.is_some()), (Some(3), true));
    }

    #[test]
    fn an_invalid_value_is_refused_with_the_valid_ones() {
        for (url, words) in [
            ("mysql://h?isolation=loose", "repeatable-read"),
            ("mysql://h?durability=most", "full"),
            ("mysql://h?lock_wait_s=0", "1 to 3600"),
            ("mysql://h?schema=Live Data", "Live Data"),
            ("mysql:h", "begins with //"),
        ] {
            let message = of(url).unwrap_err();
            assert!(message.contains(words), "{url}: {message}");
        }
    }
}
