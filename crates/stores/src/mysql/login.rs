//! The handshake: greeting, TLS, identification, and the exchange with the plugins.
//!
//! The states are pure, without I/O; the connection sends and receives the packets:
//!
//! ```text
//!     greeting ── tls wanted ──> Secure (send the request, then TLS, then Login::identify)
//!        └─────── no tls ──────> Login::identify ──> Login::take ──> Send again ... ──> Done
//! ```
//!
//! Invariants:
//! 1. A password in clear is sent only over a secure connection: with a verified certificate, with
//!    encryption that the URL allows without verification (`cleartext=yes`), or a Unix socket.
//!    Otherwise it is encrypted with the server's RSA key if the URL trusts one, or the log-in is
//!    refused with advice.
//! 2. TLS is decided before the user's name is sent.

use super::auth::{NONCE, Plugin, terminated};
use super::capability as can;
use super::packet::{Malformed, Reader, put_bytes, put_terminated};
use super::reply::ServerError;
use super::server_key::{ServerKey, encrypted_password, of_pem};
use rsa::RsaPublicKey;

/// utf8mb4 in the handshake response; the collation is set afterwards.
const UTF8MB4: u8 = 45;

/// The version prefix that older MariaDB servers send for MySQL's replicas.
const REPLICATION_PREFIX: &str = "5.5.5-";

/// The request for a server's RSA key.
const ASKS_FOR_KEY: u8 = 2;

/// A server's first packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    /// Its version, as it reports it.
    pub(super) version: String,
    /// Its capabilities.
    pub(super) capabilities: u64,
    nonce: Vec<u8>,
    plugin: Vec<u8>,
}

impl Greeting {
    /// Decodes the first packet. A server that is full or refuses this host sends an error instead.
    pub(super) fn read(payload: &[u8]) -> Result<Greeting, LoginError> {
        let mut reader = Reader::new(payload);
        match reader.u8()? {
            10 => {}
            0xFF => return Err(LoginError::Server(ServerError::early(payload)?)),
            _ => {
                return Err(LoginError::Protocol("a greeting of a protocol version other than 10"));
            }
        }
        let version = String::from_utf8_lossy(reader.terminated()).into_owned();
        let version =
            version.strip_prefix(REPLICATION_PREFIX).map_or(version.clone(), str::to_owned);
        // The connection id.
        reader.u32()?;
        let mut nonce = reader.take(8)?.to_vec();
        reader.take(1)?;
        let low = u64::from(reader.u16()?);
        reader.take(3)?;
        let high = u64::from(reader.u16()?);
        let nonce_length = usize::from(reader.u8()?);
        reader.take(6)?;
        let more = u64::from(reader.u32()?);
        let mut capabilities = low | high << 16;
        if capabilities & can::MYSQL == 0 {
            capabilities |= more << 32;
        }
        let rest = nonce_length.saturating_sub(9).max(NONCE - 8);
        nonce.extend_from_slice(reader.take(rest)?);
        if reader.rest().first() == Some(&0) {
            reader.take(1)?;
        }
        let plugin = reader.terminated().to_vec();
        if capabilities & can::REQUIRED != can::REQUIRED {
            return Err(LoginError::Protocol("a server older than version 5.5"));
        }
        Ok(Greeting { version, capabilities, nonce, plugin })
    }

    /// True if it offers TLS.
    pub(super) fn offers_tls(&self) -> bool {
        self.capabilities & can::TLS != 0
    }
}

/// Why a log-in failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LoginError {
    /// The server refused it.
    Server(ServerError),
    /// The server sent an invalid packet.
    Protocol(&'static str),
    /// The server requires a method that is not supported or not allowed; a sentence.
    Plugin(String),
}

impl From<Malformed> for LoginError {
    fn from(Malformed(what): Malformed) -> LoginError {
        LoginError::Protocol(what)
    }
}

/// The user who logs in.
#[derive(Clone, Copy)]
pub(super) struct Credentials<'a> {
    pub(super) user: &'a str,
    pub(super) password: &'a str,
    pub(super) database: Option<&'a str>,
    /// The trusted RSA key of the server.
    pub(super) server_key: Option<&'a ServerKey>,
}

/// What the connection must do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Send this payload and read the next packet.
    Send(Vec<u8>),
    /// Read the next packet.
    Wait,
    /// The connection is ready.
    Done,
}

