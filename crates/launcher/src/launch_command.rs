//! How a product is started, and what recipes are made of.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Clients a private server has room for, beside what it needs itself.
pub(crate) const CONNECTIONS: usize = 300;

/// Where a server takes connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListenAddress {
    /// On a port of loopback.
    Port(u16),
    /// On a Unix socket.
    Socket(PathBuf),
}

impl ListenAddress {
    /// True if somebody takes a connection there within that time.
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

/// A path as it stands in place of a host in a URL.
pub(crate) fn as_host(path: &Path) -> String {
    let text = path.display().to_string();
    text.replace('%', "%25").replace('/', "%2F")
}

/// How a product is started.
pub(crate) struct LaunchCommand {
    /// Commands that prepare the directory, in order.
    pub(crate) prepare: Vec<Vec<OsString>>,
    /// The server's command; it stays in the foreground.
    pub(crate) serve: Vec<OsString>,
    /// The signal that ends it at once.
    pub(crate) stop: &'static str,
    /// The URLs by which it is met, the best first.
    pub(crate) urls: Vec<String>,
    /// Where it takes connections.
    pub(crate) listens_at: ListenAddress,
    /// A directory of its sockets that is not in its own, to be removed with it.
    pub(crate) sockets: Option<PathBuf>,
    /// A file that holds this text once the server is ready; beside that it must take connections.
    pub(crate) ready: Option<(PathBuf, &'static str)>,
}

/// A program by one of its names, on the search path or in the directories where Debian keeps it.
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
