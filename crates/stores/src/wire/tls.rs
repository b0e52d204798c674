//! How a stream is encrypted, and how the server's certificate is verified.
//!
//! | mode | encrypted | the server's certificate |
//! |---|---|---|
//! | `disable` | no | - |
//! | `prefer` | if the server can | any |
//! | `require` | or no connection | any |
//! | `verify-ca` | or no connection | signed by a trusted root |
//! | `verify-full` | or no connection | signed by a trusted root, and valid for the host's name |

use super::socket::Socket;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use syncline_contract::{Failure, FailureKind, TargetResult, read_named};

/// The maximum size of a file of root certificates, in bytes: a system's has a quarter of a megabyte.
const PEM_MAX: u64 = 16 << 20;

syncline_contract::words! {
    /// How connections are encrypted; the module has a table.
    #[derive(PartialOrd, Ord)]
    pub enum TlsMode {
        /// Never.
        Disable = "disable",
        /// If the server supports it.
        Prefer = "prefer",
        /// Always.
        Require = "require",
        /// Always, with a certificate that a trusted root has signed.
        VerifyCa = "verify-ca",
        /// As `VerifyCa`, and the certificate is valid for the host's name.
        VerifyFull = "verify-full",
    }
}

/// The encryption of streams; created once for a target and shared by its sessions.
#[derive(Clone, Debug)]
pub struct Tls {
    mode: TlsMode,
    config: Option<Arc<ClientConfig>>,
}

impl Tls {
    /// With that mode; certificates are verified against the roots of a PEM file, or of the system.
    pub fn new(mode: TlsMode, roots: Option<&Path>) -> TargetResult<Tls> {
        let config = match mode {
            TlsMode::Disable => None,
            _ => Some(Arc::new(config(mode, roots)?)),
        };
        Ok(Tls { mode, config })
    }

    /// The mode.
    pub fn mode(&self) -> TlsMode {
        self.mode
    }

    /// One client's encryption, before its handshake.
    pub(super) fn client(&self, host: &str, peer: &str) -> TargetResult<Encrypted> {
        let refused = |why: &dyn std::fmt::Display| {
            let what = format!("the connection to {peer} cannot be encrypted: {why}");
            Failure::new(FailureKind::Connection, what)
        };
        let connection = self.connection(host).map_err(|error| refused(&error))?;
        Ok(Encrypted { connection })
    }

    /// As [`Tls::client`], but the error is only a clause.
    pub(super) fn connection(&self, host: &str) -> Result<ClientConnection, String> {
        let config = self.config.clone().ok_or("tls=disable forbids it")?;
        let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        ClientConnection::new(config, name).map_err(|error| error.to_string())
    }
}

fn config(mode: TlsMode, roots: Option<&Path>) -> TargetResult<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::new(FailureKind::Limit, format!("TLS: {error}")))?;
    if mode == TlsMode::VerifyFull {
        let roots = trusted(roots)?;
        return Ok(builder.with_root_certificates(roots).with_no_client_auth());
    }
    let roots = match mode {
        TlsMode::VerifyCa => Some(trusted(roots)?),
        _ => None,
    };
    let lenient = Arc::new(Lenient { provider, roots });
    Ok(builder.dangerous().with_custom_certificate_verifier(lenient).with_no_client_auth())
}

/// The root certificates of a file, or of the system; an empty set is an error, since nothing could be
/// verified.
pub fn certificates(file: Option<&Path>) -> TargetResult<Vec<CertificateDer<'static>>> {
    let (place, read) = if let Some(file) = file {
        let unread = |error: &dyn std::fmt::Display| unreadable(file, error);
        let pem = read_named(file, PEM_MAX).map_err(|error| unread(&error))?;
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
        (file.display().to_string(), read.map_err(|error| unread(&error))?)
    } else {
        let read = rustls_native_certs::load_native_certs().certs;
        ("this system".to_owned(), read)
    };
    if read.is_empty() {
        let what = format!("{place} has no root certificates; name a file that has some");
        return Err(Failure::new(FailureKind::Limit, what));
    }
    Ok(read)
}

fn unreadable(file: &Path, error: &dyn std::fmt::Display) -> Failure {
    let what = format!("root certificates of {}: {error}", file.display());
    Failure::new(FailureKind::Limit, what)
}

/// The root certificates as a store to verify against.
fn trusted(file: Option<&Path>) -> TargetResult<RootCertStore> {
    let mut store = RootCertStore::empty();
    let read = certificates(file)?;
    if let Some(file) = file {
        for certificate in read {
            let added = store.add(certificate);
            added.map_err(|error| unreadable(file, &error))?;
        }
    } else {
        // A system's store may contain certificates that cannot be parsed.
        store.add_parsable_certificates(read);
    }
    Ok(store)
}

/// Accepts any certificate, or any that a root has signed, regardless of its host name.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    roots: Option<RootCertStore>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            verify_server_cert_signed_by_trust_anchor(
                &ParsedCertificate::try_from(certificate)?,
                roots,
                intermediates,
                now,
                self.provider.signature_verification_algorithms.all,
            )?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The encryption of one stream.
#[derive(Debug)]
pub(super) struct Encrypted {
    connection: ClientConnection,
}

impl Encrypted {
    pub(super) fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    pub(super) fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    pub(super) fn certificate(&self) -> Option<&[u8]> {
        let certificates = self.connection.peer_certificates()?;
        certificates.first().map(AsRef::as_ref)
    }

    /// Encrypts plain bytes, as many as fit, and sends what it can. `None` if the buffer is full.
    pub(super) fn write(&mut self, bytes: &[u8], socket: &Socket) -> io::Result<Option<usize>> {
        self.write_out(socket)?;
        if self.connection.wants_write() {
            return Ok(None);
        }
        let taken = self.connection.writer().write(bytes)?;
        self.write_out(socket)?;
        Ok(Some(taken))
    }

    /// Sends encrypted bytes until the socket is full.
    pub(super) fn write_out(&mut self, socket: &Socket) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Plain(socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads plain bytes; `None` if there are none without waiting.
    pub(super) fn read(&mut self, room: &mut [u8], socket: &Socket) -> io::Result<Option<usize>> {
        loop {
            match self.connection.reader().read(room) {
                Ok(length) => return Ok(Some(length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            let may_read = socket.readiness().is_none_or(super::readiness::Readiness::may_read);
            if !may_read || !self.read_in(socket)? {
                return Ok(None);
            }
        }
    }

    /// Reads encrypted bytes; false if there are none.
    pub(super) fn read_in(&mut self, socket: &Socket) -> io::Result<bool> {
        match self.connection.read_tls(&mut Plain(socket)) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
        let processed = self.connection.process_new_packets();
        // An alert that explains the failure is sent before the failure is returned.
        let alerted = self.write_out(socket);
        processed.map_err(io::Error::other)?;
        alerted.map(|()| true)
    }
}

/// The socket as TLS reads and writes it.
struct Plain<'s>(&'s Socket);

impl Read for Plain<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.read(room)?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }
}

impl Write for Plain<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
