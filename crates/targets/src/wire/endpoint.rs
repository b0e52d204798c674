//! Where a server listens, and how a socket to it is opened.

use super::poller::Poller;
use super::socket::Socket;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;
use syncline_contract::{Failure, FailureKind, TargetResult};

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A host, by name or address, and a port.
    Tcp {
        /// Without brackets.
        host: String,
        /// From 1 on.
        port: u16,
    },
    /// The file of a Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Endpoint::Tcp { host, port } => write!(f, "{host}:{port}"),
            Endpoint::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Endpoint {
    /// True if what is sent there does not leave this machine.
    pub fn is_here(&self) -> bool {
        match self {
            Endpoint::Unix(_) => true,
            Endpoint::Tcp { host, .. } => {
                host == "localhost"
                    || host
                        .parse()
                        .is_ok_and(|address: std::net::IpAddr| address.is_loopback())
            }
        }
    }

    /// Opens a socket, polled by `poller` or, without one, blocking the calling thread.
    pub(super) async fn open(
        &self,
        poller: Option<&Poller>,
        limit: Duration,
    ) -> TargetResult<Socket> {
        let opened = match self {
            // A Unix socket waits for nothing but a place in the server's own queue.
            Endpoint::Unix(path) => {
                UnixStream::connect(path).and_then(|socket| Socket::of_unix(socket, poller))
            }
            Endpoint::Tcp { host, port } => open_any(host, *port, poller, limit).await,
        };
        opened.map_err(|error| self.unreached(&error))
    }

    fn unreached(&self, error: &io::Error) -> Failure {
        let why = match error.kind() {
            io::ErrorKind::TimedOut => "it does not answer in time".to_owned(),
            _ => error.to_string(),
        };
        let what = format!("{self} cannot be reached: {why}; look whether a server listens there");
        Failure::new(FailureKind::Connection, what)
    }
}

/// The first address of the host that answers.
async fn open_any(
    host: &str,
    port: u16,
    poller: Option<&Poller>,
    limit: Duration,
) -> io::Result<Socket> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        let opened = match poller {
            Some(poller) => open_polled(address, poller, limit).await,
            None => TcpStream::connect_timeout(&address, limit)
                .and_then(|socket| Socket::of_tcp(socket, None)),
        };
        match opened {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn open_polled(address: SocketAddr, poller: &Poller, limit: Duration) -> io::Result<Socket> {
    let socket = TcpStream::from(mio::net::TcpStream::connect(address)?);
    let socket = Socket::of_tcp(socket, Some(poller))?;
    socket.limit(Some(limit))?;
    socket.connected().await?;
    socket.limit(None)?;
    Ok(socket)
}
