//! A connection: messages out by the codec crate, messages in by their tags.
//!
//! What is to be sent is written into `out` and goes with [`Connection::flush`]. What comes is looked at
//! in place: [`Connection::next`] waits for a whole message and lends it by [`Connection::body`] until the
//! one after it. Notices and changes of parameters are passed over; a server that says why it ends the
//! connection is believed.

use super::failure::ServerError;
use super::settings::Settings;
use crate::server::{Address, Host};
use crate::wire::{Endpoint, Poller, Stream, Tls, at_login};
use bytes::BytesMut;
use postgres_protocol::message::backend::Header;
use postgres_protocol::message::frontend;
use std::ops::Range;
use syncline_contract::{Failure, FailureKind, TargetResult};

/// The longest message of a log-in, and of an answer.
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

/// How far a session is in a transaction, by the server's word when it is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// In none.
    Idle,
    /// In one that goes on.
    Open,
    /// In one that has failed and waits for its end.
    Failed,
}

/// Where a server is and how it is spoken to; what all connections of a target share.
#[derive(Debug)]
pub(super) struct ServerLocation {
    pub(super) address: Address,
    pub(super) endpoint: Endpoint,
    pub(super) settings: Settings,
    pub(super) tls: Tls,
    /// As whom sessions log in.
    pub(super) user: String,
    /// Why a file of passwords gave none, if one was there.
    pub(super) no_password: Option<String>,
}

impl ServerLocation {
    /// The host's name, to which a certificate is held.
    pub(super) fn host(&self) -> &str {
        match &self.address.host {
            Host::Tcp(host, _) => host,
            Host::Socket(_) => "localhost",
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: Stream,
    pub(super) out: BytesMut,
    /// By the server's last word.
    pub(super) status: Status,
    /// The process that serves the session, as the server named it at log-in.
    pub(super) process_at_login: Option<u64>,
    /// The length of the message that is lent.
    lent: usize,
    /// The longest message that is taken now.
    longest: usize,
    /// Nothing can be asked any more: the connection is lost, or is of no use.
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
            lent: 0,
            longest: LOG_IN_MAX,
            broken: false,
        };
        let logged_in = connection.log_in(place).await;
        logged_in.map_err(|failure| at_login(failure, "PostgreSQL"))?;
        connection.longest = MESSAGE_MAX;
        connection.stream.limit(None);
        Ok(connection)
    }

    /// Sends what was written.
    #[inline]
    pub(super) async fn flush(&mut self) -> TargetResult<()> {
        self.stream.queue().extend_from_slice(&self.out);
        self.out.clear();
        let flushed = self.stream.flush().await;
        self.noted(flushed)
    }

    /// Sends a part of what was written, which stays written.
    pub(super) async fn flush_part(&mut self, part: Range<usize>) -> TargetResult<()> {
        self.stream.queue().extend_from_slice(&self.out[part]);
        let flushed = self.stream.flush().await;
        self.noted(flushed)
    }

    /// Waits for the next message and gives its tag.
    #[inline]
    pub(super) async fn next(&mut self) -> TargetResult<u8> {
        loop {
            self.stream.consume(std::mem::take(&mut self.lent));
            let tag = loop {
                let first = whole(self.stream.received(), self.longest);
                self.broken |= first.is_err();
                if let Some((tag, length)) = first? {
                    self.lent = length;
                    break tag;
                }
                let filled = self.stream.fill().await;
                self.noted(filled)?;
            };
            if !matches!(tag, tag::NOTICE | tag::PARAMETER_STATUS | tag::NOTIFICATION) {
                return Ok(tag);
            }
        }
    }

    /// Reads the answer to simple statements whose rows nobody wants.
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

    /// What stands in the message that came last.
    #[inline]
    pub(super) fn body(&self) -> &[u8] {
        &self.stream.received()[5..self.lent]
    }

    /// The message that came last, as it stands on the wire.
    pub(super) fn message(&self) -> &[u8] {
        &self.stream.received()[..self.lent]
    }

    /// Takes the server's word how far it is in a transaction, from the message that came last.
    pub(super) fn note_status(&mut self) -> TargetResult<()> {
        self.status = match self.body() {
            [b'I'] => Status::Idle,
            [b'T'] => Status::Open,
            [b'E'] => Status::Failed,
            _ => return Err(self.garbled("its readiness")),
        };
        Ok(())
    }

    /// The error that came last. One that ends the connection leaves it broken.
    #[cold]
    pub(super) fn error(&mut self) -> ServerError {
        let error = ServerError::of(self.body());
        self.broken |= error.ends_connection();
        error
    }

    /// A failure for a message that makes no sense here.
    #[cold]
    pub(super) fn garbled(&mut self, what: &str) -> Failure {
        self.broken = true;
        let what = format!("the server's answer cannot be understood: {what}");
        Failure::new(FailureKind::Connection, what)
    }

    fn noted(&mut self, done: TargetResult<()>) -> TargetResult<()> {
        self.broken |= done.is_err();
        done
    }
}

impl Drop for Connection {
    /// Says farewell, so that a server need not write to its log that it lost somebody.
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
fn too_long(length: usize, longest: usize) -> Failure {
    let what = format!(
        "the server announces a message of {length} bytes, and {longest} are taken here: it is none of \
         PostgreSQL's protocol, or an answer larger than this program reads"
    );
    Failure::new(FailureKind::Connection, what)
}

/// The tag and length of the first message, if it is there as a whole.
#[inline]
pub(super) fn whole(received: &[u8], longest: usize) -> TargetResult<Option<(u8, usize)>> {
    let header = Header::parse(received).map_err(|error| {
        let what = format!("the server's answer is no message: {error}");
        Failure::new(FailureKind::Connection, what)
    })?;
    let Some(header) = header else {
        return Ok(None);
    };
    let length = header.len() as usize + 1;
    if length > longest {
        return Err(too_long(length, longest));
    }
    Ok((received.len() >= length).then_some((header.tag(), length)))
}
