//! The options of a `redis:` URL.

use crate::error::Error;
use crate::server::{
    Address, AddressForm, CONNECT_TIMEOUT, Encryption, Host, PASSWORD, PASSWORD_FILE, SOCKET, TLS,
    TLS_ROOTS, connect_timeout,
};
use crate::url::{Listing, Url};
use crate::wire::Endpoint;
use std::time::Duration;
use syncline_contract::{Durability, OptionListing, YesOrNo, options};

/// All settings of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) address: Address,
    pub(super) encryption: Encryption,
    /// The number of the database.
    pub(super) database: u32,
    /// The required durability; `None` accepts the server's.
    pub(super) durability: Option<Durability>,
    /// True if the names of rows are kept in order.
    pub(super) scans: bool,
    /// True if other sessions may be active during the run.
    pub(super) live: bool,
    pub(super) connects_within: Duration,
}

options! {
    /// The options of a `redis:` URL.
    #[derive(Debug)]
    struct UrlOptions and [
        OptionListing { default: "REDISCLI_AUTH, or none", ..PASSWORD },
        PASSWORD_FILE,
        SOCKET,
        TLS,
        TLS_ROOTS,
        CONNECT_TIMEOUT,
    ] {
        durability: Durability as "none, os or data" = ["the server's own"],
            "no append-only file; appendfsync everysec or no; appendfsync always";
        scans: bool as YesOrNo = "yes",
            "keeps the names of rows in a sorted set, which scans require";
        live: bool as YesOrNo = "no", "allow other connected clients";
    }
}

/// The entry in `syncline list targets`.
pub(crate) const LISTING: &Listing = &Listing {
    name: "redis",
    what: "Redis, Valkey and compatible servers, through their own protocol",
    form: "redis://[user:password@]host[:port][/number][?options], rediss:// with TLS",
    options: UrlOptions::LISTING,
};

const FORM: AddressForm = AddressForm {
    form: LISTING.form,
    port: 6379,
    password_variable: "REDISCLI_AUTH",
    socket_file: |_| "redis.sock".to_owned(),
};

impl Settings {
    /// The address of the server.
    pub(super) fn endpoint(&self) -> Endpoint {
        self.address.host.endpoint()
    }

    pub(super) fn parse(url: &Url) -> Result<Settings, Error> {
        let given = url.option_args(LISTING)?;
        let address = Address::of(url, &FORM)?;
        let number = address.database.as_deref().map(str::parse);
        let database = number.transpose().map_err(|_error| Error::Malformed {
            url: url.text.clone(),
            why: "a database of Redis is a number",
            form: LISTING.form,
        })?;
        let UrlOptions { durability, scans, live } = UrlOptions::read(&given)?;
        if durability == Some(Durability::Full) {
            return Err(Error::NotHonoured {
                target: LISTING.name,
                what: "durability=full: Redis syncs by fdatasync; the maximum is data".to_owned(),
            });
        }
        let encryption = Encryption::of(url, &given, LISTING.name)?;
        if encryption.is_on() && matches!(address.host, Host::Socket(_)) {
            return Err(Error::NotHonoured {
                target: LISTING.name,
                what: "encryption through a Unix socket: Redis supports it over TCP only"
                    .to_owned(),
            });
        }
        Ok(Settings {
            address,
            encryption,
            database: database.unwrap_or(0),
            durability,
            scans,
            live,
            connects_within: connect_timeout(&given)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Settings;
    use crate::url::Url;

    fn parse(url: &str) -> Result<Settings, String> {
        Settings::parse(&Url::parse(url).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_url_is_parsed() {
        let settings = parse("redis://bob:secret@host:7/3?scans=no&durability=os").unwrap();
        assert_eq!((settings.database, settings.scans, settings.live), (3, false, false));
        assert_eq!(settings.address.to_string(), "redis://bob@host:7/3");
        assert_eq!(parse("redis://").unwrap().address.to_string(), "redis://127.0.0.1:6379");
    }

    #[test]
    fn encryption_is_selected_by_the_scheme_or_by_an_option() {
        let mode = |url| parse(url).unwrap().encryption.mode.word();
        assert_eq!(mode("redis://h"), "disable");
        assert_eq!(mode("rediss://h"), "verify-full");
        assert_eq!(mode("rediss://h?tls=require"), "require");
        assert_eq!(mode("redis://h?tls=verify-ca&tls_roots=/r.pem"), "verify-ca");
    }

    #[test]
    fn unsupported_settings_are_refused() {
        for (url, words) in [
            ("redis://h?durability=full", "the maximum is data"),
            ("redis://h/rows", "is a number"),
            ("redis://h?speed=1", "no option \"speed\""),
            ("rediss://h?tls=disable", "tls=disable"),
            ("redis://h?tls=prefer", "tls"),
            ("redis://h?tls_roots=/r.pem", "needs a tls mode"),
            ("rediss://?socket=/s", "over TCP only"),
        ] {
            let message = parse(url).unwrap_err();
            assert!(message.contains(words), "{url}: {message}");
        }
    }
}
