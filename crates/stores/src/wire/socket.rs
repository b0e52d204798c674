//! One socket, of TCP or Unix, that blocks its thread or is polled.

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

/// A socket that blocks comes back this often, to see whether its time is over or the program shall stop.
const TICK: Duration = Duration::from_millis(50);

/// After how long without a word the kernel asks whether the peer is still there, how often it asks again,
/// and after how many times without an answer the connection is lost.
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

/// See the module. The watch goes first: a number is free before its socket is closed, never after.
#[derive(Debug)]
pub(super) struct Socket {
    watched: Option<Watched>,
    kind: Kind,
    /// When a socket that blocks gives up; a polled one's readiness has it.
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
    /// Of an open connection, or of one that `poller` will tell of.
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

    /// Of an open connection.
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

    /// What the poller knows; none of a socket that blocks.
    #[inline]
    pub(super) fn readiness(&self) -> Option<&Readiness> {
        self.watched.as_ref().map(Watched::readiness)
    }

    /// Waits until the connection is made.
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

    /// Once that long has passed from now on, reading and writing fail, also where there is something to
    /// read; with none they may take as long as they like.
    pub(super) fn limit(&self, length: Option<Duration>) {
        if let Some(watched) = &self.watched {
            watched.limit(length);
            return;
        }
        let due = length.map(|length| clock::now().saturating_add(length.as_nanos() as Nanos));
        self.due.store(due.unwrap_or(NEVER), Relaxed);
    }

    /// Fails if the time is over.
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

    /// Reads once. None if a polled socket has nothing now; its readiness then says so. A socket that
    /// gave less than there was room for has nothing more, unless it was closed.
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

    /// Writes once. None if a polled socket has no room now; its readiness then says so.
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
                    // A socket that blocks says so at each tick.
                    Some(wait) => {
                        self.in_time()?;
                        wait.goes_on()?;
                    }
                    None => return Ok(None),
                },
                Err(error) => return Err(error),
            }
        }
    }
}

/// A wait that blocks its thread, as far as the program may be asked to stop meanwhile.
#[derive(Debug)]
struct Wait {
    began: Began,
    /// When it ends because of that; none as long as nobody has asked.
    ends: Option<Nanos>,
}

impl Wait {
    fn begins() -> Wait {
        Wait { began: Began::now(), ends: None }
    }

    /// Fails once it shall end.
    fn goes_on(&mut self) -> io::Result<()> {
        if !is_asked() {
            return Ok(());
        }
        let now = clock::now();
        let longest = self.began.goes_on_for().as_nanos() as Nanos;
        let ends = *self.ends.get_or_insert(now + longest);
        if now < ends { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
    }
}

/// Lets the kernel look whether a peer that says nothing is still there.
fn keep_alive(socket: &TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(socket, KEEPALIVE_EVERY)?;
    sockopt::set_tcp_keepcnt(socket, KEEPALIVE_TIMES)?;
    Ok(())
}
