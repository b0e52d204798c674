//! Describes a failed TLS handshake in one clause with advice; the error names of the TLS library are
//! not shown to the user.

use rustls::{AlertDescription, CertificateError, Error};
use std::io;
use std::time::Duration;

const ANY: &str = "use tls=require, which accepts any certificate";
const DAY: Duration = Duration::from_hours(24);

/// Describes an error of a socket, if TLS caused it.
pub(super) fn of(error: &io::Error) -> Option<String> {
    let inner = error.get_ref()?.downcast_ref::<Error>()?;
    Some(described(inner))
}

fn described(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => of_certificate(why),
        Error::NoCertificatesPresented => "it presents no certificate".to_owned(),
        Error::AlertReceived(alert) => of_alert(*alert),
        Error::PeerIncompatible(_) | Error::PeerMisbehaved(_) => {
            "it does not offer a supported version or cipher of TLS: 1.2 and 1.3, with AES-GCM or ChaCha20"
                .to_owned()
        }
        Error::InvalidMessage(_) | Error::InappropriateMessage { .. } => {
            "the server does not speak TLS; check host and port, or use tls=disable".to_owned()
        }
        other => format!("TLS failed ({other})"),
    }
}

fn of_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired | AlertDescription::NoCertificate => {
            "it requires a client certificate, which this program does not support".to_owned()
        }
        AlertDescription::HandshakeFailure
        | AlertDescription::ProtocolVersion
        | AlertDescription::InsufficientSecurity => {
            "it has no version or cipher of TLS in common with this program: 1.2 and 1.3, with AES-GCM or ChaCha20"
                .to_owned()
        }
        other => format!("it ended the handshake with the alert {other:?}; its log may have the reason"),
    }
}

fn of_certificate(why: &CertificateError) -> String {
    match why {
        CertificateError::UnknownIssuer => format!(
            "its certificate is not signed by a trusted root; it is self-signed or from a private \
             authority; name its root with root=FILE (PostgreSQL) or tls_roots=FILE (others), or {ANY}"
        ),
        CertificateError::Other(other) if other.to_string() == "CaUsedAsEndEntity" => format!(
            "its certificate is self-signed and a certificate authority's (CA:TRUE), not a server's; \
             have the authority sign one for the server, or {ANY}"
        ),
        CertificateError::ExpiredContext { time, not_after } => {
            let since = time.as_secs().saturating_sub(not_after.as_secs());
            format!(
                "its certificate expired {} ago; renew it, or check the clock of this machine, or {ANY}",
                rough(since)
            )
        }
        CertificateError::Expired => {
            format!(
                "its certificate has expired; renew it, or check the clock of this machine, or {ANY}"
            )
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let until = not_before.as_secs().saturating_sub(time.as_secs());
            format!(
                "its certificate is not valid before {} from now; check the clocks of both machines, or {ANY}",
                rough(until)
            )
        }
        CertificateError::NotValidYet => {
            format!("its certificate is not valid yet; check the clocks of both machines, or {ANY}")
        }
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "its certificate is for {} and not for {}; name the host as the certificate does, or use \
             tls=verify-ca, which accepts any name",
            names(presented),
            expected.to_str()
        ),
        CertificateError::NotValidForName => {
            "its certificate is for another host; name the host as the \
             certificate does, or use tls=verify-ca, which accepts any name"
                .to_owned()
        }
        CertificateError::BadSignature => format!(
            "its certificate is not signed by the key of the trusted root of that name; name \
             the right root, or {ANY}"
        ),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            format!(
                "its certificate is not for servers (extended key usage); have one signed, or {ANY}"
            )
        }
        CertificateError::BadEncoding => {
            "its certificate cannot be read: it is damaged, or older than version 3 of X.509"
                .to_owned()
        }
        other => {
            format!(
                "its certificate violates a rule of X.509 ({other}); have a valid one signed, or {ANY}"
            )
        }
    }
}

/// The host names in a certificate; the library's form is `DnsName("db.example")`.
fn names(presented: &[String]) -> String {
    let plain = |name: &String| {
        let inner = name.split_once('(').map(|(_, rest)| rest.trim_end_matches(')'));
        inner.unwrap_or(name).trim_matches('"').to_owned()
    };
    let names: Vec<_> = presented.iter().map(plain).collect();
    if names.is_empty() { "no host".to_owned() } else { names.join(", ") }
}

/// A duration in days, or less than one.
fn rough(seconds: u64) -> String {
    match seconds / DAY.as_secs() {
        0 => "less than a day".to_owned(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    }
}
