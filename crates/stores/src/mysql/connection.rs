//! A connection: logged in, asking one thing after the other. Sessions build their pipelines on it.
//!
//! Invariants:
//! 1. An answer is consumed packet by packet and whole; what a command answers never reaches the next.
//! 2. Nothing here allocates once its buffers have grown, but for what is asked outside transactions.

use super::failure::{garbled, outside, refused};
use super::login::{Greeting, Login, Next, Refused, Who};
use super::packet::{self, HEADER, PAYLOAD_MAX};
use super::reply::{Answer, End, Form, PreparedAnswer, Preparing, ServerError};
use super::server_key::ServerKey;
use super::values::Column;
use crate::server::Password;
use crate::wire::{Endpoint, Poller, Stream, Tls, TlsMode, at_login};
use std::time::Duration;
use syncline_contract::{Failure, FailureKind, Kind, Rows, TargetResult};
use syncline_instrument::clock;

/// The longest payload of a log-in.
const LOG_IN_MAX: usize = 64 << 10;
/// The most bytes of an answer, to a statement of a plan and to a question of our own.
const ANSWER_MAX: usize = 64 << 20;
const QUESTION_MAX: usize = 4 << 20;
/// How long a command may take: one that makes, checks or drops what is ours.
const COMMAND_WITHIN: Duration = Duration::from_mins(10);

/// The commands of the protocol.
pub(super) mod command {
    pub(in crate::mysql) const QUIT: u8 = 0x01;
    pub(in crate::mysql) const QUERY: u8 = 0x03;
    pub(in crate::mysql) const PING: u8 = 0x0E;
    pub(in crate::mysql) const PREPARE: u8 = 0x16;
    pub(in crate::mysql) const EXECUTE: u8 = 0x17;
}

/// Where a server is and who logs in there.
#[derive(Clone, Debug)]
pub(super) struct ConnectionSpec {
    pub(super) endpoint: Endpoint,
    pub(super) user: String,
    pub(super) password: Password,
    pub(super) tls: Tls,
    pub(super) server_key: Option<ServerKey>,
    /// The password may go in clear over an encryption that verifies nothing.
    pub(super) cleartext: bool,
    /// How long connecting and logging in may take in all.
    pub(super) limit: Duration,
}

/// Why a connection was not opened.
enum NotOpened {
    /// Its encryption did not begin.
    Encrypted(Failure),
    /// Anything else.
    Refused(Failure),
}

impl From<Failure> for NotOpened {
    fn from(failure: Failure) -> NotOpened {
        NotOpened::Refused(failure)
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    whom: String,
    abilities: u64,
    version: String,
    /// The answer that is being read, and its rows' columns where nobody else keeps them.
    columns: Vec<Column>,
    /// A payload of several packets.
    long: Vec<u8>,
    /// The longest payload that is taken now.
    longest: usize,
    /// How long an answer to a question may take.
    patience: Duration,
    /// How many bytes an answer may have.
    answer_max: usize,
}

impl Connection {
    /// Connects and logs in, with `database` as the default one. Where encryption is preferred and not
    /// asked for, a server whose encryption is of another age is met without.
    pub(super) async fn open(
        door: &ConnectionSpec,
        database: Option<&str>,
        poller: Option<&Poller>,
    ) -> TargetResult<Connection> {
        let began = clock::now();
        let opened = match Connection::attempt(door, database, poller, door.limit).await {
            Err(NotOpened::Encrypted(_)) if door.tls.mode() == TlsMode::Prefer => {
                // Both tries have one limit together.
                let left = door.limit.saturating_sub(Duration::from_nanos(clock::now() - began));
                let plain =
                    ConnectionSpec { tls: Tls::new(TlsMode::Disable, None)?, ..door.clone() };
                Connection::attempt(&plain, database, poller, left).await
            }
            opened => opened,
        };
        opened.map_err(|not| match not {
            NotOpened::Encrypted(why) | NotOpened::Refused(why) => why,
        })
    }

    async fn attempt(
        door: &ConnectionSpec,
        database: Option<&str>,
        poller: Option<&Poller>,
        limit: Duration,
    ) -> Result<Connection, NotOpened> {
        let stream = Stream::connect(&door.endpoint, poller, limit).await?;
        let mut connection = Connection {
            stream,
            whom: door.endpoint.to_string(),
            abilities: 0,
            version: String::new(),
            columns: Vec::new(),
            long: Vec::new(),
            longest: LOG_IN_MAX,
            patience: door.limit,
            answer_max: ANSWER_MAX,
        };
        let logged_in = connection.log_in(door, database).await;
        logged_in.map_err(|not| match not {
            NotOpened::Refused(why) => NotOpened::Refused(at_login(why, "MariaDB or MySQL")),
            encrypted @ NotOpened::Encrypted(_) => encrypted,
        })?;
        connection.longest = ANSWER_MAX;
        connection.stream.limit(None);
        Ok(connection)
    }

