//! A connection: logged in, with one request at a time. Sessions build their pipelines on it.
//!
//! Invariants:
//! 1. An answer is consumed packet by packet and completely; no part of it reaches the next command.
//! 2. Nothing allocates once the buffers have grown, except requests outside of transactions.

use super::failure::{garbled, outside, refused};
use super::login::{Credentials, Greeting, Login, LoginError, Next};
use super::packet::{self, HEADER, PAYLOAD_MAX};
use super::reply::{Answer, End, Form, PreparedAnswer, Preparing, ServerError};
use super::server_key::ServerKey;
use super::values::Column;
use crate::server::Password;
use crate::wire::{Endpoint, Poller, Stream, Tls, TlsMode, at_login};
use std::time::Duration;
use syncline_contract::{Failure, FailureKind, Kind, Rows, TargetResult};
use syncline_instrument::clock;

/// The maximum payload of a log-in packet, in bytes.
const LOG_IN_MAX: usize = 64 << 10;
/// The maximum size of an answer, in bytes: to a statement of a plan, and to our own queries.
const ANSWER_MAX: usize = 64 << 20;
const QUESTION_MAX: usize = 4 << 20;
/// How long a command may take that creates, checks or drops a managed object.
const COMMAND_WITHIN: Duration = Duration::from_mins(10);

/// The commands of the protocol.
pub(super) mod command {
    pub(in crate::mysql) const QUIT: u8 = 0x01;
    pub(in crate::mysql) const QUERY: u8 = 0x03;
    pub(in crate::mysql) const PING: u8 = 0x0E;
    pub(in crate::mysql) const PREPARE: u8 = 0x16;
    pub(in crate::mysql) const EXECUTE: u8 = 0x17;
}

/// The address of a server, and how to log in there.
#[derive(Clone, Debug)]
pub(super) struct ConnectionSpec {
    pub(super) endpoint: Endpoint,
    pub(super) user: String,
    pub(super) password: Password,
    pub(super) tls: Tls,
    pub(super) server_key: Option<ServerKey>,
    /// The password may be sent in clear over encryption without verification.
    pub(super) cleartext: bool,
    /// How long connecting and logging in may take together.
    pub(super) limit: Duration,
}

/// Why a connection was not opened.
enum NotOpened {
    /// TLS could not be started.
    Encrypted(Failure),
    /// Anything else.
    Refused(Failure),
}

impl From<Failure> for NotOpened {
    fn from(failure: Failure) -> NotOpened {
        NotOpened::Refused(failure)
    }
}

/// A logged-in connection, blocking or on a poller.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    whom: String,
    capabilities: u64,
    version: String,
    /// The columns of the current answer, where the caller does not keep them.
    columns: Vec<Column>,
    /// The payload of several packets.
    long: Vec<u8>,
    /// The maximum payload in the current phase.
    payload_max: usize,
    /// How long an answer to a query may take.
    patience: Duration,
    /// The maximum size of an answer, in bytes.
    answer_max: usize,
}

impl Connection {
    /// Connects and logs in, with `database` as the default one. Where encryption is preferred but not
    /// required, a server whose TLS version is not supported is connected without encryption.
    pub(super) async fn open(
        spec: &ConnectionSpec,
        database: Option<&str>,
        poller: Option<&Poller>,
    ) -> TargetResult<Connection> {
        let began = clock::now();
        let opened = match Connection::attempt(spec, database, poller, spec.limit).await {
            Err(NotOpened::Encrypted(_)) if spec.tls.mode() == TlsMode::Prefer => {
                // Both attempts share one time limit.
                let left = spec.limit.saturating_sub(Duration::from_nanos(clock::now() - began));
                let plain =
                    ConnectionSpec { tls: Tls::new(TlsMode::Disable, None)?, ..spec.clone() };
                Connection::attempt(&plain, database, poller, left).await
            }
            opened => opened,
        };
        opened.map_err(|not| match not {
            NotOpened::Encrypted(why) | NotOpened::Refused(why) => why,
        })
    }

    async fn attempt(
        spec: &ConnectionSpec,
        database: Option<&str>,
        poller: Option<&Poller>,
        limit: Duration,
    ) -> Result<Connection, NotOpened> {
        let stream = Stream::connect(&spec.endpoint, poller, limit).await?;
        let mut connection = Connection {
            stream,
            whom: spec.endpoint.to_string(),
            capabilities: 0,
            version: String::new(),
            columns: Vec::new(),
            long: Vec::new(),
            payload_max: LOG_IN_MAX,
            patience: spec.limit,
            answer_max: ANSWER_MAX,
        };
        let logged_in = connection.log_in(spec, database).await;
        logged_in.map_err(|not| match not {
            NotOpened::Refused(why) => NotOpened::Refused(at_login(why, "MariaDB or MySQL")),
            encrypted @ NotOpened::Encrypted(_) => encrypted,
        })?;
        connection.payload_max = ANSWER_MAX;
        connection.stream.limit(None);
        Ok(connection)
    }

