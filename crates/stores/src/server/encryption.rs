//! Encryption of servers that do not negotiate it: a client begins with TLS or goes without (Redis,
//! etcd).
//!
//! The scheme of the URL (`rediss://`, `etcds://`) or the option `tls=` selects it. If only encryption
//! is requested, the server's certificate is verified, including its host name.

use crate::error::Error;
use crate::url::Url;
use crate::wire::{Tls, TlsMode};
use std::path::PathBuf;
use syncline_contract::{OptionArgs, OptionListing, Setting};

/// The option that selects the mode, for a target's listing.
pub const TLS: OptionListing = OptionListing {
    name: "tls",
    takes: "disable, require, verify-ca or verify-full",
    default: "verify-full if the URL begins with rediss or etcds, else disable",
    meaning: "encrypts the connection; verify-ca verifies the server's certificate against the roots, \
              verify-full also its host name",
};

/// The option that names the trusted roots, for a target's listing.
pub const TLS_ROOTS: OptionListing = OptionListing {
    name: "tls_roots",
    takes: "the path of a PEM file",
    default: "the system's root certificates",
    meaning: "the root certificates that the server's certificate is verified against",
};

/// How connections are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// Never [`TlsMode::Prefer`].
    pub mode: TlsMode,
    /// The trusted roots; `None` for the system's.
    pub roots: Option<PathBuf>,
}

impl Encryption {
    /// Reads a URL's scheme, which is the target's name, possibly followed by an s, and its options.
    pub(crate) fn of(
        url: &Url,
        given: &OptionArgs<'_>,
        target: &'static str,
    ) -> Result<Encryption, Error> {
        let modes = [TlsMode::Disable, TlsMode::Require, TlsMode::VerifyCa, TlsMode::VerifyFull];
        let asked = given.word(TLS.name, &modes, TlsMode::word)?;
        let begins = url.name != target;
        let refused = |what: &str| Error::NotHonoured { target, what: what.to_owned() };
        if begins && asked == Some(TlsMode::Disable) {
            let what = "tls=disable contradicts the scheme of the URL, which requires encryption";
            return Err(refused(what));
        }
        let otherwise = if begins { TlsMode::VerifyFull } else { TlsMode::Disable };
        let mode = asked.unwrap_or(otherwise);
        let roots = url.option(TLS_ROOTS.name).map(PathBuf::from);
        if roots.is_some() && mode < TlsMode::VerifyCa {
            let what = "tls_roots needs a tls mode that verifies: verify-ca or verify-full";
            return Err(refused(what));
        }
        Ok(Encryption { mode, roots })
    }

    /// The TLS configuration; refuses roots that cannot be read.
    pub(crate) fn tls(&self, target: &'static str) -> Result<Tls, Error> {
        let tls = Tls::new(self.mode, self.roots.as_deref());
        tls.map_err(|failure| Error::NotHonoured {
            target,
            what: format!("tls={}: {failure}", self.mode.word()),
        })
    }

    /// As a setting of a record.
    pub(crate) fn as_setting(&self) -> Setting {
        Setting {
            name: TLS.name.to_owned(),
            value: self.mode.word().to_owned(),
            source: "this target".to_owned(),
        }
    }

    /// True if connections are encrypted.
    pub fn is_on(&self) -> bool {
        self.mode != TlsMode::Disable
    }
}
