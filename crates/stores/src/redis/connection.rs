//! A connection to a server of Redis's protocol: commands out, replies in, blocking.

use super::protocol::{Reply, ReplyParser, command, reply};
use super::settings::Settings;
use crate::server::Host;
use crate::wire::{Stream, Tls, connected, done, lost};
use std::io::{self, ErrorKind};
use std::time::Duration;

/// How long an answer may take: longer than a server that rewrites its file or waits for a disk.
pub(super) const ANSWERS_WITHIN: Duration = Duration::from_mins(1);

/// A blocking connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    /// The parser for the end of the next reply.
    measure: ReplyParser,
    /// How long each answer may take.
    limit: Duration,
}

impl Connection {
    /// Connects, authenticates, and selects the database, all within the time for connecting.
    pub(super) fn open(settings: &Settings, tls: &Tls) -> io::Result<Connection> {
        let endpoint = settings.endpoint();
        let encrypted = match &settings.address.host {
            Host::Tcp(host, _) if settings.encryption.is_on() => Some((tls, host.as_str())),
            _ => None,
        };
        let mut connection = Connection {
            stream: connected(&endpoint, encrypted, settings.connects_within)?,
            measure: ReplyParser::default(),
            limit: settings.connects_within,
        };
        let (user, password) = (&settings.address.user, &settings.address.password);
        if let Some(password) = password {
            let password = password.reveal().as_bytes();
            match user {
                Some(user) => connection.greet(&[b"AUTH", user.as_bytes(), password])?,
                None => connection.greet(&[b"AUTH", password])?,
            };
        }
        if settings.database != 0 {
            let number = settings.database.to_string();
            connection.greet(&[b"SELECT", number.as_bytes()])?;
        }
        // Detects a server that accepts connections and does not answer.
        match connection.greet(&[b"PING"]) {
            Err(error) if error.kind() != ErrorKind::Other => return Err(error),
            // A refusal is an answer too: the refused command is repeated where it is needed.
            _ => {}
        }
        Ok(connection)
    }

    /// As [`Connection::ask`], within the time for connecting.
    fn greet(&mut self, parts: &[&[u8]]) -> io::Result<Reply> {
        self.queue(parts);
        self.send()?;
        accepted(self.next()?)
    }

    /// Sets how long each answer may take; initially as long as connecting.
    pub(super) fn limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Queues a command.
    pub(super) fn queue(&mut self, parts: &[&[u8]]) {
        command(self.stream.queue(), parts);
    }

    /// Sends the queued commands.
    pub(super) fn send(&mut self) -> io::Result<()> {
        done(self.stream.flush()).map_err(lost)
    }

    /// The next reply, which may be a refusal.
    pub(super) fn answer(&mut self) -> io::Result<Reply> {
        self.stream.limit(Some(self.limit));
        self.next()
    }

    fn next(&mut self) -> io::Result<Reply> {
        loop {
            if let Some(length) = self.measure.advance(self.stream.received())? {
                let reply = reply(&self.stream.received()[..length])?;
                self.stream.consume(length);
                self.measure = ReplyParser::default();
                return Ok(reply);
            }
            done(self.stream.fill()).map_err(lost)?;
        }
    }

    /// Sends one command and reads its reply; a refusal is an error.
    pub(super) fn ask(&mut self, parts: &[&[u8]]) -> io::Result<Reply> {
        self.stream.limit(Some(self.limit));
        self.queue(parts);
        self.send()?;
        accepted(self.next()?)
    }
}

/// The reply, or a refusal as an error of the matching kind.
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
    Err(io::Error::new(kind, short(&words)))
}

/// An error for a reply that the protocol does not allow.
pub(super) fn unexpected(reply: &Reply) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!(
            "the server returned {}, which is not a valid reply here",
            short(&format!("{reply:?}"))
        ),
    )
}

/// The beginning of a server's text, which may have megabytes.
fn short(words: &str) -> String {
    words.chars().take(400).collect()
}