    async fn log_in(
        &mut self,
        spec: &ConnectionSpec,
        database: Option<&str>,
    ) -> Result<(), NotOpened> {
        let first = self.next_payload(Greeting::read).await?;
        let greeting = first.map_err(|why| refused(&why, &self.whom, false))?;
        self.version.clone_from(&greeting.version);
        let tls = self.encrypts(spec, &greeting)?;
        let in_clear = !tls && !matches!(spec.endpoint, Endpoint::Unix(_));
        let verified = spec.tls.mode() >= TlsMode::VerifyCa || spec.cleartext;
        let secure = tls && verified || matches!(spec.endpoint, Endpoint::Unix(_));
        let credentials = Credentials {
            user: &spec.user,
            password: spec.password.reveal(),
            database,
            server_key: spec.server_key.as_ref(),
        };
        let mut login = Login::new(&greeting, credentials, tls, secure);
        self.capabilities = login.capabilities();
        // The greeting is packet 0; the packets of both sides are numbered from there.
        let mut sequence = 1;
        if tls {
            self.send(&login.tls_request(), sequence).await?;
            sequence += 1;
            if let Endpoint::Tcp { host, .. } = &spec.endpoint {
                let started = self.stream.start_tls(&spec.tls, host).await;
                started.map_err(NotOpened::Encrypted)?;
            }
        }
        self.send(&login.identify(), sequence).await?;
        loop {
            let (next, sequence) = self.next_of_login(&mut login).await?;
            match next.map_err(|why| refused(&why, &self.whom, in_clear))? {
                Next::Send(payload) => self.send(&payload, sequence.wrapping_add(1)).await?,
                Next::Wait => {}
                Next::Done => return Ok(()),
            }
        }
    }

    /// True if this connection will be encrypted. A Unix socket never leaves the machine.
    fn encrypts(&self, spec: &ConnectionSpec, greeting: &Greeting) -> TargetResult<bool> {
        if matches!(spec.endpoint, Endpoint::Unix(_)) {
            return Ok(false);
        }
        match spec.tls.mode() {
            TlsMode::Disable => Ok(false),
            TlsMode::Prefer => Ok(greeting.offers_tls()),
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => {
                if greeting.offers_tls() {
                    return Ok(true);
                }
                let what = format!(
                    "{} does not offer TLS, which tls={} requires; configure a certificate on the server, or use tls=disable",
                    self.whom,
                    spec.tls.mode().word()
                );
                Err(Failure::new(FailureKind::Statement, what))
            }
        }
    }

    async fn next_of_login(
        &mut self,
        login: &mut Login<'_>,
    ) -> TargetResult<(Result<Next, LoginError>, u8)> {
        let length = self.whole_packet().await?;
        let received = self.stream.received();
        let sequence = received[3];
        let next = login.take(&received[HEADER..HEADER + length]);
        self.stream.consume(HEADER + length);
        Ok((next, sequence))
    }

    async fn next_payload<T>(&mut self, read: impl Fn(&[u8]) -> T) -> TargetResult<T> {
        let length = self.whole_packet().await?;
        let taken = read(&self.stream.received()[HEADER..HEADER + length]);
        self.stream.consume(HEADER + length);
        Ok(taken)
    }

    /// Sends a single packet.
    async fn send(&mut self, payload: &[u8], sequence: u8) -> TargetResult<()> {
        let out = self.stream.queue();
        let start = packet::begin(out);
        out.extend_from_slice(payload);
        packet::end(out, start, sequence);
        self.stream.flush().await
    }

    /// Waits for a whole packet; returns the length of its payload.
    #[inline]
    async fn whole_packet(&mut self) -> TargetResult<usize> {
        loop {
            let received = self.stream.received();
            if let Some((length, _)) = packet::header(received) {
                if length > self.payload_max {
                    return Err(too_long(length, self.payload_max, &self.whom));
                }
                if received.len() >= HEADER + length {
                    return Ok(length);
                }
            }
            self.stream.fill().await?;
        }
    }

    /// The server's name in error messages.
    pub(super) fn whom(&self) -> &str {
        &self.whom
    }

    /// The server's version, from its greeting.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// A decoder for the next answer.
    pub(super) fn answer(&self, form: Form) -> Answer {
        Answer::new(self.capabilities, form)
    }

    /// The buffer that commands are appended to; [`Connection::flush`] sends it.
    #[inline]
    pub(super) fn queue(&mut self) -> &mut Vec<u8> {
        self.stream.queue()
    }

    /// Sends what is queued.
    #[inline]
    pub(super) async fn flush(&mut self) -> TargetResult<()> {
        self.stream.flush().await
    }