    async fn log_in(
        &mut self,
        door: &ConnectionSpec,
        database: Option<&str>,
    ) -> Result<(), NotOpened> {
        let first = self.next_payload(Greeting::read).await?;
        let greeting = first.map_err(|why| refused(&why, &self.whom, false))?;
        self.version.clone_from(&greeting.version);
        let tls = self.encrypts(door, &greeting)?;
        let in_clear = !tls && !matches!(door.endpoint, Endpoint::Unix(_));
        let verified = door.tls.mode() >= TlsMode::VerifyCa || door.cleartext;
        let secure = tls && verified || matches!(door.endpoint, Endpoint::Unix(_));
        let who = Who {
            user: &door.user,
            password: door.password.reveal(),
            database,
            server_key: door.server_key.as_ref(),
        };
        let mut login = Login::new(&greeting, who, tls, secure);
        self.abilities = login.abilities();
        // The greeting is packet 0; each packet from here on, of either side, counts on.
        let mut sequence = 1;
        if tls {
            self.send(&login.tls_request(), sequence).await?;
            sequence += 1;
            if let Endpoint::Tcp { host, .. } = &door.endpoint {
                let started = self.stream.start_tls(&door.tls, host).await;
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
    fn encrypts(&self, door: &ConnectionSpec, greeting: &Greeting) -> TargetResult<bool> {
        if matches!(door.endpoint, Endpoint::Unix(_)) {
            return Ok(false);
        }
        match door.tls.mode() {
            TlsMode::Disable => Ok(false),
            TlsMode::Prefer => Ok(greeting.offers_tls()),
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => {
                if greeting.offers_tls() {
                    return Ok(true);
                }
                let what = format!(
                    "{} offers no TLS, which tls={} asks for; give it a certificate, or ask for tls=disable",
                    self.whom,
                    door.tls.mode().word()
                );
                Err(Failure::new(FailureKind::Statement, what))
            }
        }
    }

    async fn next_of_login(
        &mut self,
        login: &mut Login<'_>,
    ) -> TargetResult<(Result<Next, Refused>, u8)> {
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

    /// Sends one packet alone.
    async fn send(&mut self, payload: &[u8], sequence: u8) -> TargetResult<()> {
        let out = self.stream.queue();
        let start = packet::begin(out);
        out.extend_from_slice(payload);
        packet::end(out, start, sequence);
        self.stream.flush().await
    }

    /// Waits until a whole packet has come; its payload's length.
    #[inline]
    async fn whole_packet(&mut self) -> TargetResult<usize> {
        loop {
            let received = self.stream.received();
            if let Some((length, _)) = packet::header(received) {
                if length > self.longest {
                    return Err(too_long(length, self.longest, &self.whom));
                }
                if received.len() >= HEADER + length {
                    return Ok(length);
                }
            }
            self.stream.fill().await?;
        }
    }

    /// The name under which failures speak of the server.
    pub(super) fn whom(&self) -> &str {
        &self.whom
    }

    /// The server's version, by its greeting.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// An answer of this connection, before its first packet.
    pub(super) fn answer(&self, form: Form) -> Answer {
        Answer::new(self.abilities, form)
    }

    /// Where commands are appended; [`Connection::flush`] sends them.
    #[inline]
    pub(super) fn queue(&mut self) -> &mut Vec<u8> {
        self.stream.queue()
    }

    /// Sends what is queued.
    #[inline]
    pub(super) async fn flush(&mut self) -> TargetResult<()> {
        self.stream.flush().await
    }

    /// Reads an answer to its end. Rows go to the end of `rows`, by the plan's `kinds` (none: by the
    /// columns alone).
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

    /// Puts the packets of one long payload together.
    #[cold]
    async fn gather(&mut self) -> TargetResult<()> {
        self.long.clear();
        loop {
            let length = self.whole_packet().await?;
            let whole = self.long.len() + length;
            if whole > self.longest {
                return Err(too_long(whole, self.longest, &self.whom));
            }
            let part = &self.stream.received()[HEADER..HEADER + length];
            self.long.extend_from_slice(part);
            self.stream.consume(HEADER + length);
            if length < PAYLOAD_MAX {
                return Ok(());
            }
        }
    }

    /// Asks in text, outside transactions; every cell comes as text.
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

    /// The same for what should not fail; `doing` says what it is for.
    /// A question and a setting of the session have [`Connection::patience`] for their answer, a command
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

    /// Allows [`Connection::patience`] for the answers from here on; [`Connection::unlimited`] ends that.
    pub(super) fn limited(&self) {
        self.stream.limit(Some(self.patience));
    }

    /// Lets answers take as long as they take.
    pub(super) fn unlimited(&self) {
        self.stream.limit(None);
    }

    /// Queues the preparing of a statement.
    pub(super) fn queue_prepare(&mut self, text: &str) {
        put_command(self.stream.queue(), command::PREPARE, text.as_bytes());
    }

    /// Reads the answer to a preparing.
    pub(super) async fn prepared(
        &mut self,
    ) -> TargetResult<Result<PreparedAnswer, Box<ServerError>>> {
        let mut preparing = Preparing::new(self.abilities);
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

    /// One empty request, there and back.
    pub(super) async fn ping(&mut self) -> TargetResult<()> {
        put_command(self.stream.queue(), command::PING, &[]);
        self.flush().await?;
        let mut columns = Vec::new();
        self.read(Form::Text, &mut columns, &[], &mut Rows::default()).await.map(drop)
    }
}

impl Drop for Connection {
    /// Says good-bye, so that the server counts no client that broke off.
    fn drop(&mut self) {
        put_command(self.stream.queue(), command::QUIT, &[]);
        self.stream.part();
    }
}

/// Appends a command of text.
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
fn too_long(length: usize, longest: usize, whom: &str) -> Failure {
    let what = format!(
        "{whom} answers {length} bytes or more, and {longest} are taken here: it is no server of this \
         protocol, or an answer is larger than this program reads"
    );
    Failure::new(FailureKind::Connection, what)
}
