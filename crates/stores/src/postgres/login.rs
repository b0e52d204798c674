//! The handshake: encryption, password, SCRAM with channel binding.
//!
//! A password is sent in clear only to a server whose certificate was verified, or with `cleartext=yes`
//! over an encrypted connection or to this machine. Encryption without verification does not prove the
//! identity of the peer. Over an encrypted connection, channel binding is used with every server that
//! supports it.

use super::protocol::{Connection, ServerLocation, tag};
use super::settings::LISTING;
use crate::server::{Address, session_name};
use crate::wire::{Endpoint, TlsMode, speaker};
use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;
use ring::digest;
use syncline_contract::{Failure, FailureKind, TargetResult};
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// The maximum number of SCRAM iterations: about a second of work. PostgreSQL's default is 4096.
const ITERATIONS_MAX: u32 = 1_000_000;

impl Connection {
    /// From an open stream to a ready session.
    pub(super) async fn log_in(&mut self, place: &ServerLocation) -> TargetResult<()> {
        self.encrypt(place).await?;
        let address = &place.address;
        let user = place.user.as_str();
        let database = address.database.as_deref().unwrap_or(user);
        let options = place.settings.options.as_deref();
        let startup = frontend::startup_message(
            [
                ("user", user),
                ("database", database),
                ("client_encoding", "UTF8"),
                ("application_name", session_name()),
            ]
            .into_iter()
            .chain(options.map(|options| ("options", options))),
            &mut self.out,
        );
        startup.map_err(|error| refused(place, &error))?;
        self.flush().await?;
        let bound = self.authenticate(place, user).await?;
        if place.settings.binds_channel && !bound {
            return Err(refused(
                place,
                &"channel_binding=require requires a log-in that is bound to the TLS channel, and this one was \
                  not",
            ));
        }
        loop {
            match self.next().await? {
                tag::KEY_DATA => {
                    let process = self.body().first_chunk().copied();
                    self.process_at_login =
                        process.map(|bytes| u64::from(u32::from_be_bytes(bytes)));
                }
                tag::READY => return self.note_status(),
                tag::ERROR => return Err(self.error().outside("log in")),
                _ => return Err(self.garbled("at log-in")),
            }
        }
    }

    async fn encrypt(&mut self, place: &ServerLocation) -> TargetResult<()> {
        let mode = place.tls.mode();
        let by_socket = matches!(place.endpoint, Endpoint::Unix(_));
        if mode == TlsMode::Disable || by_socket {
            return Ok(());
        }
        frontend::ssl_request(&mut self.out);
        self.flush().await?;
        while self.stream.received().is_empty() {
            self.stream.fill().await?;
        }
        let answer = self.stream.received();
        let can = answer[0] == b'S';
        // An old server answers with an error message; any other byte is not PostgreSQL's.
        if !matches!(answer[0], b'S' | b'N' | b'E') {
            let who = speaker(answer).unwrap_or("another product");
            let what =
                format!("{}: {who} listens there, not PostgreSQL; check the port", place.address);
            return Err(Failure::new(FailureKind::Connection, what));
        }
        self.stream.consume(1);
        if can {
            return self.stream.start_tls(&place.tls, place.host()).await;
        }
        if mode == TlsMode::Prefer {
            return Ok(());
        }
        let what =
            format!("{} does not encrypt, and tls={} requires it", place.endpoint, mode.word());
        Err(Failure::new(FailureKind::Limit, what))
    }

    /// True if the log-in was bound to the TLS channel.
    async fn authenticate(&mut self, place: &ServerLocation, user: &str) -> TargetResult<bool> {
        let mut bound = false;
        loop {
            match self.authentication().await? {
                Message::AuthenticationOk => return Ok(bound),
                Message::AuthenticationCleartextPassword => {
                    let encrypted = self.stream.certificate().is_some();
                    let verified = encrypted && place.tls.mode() >= TlsMode::VerifyCa;
                    let consents =
                        place.settings.cleartext && (encrypted || place.endpoint.is_here());
                    if !verified && !consents {
                        return Err(refused(
                            place,
                            &"it requests the password in clear text; verify the server with tls=verify-full, or allow \
                              it, on an encrypted or local connection, with cleartext=yes",
                        ));
                    }
                    self.password(place, password(place)?.as_bytes()).await?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(user.as_bytes(), password(place)?.as_bytes(), body.salt());
                    self.password(place, hash.as_bytes()).await?;
                }
                Message::AuthenticationSasl(_) => {
                    // The names follow the kind of log-in, each terminated by a zero.
                    let names = self.body().get(4..).unwrap_or_default();
                    let names = names.split(|byte| *byte == 0);
                    let mechanisms: Vec<_> =
                        names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
                    bound = self.scram(place, &mechanisms).await?;
                }
                _ => {
                    return Err(refused(
                        place,
                        &"it requires an unsupported log-in method; supported are trust, password, md5 and \
                          scram-sha-256",
                    ));
                }
            }
        }
    }

