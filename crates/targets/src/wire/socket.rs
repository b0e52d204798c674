//! One socket, of TCP or Unix, that blocks its thread or is polled.

use super::poller::{Poller, Watched};
use super::readiness::Readiness;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

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
        socket.set_nonblocking(poller.is_some())?;
        let watched = poller.map(|poller| poller.watch(socket.as_raw_fd()));
        Ok(Socket {
            watched: watched.transpose()?,
            kind: Kind::Tcp(socket),
        })
    }

    /// Of an open connection.
    pub(super) fn of_unix(socket: UnixStream, poller: Option<&Poller>) -> io::Result<Socket> {
        socket.set_nonblocking(poller.is_some())?;
        let watched = poller.map(|poller| poller.watch(socket.as_raw_fd()));
        Ok(Socket {
            watched: watched.transpose()?,
            kind: Kind::Unix(socket),
        })
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
        watched.tell_of_room(true)?;
        watched.readiness().writable().await?;
        match socket.take_error()? {
            Some(error) => Err(error),
            None => socket.peer_addr().map(drop),
        }
    }

    /// From now on waiting fails after that long; with none it may take as long as it likes.
    pub(super) fn limit(&self, length: Option<Duration>) -> io::Result<()> {
        if let Some(watched) = &self.watched {
            watched.limit(length);
            return Ok(());
        }
        match &self.kind {
            Kind::Tcp(socket) => {
                socket.set_read_timeout(length)?;
                socket.set_write_timeout(length)
            }
            Kind::Unix(socket) => {
                socket.set_read_timeout(length)?;
                socket.set_write_timeout(length)
            }
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
                    watched.tell_of_room(true)?;
                }
                Ok(Some(_)) => watched.tell_of_room(false)?,
                Err(_) => {}
            }
        }
        written
    }

    fn once(&self, mut call: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
        loop {
            match call() {
                Ok(length) => return Ok(Some(length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // A socket that blocks says so when its time is over.
                    if self.watched.is_none() {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }
}
