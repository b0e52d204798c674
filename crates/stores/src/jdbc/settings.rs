//! The options of a `jdbc:` URL. Options of the driver itself are given as the driver expects them: in
//! the attributes of its own URL (`;create=true`), or as `property.NAME=VALUE`.

use crate::error::Error;
use crate::path;
use crate::server::{CONNECT_TIMEOUT, PASSWORD, PASSWORD_FILE, connect_timeout};
use crate::url::{Listing, Url};
use std::path::PathBuf;
use std::time::Duration;
use syncline_contract::{
    Durability, Isolation, OptionForm, OptionListing, YesOrNo, options, words,
};

words! {
    /// The isolation level, in JDBC's terms.
    pub enum Level {
        /// `TRANSACTION_READ_COMMITTED`.
        ReadCommitted = "read_committed",
        /// `TRANSACTION_REPEATABLE_READ`.
        RepeatableRead = "repeatable_read",
        /// `TRANSACTION_SERIALIZABLE`.
        Serializable = "serializable",
    }
}

impl Level {
    /// JDBC's number.
    pub(super) fn number(self) -> i32 {
        match self {
            Level::ReadCommitted => 2,
            Level::RepeatableRead => 4,
            Level::Serializable => 8,
        }
    }

    /// The level in the contract's terms.
    pub(super) fn isolation(self) -> Isolation {
        match self {
            Level::ReadCommitted => Isolation::ReadCommitted,
            Level::RepeatableRead => Isolation::RepeatableRead,
            Level::Serializable => Isolation::Serializable,
        }
    }
}

/// All settings of a URL except the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The driver's jar files.
    pub jars: Vec<PathBuf>,
    /// The driver's class; `None` if its jars list it.
    pub class: Option<String>,
    /// The required durability; `None` accepts the database's own.
    pub durability: Option<Durability>,
    /// The isolation level; `None` for the product's default.
    pub isolation: Option<Level>,
    /// The user who logs in to a server, if an option names one.
    pub user: Option<String>,
    /// True if other sessions may be active during the run.
    pub live: bool,
    /// How long a server may take to accept a connection and to answer the queries before a run.
    pub connect_timeout: Duration,
    /// Further properties for the driver, except user and password.
    pub properties: Vec<(String, String)>,
}

/// The prefix of options for the driver.
const PROPERTY: &str = "property.";

/// Paths of jar files.
struct JarFiles;

impl OptionForm<Vec<PathBuf>> for JarFiles {
    const TAKES: &'static str = "paths of jar files, with colons between them";

    fn read(text: &str) -> Option<Vec<PathBuf>> {
        (!text.is_empty()).then(|| text.split(':').map(PathBuf::from).collect())
    }

    fn text(value: &Vec<PathBuf>) -> String {
        value.iter().map(|jar| jar.to_string_lossy()).collect::<Vec<_>>().join(":")
    }
}

/// The name of a class.
struct ClassName;

impl OptionForm<String> for ClassName {
    const TAKES: &'static str = "the name of a Java class";

    fn read(text: &str) -> Option<String> {
        Some(text.to_owned()).filter(|text| !text.is_empty())
    }

    fn text(value: &String) -> String {
        value.clone()
    }
}

options! {
    /// The options of a `jdbc:` URL.
    #[derive(Debug)]
    struct UrlOptions and [
        OptionListing { default: "SYNCLINE_PASSWORD, or none", ..PASSWORD },
        PASSWORD_FILE,
        CONNECT_TIMEOUT,
        SessionOptions::LISTING[0],
        // No field of a table: one entry covers any number of names.
        OptionListing {
            name: "property.NAME",
            takes: "any value",
            default: "none",
            meaning: "passed to the driver as its property NAME",
        },
    ] {
        driver: Vec<PathBuf> as JarFiles = ["none: it must be given"],
            "the driver's files; this program does not fetch drivers";
        class: String as ClassName = ["the class that the jars list"], "the driver's class";
        durability: Durability as "none, os, data or full, if the product supports it"
            = ["the database's own"], "the durability of a commit";
        isolation: Level = ["read_committed; serializable for HSQLDB"],
            "isolation of transactions";
        user: String as "a name" = ["the driver's"], "the user who logs in to a server";
    }
}

options! {
    /// Listed behind the options that all servers share.
    #[derive(Debug)]
    struct SessionOptions {
        live: bool as YesOrNo = "no", "allow other active sessions";
    }
}

/// The entry in `syncline list targets`.
pub(crate) const LISTING: &Listing = &Listing {
    name: "jdbc",
    what: "any store with a JDBC driver, through a JVM in this process",
    form: "jdbc:PRODUCT:PLACE?driver=JAR:JAR&options, or jdbc:derby?driver=JAR:JAR for a private one",
    options: UrlOptions::LISTING,
};

impl Settings {
    /// Parses a URL's options; refuses unknown ones, and a URL without a driver.
    pub(super) fn parse(url: &Url) -> Result<Settings, Error> {
        let (properties, ours): (Vec<_>, Vec<_>) =
            url.pairs.iter().cloned().partition(|(name, _)| name.starts_with(PROPERTY));
        let only_ours = Url { pairs: ours, ..url.clone() };
        let given = only_ours.option_args(LISTING)?;
        let UrlOptions { driver, class, durability, isolation, user } = UrlOptions::read(&given)?;
        let SessionOptions { live } = SessionOptions::read(&given)?;
        let jars = driver.ok_or(Error::NotHonoured {
            target: LISTING.name,
            what: "a URL without driver=JAR:JAR: name the jar files of the driver, which this program \
                   does not fetch"
                .to_owned(),
        })?;
        let properties =
            properties.into_iter().map(|(name, value)| (name[PROPERTY.len()..].to_owned(), value));
        Ok(Settings {
            jars: jars.iter().map(|jar| path::absolute(jar)).collect::<Result<_, _>>()?,
            class,
            durability,
            isolation,
            user,
            live,
            connect_timeout: connect_timeout(&given)?,
            properties: properties.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, Settings};
    use crate::url::Url;
    use syncline_contract::Durability;

    fn parse(url: &str) -> Result<Settings, String> {
        Settings::parse(&Url::parse(url).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_parsed_and_the_drivers_own_are_passed_on() {
        let url = "jdbc:x:y?driver=/a.jar:/b.jar&class=c.D&durability=data&isolation=serializable\
                   &user=ann&property.ssl=true";
        let settings = parse(url).unwrap();
        assert_eq!(settings.jars.len(), 2);
        assert_eq!(settings.class.as_deref(), Some("c.D"));
        assert_eq!(settings.durability, Some(Durability::Data));
        assert_eq!(settings.isolation, Some(Level::Serializable));
        assert_eq!(settings.properties, [("ssl".to_owned(), "true".to_owned())]);
        assert_eq!((settings.user.as_deref(), settings.live), (Some("ann"), false));
    }

    #[test]
    fn a_url_without_a_driver_or_with_an_unknown_option_is_refused_by_name() {
        for (url, words) in [
            ("jdbc:derby:x", "driver=JAR:JAR"),
            ("jdbc:derby:x?driver=", "option driver of target jdbc"),
            ("jdbc:derby:x?driver=a&class=", "takes the name of a Java class"),
            ("jdbc:derby:x?driver=a&speed=1", "no option \"speed\""),
            ("jdbc:derby:x?driver=a&durability=much", "takes none, os, data or full"),
        ] {
            let message = parse(url).unwrap_err();
            assert!(message.contains(words), "{url}: {message}");
        }
    }
}
