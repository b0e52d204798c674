//! The hand-shake: encryption, password, SCRAM with the channel bound to the certificate.
//!
//! A password goes in clear only to a server whose certificate was verified, or where `cleartext=yes` asks
//! for it, over an encrypted connection or to this machine. An encryption that verifies nothing ends at
//! whoever answers. Over an encrypted connection a server that can bind the channel is made to.

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

/// The most iterations of SCRAM: a second or so of work. PostgreSQL's default is 4096.
const ITERATIONS_MAX: u32 = 1_000_000;

impl Connection {
    /// From an open stream to a session that is ready.
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
                &"channel_binding=require asks for a log-in that is bound to a TLS channel, and this one was \
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
                _ => return Err(self.garbled("its greeting")),
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
        // An old server answers with an error; whatever else it is, it is no answer of PostgreSQL's.
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
            format!("{} does not encrypt, and tls={} asks for it", place.endpoint, mode.word());
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
                            &"it asks for the password in clear; verify who it is by tls=verify-full, or allow \
                              it, encrypted or on this machine, by cleartext=yes",
                        ));
                    }
                    self.password(place, password(place)?.as_bytes()).await?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(user.as_bytes(), password(place)?.as_bytes(), body.salt());
                    self.password(place, hash.as_bytes()).await?;
                }
                Message::AuthenticationSasl(_) => {
                    // After the kind of log-in the names, each with a zero behind it.
                    let names = self.body().get(4..).unwrap_or_default();
                    let names = names.split(|byte| *byte == 0);
                    let mechanisms: Vec<_> =
                        names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
                    bound = self.scram(place, &mechanisms).await?;
                }
                _ => {
                    return Err(refused(
                        place,
                        &"it asks for a log-in that is not built in; there are trust, password, md5 and \
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

    /// True if it was bound to the TLS channel.
    async fn scram(&mut self, place: &ServerLocation, mechanisms: &[String]) -> TargetResult<bool> {
        let offers = |name: &str| mechanisms.iter().any(|mechanism| mechanism == name);
        let digest = self.stream.certificate().and_then(certificate_digest);
        let (mechanism, binding) = match digest {
            Some(digest) if offers(SCRAM_SHA_256_PLUS) => {
                (SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(digest))
            }
            // Says that it could, so that somebody between who hid the server's offer is found out.
            Some(_) => (SCRAM_SHA_256, ChannelBinding::unrequested()),
            None => (SCRAM_SHA_256, ChannelBinding::unsupported()),
        };
        if !offers(mechanism) {
            return Err(refused(place, &"it offers no SCRAM-SHA-256"));
        }
        let failed = |error: std::io::Error| refused(place, &error);
        let mut scram = ScramSha256::new(password(place)?.as_bytes(), binding);
        let first = frontend::sasl_initial_response(mechanism, scram.message(), &mut self.out);
        first.map_err(failed)?;
        self.flush().await?;
        let Message::AuthenticationSaslContinue(body) = self.authentication().await? else {
            return Err(self.garbled("its part of SCRAM"));
        };
        if iterations(body.data()).is_none_or(|count| count > ITERATIONS_MAX) {
            let why = format!("its SCRAM asks for more than {ITERATIONS_MAX} iterations");
            return Err(refused(place, &why));
        }
        scram.update(body.data()).map_err(failed)?;
        frontend::sasl_response(scram.message(), &mut self.out).map_err(failed)?;
        self.flush().await?;
        let Message::AuthenticationSaslFinal(body) = self.authentication().await? else {
            return Err(self.garbled("its end of SCRAM"));
        };
        // Here the server shows that it knows the password too.
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

/// The iterations that a server's part of SCRAM asks for; none if it is not of that form.
pub(super) fn iterations(message: &[u8]) -> Option<u32> {
    let text = str::from_utf8(message).ok()?;
    let count = text.split(',').find_map(|part| part.strip_prefix("i="))?;
    count.parse().ok()
}

/// The user of the URL, or who runs this program, as the server's own programs do it.
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
        let why = "it asks for a password and there is none; name it in the URL, by password-file=, in the \
                   environment as PGPASSWORD, or in ~/.pgpass";
        let why = match &place.no_password {
            Some(file) => format!("{why} ({file})"),
            None => why.to_owned(),
        };
        refused(place, &why)
    })
}

/// The digest of a certificate that binds a channel to it: by the digest of its own signature, with
/// SHA-256 in place of older ones (RFC 5929). None if the signature's is not known.
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
    let what = format!("{} {}: no log-in: {why}", LISTING.name, place.address);
    Failure::new(FailureKind::Limit, what)
}
