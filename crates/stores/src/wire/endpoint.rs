//! The address of a server, and how a socket to it is opened.

use super::interrupt::{Began, is_asked};
use super::poller::Poller;
use super::socket::Socket;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use syncline_contract::{Failure, FailureKind, TargetResult};
use syncline_instrument::{Nanos, clock};

/// How often a wait for a connection checks whether the program was asked to stop.
const CHECKS_EVERY: Duration = Duration::from_millis(50);

/// How long connecting may take if it begins after the request to stop.
const AFTER_STOP_WITHIN: Duration = Duration::from_secs(5);

/// The address of a server.
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
    /// True if data sent there does not leave this machine.
    pub fn is_here(&self) -> bool {
        match self {
            Endpoint::Unix(_) => true,
            Endpoint::Tcp { host, .. } => {
                host == "localhost"
                    || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
            }
        }
    }

    /// Opens a socket that `poller` polls or, without one, that blocks the calling thread.
    pub(super) async fn open(
        &self,
        poller: Option<&Poller>,
        limit: Duration,
    ) -> TargetResult<Socket> {
        let opened = match self {
            Endpoint::Unix(path) => {
                let path = path.clone();
                // If a server accepts no connections, a client blocks until there is space in its
                // queue.
                in_thread(limit, move || UnixStream::connect(path))
                    .and_then(|socket| Socket::of_unix(socket, poller))
            }
            Endpoint::Tcp { host, port } => open_any(host, *port, poller, limit).await,
        };
        opened.map_err(|error| self.unreached(&error))
    }

    fn unreached(&self, error: &io::Error) -> Failure {
        let why = match error.kind() {
            io::ErrorKind::TimedOut => "it did not answer in time".to_owned(),
            io::ErrorKind::Interrupted => "interrupted".to_owned(),
            _ => error.to_string(),
        };
        let what = format!("{self} cannot be reached: {why}; check that a server listens there");
        Failure::new(FailureKind::Connection, what)
    }
}

/// Connects to the first address of the host that accepts.
async fn open_any(
    host: &str,
    port: u16,
    poller: Option<&Poller>,
    limit: Duration,
) -> io::Result<Socket> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    let name = (host.to_owned(), port);
    for address in in_thread(limit, move || name.to_socket_addrs())? {
        let opened = match poller {
            Some(poller) => open_polled(address, poller, limit).await,
            None => in_thread(limit, move || TcpStream::connect_timeout(&address, limit))
                .and_then(|socket| Socket::of_tcp(socket, None)),
        };
        match opened {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Runs a blocking call in a thread of its own, for at most that time, and abandons it if the program
/// was asked to stop.
pub(crate) fn in_thread<T: Send + 'static>(
    limit: Duration,
    open: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let began = Began::now();
    let limit = match began {
        Began::Before => limit,
        Began::Soon | Began::Later => limit.min(AFTER_STOP_WITHIN).min(began.time_limit()),
    };
    let due = clock::now().saturating_add(limit.as_nanos() as Nanos);
    let (sender, opened) = mpsc::channel();
    let builder = thread::Builder::new().name("connect".to_owned());
    builder.spawn(move || {
        // The caller may have given up.
        drop(sender.send(open()));
    })?;
    loop {
        match opened.recv_timeout(CHECKS_EVERY.min(limit)) {
            Ok(opened) => return opened,
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::Other.into()),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        if clock::now() >= due {
            let why = match began {
                Began::Before => io::ErrorKind::TimedOut,
                Began::Soon | Began::Later => io::ErrorKind::Interrupted,
            };
            return Err(why.into());
        }
        if is_asked() && began == Began::Before {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
}

async fn open_polled(address: SocketAddr, poller: &Poller, limit: Duration) -> io::Result<Socket> {
    let socket = TcpStream::from(mio::net::TcpStream::connect(address)?);
    let socket = Socket::of_tcp(socket, Some(poller))?;
    socket.limit(Some(limit));
    socket.connected().await?;
    socket.limit(None);
    Ok(socket)
}
