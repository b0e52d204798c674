//! The options of a `postgres:` URL, and which combinations are valid.

use crate::error::Error;
use crate::server::{CONNECT_TIMEOUT, PASSWORD_FILE, SCHEMA, SOCKET, SchemaName, connect_timeout};
use crate::url::{Listing, Url};
use crate::wire::TlsMode;
use std::path::PathBuf;
use std::time::Duration;
use syncline_contract::{
    Action, Durability, Isolation, OptionListing, Plan, YesOrNo, options, words,
};

// The table of libpq's parameters reads these five; they are only listed here.
const PASSWORD: OptionListing = OptionListing {
    name: "password",
    takes: "a text",
    default: "none",
    meaning: "the password, if it is not given before the host",
};

const HOST: OptionListing = OptionListing {
    name: "host",
    takes: "a name, an address, or the directory of a Unix socket",
    default: "the one before the options",
    meaning: "as in libpq, instead of the one before the options",
};

const PORT: OptionListing = OptionListing {
    name: "port",
    takes: "a number up to 65535",
    default: "the one before the options",
    meaning: "as in libpq, instead of the one before the options",
};

const USER: OptionListing = OptionListing {
    name: "user",
    takes: "a name",
    default: "the one before the host",
    meaning: "as in libpq, instead of the one before the host",
};

const DBNAME: OptionListing = OptionListing {
    name: "dbname",
    takes: "a name",
    default: "the one before the options",
    meaning: "as in libpq, instead of the one before the options",
};

options! {
    /// The options of a `postgres:` URL.
    #[derive(Debug)]
    struct UrlOptions {
        durability: Durability as "full, data, os or none" = "data",
            "full: as data, on a server that syncs its log by fsync or open_sync; data: a commit waits \
             for the sync of the log; os: the log is written and not synced, on a \
             server with fsync=off; none: synchronous_commit=off, so a crash of the server may lose \
             the last moments";
        isolation: IsolationWord = ["the server's own"],
            "isolation of transactions; repeatable_read is a snapshot";
        ..[SOCKET, PASSWORD_FILE, SCHEMA, CONNECT_TIMEOUT, PASSWORD];
        tls: TlsMode = "prefer",
            "whether the connection is encrypted, and whether the server's certificate is verified against \
             trusted roots (verify-ca) and to the host's name (verify-full); libpq's sslmode= is \
             the same";
        root: String as "the path of a PEM file" = ["the system's own"],
            "the roots that certificates are verified against; libpq's sslrootcert= is the same";
        options: String as "a text, such as -c%20search_path=app" = ["none"],
            "sent in the start-up packet of every session, as libpq does with PGOPTIONS";
        channel_binding: ChannelBinding = ["bound where the server can"],
            "refuses a log-in that is not bound to the TLS channel";
        passfile: String as "the path of a file" = ["PGPASSFILE, or ~/.pgpass"],
            "passwords by host, port, database and user; a file that other users may read is ignored";
        ..[HOST];
        hostaddr: String as "an address" = ["none"],
            "where to connect; certificates are verified against the host's name";
        ..[PORT, USER, DBNAME];
        cleartext: bool as YesOrNo = "no",
            "sends the password in clear to a server that requires it and is on this machine or \
             behind encryption without verification; to one whose certificate was verified it \
             is sent in any case";
        lock_timeout_ms: u64 = ["the server's own"] in 0..=3_600_000,
            "a statement that waits longer for a lock gives up, and its transaction conflicts";
        deadlock_timeout_ms: u64 = ["the server's own"] in 1..=3_600_000,
            "wait for a lock after which a statement checks for a deadlock; only a superuser \
             may set it";
        live: bool as YesOrNo = "no",
            "allow other active sessions";
    }
}

words! {
    /// The supported isolation levels, as the option names them.
    enum IsolationWord {
        /// The default of the server as it is delivered.
        ReadCommitted = "read_committed",
        /// A snapshot.
        RepeatableRead = "repeatable_read",
        /// Serializable snapshots.
        Serializable = "serializable",
    }
}

