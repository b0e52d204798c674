//! The password of a private server: random, and in a file that only the server's user can read.
//!
//! Every user of this machine can connect to a port on loopback, and a database server runs programs and
//! writes files for its superuser. So a server that listens there requires this password. The password is
//! never on a command line or in an environment: the server reads it from a file in its own directory (mode
//! 0700), and clients read the same file by `password-file=`.

use crate::server_directory::ServerDirectory;
use ring::rand::{SecureRandom, SystemRandom};
use std::path::PathBuf;
use syncline_contract::encoded;

/// Random bytes of a password.
const BYTES: usize = 24;

pub(crate) struct Secret {
    text: String,
    file: PathBuf,
}

impl Secret {
    /// Generates a password, and writes it to the file `password` in the server's directory.
    pub(crate) fn new(directory: &ServerDirectory) -> Result<Secret, String> {
        let mut bytes = [0; BYTES];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_error| "the kernel returned no random bytes for a password".to_owned())?;
        let mut text = String::with_capacity(2 * BYTES);
        for byte in bytes {
            text += &format!("{byte:02x}");
        }
        let file = directory.write("password", &format!("{text}\n"))?;
        Ok(Secret { text, file })
    }

    /// The password: hexadecimal digits, safe in every configuration file and string literal.
    pub(crate) fn reveal(&self) -> &str {
        &self.text
    }

    /// The URL option that names the password's file.
    pub(crate) fn option(&self) -> String {
        format!("&password-file={}", encoded(&self.file.display().to_string()))
    }

    pub(crate) fn file(&self) -> &std::path::Path {
        &self.file
    }
}