    /// Reads an answer to its end. Rows are appended to `rows`, decoded by the plan's `kinds`, or by
    /// the columns if `kinds` is empty.
    #[inline]
    pub(super) async fn read(
        &mut self,
        form: Form,
        columns: &mut Vec<Column>,
        kinds: &[Kind],
        rows: &mut Rows,
    ) -> TargetResult<End> {
        let (mut answer, mut bytes) = (self.answer(form), 0);
        loop {
            let length = self.whole_packet().await?;
            bytes += HEADER + length;
            if bytes > self.answer_max {
                return Err(too_long(bytes, self.answer_max, &self.whom));
            }
            let taken = if length < PAYLOAD_MAX {
                let payload = &self.stream.received()[HEADER..HEADER + length];
                let taken = answer.take(payload, columns, kinds, rows);
                self.stream.consume(HEADER + length);
                taken
            } else {
                self.gather().await?;
                answer.take(&self.long, columns, kinds, rows)
            };
            match taken {
                Ok(None) => {}
                Ok(Some(end)) => return Ok(end),
                Err(malformed) => return Err(garbled(malformed, &self.whom)),
            }
        }
    }

    /// Joins the packets of a payload that spans several.
    #[cold]
    async fn gather(&mut self) -> TargetResult<()> {
        self.long.clear();
        loop {
            let length = self.whole_packet().await?;
            let whole = self.long.len() + length;
            if whole > self.payload_max {
                return Err(too_long(whole, self.payload_max, &self.whom));
            }
            let part = &self.stream.received()[HEADER..HEADER + length];
            self.long.extend_from_slice(part);
            self.stream.consume(HEADER + length);
            if length < PAYLOAD_MAX {
                return Ok(());
            }
        }
    }

    /// Executes a statement as text, outside of measured transactions; every cell is returned as text.
    pub(super) async fn ask(&mut self, text: &str) -> TargetResult<Result<Rows, Box<ServerError>>> {
        put_query(self.stream.queue(), text);
        self.flush().await?;
        let (mut rows, mut columns) = (Rows::new(0), std::mem::take(&mut self.columns));
        self.answer_max = QUESTION_MAX;
        let end = self.read(Form::Text, &mut columns, &[], &mut rows).await;
        self.answer_max = ANSWER_MAX;
        self.columns = columns;
        Ok(match end? {
            End::Success { .. } => Ok(rows),
            End::Error(error) => Err(error),
        })
    }

    /// As [`Connection::ask`], for a statement that should not fail; `doing` describes it in errors. A
    /// query or a session setting must be answered within [`Connection::patience`], a command within
    /// [`COMMAND_WITHIN`].
    pub(super) async fn query(&mut self, text: &str, doing: &str) -> TargetResult<Rows> {
        let asks = ["SELECT", "SHOW", "SET "].iter().any(|word| text.starts_with(word));
        let within = if asks { self.patience } else { COMMAND_WITHIN };
        self.stream.limit(Some(within));
        let asked = self.ask(text).await;
        self.stream.limit(None);
        let asked = asked?;
        asked.map_err(|error| outside(&error, doing, &self.whom))
    }

    /// Limits each wait to [`Connection::patience`] until [`Connection::unlimit_waits`] is called.
    pub(super) fn limit_waits(&self) {
        self.stream.limit(Some(self.patience));
    }

    /// Removes the time limit.
    pub(super) fn unlimit_waits(&self) {
        self.stream.limit(None);
    }

    /// Queues the preparation of a statement.
    pub(super) fn queue_prepare(&mut self, text: &str) {
        put_command(self.stream.queue(), command::PREPARE, text.as_bytes());
    }

    /// Reads the answer to a preparation.
    pub(super) async fn prepared(
        &mut self,
    ) -> TargetResult<Result<PreparedAnswer, Box<ServerError>>> {
        let mut preparing = Preparing::new(self.capabilities);
        loop {
            let length = self.whole_packet().await?;
            let payload = &self.stream.received()[HEADER..HEADER + length];
            let taken = preparing.take(payload);
            self.stream.consume(HEADER + length);
            match taken {
                Ok(None) => {}
                Ok(Some(whole)) => return Ok(whole),
                Err(malformed) => return Err(garbled(malformed, &self.whom)),
            }
        }
    }

    /// One empty request and its answer.
    pub(super) async fn ping(&mut self) -> TargetResult<()> {
        put_command(self.stream.queue(), command::PING, &[]);
        self.flush().await?;
        let mut columns = Vec::new();
        self.read(Form::Text, &mut columns, &[], &mut Rows::default()).await.map(drop)
    }
}

impl Drop for Connection {
    /// Sends `COM_QUIT`, so that the server does not count an aborted client.
    fn drop(&mut self) {
        put_command(self.stream.queue(), command::QUIT, &[]);
        self.stream.part();
    }
}

/// Appends a text query.
pub(super) fn put_query(out: &mut Vec<u8>, text: &str) {
    put_command(out, command::QUERY, text.as_bytes());
}

fn put_command(out: &mut Vec<u8>, command: u8, rest: &[u8]) {
    let start = packet::begin(out);
    out.push(command);
    out.extend_from_slice(rest);
    packet::end(out, start, 0);
}

#[cold]
fn too_long(length: usize, payload_max: usize, whom: &str) -> Failure {
    let what = format!(
        "{whom} sent an answer of {length} bytes or more, over the maximum of {payload_max}: it does not speak this \
         protocol, or the answer is larger than this program reads"
    );
    Failure::new(FailureKind::Connection, what)
}
