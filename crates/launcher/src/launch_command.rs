//! The commands that start a product, and helpers for them.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The connection limit of a private server.
pub(crate) const CONNECTIONS: usize = 300;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    /// A TCP port on loopback.
    Port(u16),
    /// A Unix socket.
    Socket(PathBuf),
}

impl ListenAddress {
    /// True if a connection succeeds within this time.
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

/// A path encoded as the host of a URL.
pub(crate) fn as_host(path: &Path) -> String {
    let text = path.display().to_string();
    text.replace('%', "%25").replace('/', "%2F")
}

/// The commands and the address of a server.
pub(crate) struct LaunchCommand {
    /// Commands that prepare the directory, in order.
    pub(crate) prepare: Vec<Vec<OsString>>,
    /// The server's command; it runs in the foreground.
    pub(crate) serve: Vec<OsString>,
    /// The signal that ends the server at once.
    pub(crate) stop: &'static str,
    /// The URLs for connecting, the best one first.
    pub(crate) urls: Vec<String>,
    /// Where the server listens.
    pub(crate) listens_at: ListenAddress,
    /// The directory of its sockets if it is outside the server's directory; removed with the server.
    pub(crate) sockets: Option<PathBuf>,
    /// A file that contains this text once the server is ready. The server must accept connections as well.
    pub(crate) ready: Option<(PathBuf, &'static str)>,
}

/// Finds a program by one of its names, on the search path or in Debian's directories.
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

/// A command as a list of words.
pub(crate) fn words<const N: usize>(program: &Path, arguments: [String; N]) -> Vec<OsString> {
    let mut words = vec![program.as_os_str().to_owned()];
    words.extend(arguments.map(OsString::from));
    words
}