    async fn password(&mut self, place: &ServerLocation, password: &[u8]) -> TargetResult<()> {
        let written = frontend::password_message(password, &mut self.out);
        written.map_err(|error| refused(place, &error))?;
        self.flush().await
    }

    /// True if the log-in was bound to the TLS channel.
    async fn scram(&mut self, place: &ServerLocation, mechanisms: &[String]) -> TargetResult<bool> {
        let offers = |name: &str| mechanisms.iter().any(|mechanism| mechanism == name);
        let digest = self.stream.certificate().and_then(certificate_digest);
        let (mechanism, binding) = match digest {
            Some(digest) if offers(SCRAM_SHA_256_PLUS) => {
                (SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(digest))
            }
            // Reports support for channel binding, so that the server detects a third party that
            // removed its offer.
            Some(_) => (SCRAM_SHA_256, ChannelBinding::unrequested()),
            None => (SCRAM_SHA_256, ChannelBinding::unsupported()),
        };
        if !offers(mechanism) {
            return Err(refused(place, &"it does not offer SCRAM-SHA-256"));
        }
        let failed = |error: std::io::Error| refused(place, &error);
        let mut scram = ScramSha256::new(password(place)?.as_bytes(), binding);
        let first = frontend::sasl_initial_response(mechanism, scram.message(), &mut self.out);
        first.map_err(failed)?;
        self.flush().await?;
        let Message::AuthenticationSaslContinue(body) = self.authentication().await? else {
            return Err(self.garbled("its SCRAM challenge"));
        };
        if iterations(body.data()).is_none_or(|count| count > ITERATIONS_MAX) {
            let why = format!("its SCRAM requires more than {ITERATIONS_MAX} iterations");
            return Err(refused(place, &why));
        }
        scram.update(body.data()).map_err(failed)?;
        frontend::sasl_response(scram.message(), &mut self.out).map_err(failed)?;
        self.flush().await?;
        let Message::AuthenticationSaslFinal(body) = self.authentication().await? else {
            return Err(self.garbled("its SCRAM signature"));
        };
        // Verifies that the server knows the password too.
        scram.finish(body.data()).map_err(failed)?;
        Ok(mechanism == SCRAM_SHA_256_PLUS)
    }

    /// The next message of the log-in.
    async fn authentication(&mut self) -> TargetResult<Message> {
        match self.next().await? {
            tag::AUTHENTICATION => {}
            tag::ERROR => return Err(self.error().outside("log in")),
            _ => return Err(self.garbled("its log-in")),
        }
        let parsed = Message::parse(&mut BytesMut::from(self.message()));
        parsed.ok().flatten().ok_or_else(|| self.garbled("its log-in"))
    }
}

/// The iterations that a server's SCRAM challenge requires; `None` if it is malformed.
pub(super) fn iterations(message: &[u8]) -> Option<u32> {
    let text = str::from_utf8(message).ok()?;
    let count = text.split(',').find_map(|part| part.strip_prefix("i="))?;
    count.parse().ok()
}

/// The user of the URL, or else of the environment, as PostgreSQL's own programs choose it.
pub(super) fn user(address: &Address) -> String {
    let named = address.user.clone();
    named
        .or_else(|| std::env::var("PGUSER").ok())
        .or_else(|| std::env::var("USER").ok())
        .unwrap_or_else(|| "postgres".to_owned())
}

fn password(place: &ServerLocation) -> TargetResult<&str> {
    let password = place.address.password.as_ref();
    password.map(crate::server::Password::reveal).ok_or_else(|| {
        let why = "it requires a password and none is set; set it in the URL, with password-file=, in the \
                   environment as PGPASSWORD, or in ~/.pgpass";
        let why = match &place.no_password {
            Some(file) => format!("{why} ({file})"),
            None => why.to_owned(),
        };
        refused(place, &why)
    })
}

/// The hash of a certificate for channel binding: made with the hash of its signature, or SHA-256
/// instead of older ones (RFC 5929). `None` if the signature algorithm is not known.
fn certificate_digest(der: &[u8]) -> Option<Vec<u8>> {
    let certificate = Certificate::from_der(der).ok()?;
    let signature = certificate.signature_algorithm.oid.to_string();
    let algorithm = match signature.as_str() {
        // MD5, SHA-1 and SHA-256 with RSA; ECDSA with SHA-1 and SHA-256.
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2" => &digest::SHA256,
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => &digest::SHA384,
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => &digest::SHA512,
        _ => return None,
    };
    Some(digest::digest(algorithm, der).as_ref().to_vec())
}

fn refused(place: &ServerLocation, why: &dyn std::fmt::Display) -> Failure {
    let what = format!("{} {}: cannot log in: {why}", LISTING.name, place.address);
    Failure::new(FailureKind::Limit, what)
}
