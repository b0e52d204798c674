//! A server's RSA key, which encrypts a password on an unencrypted connection.
//!
//! `caching_sha2_password` requests the password itself where the server has no hash of it in its
//! cache. Without TLS it then accepts the password encrypted with its public key: the password with a
//! terminating zero, xor the nonce, encrypted with OAEP and SHA-1.
//!
//! 1. A key that the server sends is not authenticated: an attacker in between could send another one
//!    and read the password. So a key is requested only if the URL says so (`server_key=ask`);
//!    `server_key=FILE` names a known one.

use rsa::pkcs8::DecodePublicKey;
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPublicKey};
use sha1_of_rsa::Sha1;
use std::path::Path;

/// Which key is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerKey {
    /// Any key that the server sends.
    Ask,
    /// Only this one.
    Known(Box<RsaPublicKey>),
}

/// The maximum size of a key file, in bytes.
const PEM_MAX: u64 = 1 << 20;

impl ServerKey {
    /// From the option's value: "ask", or the path of a PEM file. The error is a clause.
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
    let text = str::from_utf8(pem).map_err(|error| format!("is not a PEM text: {error}"))?;
    let key = RsaPublicKey::from_public_key_pem(text.trim_end_matches('\0'));
    key.map_err(|error| format!("is not a public RSA key: {error}"))
}

/// The password encrypted with a key. The error is a clause: the key is too short for it.
pub(super) fn encrypted_password(
    password: &[u8],
    nonce: &[u8],
    key: &RsaPublicKey,
) -> Result<Vec<u8>, String> {
    let mask = nonce.iter().cycle();
    let hidden: Vec<u8> =
        password.iter().chain(&[0]).zip(mask).map(|(byte, mask)| byte ^ mask).collect();
    let encrypted_password = key.encrypt(&mut OsRng, Oaep::new::<Sha1>(), &hidden);
    encrypted_password.map_err(|error| format!("cannot encrypt the password: {error}"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::{ServerKey, encrypted_password, of_pem};
    use rsa::pkcs8::{EncodePublicKey, LineEnding};
    use rsa::rand_core::OsRng;
    use rsa::{Oaep, RsaPrivateKey};
    use sha1_of_rsa::Sha1;

    /// A server's key pair, and the public key as PEM.
    pub(crate) fn pair() -> (RsaPrivateKey, String) {
        let private = RsaPrivateKey::new(&mut OsRng, 1_024).unwrap();
        let pem = private.to_public_key().to_public_key_pem(LineEnding::LF);
        (private, pem.unwrap())
    }

    /// Decrypts a password as the server does.
    pub(crate) fn decrypted(private: &RsaPrivateKey, sent: &[u8], nonce: &[u8]) -> Vec<u8> {
        let hidden = private.decrypt(Oaep::new::<Sha1>(), sent).unwrap();
        let mask = nonce.iter().cycle();
        hidden.iter().zip(mask).map(|(a, b)| a ^ b).collect()
    }

    #[test]
    fn only_the_servers_private_key_decrypts_a_password() {
        let (private, pem) = pair();
        let key = of_pem(pem.as_bytes()).unwrap();
        let nonce: Vec<u8> = (1..=20).collect();
        // Longer than the nonce, which is repeated.
        let password = b"a secret of more than twenty bytes";
        let sent = encrypted_password(password, &nonce, &key).unwrap();
        assert_eq!(decrypted(&private, &sent, &nonce), [&password[..], b"\0"].concat());
        assert_ne!(sent, encrypted_password(password, &nonce, &key).unwrap(), "it is salted");
        let why = encrypted_password(&[b'x'; 200], &nonce, &key).unwrap_err();
        assert!(why.contains("cannot encrypt"), "{why}");
    }

    #[test]
    fn a_key_is_read_from_a_file_and_invalid_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("public_key.pem");
        let (_, pem) = pair();
        std::fs::write(&file, pem).unwrap();
        let known = ServerKey::of_option(file.to_str().unwrap()).unwrap();
        assert!(matches!(known, ServerKey::Known(_)));
        assert_eq!(ServerKey::of_option("ask"), Ok(ServerKey::Ask));
        std::fs::write(&file, "-----BEGIN CERTIFICATE-----").unwrap();
        let why = ServerKey::of_option(file.to_str().unwrap()).unwrap_err();
        assert!(why.contains("not a public RSA key"), "{why}");
        assert!(ServerKey::of_option("/nowhere/at/all").is_err());
    }
}
