//! The HTTP/JSON gateway of etcd: one request, one answer, on a connection that stays.

use super::settings::Settings;
use crate::server::Encryption;
use crate::wire::{TlsMode, certificates};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// How long an answer may take: longer than an election, after which etcd itself gives up.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// Connections that stay: one thread asks one thing at a time.
const CONNECTIONS: usize = 1;

/// One client's way to the gateway.
#[derive(Debug)]
pub(super) struct Gateway {
    agent: Agent,
    place: String,
    /// What says who we are, where that is asked.
    token: Option<String>,
}

impl Gateway {
    /// Connects at its first request, or now if it must say who it is.
    pub(super) fn new(settings: &Settings) -> io::Result<Gateway> {
        let config = Agent::config_builder()
            .timeout_connect(Some(settings.connects_within))
            .timeout_global(Some(ANSWERS_WITHIN))
            .http_status_as_error(false)
            .max_idle_connections(CONNECTIONS)
            .max_idle_age(Duration::from_hours(1))
            .no_delay(true)
            .tls_config(encrypted(&settings.encryption)?)
            .build();
        let mut gateway = Gateway {
            agent: config.into(),
            place: settings.gateway.clone(),
            token: None,
        };
        let (user, password) = (&settings.address.user, &settings.address.password);
        if let (Some(user), Some(password)) = (user, password) {
            let login = json!({ "name": user, "password": password.reveal() });
            let answer = gateway.ask("/v3/auth/authenticate", &login)?;
            gateway.token = answer["token"].as_str().map(str::to_owned);
        }
        Ok(gateway)
    }

    /// Asks for something by JSON.
    pub(super) fn ask(&self, path: &str, question: &Value) -> io::Result<Value> {
        let url = format!("{}{path}", self.place);
        let mut request = self
            .agent
            .post(&url)
            .header("Content-Type", "application/json");
        if let Some(token) = &self.token {
            request = request.header("Authorization", token);
        }
        let mut answer = request
            .send(question.to_string().as_bytes())
            .map_err(lost)?;
        let status = answer.status();
        let text = answer
            .body_mut()
            .with_config()
            .limit(u64::MAX)
            .read_to_vec()
            .map_err(lost)?;
        if !status.is_success() {
            return Err(refused(&text));
        }
        serde_json::from_slice(&text).map_err(|error| {
            let what = format!("the gateway answers no JSON: {error}");
            io::Error::new(ErrorKind::InvalidData, what)
        })
    }

    /// Takes a page of text.
    pub(super) fn page(&self, path: &str) -> io::Result<String> {
        let url = format!("{}{path}", self.place);
        let mut answer = self.agent.get(&url).call().map_err(lost)?;
        let text = answer.body_mut().with_config().limit(u64::MAX);
        text.read_to_string().map_err(lost)
    }
}

/// How the gateway's connections are encrypted, if they are.
fn encrypted(encryption: &Encryption) -> io::Result<TlsConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
    let config = match encryption.mode {
        TlsMode::VerifyCa | TlsMode::VerifyFull => {
            let roots = certificates(encryption.roots.as_deref());
            let roots =
                roots.map_err(|failure| io::Error::new(ErrorKind::InvalidInput, failure.what))?;
            let roots: Vec<_> = roots
                .iter()
                .map(|root| Certificate::from_der(root).to_owned())
                .collect();
            config.root_certs(RootCerts::new_with_certs(&roots))
        }
        TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => config.disable_verification(true),
    };
    Ok(config.build())
}

/// Bytes as JSON has them there.
pub(super) fn coded(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of a field; absent ones are empty, as the gateway leaves empty fields out.
pub(super) fn decoded(field: &Value) -> io::Result<Vec<u8>> {
    let text = field.as_str().unwrap_or_default();
    STANDARD.decode(text).map_err(|error| {
        let what = format!("the gateway answers bytes that are no base64: {error}");
        io::Error::new(ErrorKind::InvalidData, what)
    })
}

/// A number of a field, which JSON has as text there; absent is zero.
pub(super) fn number(field: &Value) -> i64 {
    field
        .as_str()
        .and_then(|text| text.parse().ok())
        .or_else(|| field.as_i64())
        .unwrap_or(0)
}

fn lost(error: ureq::Error) -> io::Error {
    match error {
        ureq::Error::Io(error) => io::Error::new(connection(error.kind()), error),
        ureq::Error::Timeout(what) => io::Error::new(
            ErrorKind::TimedOut,
            format!("the server did not answer in time ({what})"),
        ),
        ureq::Error::HostNotFound => {
            io::Error::new(ErrorKind::NotConnected, "the host's name has no address")
        }
        other => io::Error::new(ErrorKind::ConnectionReset, other.to_string()),
    }
}

/// An error of a socket is one of the connection, also where its kind says less.
fn connection(kind: ErrorKind) -> ErrorKind {
    match kind {
        ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::TimedOut
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable => kind,
        _ => ErrorKind::ConnectionReset,
    }
}

fn refused(text: &[u8]) -> io::Error {
    let answer: Value = serde_json::from_slice(text).unwrap_or_default();
    let words = answer["message"]
        .as_str()
        .or_else(|| answer["error"].as_str())
        .map_or_else(|| String::from_utf8_lossy(text).into_owned(), str::to_owned);
    let says = |part: &str| words.contains(part);
    let kind = if says("database space exceeded") {
        ErrorKind::StorageFull
    } else if says("too many operations") || says("request is too large") {
        ErrorKind::InvalidInput
    } else if says("too many requests") {
        ErrorKind::ResourceBusy
    } else if says("timed out") || says("leader changed") || says("no leader") {
        ErrorKind::TimedOut
    } else {
        ErrorKind::Other
    };
    io::Error::new(kind, words)
}

#[cfg(test)]
mod tests {
    use super::{coded, decoded, number, refused};
    use serde_json::json;
    use std::io::ErrorKind;

    #[test]
    fn fields_come_back_and_absent_ones_are_empty() {
        let answer = json!({ "key": coded(&[0, 255, 7]), "mod_revision": "42" });
        assert_eq!(decoded(&answer["key"]).unwrap(), [0, 255, 7]);
        assert_eq!(decoded(&answer["value"]).unwrap(), Vec::<u8>::new());
        assert_eq!(
            (number(&answer["mod_revision"]), number(&answer["count"])),
            (42, 0)
        );
    }

    #[test]
    fn refusals_are_told_by_what_to_make_of_them() {
        for (words, kind) in [
            (
                "etcdserver: mvcc: database space exceeded",
                ErrorKind::StorageFull,
            ),
            (
                "etcdserver: too many operations in txn request",
                ErrorKind::InvalidInput,
            ),
            ("etcdserver: request timed out", ErrorKind::TimedOut),
            ("etcdserver: permission denied", ErrorKind::Other),
        ] {
            let error = refused(json!({ "error": words }).to_string().as_bytes());
            assert_eq!((error.kind(), error.to_string()), (kind, words.to_owned()));
        }
    }
}
