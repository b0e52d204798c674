//! A connection to a server of Redis's protocol: commands out, replies in, blocking.

use super::protocol::{Reply, command, reply};
use super::settings::Settings;
use crate::server::Host;
use crate::wire::{BlockingTls, Tls, blocking};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long an answer may take: longer than a server that rewrites its file, or that waits for a disk.
const ANSWERS_WITHIN: Duration = Duration::from_mins(1);
const ROOM: usize = 16 * 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct Connection {
    link: Link,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    /// How much of `incoming` was used.
    used: usize,
}

#[derive(Debug)]
enum Link {
    Tcp(TcpStream),
    Encrypted(Box<BlockingTls>),
    Unix(UnixStream),
}

impl Read for Link {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Tcp(socket) => socket.read(room),
            Link::Encrypted(stream) => stream.read(room),
            Link::Unix(socket) => socket.read(room),
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Link::Tcp(socket) => socket.write(bytes),
            Link::Encrypted(stream) => stream.write(bytes),
            Link::Unix(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Link::Encrypted(stream) => stream.flush(),
            Link::Tcp(_) | Link::Unix(_) => Ok(()),
        }
    }
}

impl Connection {
    /// Connects, says who we are, and enters the database.
    pub(super) fn open(settings: &Settings, tls: &Tls) -> io::Result<Connection> {
        let limit = Some(ANSWERS_WITHIN);
        let link = match &settings.address.host {
            Host::Tcp(host, port) => {
                let socket = reached(host, *port, settings.connects_within)?;
                if settings.encryption.is_on() {
                    socket.set_read_timeout(Some(settings.connects_within))?;
                    let stream = blocking(tls, host, socket)?;
                    stream.sock.set_read_timeout(limit)?;
                    Link::Encrypted(Box::new(stream))
                } else {
                    socket.set_read_timeout(limit)?;
                    Link::Tcp(socket)
                }
            }
            Host::Socket(path) => {
                let socket = UnixStream::connect(path)?;
                socket.set_read_timeout(limit)?;
                Link::Unix(socket)
            }
        };
        let mut connection = Connection {
            link,
            outgoing: Vec::new(),
            incoming: Vec::new(),
            used: 0,
        };
        let (user, password) = (&settings.address.user, &settings.address.password);
        if let Some(password) = password {
            let password = password.reveal().as_bytes();
            match user {
                Some(user) => connection.ask(&[b"AUTH", user.as_bytes(), password])?,
                None => connection.ask(&[b"AUTH", password])?,
            };
        }
        if settings.database != 0 {
            let number = settings.database.to_string();
            connection.ask(&[b"SELECT", number.as_bytes()])?;
        }
        Ok(connection)
    }

    /// Adds a command to those that are sent next.
    pub(super) fn queue(&mut self, parts: &[&[u8]]) {
        command(&mut self.outgoing, parts);
    }

    /// Sends what is queued.
    pub(super) fn send(&mut self) -> io::Result<()> {
        let sent = self.link.write_all(&self.outgoing);
        let sent = sent.and_then(|()| self.link.flush());
        self.outgoing.clear();
        sent
    }

    /// The next reply; a refusal too.
    pub(super) fn answer(&mut self) -> io::Result<Reply> {
        loop {
            if let Some((reply, length)) = reply(&self.incoming[self.used..])? {
                self.used += length;
                if self.used == self.incoming.len() {
                    self.incoming.clear();
                    self.used = 0;
                }
                return Ok(reply);
            }
            self.fill()?;
        }
    }

    /// Sends one command and takes its reply; a refusal is an error.
    pub(super) fn ask(&mut self, parts: &[&[u8]]) -> io::Result<Reply> {
        self.queue(parts);
        self.send()?;
        accepted(self.answer()?)
    }

    fn fill(&mut self) -> io::Result<()> {
        self.incoming.drain(..self.used);
        self.used = 0;
        let before = self.incoming.len();
        self.incoming.resize(before + ROOM, 0);
        let room = &mut self.incoming[before..];
        let read = self.link.read(room);
        let length = *read.as_ref().unwrap_or(&0);
        self.incoming.truncate(before + length);
        match read {
            Ok(0) => Err(io::Error::new(
                ErrorKind::ConnectionReset,
                "the server closed the connection",
            )),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(io::Error::new(
                ErrorKind::TimedOut,
                format!("the server did not answer within {ANSWERS_WITHIN:?}"),
            )),
            Err(error) => Err(error),
        }
    }
}

/// The first address of a host that answers.
fn reached(host: &str, port: u16, within: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the host's name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, within) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A reply, or the refusal that it is as an error of the kind that tells what to make of it.
pub(super) fn accepted(reply: Reply) -> io::Result<Reply> {
    let Reply::Error(words) = reply else {
        return Ok(reply);
    };
    let is = |word: &str| words.starts_with(word);
    let kind = if is("OOM") || words.contains("No space left on device") {
        ErrorKind::StorageFull
    } else if is("LOADING") || is("BUSY") || is("TRYAGAIN") {
        ErrorKind::ResourceBusy
    } else if is("ERR max number of clients") {
        ErrorKind::InvalidInput
    } else {
        ErrorKind::Other
    };
    Err(io::Error::new(kind, words))
}

/// A reply that the protocol rules out.
pub(super) fn unexpected(reply: &Reply) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!("the server answers {reply:?} where something else was due"),
    )
}