/// A log-in in progress.
pub(super) struct Login<'a> {
    credentials: Credentials<'a>,
    /// The common capabilities of both sides.
    capabilities: u64,
    /// True if a password in clear may be sent: invariant 1 of the module.
    secure: bool,
    nonce: Vec<u8>,
    plugin: Plugin,
    /// True if the server's RSA key was requested.
    awaits_key: bool,
}

impl<'a> Login<'a> {
    /// After the greeting; `tls` means that TLS is or will be used.
    pub(super) fn new(
        greeting: &Greeting,
        credentials: Credentials<'a>,
        tls: bool,
        secure: bool,
    ) -> Login<'a> {
        let mut capabilities = greeting.capabilities & can::REQUESTED;
        if tls {
            capabilities |= can::TLS;
        }
        if credentials.database.is_some() {
            capabilities |= can::WITH_DATABASE;
        }
        let plugin = Plugin::from_name(&greeting.plugin).filter(|plugin| !plugin.sends_password());
        Login {
            credentials,
            capabilities,
            secure,
            nonce: greeting.nonce.clone(),
            // If the user has another plugin, the server requests a switch.
            plugin: plugin.unwrap_or(Plugin::Native),
            awaits_key: false,
        }
    }

    /// The common capabilities of both sides.
    pub(super) fn capabilities(&self) -> u64 {
        self.capabilities
    }

    /// The request for TLS, sent in clear before the user's name.
    pub(super) fn tls_request(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&(self.capabilities as u32).to_le_bytes());
        out.extend_from_slice(&u32::MAX.to_le_bytes());
        out.push(UTF8MB4);
        out.extend_from_slice(&[0; 19]);
        let more = if self.capabilities & can::MYSQL == 0 { self.capabilities >> 32 } else { 0 };
        out.extend_from_slice(&(more as u32).to_le_bytes());
        out
    }

    /// The handshake response: user, database, and the first answer of the plugin.
    pub(super) fn identify(&self) -> Vec<u8> {
        let mut out = self.tls_request();
        put_terminated(&mut out, self.credentials.user.as_bytes());
        let answer = self.plugin.answer(self.credentials.password.as_bytes(), &self.nonce);
        if self.capabilities & can::PLUGIN_LENGTH == 0 {
            out.push(answer.len() as u8);
            out.extend_from_slice(&answer);
        } else {
            put_bytes(&mut out, &answer);
        }
        if let Some(database) = self.credentials.database {
            put_terminated(&mut out, database.as_bytes());
        }
        put_terminated(&mut out, self.plugin.name().as_bytes());
        if self.capabilities & can::ATTRIBUTES != 0 {
            let mut attributes = Vec::new();
            let pairs = [
                ("_client_name", "syncline"),
                ("program_name", "syncline"),
                ("_client_version", env!("CARGO_PKG_VERSION")),
            ];
            for (key, value) in pairs {
                put_bytes(&mut attributes, key.as_bytes());
                put_bytes(&mut attributes, value.as_bytes());
            }
            put_bytes(&mut out, &attributes);
        }
        out
    }

    /// Handles the server's answer to the last packet.
    pub(super) fn take(&mut self, payload: &[u8]) -> Result<Next, LoginError> {
        match payload.split_first() {
            Some((0x00, _)) => Ok(Next::Done),
            Some((0xFF, _)) => Err(LoginError::Server(ServerError::read(payload)?)),
            Some((0xFE, rest)) => self.switch(rest),
            Some((0x01, more)) => self.more(more),
            _ => Err(LoginError::Protocol("an invalid answer to a log-in")),
        }
    }

    /// Handles the server's request for another plugin.
    fn switch(&mut self, rest: &[u8]) -> Result<Next, LoginError> {
        let mut reader = Reader::new(rest);
        let name = reader.terminated();
        let Some(plugin) = Plugin::from_name(name) else {
            return Err(LoginError::Plugin(format!(
                "the server requires user {} to log in with {}, which this program does not support; use a user with \
                 mysql_native_password, caching_sha2_password or ed25519",
                self.credentials.user,
                String::from_utf8_lossy(name)
            )));
        };
        if plugin.sends_password() && !self.secure {
            return Err(self.insecure());
        }
        let nonce = reader.rest();
        self.nonce = nonce.strip_suffix(&[0]).unwrap_or(nonce).to_vec();
        self.plugin = plugin;
        Ok(Next::Send(plugin.answer(self.credentials.password.as_bytes(), &self.nonce)))
    }

    /// Continues the plugin's exchange: 3 means that the server had the hash, 4 requests the password
    /// itself.
    fn more(&mut self, more: &[u8]) -> Result<Next, LoginError> {
        match (self.plugin, more) {
            (Plugin::CachingSha2, [3]) => Ok(Next::Wait),
            (Plugin::CachingSha2, [4]) if self.secure => {
                Ok(Next::Send(terminated(self.credentials.password.as_bytes())))
            }
            (Plugin::CachingSha2, [4]) => match self.credentials.server_key {
                None => Err(self.insecure()),
                Some(ServerKey::Known(key)) => self.send_encrypted(key),
                Some(ServerKey::Ask) => {
                    self.awaits_key = true;
                    Ok(Next::Send(vec![ASKS_FOR_KEY]))
                }
            },
            (Plugin::CachingSha2, pem) if std::mem::take(&mut self.awaits_key) => {
                let key = of_pem(pem).map_err(|why| self.unusable(&why))?;
                self.send_encrypted(&key)
            }
            _ => Err(LoginError::Protocol("an invalid request of a plugin")),
        }
    }

    /// Sends the password encrypted with a key of the server.
    fn send_encrypted(&self, key: &RsaPublicKey) -> Result<Next, LoginError> {
        let sent = encrypted_password(self.credentials.password.as_bytes(), &self.nonce, key);
        sent.map(Next::Send).map_err(|why| self.unusable(&why))
    }

    fn unusable(&self, why: &str) -> LoginError {
        LoginError::Plugin(format!(
            "the server's key for the password of user {} {why}; connect with TLS (tls=verify-full)",
            self.credentials.user
        ))
    }

    fn insecure(&self) -> LoginError {
        LoginError::Plugin(format!(
            "the server requests the password of user {} itself, which is not sent in clear: verify the server \
             with TLS (tls=verify-full), connect through a Unix socket, trust its key (server_key=FILE or ask), \
             allow it over TLS without verification (cleartext=yes), or log in once with another client, so \
             that the server caches its hash",
            self.credentials.user
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{Credentials, Greeting, Login, LoginError, Next};
    use crate::mysql::capability as can;
    use crate::mysql::packet::Reader;
    use crate::mysql::server_key::ServerKey;
    use crate::mysql::server_key::tests::{decrypted, pair};

    /// The greeting of a server with those `capabilities` that prefers `plugin`.
    fn greeting(version: &str, capabilities: u64, plugin: &str) -> Vec<u8> {
        let mut out = vec![10];
        out.extend_from_slice(version.as_bytes());
        out.push(0);
        out.extend_from_slice(&7_u32.to_le_bytes());
        out.extend_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 0]);
        out.extend_from_slice(&(capabilities as u16).to_le_bytes());
        out.extend_from_slice(&[45, 2, 0]);
        out.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
        out.push(21);
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&((capabilities >> 32) as u32).to_le_bytes());
        out.extend_from_slice(&[9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 0]);
        out.extend_from_slice(plugin.as_bytes());
        out.push(0);
        out
    }

    const WHO: Credentials<'static> =
        Credentials { user: "ann", password: "secret", database: Some("d"), server_key: None };

    fn read(version: &str, plugin: &str) -> Greeting {
        Greeting::read(&greeting(version, can::REQUESTED | can::TLS, plugin)).unwrap()
    }

    #[test]
    fn a_greeting_is_decoded() {
        let mariadb = read("5.5.5-10.11.19-MariaDB", "mysql_native_password");
        assert_eq!(mariadb.version, "10.11.19-MariaDB");
        assert!(mariadb.offers_tls());
        let nonce = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];
        assert_eq!(mariadb.nonce, nonce);
        assert_ne!(mariadb.capabilities & can::CACHED_COLUMNS, 0);
        let mysql = greeting("8.0.12", can::REQUESTED | can::MYSQL, "caching_sha2_password");
        let mysql = Greeting::read(&mysql).unwrap();
        assert!(!mysql.offers_tls());
        assert_eq!(mysql.capabilities & can::CACHED_COLUMNS, 0, "MySQL's bytes are reserved");
    }

    #[test]
    fn a_server_that_refuses_before_its_greeting_is_quoted() {
        let refused = Greeting::read(b"\xFF\x10\x04Too many connections").unwrap_err();
        let LoginError::Server(error) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((error.code, error.message.as_str()), (1040, "Too many connections"));
        for length in 1..40 {
            let whole = greeting("8.0.12", can::REQUESTED, "x");
            assert!(Greeting::read(&whole[..length]).is_err(), "truncated to {length}");
        }
        assert!(Greeting::read(&greeting("3.23", 0, "x")).is_err());
    }

    #[test]
    fn an_answer_names_user_database_and_plugin() {
        let greeting = read("10.11.19-MariaDB", "mysql_native_password");
        let login = Login::new(&greeting, WHO, false, false);
        let sent = login.identify();
        let mut reader = Reader::new(&sent);
        let low = u64::from(reader.u32().unwrap());
        reader.take(24).unwrap();
        let high = u64::from(reader.u32().unwrap());
        assert_eq!(low | high << 32, login.capabilities());
        assert_eq!(login.capabilities() & (can::MYSQL | can::TLS), 0);
        assert_eq!(reader.terminated(), b"ann");
        assert_eq!(reader.bytes().unwrap().len(), 20);
        assert_eq!(reader.terminated(), b"d");
        assert_eq!(reader.terminated(), b"mysql_native_password");
        let whole = String::from_utf8_lossy(&sent);
        assert!(!whole.contains("secret") && whole.contains("program_name"));
    }

    #[test]
    fn a_switch_of_the_plugin_is_followed() {
        let greeting = read("10.11.19-MariaDB", "mysql_native_password");
        let mut login = Login::new(&greeting, WHO, false, false);
        let asked = [&b"\xFEclient_ed25519\0"[..], &[7; 32]].concat();
        let Ok(Next::Send(answer)) = login.take(&asked) else {
            panic!("it answers");
        };
        assert_eq!(answer.len(), 64);
        assert_eq!(login.take(&[0, 0, 0, 2, 0, 0, 0]), Ok(Next::Done));
        let Err(LoginError::Plugin(words)) = login.take(b"\xFEauth_gssapi_client\0x") else {
            panic!("it refuses");
        };
        assert!(words.contains("auth_gssapi_client"), "{words}");
    }

    #[test]
    fn a_password_in_clear_needs_a_secure_connection() {
        let greeting = read("8.0.12", "caching_sha2_password");
        let mut open = Login::new(&greeting, WHO, false, false);
        assert_eq!(open.take(&[1, 3]), Ok(Next::Wait));
        for asked in [&[1, 4][..], b"\xFEmysql_clear_password\0"] {
            let Err(LoginError::Plugin(words)) = open.take(asked) else {
                panic!("it refuses");
            };
            assert!(words.contains("TLS") && !words.contains("secret"), "{words}");
        }
        let mut secure = Login::new(&greeting, WHO, true, true);
        assert_eq!(secure.take(&[1, 4]), Ok(Next::Send(b"secret\0".to_vec())));
        assert_ne!(secure.capabilities() & can::TLS, 0);
    }
    #[test]
    fn a_trusted_key_encrypts_the_password_without_tls() {
        let (private, pem) = pair();
        let greeting = read("8.0.12", "caching_sha2_password");
        let asks = Credentials { server_key: Some(&ServerKey::Ask), ..WHO };
        let mut login = Login::new(&greeting, asks, false, false);
        assert_eq!(login.take(&[1, 4]), Ok(Next::Send(vec![2])));
        let Ok(Next::Send(sent)) = login.take(&[&[1], pem.as_bytes()].concat()) else {
            panic!("it sends the password");
        };
        assert_eq!(decrypted(&private, &sent, &greeting.nonce), b"secret\0");
        assert_eq!(login.take(&[0, 0, 0, 2, 0, 0, 0]), Ok(Next::Done));
        // A key that was not requested is refused.
        assert!(login.take(&[&[1], pem.as_bytes()].concat()).is_err());
        let known = ServerKey::Known(Box::new(private.to_public_key()));
        let knows = Credentials { server_key: Some(&known), ..WHO };
        let mut login = Login::new(&greeting, knows, false, false);
        let Ok(Next::Send(sent)) = login.take(&[1, 4]) else {
            panic!("it sends the password at once");
        };
        assert_eq!(decrypted(&private, &sent, &greeting.nonce), b"secret\0");
        let mut login = Login::new(&greeting, asks, false, false);
        assert_eq!(login.take(&[1, 4]), Ok(Next::Send(vec![2])));
        let Err(LoginError::Plugin(words)) = login.take(b"\x01no key at all") else {
            panic!("it refuses");
        };
        assert!(words.contains("not a public RSA key"), "{words}");
    }
}
