//! A connection: messages are encoded by the codec crate and decoded by their tags.
//!
//! Outgoing messages are written into `out` and sent by [`Connection::flush`]. Incoming messages are
//! decoded in place: [`Connection::next`] waits for a whole message, which [`Connection::body`] borrows
//! until the next call. Notices and parameter changes are skipped.

use super::failure::ServerError;
use super::settings::Settings;
use crate::server::{Address, Host};
use crate::wire::{Endpoint, Poller, Stream, Tls, at_login};
use bytes::BytesMut;
use postgres_protocol::message::backend::Header;
use postgres_protocol::message::frontend;
use std::ops::Range;
use syncline_contract::{Failure, FailureKind, TargetResult};

/// The maximum length of a message, in bytes: during a log-in, and of an answer.
pub(super) const LOG_IN_MAX: usize = 64 << 10;
pub(super) const MESSAGE_MAX: usize = 64 << 20;

/// The tags of the server's messages.
pub(super) mod tag {
    pub(crate) const AUTHENTICATION: u8 = b'R';
    pub(crate) const BIND_COMPLETE: u8 = b'2';
    pub(crate) const COMMAND_COMPLETE: u8 = b'C';
    pub(crate) const COPY_IN: u8 = b'G';
    pub(crate) const DATA_ROW: u8 = b'D';
    pub(crate) const EMPTY_QUERY: u8 = b'I';
    pub(crate) const ERROR: u8 = b'E';
    pub(crate) const KEY_DATA: u8 = b'K';
    pub(crate) const NO_DATA: u8 = b'n';
    pub(crate) const NOTICE: u8 = b'N';
    pub(crate) const NOTIFICATION: u8 = b'A';
    pub(crate) const PARAMETERS: u8 = b't';
    pub(crate) const PARAMETER_STATUS: u8 = b'S';
    pub(crate) const PARSE_COMPLETE: u8 = b'1';
    pub(crate) const READY: u8 = b'Z';
    pub(crate) const ROWS: u8 = b'T';
}

/// The transaction status of a session, as `ReadyForQuery` reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// In no transaction.
    Idle,
    /// In an open transaction.
    Open,
    /// In a failed transaction that must be rolled back.
    Failed,
}

/// The address of a server and how to connect to it; shared by all connections of a target.
#[derive(Debug)]
pub(super) struct ServerLocation {
    pub(super) address: Address,
    pub(super) endpoint: Endpoint,
    pub(super) settings: Settings,
    pub(super) tls: Tls,
    /// The role that sessions log in as.
    pub(super) user: String,
    /// Why a password file provided no password, if there is such a file.
    pub(super) no_password: Option<String>,
}

impl ServerLocation {
    /// The host name that a certificate is verified against.
    pub(super) fn host(&self) -> &str {
        match &self.address.host {
            Host::Tcp(host, _) => host,
            Host::Socket(_) => "localhost",
        }
    }
}

/// A connection to a server, blocking or on a poller.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: Stream,
    pub(super) out: BytesMut,
    /// As the last `ReadyForQuery` reported it.
    pub(super) status: Status,
    /// The process that serves the session, as the server named it at log-in.
    pub(super) process_at_login: Option<u64>,
    /// The length of the current message, which [`Connection::body`] borrows.
    current_len: usize,
    /// The maximum message length in the current phase.
    message_max: usize,
    /// No further request is possible: the connection is lost or unusable.
    pub(super) broken: bool,
}

impl Connection {
    /// Connects and logs in; `None` for the poller blocks the calling thread.
    pub(super) async fn open(
        place: &ServerLocation,
        poller: Option<&Poller>,
    ) -> TargetResult<Connection> {
        let limit = place.settings.connect_timeout;
        let stream = Stream::connect(&place.endpoint, poller, limit).await?;
        let mut connection = Connection {
            stream,
            out: BytesMut::with_capacity(4 * 1024),
            status: Status::Idle,
            process_at_login: None,
            current_len: 0,
            message_max: LOG_IN_MAX,
            broken: false,
        };
        let logged_in = connection.log_in(place).await;
        logged_in.map_err(|failure| at_login(failure, "PostgreSQL"))?;
        connection.message_max = MESSAGE_MAX;
        connection.stream.limit(None);
        Ok(connection)
    }

