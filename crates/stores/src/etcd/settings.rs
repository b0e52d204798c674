//! The options of an `etcd:` URL.

use crate::error::Error;
use crate::server::{
    Address, AddressForm, CONNECT_TIMEOUT, Encryption, Host, PASSWORD, PASSWORD_FILE, SOCKET, TLS,
    TLS_ROOTS, connect_timeout,
};
use crate::url::{Listing, Url};
use crate::wire::{Endpoint, TlsMode};
use std::time::Duration;
use syncline_contract::{Durability, OptionListing, YesOrNo, options};

/// All settings of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) address: Address,
    pub(super) encryption: Encryption,
    /// The required durability; `None` accepts the server's.
    pub(super) durability: Option<Durability>,
    /// True if other sessions may be active during the run.
    pub(super) live: bool,
    pub(super) connects_within: Duration,
}

options! {
    /// The options of an `etcd:` URL.
    #[derive(Debug)]
    struct UrlOptions and [
        OptionListing { default: "ETCD_PASSWORD, or none", ..PASSWORD },
        PASSWORD_FILE,
        SOCKET,
        OptionListing {
            takes: "disable, require or verify-full",
            meaning: "encrypts the connection; verify-full verifies the server's certificate against the roots \
                      and its host name",
            ..TLS
        },
        TLS_ROOTS,
        CONNECT_TIMEOUT,
    ] {
        durability: Durability as "os or data" = ["the server's own"],
            "os only for a server started with --unsafe-no-fsync";
        live: bool as YesOrNo = "no", "allow other active sessions";
    }
}

/// The entry in `syncline list targets`.
pub(crate) const LISTING: &Listing = &Listing {
    name: "etcd",
    what: "etcd, through its HTTP/JSON gateway",
    form: "etcd://[user:password@]host[:port][?options], etcds:// with TLS",
    options: UrlOptions::LISTING,
};

const FORM: AddressForm = AddressForm {
    form: LISTING.form,
    port: 2379,
    password_variable: "ETCD_PASSWORD",
    // The file that etcd creates for --listen-client-urls=unix://localhost:PORT.
    socket_file: |port| format!("localhost:{port}"),
};

impl Settings {
    /// The address of the gateway.
    pub(super) fn endpoint(&self) -> Endpoint {
        self.address.host.endpoint()
    }

    /// The host as requests name it.
    pub(super) fn host(&self) -> String {
        match &self.address.host {
            Host::Tcp(..) => self.endpoint().to_string(),
            Host::Socket(_) => "localhost".to_owned(),
        }
    }

    pub(super) fn parse(url: &Url) -> Result<Settings, Error> {
        let given = url.option_args(LISTING)?;
        let address = Address::of(url, &FORM)?;
        let malformed = |why| Error::Malformed { url: url.text.clone(), why, form: LISTING.form };
        if address.database.is_some() {
            return Err(malformed("etcd has no databases"));
        }
        let encryption = Encryption::of(url, &given, LISTING.name)?;
        if encryption.mode == TlsMode::VerifyCa {
            return Err(Error::NotHonoured {
                target: LISTING.name,
                what: "tls=verify-ca: the host name of the gateway's certificate is always verified; use \
                       verify-full, or require for any certificate"
                    .to_owned(),
            });
        }
        if encryption.is_on() && matches!(address.host, Host::Socket(_)) {
            return Err(Error::NotHonoured {
                target: LISTING.name,
                what: "encryption through a Unix socket: use a host and a port, or omit encryption"
                    .to_owned(),
            });
        }
        let UrlOptions { durability, live } = UrlOptions::read(&given)?;
        if let Some(word @ (Durability::None | Durability::Full)) = durability {
            return Err(Error::NotHonoured {
                target: LISTING.name,
                what: format!(
                    "durability={}: etcd writes its log before it answers and syncs it by fdatasync; the \
                     words are os and data",
                    word.word()
                ),
            });
        }
        Ok(Settings {
            address,
            encryption,
            durability,
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
        let settings = parse("etcd://root:secret@host?live=yes").unwrap();
        assert_eq!(settings.host(), "host:2379");
        let encrypted = parse("etcds://host:1?tls=require").unwrap();
        assert!(encrypted.encryption.is_on());
        let local = parse("etcd://?socket=/run/etcd").unwrap();
        assert_eq!(local.endpoint().to_string(), "/run/etcd");
        assert!(settings.live && !settings.address.to_string().contains("secret"));
    }

    #[test]
    fn unsupported_settings_are_refused() {
        for (url, words) in [
            ("etcd://h?durability=none", "the words are os and data"),
            ("etcd://h?durability=full", "the words are os and data"),
            ("etcd://h/rows", "no databases"),
            ("etcds://h?tls=verify-ca", "verify-full"),
            ("etcds://h?tls=disable", "tls=disable"),
            ("etcds://?socket=/s", "through a Unix socket"),
        ] {
            let message = parse(url).unwrap_err();
            assert!(message.contains(words), "{url}: {message}");
        }
    }
}
