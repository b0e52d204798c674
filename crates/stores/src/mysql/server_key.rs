//! A server's RSA key, under which a password goes over a connection that others may read.
//!
//! `caching_sha2_password` asks for the password itself where it has no hash of it in its cache. Without
//! TLS it then takes the password under its public key: the password and a zero behind it, xor the
//! nonce, encrypted by OAEP with SHA-1.
//!
//! 1. Nobody vouches for a key that the server hands out: who stands between could hand out their own
//!    and read the password. So a key is asked for only where the URL says so (`server_key=ask`);
//!    `server_key=FILE` names one that is known.

use rsa::pkcs8::DecodePublicKey;
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPublicKey};
use sha1_of_rsa::Sha1;
use std::path::Path;

/// Which key is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerKey {
    /// Whichever the server hands out.
    Ask,
    /// This one.
    Known(Box<RsaPublicKey>),
}

/// The most bytes of a file with a key.
const PEM_MAX: u64 = 1 << 20;

impl ServerKey {
    /// Of the option's value: "ask", or the path of a PEM file. The error is a clause.
    pub(super) fn of_option(value: &str) -> Result<ServerKey, String> {
        if value == "ask" {
            return Ok(ServerKey::Ask);
        }
        let pem = syncline_contract::read_named(Path::new(value), PEM_MAX)
            .map_err(|error| format!("{value} cannot be read: {error}"))?;
        let key = of_pem(&pem).map_err(|why| format!("{value} {why}"))?;
        Ok(ServerKey::Known(Box::new(key)))
    }
}

/// A key from PEM, as servers send it and keep it in `public_key.pem`. The error is a clause.
pub(super) fn of_pem(pem: &[u8]) -> Result<RsaPublicKey, String> {
    let text = str::from_utf8(pem).map_err(|error| format!("is no PEM text: {error}"))?;
    let key = RsaPublicKey::from_public_key_pem(text.trim_end_matches('\0'));
    key.map_err(|error| format!("is no public RSA key: {error}"))
}

/// The password under a key. The error is a clause: the key is too short for it.
pub(super) fn sealed(password: &[u8], nonce: &[u8], key: &RsaPublicKey) -> Result<Vec<u8>, String> {
    let mask = nonce.iter().cycle();
    let hidden: Vec<u8> =
        password.iter().chain(&[0]).zip(mask).map(|(byte, mask)| byte ^ mask).collect();
    let sealed = key.encrypt(&mut OsRng, Oaep::new::<Sha1>(), &hidden);
    sealed.map_err(|error| format!("cannot take the password: {error}"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::{ServerKey, of_pem, sealed};
    use rsa::pkcs8::{EncodePublicKey, LineEnding};
    use rsa::rand_core::OsRng;
    use rsa::{Oaep, RsaPrivateKey};
    use sha1_of_rsa::Sha1;

    /// A server's pair, and the PEM that it hands out.
    pub(crate) fn pair() -> (RsaPrivateKey, String) {
        let private = RsaPrivateKey::new(&mut OsRng, 1_024).unwrap();
        let pem = private.to_public_key().to_public_key_pem(LineEnding::LF);
        (private, pem.unwrap())
    }

    /// What a server makes of what it was sent.
    pub(crate) fn opened(private: &RsaPrivateKey, sent: &[u8], nonce: &[u8]) -> Vec<u8> {
        let hidden = private.decrypt(Oaep::new::<Sha1>(), sent).unwrap();
        let mask = nonce.iter().cycle();
        hidden.iter().zip(mask).map(|(a, b)| a ^ b).collect()
    }

    #[test]
    fn only_the_servers_private_key_opens_a_password() {
        let (private, pem) = pair();
        let key = of_pem(pem.as_bytes()).unwrap();
        let nonce: Vec<u8> = (1..=20).collect();
        // Longer than the nonce, which then begins again.
        let password = b"a secret of more than twenty bytes";
        let sent = sealed(password, &nonce, &key).unwrap();
        assert_eq!(opened(&private, &sent, &nonce), [&password[..], b"\0"].concat());
        assert_ne!(sent, sealed(password, &nonce, &key).unwrap(), "it is salted");
        let why = sealed(&[b'x'; 200], &nonce, &key).unwrap_err();
        assert!(why.contains("cannot take"), "{why}");
    }

    #[test]
    fn a_key_comes_from_a_file_and_what_is_none_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("public_key.pem");
        let (_, pem) = pair();
        std::fs::write(&file, pem).unwrap();
        let known = ServerKey::of_option(file.to_str().unwrap()).unwrap();
        assert!(matches!(known, ServerKey::Known(_)));
        assert_eq!(ServerKey::of_option("ask"), Ok(ServerKey::Ask));
        std::fs::write(&file, "-----BEGIN CERTIFICATE-----").unwrap();
        let why = ServerKey::of_option(file.to_str().unwrap()).unwrap_err();
        assert!(why.contains("no public RSA key"), "{why}");
        assert!(ServerKey::of_option("/nowhere/at/all").is_err());
    }
}
