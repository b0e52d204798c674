//! The HTTP/JSON gateway of etcd: one request, one answer, on a persistent connection.

use super::http::{self, Request};
use super::settings::Settings;
use crate::server::{Host, process_of_peer};
use crate::wire::{Stream, Tls, connected};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long an answer may take: longer than an election, after which etcd itself gives up.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

/// One client's access to the gateway, with one request at a time.
#[derive(Debug)]
pub(super) struct Gateway {
    settings: Settings,
    tls: Tls,
    /// The connection, if it is open.
    stream: Mutex<Option<Stream>>,
    /// How long an answer may take, in milliseconds.
    patience_ms: AtomicU64,
    /// The authentication token, if one is required.
    token: Option<String>,
}

impl Gateway {
    /// Connects at its first request, or now if it must authenticate.
    pub(super) fn new(settings: &Settings) -> io::Result<Gateway> {
        let encryption = &settings.encryption;
        let tls = Tls::new(encryption.mode, encryption.roots.as_deref());
        let mut gateway = Gateway {
            settings: settings.clone(),
            tls: tls.map_err(|failure| io::Error::new(ErrorKind::InvalidInput, failure.what))?,
            stream: Mutex::new(None),
            patience_ms: AtomicU64::new(ms(ANSWERS_WITHIN)),
            token: None,
        };
        let (user, password) = (&settings.address.user, &settings.address.password);
        if let (Some(user), Some(password)) = (user, password) {
            let login = json!({ "name": user, "password": password.reveal() });
            let answer = gateway.ask("/v3/auth/authenticate", &login)?;
            let token = answer["token"].as_str();
            // The token becomes part of a request's head.
            if token.is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
                let what = "the gateway returned an invalid token";
                return Err(io::Error::new(ErrorKind::InvalidData, what));
            }
            gateway.token = token.map(str::to_owned);
        }
        Ok(gateway)
    }

    /// Sends a JSON request.
    pub(super) fn ask(&self, path: &str, question: &Value) -> io::Result<Value> {
        let body = question.to_string();
        let (status, text) = self.request("POST", path, body.as_bytes())?;
        if !(200..300).contains(&status) {
            return Err(refused(&text));
        }
        parsed(&text)
    }

    /// Reads a page of text.
    pub(super) fn page(&self, path: &str) -> io::Result<String> {
        let (_status, text) = self.request("GET", path, b"")?;
        String::from_utf8(text).map_err(|_error| {
            io::Error::new(ErrorKind::InvalidData, "the gateway returned a page that is not text")
        })
    }

    /// The status and body of an answer. If the server has closed the connection in the meantime, a new
    /// one is opened.
    fn request(&self, method: &'static str, path: &str, body: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        let host = self.settings.host();
        let request =
            Request { method, path, host: &host, authorization: self.token.as_deref(), body };
        let mut held = self.stream.lock();
        let mut stream = match held.take().filter(Stream::is_quiet) {
            Some(stream) => {
                let patience = Duration::from_millis(self.patience_ms.load(Ordering::Relaxed));
                stream.limit(Some(patience));
                stream
            }
            // The first answer must arrive within the time for connecting.
            None => self.connected()?,
        };
        // After any failure the state of the connection is unknown, so it is closed.
        let answer = http::ask(&mut stream, &request)?;
        if !answer.closes {
            *held = Some(stream);
        }
        Ok((answer.status, answer.body))
    }

    /// Runs a function in which each answer may take no longer than connecting.
    pub(super) fn promptly<R>(&self, work: impl FnOnce() -> R) -> R {
        let within = ms(self.settings.connects_within);
        self.patience_ms.store(within, Ordering::Relaxed);
        let done = work();
        self.patience_ms.store(ms(ANSWERS_WITHIN), Ordering::Relaxed);
        done
    }

    /// The process at the other end of a Unix socket, if it is connected.
    pub(super) fn peer(&self) -> Option<u32> {
        let held = self.stream.lock();
        held.as_ref().and_then(process_of_peer)
    }

    fn connected(&self) -> io::Result<Stream> {
        let encrypted = match &self.settings.address.host {
            Host::Tcp(host, _) if self.settings.encryption.is_on() => {
                Some((&self.tls, host.as_str()))
            }
            _ => None,
        };
        let within = self.settings.connects_within;
        let opened = connected(&self.settings.endpoint(), encrypted, within);
        opened.map_err(|error| self.settings.address.named_in(&error))
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Encodes bytes for JSON as base64.
pub(super) fn coded(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of a field; absent ones are empty, since the gateway omits empty fields.
pub(super) fn decoded(field: &Value) -> io::Result<Vec<u8>> {
    let text = field.as_str().unwrap_or_default();
    STANDARD.decode(text).map_err(|error| {
        let what = format!("the gateway returned bytes that are not base64: {error}");
        io::Error::new(ErrorKind::InvalidData, what)
    })
}

/// The number of a field, which is a text in JSON; absent is zero.
pub(super) fn number(field: &Value) -> i64 {
    field.as_str().and_then(|text| text.parse().ok()).or_else(|| field.as_i64()).unwrap_or(0)
}

/// The maximum length of a reported refusal, in characters.
const WORDS_MAX: usize = 400;

/// The maximum number of values of a JSON text: a byte or two of it become dozens in memory.
const VALUES_MAX: usize = 1 << 19;

/// Parses a JSON text of limited size; `serde_json` limits its depth.
pub(super) fn parsed(text: &[u8]) -> io::Result<Value> {
    let values = text.iter().filter(|byte| b",[{".contains(byte)).count();
    let read = if values > VALUES_MAX {
        Err(format!("more than {VALUES_MAX} values"))
    } else {
        serde_json::from_slice(text).map_err(|error| format!("a text that is not JSON: {error}"))
    };
    read.map_err(|why| {
        let what = format!("the gateway returned {why}");
        io::Error::new(ErrorKind::InvalidData, what)
    })
}

fn refused(text: &[u8]) -> io::Error {
    let answer = parsed(text).unwrap_or_default();
    let words = answer["message"]
        .as_str()
        .or_else(|| answer["error"].as_str())
        .map_or_else(|| String::from_utf8_lossy(text).into_owned(), str::to_owned);
    let words: String = words.chars().take(WORDS_MAX).collect();
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
    use super::{VALUES_MAX, coded, decoded, number, parsed, refused};
    use serde_json::json;
    use std::io::ErrorKind;

    #[test]
    fn fields_are_decoded_and_absent_ones_are_empty() {
        let answer = json!({ "key": coded(&[0, 255, 7]), "mod_revision": "42" });
        assert_eq!(decoded(&answer["key"]).unwrap(), [0, 255, 7]);
        assert_eq!(decoded(&answer["value"]).unwrap(), Vec::<u8>::new());
        assert_eq!((number(&answer["mod_revision"]), number(&answer["count"])), (42, 0));
    }

    // A.E6
    #[test]
    fn json_beyond_the_limits_is_refused() {
        assert!(parsed(br#"{"kvs":[{"key":"YQ=="}]}"#).is_ok());
        for text in [
            "[".repeat(200_000),
            format!("[{}1]", "1,".repeat(VALUES_MAX + 1)),
            "{\"a\":".repeat(1_000),
        ] {
            assert!(parsed(text.as_bytes()).is_err());
        }
    }

    #[test]
    fn refusals_map_to_error_kinds() {
        for (words, kind) in [
            ("etcdserver: mvcc: database space exceeded", ErrorKind::StorageFull),
            ("etcdserver: too many operations in txn request", ErrorKind::InvalidInput),
            ("etcdserver: request timed out", ErrorKind::TimedOut),
            ("etcdserver: permission denied", ErrorKind::Other),
        ] {
            let error = refused(json!({ "error": words }).to_string().as_bytes());
            assert_eq!((error.kind(), error.to_string()), (kind, words.to_owned()));
        }
    }
}
