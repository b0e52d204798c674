//! One connection: bytes out, bytes in, in reused memory.
//!
//! A protocol appends to [`Stream::queue`], flushes, reads [`Stream::received`], and calls
//! [`Stream::consume`] for the bytes that it used. While a flush waits for space it also reads, so that
//! a server that waits for its answers to be read and a client that waits for its requests to be read
//! do not deadlock.

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

/// The reasons for a lost connection: the peer closed it, or it sent nothing in time.
const CLOSED: &str = "the server closed it";
const SILENT: &str = "the server did not answer in time";

/// The initial size of the input buffer, in bytes; it grows with the largest answer.
const ROOM: usize = 8 * 1024;
/// If less space is left than this, the data is moved to the front, or the buffer grows.
const ROOM_LEAST: usize = 2 * 1024;

/// A connection with its buffers.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    encrypted: Option<Box<Encrypted>>,
    incoming: Incoming,
    outgoing: Vec<u8>,
    /// How much of `outgoing` has been sent.
    sent: usize,
    peer: String,
}

impl Stream {
    /// Connects within that time: polled by `poller`, or blocking the calling thread without one. The
    /// rest of the time remains the limit until [`Stream::limit`] changes it, so that it includes a
    /// handshake.
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

    /// Wraps a connected socket, for fuzzing; blocks the calling thread.
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

    /// After that time the connection fails, regardless of received data; `None` removes the limit.
    pub fn limit(&self, length: Option<Duration>) {
        self.socket.limit(length);
    }

