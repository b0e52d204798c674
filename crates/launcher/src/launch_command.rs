//! How a product is started, and functions for its launcher.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The number of connections that a private server allows.
pub(crate) const CONNECTIONS: usize = 300;

/// Where a server accepts connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    /// On a port of the loopback address.
    Port(u16),
    /// On a Unix socket.
    Socket(PathBuf),
}

impl ListenAddress {
    /// True if a connection there is accepted within that time.
    pub(crate) fn answers(&self, within: Duration) -> bool {
        match self {
            ListenAddress::Port(port) => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
                TcpStream::connect_timeout(&address, within).is_ok()
            }
            ListenAddress::Socket(path) => UnixStream::connect(path).is_ok(),
        }
    }
}

/// A path, encoded for the place of the host in a URL.
pub(crate) fn as_host(path: &Path) -> String {
    let text = path.display().to_string();
    text.replace('%', "%25").replace('/', "%2F")
}

/// How a product is started.
pub(crate) struct LaunchCommand {
    /// The commands that prepare the directory, in order.
    pub(crate) prepare: Vec<Vec<OsString>>,
    /// The server's command, which stays in the foreground.
    pub(crate) serve: Vec<OsString>,
    /// The name of the signal that ends the server at once.
    pub(crate) stop: &'static str,
    /// The URLs of the server, the preferred one first.
    pub(crate) urls: Vec<String>,
    /// Where the server accepts connections.
    pub(crate) listens_at: ListenAddress,
    /// The directory of its sockets if that is outside the server's directory; it is removed together with
    /// it.
    pub(crate) sockets: Option<PathBuf>,
    /// A file that contains this text once the server is ready; the server must also accept connections.
    pub(crate) ready: Option<(PathBuf, &'static str)>,
}

/// The path of a program with one of these names, on the search path or in the directories where Debian
/// installs such programs.
pub(crate) fn program(names: &[&str], package: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let searched = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/bin"].map(PathBuf::from));
    let candidates =
        searched.flat_map(|directory| names.iter().map(move |name| directory.join(name)));
    let found = candidates.into_iter().find(|candidate| candidate.is_file());
    found.ok_or_else(|| {
        format!("{} is not installed: apt-get install {package}", names.join(" or "))
    })
}

/// A program and its arguments as a list of words.
pub(crate) fn words<const N: usize>(program: &Path, arguments: [String; N]) -> Vec<OsString> {
    let mut words = vec![program.as_os_str().to_owned()];
    words.extend(arguments.map(OsString::from));
    words
}
