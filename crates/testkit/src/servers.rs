//! Private servers for tests, and functions that read their URLs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use syncline_launcher::{LaunchSpec, PrivateServer};
use tempfile::TempDir;

/// A private server in its own temporary directory, which is removed after the server has ended.
#[derive(Debug)]
pub struct TestServer {
    /// The server.
    pub private: PrivateServer,
    _directory: TempDir,
}

impl TestServer {
    /// Starts a server; replaces the directory in the spec.
    pub fn start(spec: LaunchSpec) -> TestServer {
        let directory = public_directory(&std::env::temp_dir());
        let spec = LaunchSpec { directory: Some(directory.path().to_owned()), ..spec };
        TestServer { private: PrivateServer::start(&spec).unwrap(), _directory: directory }
    }
}

/// A temporary directory in `parent` that every user may enter, as the user of a server must.
pub fn public_directory(parent: &Path) -> TempDir {
    let directory = tempfile::tempdir_in(parent).unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    directory
}

/// The value of an option of a URL, not decoded.
pub fn url_option<'u>(url: &'u str, name: &str) -> Option<&'u str> {
    let (_, options) = url.split_once('?')?;
    let mut pairs = options.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(found, value)| (found == name).then_some(value))
}

/// The port of a URL over TCP.
pub fn port_of(url: &str) -> u16 {
    let (_, rest) = url.rsplit_once("127.0.0.1:").unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// The password in the file that a URL names.
pub fn password_of(url: &str) -> String {
    let file = url_option(url, "password-file").unwrap();
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}