words! {
    /// Whether a log-in must be bound to the TLS channel.
    enum ChannelBinding {
        /// It must.
        Require = "require",
    }
}

/// The entry in listings.
pub const LISTING: &Listing = &Listing {
    name: "postgres",
    what: "PostgreSQL, CockroachDB or YugabyteDB, on this machine or another, through its own sessions",
    form: "postgres://[user[:password]@]host[:port][/database][?options], or postgres:///database?socket=PATH",
    options: UrlOptions::LISTING,
};

/// Which tables a session's statements refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// The managed tables.
    Managed,
    /// The managed tables, then those on the session's own search path: a script is sent unchanged.
    All,
    /// Those on the session's own search path: a script for which no tables were created. What it
    /// creates goes where it would without this program.
    Users,
}

impl Names {
    /// The tables that a plan's statements refer to.
    pub(super) fn of(plan: &Plan) -> Names {
        let mut operations = plan.operations().iter();
        if operations.any(|operation| matches!(operation.action, Action::Statement { .. })) {
            if plan.tables().is_empty() { Names::Users } else { Names::All }
        } else {
            Names::Managed
        }
    }
}

/// What a URL sets, apart from the address.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) durability: Durability,
    /// `None` leaves it to the server.
    pub(super) isolation: Option<Isolation>,
    pub(super) tls: TlsMode,
    pub(super) roots: Option<PathBuf>,
    pub(super) cleartext: bool,
    /// Options for the start-up packet, as in `PGOPTIONS`.
    pub(super) options: Option<String>,
    /// True if a log-in that is not bound to the TLS channel is refused.
    pub(super) binds_channel: bool,
    pub(super) passfile: Option<PathBuf>,
    /// The address to connect to, instead of the host's name.
    pub(super) hostaddr: Option<String>,
    pub(super) lock_timeout_ms: Option<u64>,
    pub(super) deadlock_timeout_ms: Option<u64>,
    pub(super) live: bool,
    /// A permanent name; `None` creates a fresh one.
    pub(super) schema: Option<SchemaName>,
    pub(super) connect_timeout: Duration,
}

/// The supported isolation levels, with their words in URLs and in SQL.
const ISOLATIONS: [(Isolation, IsolationWord, &str); 3] = [
    (Isolation::ReadCommitted, IsolationWord::ReadCommitted, "read committed"),
    (Isolation::Snapshot, IsolationWord::RepeatableRead, "repeatable read"),
    (Isolation::Serializable, IsolationWord::Serializable, "serializable"),
];

impl IsolationWord {
    fn isolation(self) -> Option<Isolation> {
        let found = ISOLATIONS.iter().find(|(_, word, _)| *word == self);
        found.map(|(isolation, _, _)| *isolation)
    }
}

/// An isolation level in the server's words; snapshot is called repeatable read there.
pub(super) fn isolation_words(isolation: Isolation) -> Option<&'static str> {
    let found = ISOLATIONS.iter().find(|(of, _, _)| *of == isolation);
    found.map(|(_, _, words)| *words)
}

/// The isolation level that the server's words name.
pub(super) fn isolation_of(words: &str) -> Option<Isolation> {
    let found = ISOLATIONS.iter().find(|(_, _, message)| *message == words);
    found.map(|(of, _, _)| *of)
}

impl Settings {
    pub(super) fn parse(url: &Url) -> Result<Settings, Error> {
        let given = url.option_args(LISTING)?;
        let options = UrlOptions::read(&given)?;
        let schema = url.option(SCHEMA.name);
        Ok(Settings {
            durability: options.durability,
            isolation: options.isolation.and_then(IsolationWord::isolation),
            tls: options.tls,
            roots: options.root.map(PathBuf::from),
            cleartext: options.cleartext,
            options: options.options,
            binds_channel: options.channel_binding.is_some(),
            passfile: options.passfile.map(PathBuf::from),
            hostaddr: options.hostaddr,
            lock_timeout_ms: options.lock_timeout_ms,
            deadlock_timeout_ms: options.deadlock_timeout_ms,
            live: options.live,
            schema: schema.map(SchemaName::chosen).transpose()?,
            connect_timeout: connect_timeout(&given)?,
        })
    }

