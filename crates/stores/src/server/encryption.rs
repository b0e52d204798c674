//! Encryption of servers that negotiate none: a client begins with it, or goes without (Redis, etcd).
//!
//! The first word of the URL says which (`rediss://`, `etcds://`), or `tls=` in its options. Who asks for
//! encryption and says no more has the server's certificate verified, its name too.

use crate::error::Error;
use crate::url::Url;
use crate::wire::{Tls, TlsMode};
use std::path::PathBuf;
use syncline_contract::{OptionArgs, OptionListing, Setting};

/// The option that says how; for a target's listing.
pub const TLS: OptionListing = OptionListing {
    name: "tls",
    takes: "disable, require, verify-ca or verify-full",
    default: "verify-full where the URL begins with rediss or etcds, else disable",
    meaning: "encrypts the connection; verify-ca holds the server's certificate against the roots, \
              verify-full its name too",
};

/// The option that names whom to trust; for a target's listing.
pub const TLS_ROOTS: OptionListing = OptionListing {
    name: "tls_roots",
    takes: "the path of a PEM file",
    default: "the system's root certificates",
    meaning: "the certificates that the server's must be signed by",
};

/// How connections are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// Never [`TlsMode::Prefer`].
    pub mode: TlsMode,
    /// Whom to trust; none for the system's.
    pub roots: Option<PathBuf>,
}

impl Encryption {
    /// By a URL's first word, which is the target's own or that with an s behind it, and its options.
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
            let what = "tls=disable in a URL whose first word asks for encryption";
            return Err(refused(what));
        }
        let otherwise = if begins { TlsMode::VerifyFull } else { TlsMode::Disable };
        let mode = asked.unwrap_or(otherwise);
        let roots = url.option(TLS_ROOTS.name).map(PathBuf::from);
        if roots.is_some() && mode < TlsMode::VerifyCa {
            let what = "tls_roots without a tls mode that verifies: say verify-ca or verify-full";
            return Err(refused(what));
        }
        Ok(Encryption { mode, roots })
    }

    /// What encrypts by it; refuses roots that cannot be read.
    pub(crate) fn tls(&self, target: &'static str) -> Result<Tls, Error> {
        let tls = Tls::new(self.mode, self.roots.as_deref());
        tls.map_err(|failure| Error::NotHonoured {
            target,
            what: format!("tls={}: {failure}", self.mode.word()),
        })
    }

    /// As a setting of a record.
    pub(crate) fn said(&self) -> Setting {
        Setting {
            name: TLS.name.to_owned(),
            value: self.mode.word().to_owned(),
            said_by: "this target".to_owned(),
        }
    }

    /// True if anything is encrypted.
    pub fn is_on(&self) -> bool {
        self.mode != TlsMode::Disable
    }
}
