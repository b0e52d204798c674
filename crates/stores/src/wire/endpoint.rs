//! Where a server listens, and how a socket to it is opened.

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

/// How often a connection under way is left to look whether the program shall stop.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// How long a connection may take that is begun once the program was asked to stop.
const AFTER_STOP_WITHIN: Duration = Duration::from_secs(5);

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
                    || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
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
            Endpoint::Unix(path) => {
                let path = path.clone();
                // A server that takes nobody in lets a client wait for a place in its queue.
                aside(limit, move || UnixStream::connect(path))
                    .and_then(|socket| Socket::of_unix(socket, poller))
            }
            Endpoint::Tcp { host, port } => open_any(host, *port, poller, limit).await,
        };
        opened.map_err(|error| self.unreached(&error))
    }

    fn unreached(&self, error: &io::Error) -> Failure {
        let why = match error.kind() {
            io::ErrorKind::TimedOut => "it does not answer in time".to_owned(),
            io::ErrorKind::Interrupted => "interrupted".to_owned(),
            _ => error.to_string(),
        };
        let what = format!("{self} cannot be reached: {why}; check that a server listens there");
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
    let name = (host.to_owned(), port);
    for address in aside(limit, move || name.to_socket_addrs())? {
        let opened = match poller {
            Some(poller) => open_polled(address, poller, limit).await,
            None => aside(limit, move || TcpStream::connect_timeout(&address, limit))
                .and_then(|socket| Socket::of_tcp(socket, None)),
        };
        match opened {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Does what may block in a thread of its own, for no longer than that time, and leaves it there if the
/// program shall stop.
pub(crate) fn aside<T: Send + 'static>(
    limit: Duration,
    open: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let began = Began::now();
    let limit = match began {
        Began::Before => limit,
        Began::Soon | Began::Later => limit.min(AFTER_STOP_WITHIN).min(began.goes_on_for()),
    };
    let due = clock::now().saturating_add(limit.as_nanos() as Nanos);
    let (sender, opened) = mpsc::channel();
    let asker = thread::Builder::new().name("connect".to_owned());
    asker.spawn(move || {
        // Whoever asked may have gone.
        drop(sender.send(open()));
    })?;
    loop {
        match opened.recv_timeout(LOOKS_EVERY.min(limit)) {
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