    /// Encrypts everything from here on. Nothing may be queued or received.
    pub async fn start_tls(&mut self, tls: &Tls, host: &str) -> TargetResult<()> {
        if self.incoming.received().is_empty() && self.outgoing.is_empty() {
            self.encrypted = Some(Box::new(tls.client(host, &self.peer)?));
            return self.handshake().await;
        }
        // Bytes from before the encryption are not authenticated.
        let what = format!("{} sent data before TLS began", self.peer);
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

    /// The server's certificate in DER, if the stream is encrypted.
    pub fn certificate(&self) -> Option<&[u8]> {
        self.encrypted.as_ref().and_then(|encrypted| encrypted.certificate())
    }

    /// The buffer that outgoing bytes are appended to.
    #[inline]
    pub fn queue(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    /// The received bytes that were not consumed.
    #[inline]
    pub fn received(&self) -> &[u8] {
        self.incoming.received()
    }

    /// Removes the first received bytes.
    #[inline]
    pub fn consume(&mut self, length: usize) {
        self.incoming.consume(length);
    }

    /// Sends all queued bytes.
    #[inline]
    pub async fn flush(&mut self) -> TargetResult<()> {
        loop {
            match self.write_some() {
                Ok(true) => return Ok(()),
                Ok(false) => self.wait_for_space().await?,
                // The next read returns the reason that the server sent before it closed the
                // connection.
                Err(error) if is_ended(&error) && self.received_before_close() => return Ok(()),
                Err(error) => return Err(lost(&self.peer, &error)),
            }
        }
    }

    /// True if the server sent data before it closed the connection; discards the outgoing bytes.
    #[cold]
    fn received_before_close(&mut self) -> bool {
        let before = self.incoming.received().len();
        while matches!(self.read_some(), Ok(true)) {}
        self.outgoing.clear();
        self.sent = 0;
        self.incoming.received().len() > before
    }

    /// Waits for more received bytes.
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

    /// As [`Stream::fill`]; false if the server has closed the connection.
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

    /// True if the server has sent nothing since its last answer was consumed and has not closed the
    /// connection, according to the kernel's current state.
    pub(crate) fn is_quiet(&self) -> bool {
        use rustix::net::{RecvFlags, recv};
        let mut byte = [0_u8];
        match recv(self.as_fd(), &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((length, _)) => length > 0 && self.encrypted.is_some(),
            Err(error) => error == rustix::io::Errno::WOULDBLOCK && self.received().is_empty(),
        }
    }

    /// Sends what can be sent without waiting, and ignores errors: a last message before closing.
    pub fn part(&mut self) {
        // An error does not matter any more.
        if self.write_some().is_err() {}
    }

    /// True if a read may find data; avoids a system call that would block.
    fn is_worth_a_read(&self) -> bool {
        self.encrypted.is_some()
            || self.socket.readiness().is_none_or(super::readiness::Readiness::may_read)
    }

    /// True if everything is sent.
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

    /// True if data was received.
    fn read_some(&mut self) -> io::Result<bool> {
        let space = self.incoming.space();
        let read = match &mut self.encrypted {
            None => self.socket.read(space)?,
            Some(encrypted) => encrypted.read(space, &self.socket)?,
        };
        match read {
            Some(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Some(length) => {
                self.incoming.add_received(length);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Waits for space to write, reading meanwhile.
    async fn wait_for_space(&mut self) -> TargetResult<()> {
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
    // With TLS 1.3 a server may refuse the handshake after the client has completed it.
    if tls_refusal::of(error).is_some() {
        return not_encrypted(peer, error);
    }
    let what = format!("the connection to {peer} was lost: {}", reason(error));
    Failure::new(FailureKind::Connection, what)
}

/// Adds advice to a connection that was lost during its log-in: another product may listen there.
#[cold]
pub(crate) fn at_login(failure: Failure, product: &str) -> Failure {
    let ended = [CLOSED, "reset by peer", "Broken pipe"];
    let silent = failure.what.ends_with(SILENT);
    if failure.kind != FailureKind::Connection
        || !silent && !ended.iter().any(|end| failure.what.contains(end))
    {
        return failure;
    }
    let what = format!("{}; check that {product} listens there", failure.what);
    Failure::new(failure.kind, what)
}

/// The product whose first bytes those are, if they identify it.
pub(crate) fn speaker(bytes: &[u8]) -> Option<&'static str> {
    // A packet of MySQL: three bytes of length, number 0, version 10 of the protocol.
    let mysql = bytes.len() > 5 && bytes[3] == 0 && bytes[4] == 10;
    [
        (bytes.starts_with(b"HTTP/"), "an HTTP server"),
        (bytes.starts_with(b"SSH-"), "an SSH server"),
        (bytes.starts_with(b"220"), "a mail or FTP server"),
        (bytes.starts_with(b"-ERR") || bytes.starts_with(b"-NOAUTH"), "Redis"),
        (bytes.starts_with(&[0x15, 3]), "a server that requires TLS"),
        (mysql, "MariaDB or MySQL"),
    ]
    .into_iter()
    .find_map(|(is, name)| is.then_some(name))
}

#[cold]
fn not_encrypted(peer: &str, error: &io::Error) -> Failure {
    let why = tls_refusal::of(error).unwrap_or_else(|| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            "it closed the connection during the handshake and may not support TLS; check host and port, or use \
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

/// True if the peer has closed the connection.
fn is_ended(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// The input buffer: `bytes[start..end]` is received and not consumed.
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
        assert!(length <= self.end - self.start, "cannot consume more than was received");
        self.start += length;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    fn add_received(&mut self, length: usize) {
        self.end += length;
    }

    /// Space for a read, after the received bytes.
    #[inline]
    fn space(&mut self) -> &mut [u8] {
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
    fn received_bytes_stay_in_order_however_they_are_consumed() {
        let mut incoming = Incoming::default();
        let (mut given, mut taken) = (0_u32, 0_u32);
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..5_000 {
            let space = incoming.space();
            assert!(space.len() >= ROOM_LEAST);
            let length = random.usize(1..=space.len());
            for place in &mut space[..length] {
                *place = given as u8;
                given = given.wrapping_add(1);
            }
            incoming.add_received(length);
            let used = random.usize(0..=incoming.received().len());
            for byte in &incoming.received()[..used] {
                assert_eq!(*byte, taken as u8);
                taken = taken.wrapping_add(1);
            }
            incoming.consume(used);
        }
    }

    #[test]
    fn memory_is_reused() {
        let mut incoming = Incoming::default();
        for _ in 0..1_000 {
            let length = incoming.space().len().min(700);
            incoming.add_received(length);
            incoming.consume(length);
        }
        assert_eq!(incoming.bytes.len(), ROOM);
    }
}
