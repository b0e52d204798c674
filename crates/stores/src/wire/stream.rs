//! One connection: bytes out, bytes in, in reused memory.
//!
//! A protocol appends to [`Stream::queue`], flushes, and takes what has come from [`Stream::received`],
//! saying by [`Stream::consume`] how much of it was used. While a flush waits for room it also reads, so
//! that a server that waits for its answers to be taken and a client that waits for its questions to be
//! taken do not wait for one another for ever.

use super::endpoint::Endpoint;
use super::poller::Poller;
use super::socket::Socket;
use super::tls::{Encrypted, Tls};
use super::tls_refusal;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use syncline_contract::{Failure, FailureKind, TargetResult};
use syncline_instrument::clock;

/// Why a connection was lost that the other side ended, and one on which it said nothing.
const CLOSED: &str = "it closed it";
const SILENT: &str = "it does not answer in time";

/// The memory for what comes in, at first; it grows with the largest answer.
const ROOM: usize = 8 * 1024;
/// A read with less room than this moves what is left to the front, or grows.
const ROOM_LEAST: usize = 2 * 1024;

/// See the module.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    encrypted: Option<Box<Encrypted>>,
    incoming: Incoming,
    outgoing: Vec<u8>,
    /// How much of `outgoing` is gone.
    sent: usize,
    peer: String,
}

impl Stream {
    /// Connects within that time: polled by `poller`, or blocking the calling thread without one. What is
    /// left of the time stays in force until [`Stream::limit`] changes it, so that it spans a hand-shake.
    pub async fn connect(
        endpoint: &Endpoint,
        poller: Option<&Poller>,
        limit: Duration,
    ) -> TargetResult<Stream> {
        let began = clock::now();
        let stream = Stream {
            socket: endpoint.open(poller, limit).await?,
            encrypted: None,
            incoming: Incoming::default(),
            outgoing: Vec::with_capacity(1024),
            sent: 0,
            peer: endpoint.to_string(),
        };
        let took = Duration::from_nanos(clock::now() - began);
        stream.limit(Some(limit.saturating_sub(took)));
        Ok(stream)
    }

