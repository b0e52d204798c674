//! How the authentication plugins prove that the client knows the password.
//!
//! | plugin | answer |
//! |---|---|
//! | `mysql_native_password` | SHA1(password) xor SHA1(nonce, SHA1(SHA1(password))) |
//! | `caching_sha2_password` | SHA256(password) xor SHA256(SHA256(SHA256(password)), nonce); where the server has no hash cached it requests the password itself, which is sent over TLS, a Unix socket, or encrypted with its RSA key |
//! | `client_ed25519` | the nonce, signed with the key derived from SHA512(password) |
//! | `mysql_clear_password` | the password itself, over TLS or a Unix socket only |

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

/// The length of a server's nonce, in bytes.
pub(super) const NONCE: usize = 20;

/// A supported authentication plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plugin {
    /// MariaDB's default.
    Native,
    /// MySQL's default since 8.0.
    CachingSha2,
    /// MariaDB's Ed25519 plugin.
    Ed25519,
    /// The password in clear: PAM, LDAP.
    Clear,
}

impl Plugin {
    /// The plugin that the server names.
    pub(super) fn from_name(name: &[u8]) -> Option<Plugin> {
        match name {
            b"mysql_native_password" => Some(Plugin::Native),
            b"caching_sha2_password" => Some(Plugin::CachingSha2),
            b"client_ed25519" => Some(Plugin::Ed25519),
            b"mysql_clear_password" => Some(Plugin::Clear),
            _ => None,
        }
    }

    /// The server's name for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Plugin::Native => "mysql_native_password",
            Plugin::CachingSha2 => "caching_sha2_password",
            Plugin::Ed25519 => "client_ed25519",
            Plugin::Clear => "mysql_clear_password",
        }
    }

    /// True if the answer contains the password itself.
    pub(super) fn sends_password(self) -> bool {
        self == Plugin::Clear
    }

    /// The answer to a nonce; empty for an empty password, as the servers expect.
    pub(super) fn answer(self, password: &[u8], nonce: &[u8]) -> Vec<u8> {
        match self {
            Plugin::Clear => terminated(password),
            Plugin::Ed25519 => signed(password, nonce),
            _ if password.is_empty() => Vec::new(),
            Plugin::Native => native(password, nonce),
            Plugin::CachingSha2 => caching_sha2(password, nonce),
        }
    }
}

/// The password with a zero, as the full exchange of `caching_sha2_password` requires.
pub(super) fn terminated(password: &[u8]) -> Vec<u8> {
    let mut answer = password.to_vec();
    answer.push(0);
    answer
}

fn native(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    let mask = Sha1::new().chain_update(nonce).chain_update(twice);
    xor(&once, &mask.finalize())
}

fn caching_sha2(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    let mask = Sha256::new().chain_update(twice).chain_update(nonce);
    xor(&once, &mask.finalize())
}

fn signed(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let seed: [u8; 64] = Sha512::digest(password).into();
    let key = ExpandedSecretKey::from_bytes(&seed);
    let public = VerifyingKey::from(&key);
    raw_sign::<Sha512>(&key, nonce, &public).to_bytes().to_vec()
}

fn xor(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::Plugin;
    use ed25519_dalek::hazmat::ExpandedSecretKey;
    use ed25519_dalek::{Signature, VerifyingKey};
    use sha2::{Digest, Sha512};

    fn hex(bytes: &[u8]) -> String {
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        digits.map(|digit| char::from_digit(digit.into(), 16).unwrap()).collect()
    }

    #[test]
    fn answers_are_those_of_the_plugins() {
        // Computed by another implementation of the two hashes, for the nonce 1, 2, 3 to 20.
        let nonce: Vec<u8> = (1..=20).collect();
        assert_eq!(
            hex(&Plugin::Native.answer(b"secret", &nonce)),
            "b32bb3a583e1340c0a1108d58b1be49781ad8c2f"
        );
        assert_eq!(
            hex(&Plugin::CachingSha2.answer(b"secret", &nonce)),
            "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9"
        );
        assert_eq!(Plugin::Clear.answer(b"secret", &nonce), b"secret\0");
    }

    #[test]
    fn a_signed_nonce_verifies_with_the_passwords_public_key() {
        let seed: [u8; 64] = Sha512::digest(b"secret").into();
        let public = VerifyingKey::from(&ExpandedSecretKey::from_bytes(&seed));
        let answer = Plugin::Ed25519.answer(b"secret", &[7; 32]);
        let signature = Signature::from_bytes(answer[..].try_into().unwrap());
        public.verify_strict(&[7; 32], &signature).unwrap();
        assert!(public.verify_strict(&[8; 32], &signature).is_err());
    }

    #[test]
    fn an_empty_password_has_an_empty_answer() {
        for plugin in [Plugin::Native, Plugin::CachingSha2] {
            assert!(plugin.answer(b"", &[1; 20]).is_empty());
        }
    }

    #[test]
    fn plugins_are_known_by_name() {
        for plugin in [Plugin::Native, Plugin::CachingSha2, Plugin::Ed25519, Plugin::Clear] {
            assert_eq!(Plugin::from_name(plugin.name().as_bytes()), Some(plugin));
            assert_eq!(plugin.sends_password(), plugin == Plugin::Clear);
        }
        assert_eq!(Plugin::from_name(b"auth_gssapi_client"), None);
    }
}