    /// The statements with which a session configures itself. A `synchronous_commit` that waits for
    /// more than the server's own disk (for standbys) is left unchanged.
    pub(super) fn session(&self, schema: &SchemaName, names: Names) -> Vec<String> {
        let mut statements = match names {
            Names::Managed => vec![format!("SET search_path = \"{schema}\"")],
            Names::All => vec![format!(
                "SELECT pg_catalog.set_config('search_path', pg_catalog.concat_ws(', ', '\"{schema}\"', \
                 nullif(pg_catalog.current_setting('search_path'), '')), false)"
            )],
            Names::Users => Vec::new(),
        };
        match self.durability {
            Durability::None => statements.push("SET synchronous_commit = off".to_owned()),
            // A server whose default does not wait for its own disk is made to wait.
            Durability::Os | Durability::Data | Durability::Full => {
                statements.push(WAITS_FOR_OWN_DISK.to_owned());
            }
        }
        if let Some(words) = self.isolation.and_then(isolation_words) {
            statements.push(format!("SET default_transaction_isolation = '{words}'"));
        }
        if let Some(ms) = self.lock_timeout_ms {
            statements.push(format!("SET lock_timeout = {ms}"));
        }
        if let Some(ms) = self.deadlock_timeout_ms {
            statements.push(format!("SET deadlock_timeout = {ms}"));
        }
        statements
    }
}

const WAITS_FOR_OWN_DISK: &str = "SELECT pg_catalog.set_config('synchronous_commit', CASE \
     pg_catalog.current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE \
     pg_catalog.current_setting('synchronous_commit') END, false)";

#[cfg(test)]
mod tests {
    use super::{Names, Settings};
    use crate::server::SchemaName;
    use crate::url::Url;

    fn parsed(options: &str) -> Result<Settings, String> {
        let url = Url::parse(&format!("postgres://localhost/db{options}")).unwrap();
        Settings::parse(&url).map_err(|error| error.to_string())
    }

    #[test]
    fn an_unknown_word_is_refused_with_the_valid_ones() {
        let message = parsed("?durability=some").unwrap_err();
        assert!(message.contains("full, data, os or none"), "{message}");
        assert!(parsed("?isolation=chaos").unwrap_err().contains("read_committed"));
    }

    #[test]
    fn a_session_sets_only_what_the_url_sets() {
        let schema = SchemaName::chosen("x").unwrap();
        let set = |options| parsed(options).unwrap().session(&schema, Names::Managed);
        let none = set(
            "?durability=none&isolation=repeatable_read&lock_timeout_ms=50&deadlock_timeout_ms=10",
        );
        assert_eq!(
            none,
            [
                "SET search_path = \"syncline_x\"",
                "SET synchronous_commit = off",
                "SET default_transaction_isolation = 'repeatable read'",
                "SET lock_timeout = 50",
                "SET deadlock_timeout = 10",
            ]
        );
        let data = set("");
        assert_eq!((data.len(), &data), (2, &set("?durability=os")));
        let all = parsed("").unwrap().session(&schema, Names::All);
        assert!(
            all[0].contains("'\"syncline_x\"', nullif(pg_catalog.current_setting('search_path')"),
            "{}",
            all[0]
        );
        assert_eq!(all[1..], data[1..]);
        let users = parsed("").unwrap().session(&schema, Names::Users);
        assert_eq!(users, data[1..], "f02: the search path is left unchanged");
        assert!(data[1].contains("WHEN 'off' THEN 'on'"), "{}", data[1]);
    }
}
