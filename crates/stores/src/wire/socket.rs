//! One socket, TCP or Unix, that blocks its thread or is polled.

use super::interrupt::{Began, is_asked};
use super::poller::{Poller, Watched};
use super::readiness::Readiness;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use syncline_instrument::{Nanos, clock};

/// A blocking socket returns this often, to check its deadline and whether the program was asked to
/// stop.
const TICK: Duration = Duration::from_millis(50);

/// The kernel's keepalive probes: the idle time before the first, the interval, and the number of
/// unanswered ones after which the connection is lost.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(10);
const KEEPALIVE_TIMES: u32 = 3;

/// No limit.
const NEVER: Nanos = Nanos::MAX;

#[derive(Debug)]
enum Kind {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A socket and its watch. The watch is dropped first, so that its slot is free before the socket is
/// closed.
#[derive(Debug)]
pub(super) struct Socket {
    watched: Option<Watched>,
    kind: Kind,
    /// The deadline of a blocking socket; a polled one's is in its readiness.
    due: AtomicU64,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.kind {
            Kind::Tcp(socket) => socket.as_fd(),
            Kind::Unix(socket) => socket.as_fd(),
        }
    }
}

impl Socket {
    /// Wraps an open connection, or one in progress if `poller` is given.
    pub(super) fn of_tcp(socket: TcpStream, poller: Option<&Poller>) -> io::Result<Socket> {
        socket.set_nodelay(true)?;
        keep_alive(&socket)?;
        socket.set_nonblocking(poller.is_some())?;
        if poller.is_none() {
            socket.set_read_timeout(Some(TICK))?;
            socket.set_write_timeout(Some(TICK))?;
        }
        Socket::watched(Kind::Tcp(socket), poller)
    }

    /// Wraps an open connection.
    pub(super) fn of_unix(socket: UnixStream, poller: Option<&Poller>) -> io::Result<Socket> {
        socket.set_nonblocking(poller.is_some())?;
        if poller.is_none() {
            socket.set_read_timeout(Some(TICK))?;
            socket.set_write_timeout(Some(TICK))?;
        }
        Socket::watched(Kind::Unix(socket), poller)
    }

    fn watched(kind: Kind, poller: Option<&Poller>) -> io::Result<Socket> {
        let mut socket = Socket { watched: None, kind, due: AtomicU64::new(NEVER) };
        let number = socket.as_fd().as_raw_fd();
        socket.watched = poller.map(|poller| poller.watch(number)).transpose()?;
        Ok(socket)
    }

    /// The poller's state; `None` for a blocking socket.
    #[inline]
    pub(super) fn readiness(&self) -> Option<&Readiness> {
        self.watched.as_ref().map(Watched::readiness)
    }

    /// Waits until the connection is established.
    pub(super) async fn connected(&self) -> io::Result<()> {
        let (Kind::Tcp(socket), Some(watched)) = (&self.kind, &self.watched) else {
            return Ok(());
        };
        watched.notify_writable(true)?;
        watched.readiness().writable().await?;
        match socket.take_error()? {
            Some(error) => Err(error),
            None => socket.peer_addr().map(drop),
        }
    }

    /// After that time, reading and writing fail, even if there is data; `None` removes the limit.
    pub(super) fn limit(&self, length: Option<Duration>) {
        if let Some(watched) = &self.watched {
            watched.limit(length);
            return;
        }
        let due = length.map(|length| clock::now().saturating_add(length.as_nanos() as Nanos));
        self.due.store(due.unwrap_or(NEVER), Relaxed);
    }

    /// Fails after the deadline.
    fn in_time(&self) -> io::Result<()> {
        let due = match &self.watched {
            Some(watched) => watched.readiness().due(),
            None => Some(self.due.load(Relaxed)).filter(|due| *due != NEVER),
        };
        match due {
            Some(due) if clock::now() >= due => Err(io::ErrorKind::TimedOut.into()),
            _ => Ok(()),
        }
    }

    /// Reads once. `None` if a polled socket would block; its readiness then records that. A socket
    /// that returned less than the buffer holds has no more data, unless it was closed.
    pub(super) fn read(&self, room: &mut [u8]) -> io::Result<Option<usize>> {
        let room_length = room.len();
        let read = self.once(|| match &self.kind {
            Kind::Tcp(socket) => (&mut &*socket).read(room),
            Kind::Unix(socket) => (&mut &*socket).read(room),
        });
        if let Some(readiness) = self.readiness() {
            match &read {
                Ok(Some(length)) if *length < room_length => readiness.fell_short(),
                Ok(None) => readiness.drained(),
                _ => {}
            }
        }
        read
    }

    /// Writes once. `None` if a polled socket would block; its readiness then records that.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let written = self.once(|| match &self.kind {
            Kind::Tcp(socket) => (&mut &*socket).write(bytes),
            Kind::Unix(socket) => (&mut &*socket).write(bytes),
        });
        if let Some(watched) = &self.watched {
            match &written {
                Ok(None) => {
                    watched.readiness().full();
                    watched.notify_writable(true)?;
                }
                Ok(Some(_)) => watched.notify_writable(false)?,
                Err(_) => {}
            }
        }
        written
    }

    fn once(&self, mut call: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
        self.in_time()?;
        let mut wait = self.watched.is_none().then(Wait::begins);
        loop {
            match call() {
                Ok(length) => return Ok(Some(length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => match &mut wait {
                    // A blocking socket returns this at each tick.
                    Some(wait) => {
                        self.in_time()?;
                        wait.check_stop()?;
                    }
                    None => return Ok(None),
                },
                Err(error) => return Err(error),
            }
        }
    }
}

/// A wait that blocks its thread, and ends early if the program is asked to stop.
#[derive(Debug)]
struct Wait {
    began: Began,
    /// The end of the wait because of a request to stop; `None` without a request.
    ends: Option<Nanos>,
}

impl Wait {
    fn begins() -> Wait {
        Wait { began: Began::now(), ends: None }
    }

    /// Fails once the wait must end.
    fn check_stop(&mut self) -> io::Result<()> {
        if !is_asked() {
            return Ok(());
        }
        let now = clock::now();
        let longest = self.began.time_limit().as_nanos() as Nanos;
        let ends = *self.ends.get_or_insert(now + longest);
        if now < ends { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
    }
}

/// Enables the kernel's probes for a silent peer.
fn keep_alive(socket: &TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(socket, KEEPALIVE_EVERY)?;
    sockopt::set_tcp_keepcnt(socket, KEEPALIVE_TIMES)?;
    Ok(())
}
