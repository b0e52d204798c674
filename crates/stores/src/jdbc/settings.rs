//! The options of a `jdbc:` URL. Options of the driver itself are given as the driver expects them: in
//! the attributes of its own URL (`;create=true`), or as `property.NAME=VALUE`.

use crate::error::Error;
use crate::path;
use crate::server::{CONNECT_TIMEOUT, PASSWORD_FILE, connect_timeout};
use crate::url::{Listing, Url};
use std::path::{Path, PathBuf};
use std::time::Duration;
use syncline_contract::{Durability, Isolation, OptionListing};

/// The isolation level, in JDBC's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `TRANSACTION_READ_COMMITTED`.
    ReadCommitted,
    /// `TRANSACTION_REPEATABLE_READ`.
    RepeatableRead,
    /// `TRANSACTION_SERIALIZABLE`.
    Serializable,
}

impl Level {
    /// Every supported level.
    pub const ALL: [Level; 3] = [Level::ReadCommitted, Level::RepeatableRead, Level::Serializable];

    /// The word of the option.
    pub fn word(self) -> &'static str {
        match self {
            Level::ReadCommitted => "read_committed",
            Level::RepeatableRead => "repeatable_read",
            Level::Serializable => "serializable",
        }
    }

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
    /// True if other sessions may be active during the run.
    pub live: bool,
    /// How long a server may take to accept a connection and to answer the queries before a run.
    pub connect_timeout: Duration,
    /// Further properties for the driver, except user and password.
    pub properties: Vec<(String, String)>,
}

/// The prefix of options for the driver.
const PROPERTY: &str = "property.";

/// The entry in `syncline list targets`.
pub(crate) const LISTING: &Listing = &Listing {
    name: "jdbc",
    what: "any store with a JDBC driver, through a JVM in this process",
    form: "jdbc:PRODUCT:PLACE?driver=JAR:JAR&options, or jdbc:derby?driver=JAR:JAR for a private one",
    options: &[
        OptionListing {
            name: "driver",
            takes: "paths of jar files, with colons between them",
            default: "none: it must be given",
            meaning: "the driver's files; this program does not fetch drivers",
        },
        OptionListing {
            name: "class",
            takes: "the name of a Java class",
            default: "the class that the jars list",
            meaning: "the driver's class",
        },
        OptionListing {
            name: "durability",
            takes: "none, os, data or full, if the product supports it",
            default: "the database's own",
            meaning: "the durability of a commit",
        },
        OptionListing {
            name: "isolation",
            takes: "read_committed, repeatable_read or serializable",
            default: "read_committed; serializable for HSQLDB",
            meaning: "isolation of transactions",
        },
        OptionListing {
            name: "user",
            takes: "a name",
            default: "the driver's",
            meaning: "the user who logs in to a server",
        },
        OptionListing {
            name: "password",
            takes: "a password, or ${NAME} from the environment",
            default: "SYNCLINE_PASSWORD, or none",
            meaning: "the password, which is never shown",
        },
        PASSWORD_FILE,
        CONNECT_TIMEOUT,
        OptionListing {
            name: "live",
            takes: "yes or no",
            default: "no",
            meaning: "allow other active sessions",
        },
        OptionListing {
            name: "property.NAME",
            takes: "any value",
            default: "none",
            meaning: "passed to the driver as its property NAME",
        },
    ],
};

impl Settings {
    /// Parses a URL's options; refuses unknown ones, and a URL without a driver.
    pub(super) fn parse(url: &Url) -> Result<Settings, Error> {
        let (properties, ours): (Vec<_>, Vec<_>) =
            url.pairs.iter().cloned().partition(|(name, _)| name.starts_with(PROPERTY));
        let only_ours = Url { pairs: ours, ..url.clone() };
        let given = only_ours.option_args(LISTING)?;
        let text = |value: &str| Some(value.to_owned()).filter(|value| !value.is_empty());
        let driver = given.parsed("driver", text)?.ok_or(Error::NotHonoured {
            target: LISTING.name,
            what: "a URL without driver=JAR:JAR: name the jar files of the driver, which this program \
                   does not fetch"
                .to_owned(),
        })?;
        let jars = driver.split(':').map(|jar| path::absolute(Path::new(jar)));
        let properties =
            properties.into_iter().map(|(name, value)| (name[PROPERTY.len()..].to_owned(), value));
        Ok(Settings {
            jars: jars.collect::<Result<_, _>>()?,
            class: given.parsed("class", text)?,
            durability: given.word("durability", &Durability::ALL, Durability::word)?,
            isolation: given.word("isolation", &Level::ALL, Level::word)?,
            live: given
                .word("live", &[true, false], |live| if live { "yes" } else { "no" })?
                .unwrap_or(false),
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
                   &property.ssl=true";
        let settings = parse(url).unwrap();
        assert_eq!(settings.jars.len(), 2);
        assert_eq!(settings.class.as_deref(), Some("c.D"));
        assert_eq!(settings.durability, Some(Durability::Data));
        assert_eq!(settings.isolation, Some(Level::Serializable));
        assert_eq!(settings.properties, [("ssl".to_owned(), "true".to_owned())]);
        assert!(!settings.live);
    }

    #[test]
    fn a_url_without_a_driver_or_with_an_unknown_option_is_refused_by_name() {
        for (url, words) in [
            ("jdbc:derby:x", "driver=JAR:JAR"),
            ("jdbc:derby:x?driver=", "option driver of target jdbc"),
            ("jdbc:derby:x?driver=a&speed=1", "no option \"speed\""),
            ("jdbc:derby:x?driver=a&durability=much", "takes none, os, data or full"),
        ] {
            let message = parse(url).unwrap_err();
            assert!(message.contains(words), "{url}: {message}");
        }
    }
}