    /// Of a socket that is connected already, for fuzzing; blocks the calling thread.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn of_socket(socket: std::os::unix::net::UnixStream) -> io::Result<Stream> {
        Ok(Stream {
            socket: Socket::of_unix(socket, None)?,
            encrypted: None,
            incoming: Incoming::default(),
            outgoing: Vec::new(),
            sent: 0,
            peer: "a socket".to_owned(),
        })
    }

    /// When that long has passed the connection fails, whatever has come meanwhile; with none it may last.
    pub fn limit(&self, length: Option<Duration>) {
        self.socket.limit(length);
    }

    /// Encrypts everything from here on. Nothing may be queued or received.
    pub async fn start_tls(&mut self, tls: &Tls, host: &str) -> TargetResult<()> {
        if self.incoming.received().is_empty() && self.outgoing.is_empty() {
            self.encrypted = Some(Box::new(tls.client(host, &self.peer)?));
            return self.handshake().await;
        }
        // Bytes that came before the encryption could be anybody's.
        let what = format!("{} spoke before its encryption began", self.peer);
        Err(Failure::new(FailureKind::Connection, what))
    }

    async fn handshake(&mut self) -> TargetResult<()> {
        loop {
            let Some(encrypted) = &mut self.encrypted else {
                return Ok(());
            };
            if let Err(error) = encrypted.write_out(&self.socket) {
                return Err(not_encrypted(&self.peer, &error));
            }
            if encrypted.wants_write() {
                self.ready_to_write().await?;
            } else if encrypted.is_handshaking() {
                self.ready_to_read().await?;
                let encrypted = self.encrypted.as_mut().expect("it was made above");
                let read = encrypted.read_in(&self.socket);
                read.map_err(|error| not_encrypted(&self.peer, &error))?;
            } else {
                return Ok(());
            }
        }
    }

    /// The server's certificate in DER, of an encrypted stream.
    pub fn certificate(&self) -> Option<&[u8]> {
        self.encrypted.as_ref().and_then(|encrypted| encrypted.certificate())
    }

    /// Where bytes to be sent are appended.
    #[inline]
    pub fn queue(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    /// What has come and was not consumed.
    #[inline]
    pub fn received(&self) -> &[u8] {
        self.incoming.received()
    }

    /// Gives up the first bytes of what has come.
    #[inline]
    pub fn consume(&mut self, length: usize) {
        self.incoming.consume(length);
    }

    /// Sends all that is queued.
    #[inline]
    pub async fn flush(&mut self) -> TargetResult<()> {
        loop {
            match self.write_some() {
                Ok(true) => return Ok(()),
                Ok(false) => self.make_room().await?,
                // Who reads next learns why the server has ended the connection.
                Err(error) if is_ended(&error) && self.has_last_words() => return Ok(()),
                Err(error) => return Err(lost(&self.peer, &error)),
            }
        }
    }

    /// True if the server has said something before it ended the connection; what was to be sent is
    /// forgotten.
    #[cold]
    fn has_last_words(&mut self) -> bool {
        let before = self.incoming.received().len();
        while matches!(self.read_some(), Ok(true)) {}
        self.outgoing.clear();
        self.sent = 0;
        self.incoming.received().len() > before
    }

    /// Waits until more has come than there is.
    #[inline]
    pub async fn fill(&mut self) -> TargetResult<()> {
        loop {
            if self.is_worth_a_read() {
                match self.read_some() {
                    Ok(true) => return Ok(()),
                    Ok(false) => {}
                    Err(error) => return Err(lost(&self.peer, &error)),
                }
            }
            self.ready_to_read().await?;
        }
    }

    /// The same as [`Stream::fill`]; false where the server has ended the connection.
    pub(crate) async fn fill_or_end(&mut self) -> TargetResult<bool> {
        loop {
            if self.is_worth_a_read() {
                match self.read_some() {
                    Ok(true) => return Ok(true),
                    Ok(false) => {}
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                    Err(error) => return Err(lost(&self.peer, &error)),
                }
            }
            self.ready_to_read().await?;
        }
    }

    /// True if the server has said nothing since its last answer was consumed and has not ended the
    /// connection, as far as the kernel knows without waiting.
    pub(crate) fn is_quiet(&self) -> bool {
        use rustix::net::{RecvFlags, recv};
        let mut byte = [0_u8];
        match recv(self.as_fd(), &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((length, _)) => length > 0 && self.encrypted.is_some(),
            Err(error) => error == rustix::io::Errno::WOULDBLOCK && self.received().is_empty(),
        }
    }

    /// Sends what can be sent without waiting, whatever becomes of it: a last word before the end.
    pub fn part(&mut self) {
        // Who parts does not care any more.
        if self.write_some().is_err() {}
    }

    /// True if a read could find something: without the kernel's word it would be a wasted call.
    fn is_worth_a_read(&self) -> bool {
        self.encrypted.is_some()
            || self.socket.readiness().is_none_or(super::readiness::Readiness::may_read)
    }

    /// True if all is sent.
    fn write_some(&mut self) -> io::Result<bool> {
        while self.sent < self.outgoing.len() {
            let rest = &self.outgoing[self.sent..];
            let written = match &mut self.encrypted {
                None => self.socket.write(rest)?,
                Some(encrypted) => encrypted.write(rest, &self.socket)?,
            };
            match written {
                Some(0) => return Err(io::ErrorKind::WriteZero.into()),
                Some(length) => self.sent += length,
                None => return Ok(false),
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        match &mut self.encrypted {
            None => Ok(true),
            Some(encrypted) => {
                encrypted.write_out(&self.socket)?;
                Ok(!encrypted.wants_write())
            }
        }
    }

    /// True if something came.
    fn read_some(&mut self) -> io::Result<bool> {
        let room = self.incoming.room();
        let read = match &mut self.encrypted {
            None => self.socket.read(room)?,
            Some(encrypted) => encrypted.read(room, &self.socket)?,
        };
        match read {
            Some(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Some(length) => {
                self.incoming.came(length);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Waits for room to write, reading meanwhile.
    async fn make_room(&mut self) -> TargetResult<()> {
        if let Some(readiness) = self.socket.readiness() {
            let waited = readiness.either().await;
            waited.map_err(|error| lost(&self.peer, &error))?;
            if readiness.may_read() {
                let read = self.read_some();
                read.map_err(|error| lost(&self.peer, &error))?;
            }
        }
        Ok(())
    }

    async fn ready_to_read(&self) -> TargetResult<()> {
        match self.socket.readiness() {
            Some(readiness) => {
                let waited = readiness.readable().await;
                waited.map_err(|error| lost(&self.peer, &error))
            }
            None => Ok(()),
        }
    }

    async fn ready_to_write(&self) -> TargetResult<()> {
        match self.socket.readiness() {
            Some(readiness) => {
                let waited = readiness.writable().await;
                waited.map_err(|error| lost(&self.peer, &error))
            }
            None => Ok(()),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cold]
fn lost(peer: &str, error: &io::Error) -> Failure {
    // With TLS 1.3 a server may refuse the hand-shake after the client has ended it.
    if tls_refusal::of(error).is_some() {
        return not_encrypted(peer, error);
    }
    let what = format!("the connection to {peer} was lost: {}", reason(error));
    Failure::new(FailureKind::Connection, what)
}

/// A connection that was lost in its first words: another product may listen there.
#[cold]
pub(crate) fn at_login(failure: Failure, product: &str) -> Failure {
    let ended = [CLOSED, "reset by peer", "Broken pipe"];
    let silent = failure.what.ends_with(SILENT);
    if failure.kind != FailureKind::Connection
        || !silent && !ended.iter().any(|end| failure.what.contains(end))
    {
        return failure;
    }
    let what =
        format!("{}; check that {product} listens there, and not another product", failure.what);
    Failure::new(failure.kind, what)
}

/// The product whose first bytes those are, if they tell.
pub(crate) fn speaker(bytes: &[u8]) -> Option<&'static str> {
    // A packet of MySQL: three bytes of length, number 0, version 10 of the protocol.
    let mysql = bytes.len() > 5 && bytes[3] == 0 && bytes[4] == 10;
    [
        (bytes.starts_with(b"HTTP/"), "an HTTP server"),
        (bytes.starts_with(b"SSH-"), "an SSH server"),
        (bytes.starts_with(b"220"), "a mail or FTP server"),
        (bytes.starts_with(b"-ERR") || bytes.starts_with(b"-NOAUTH"), "Redis"),
        (bytes.starts_with(&[0x15, 3]), "a server that only speaks TLS"),
        (mysql, "MariaDB or MySQL"),
    ]
    .into_iter()
    .find_map(|(is, name)| is.then_some(name))
}

#[cold]
fn not_encrypted(peer: &str, error: &io::Error) -> Failure {
    let why = tls_refusal::of(error).unwrap_or_else(|| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            "it ended the connection during the hand-shake and may not speak TLS; check host and port, or use \
             tls=disable"
                .to_owned()
        }
        _ => reason(error),
    });
    let what = format!("the connection to {peer} cannot be encrypted: {why}");
    Failure::new(FailureKind::Connection, what)
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => CLOSED.to_owned(),
        io::ErrorKind::TimedOut => SILENT.to_owned(),
        io::ErrorKind::Interrupted => "interrupted".to_owned(),
        _ => error.to_string(),
    }
}

/// True if the other side has ended the connection.
fn is_ended(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// What has come: `bytes[start..end]`.
#[derive(Debug, Default)]
struct Incoming {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Incoming {
    #[inline]
    fn received(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    #[inline]
    fn consume(&mut self, length: usize) {
        assert!(length <= self.end - self.start, "only what has come is consumed");
        self.start += length;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    fn came(&mut self, length: usize) {
        self.end += length;
    }

    /// Room for a read, behind what has come.
    #[inline]
    fn room(&mut self) -> &mut [u8] {
        if self.bytes.len() - self.end < ROOM_LEAST {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.bytes.len() - self.end < ROOM_LEAST {
                let length = (self.bytes.len() * 2).max(ROOM);
                self.bytes.resize(length, 0);
            }
        }
        &mut self.bytes[self.end..]
    }
}

#[cfg(test)]
mod tests {
    use super::{Incoming, ROOM, ROOM_LEAST};

    #[test]
    fn what_has_come_stays_in_order_however_it_is_consumed() {
        let mut incoming = Incoming::default();
        let (mut given, mut taken) = (0_u32, 0_u32);
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..5_000 {
            let room = incoming.room();
            assert!(room.len() >= ROOM_LEAST);
            let length = random.usize(1..=room.len());
            for place in &mut room[..length] {
                *place = given as u8;
                given = given.wrapping_add(1);
            }
            incoming.came(length);
            let used = random.usize(0..=incoming.received().len());
            for byte in &incoming.received()[..used] {
                assert_eq!(*byte, taken as u8);
                taken = taken.wrapping_add(1);
            }
            incoming.consume(used);
        }
    }

    #[test]
    fn memory_that_was_used_is_used_again() {
        let mut incoming = Incoming::default();
        for _ in 0..1_000 {
            let length = incoming.room().len().min(700);
            incoming.came(length);
            incoming.consume(length);
        }
        assert_eq!(incoming.bytes.len(), ROOM);
    }
}