    /// Sends what was written.
    #[inline]
    pub(super) async fn flush(&mut self) -> TargetResult<()> {
        self.stream.queue().extend_from_slice(&self.out);
        self.out.clear();
        let flushed = self.stream.flush().await;
        self.note_failure(flushed)
    }

    /// Sends a part of what was written, and leaves it in the buffer.
    pub(super) async fn flush_part(&mut self, part: Range<usize>) -> TargetResult<()> {
        self.stream.queue().extend_from_slice(&self.out[part]);
        let flushed = self.stream.flush().await;
        self.note_failure(flushed)
    }

    /// Waits for the next message and returns its tag.
    #[inline]
    pub(super) async fn next(&mut self) -> TargetResult<u8> {
        loop {
            self.stream.consume(std::mem::take(&mut self.current_len));
            let tag = loop {
                let first = first_message(self.stream.received(), self.message_max);
                self.broken |= first.is_err();
                if let Some((tag, length)) = first? {
                    self.current_len = length;
                    break tag;
                }
                let filled = self.stream.fill().await;
                self.note_failure(filled)?;
            };
            if !matches!(tag, tag::NOTICE | tag::PARAMETER_STATUS | tag::NOTIFICATION) {
                return Ok(tag);
            }
        }
    }

    /// Reads the answer to simple statements and discards their rows.
    pub(super) async fn done(&mut self, doing: &str) -> TargetResult<()> {
        let mut failed = Ok(());
        loop {
            match self.next().await? {
                tag::READY => {
                    self.note_status()?;
                    return failed;
                }
                tag::ERROR => {
                    failed = Err(self.error().outside(doing));
                    if self.broken {
                        return failed;
                    }
                }
                _ => {}
            }
        }
    }

    /// The body of the current message.
    #[inline]
    pub(super) fn body(&self) -> &[u8] {
        &self.stream.received()[5..self.current_len]
    }

    /// The current message with its tag and length.
    pub(super) fn message(&self) -> &[u8] {
        &self.stream.received()[..self.current_len]
    }

    /// Sets the transaction status from the current message.
    pub(super) fn note_status(&mut self) -> TargetResult<()> {
        self.status = match self.body() {
            [b'I'] => Status::Idle,
            [b'T'] => Status::Open,
            [b'E'] => Status::Failed,
            _ => return Err(self.garbled("the transaction status")),
        };
        Ok(())
    }

    /// Decodes the current message as an error. One that ends the connection leaves it broken.
    #[cold]
    pub(super) fn error(&mut self) -> ServerError {
        let error = ServerError::of(self.body());
        self.broken |= error.ends_connection();
        error
    }

    /// A failure for a message that is not valid here.
    #[cold]
    pub(super) fn garbled(&mut self, what: &str) -> Failure {
        self.broken = true;
        let what = format!("the server's answer cannot be understood: {what}");
        Failure::new(FailureKind::Connection, what)
    }

    fn note_failure(&mut self, done: TargetResult<()>) -> TargetResult<()> {
        self.broken |= done.is_err();
        done
    }
}

impl Drop for Connection {
    /// Sends Terminate, so that the server does not log a lost connection.
    fn drop(&mut self) {
        if !self.broken {
            self.out.clear();
            frontend::terminate(&mut self.out);
            self.stream.queue().extend_from_slice(&self.out);
            self.stream.part();
        }
    }
}

#[cold]
fn too_long(length: usize, message_max: usize) -> Failure {
    let what = format!(
        "the server announces a message of {length} bytes, more than the maximum of {message_max}: it does not speak \
         PostgreSQL's protocol, or the answer is larger than this program reads"
    );
    Failure::new(FailureKind::Connection, what)
}

/// The tag and length of the first message, if it is complete.
#[inline]
pub(super) fn first_message(
    received: &[u8],
    message_max: usize,
) -> TargetResult<Option<(u8, usize)>> {
    let header = Header::parse(received).map_err(|error| {
        let what =
            format!("the server's answer is not a message of PostgreSQL's protocol: {error}");
        Failure::new(FailureKind::Connection, what)
    })?;
    let Some(header) = header else {
        return Ok(None);
    };
    let length = header.len() as usize + 1;
    if length > message_max {
        return Err(too_long(length, message_max));
    }
    Ok((received.len() >= length).then_some((header.tag(), length)))
}
