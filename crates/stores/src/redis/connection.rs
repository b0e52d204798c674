//! A connection to a server of Redis's protocol: commands out, replies in, blocking.

use super::protocol::{Measure, Reply, command, reply};
use super::settings::Settings;
use crate::server::Host;
use crate::wire::{Stream, Tls, connected, done, lost};
use std::io::{self, ErrorKind};
use std::time::Duration;

/// How long an answer may take: longer than a server that rewrites its file, or that waits for a disk.
pub(super) const ANSWERS_WITHIN: Duration = Duration::from_mins(1);

/// See the module.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    /// Where the reply at the front ends, as far as it is known.
    measure: Measure,
    /// How long each answer may take.
    limit: Duration,
}

impl Connection {
    /// Connects, says who we are, and enters the database; all within the time for connecting.
    pub(super) fn open(settings: &Settings, tls: &Tls) -> io::Result<Connection> {
        let endpoint = settings.endpoint();
        let encrypted = match &settings.address.host {
            Host::Tcp(host, _) if settings.encryption.is_on() => Some((tls, host.as_str())),
            _ => None,
        };
        let mut connection = Connection {
            stream: connected(&endpoint, encrypted, settings.connects_within)?,
            measure: Measure::default(),
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
        // A server that accepts and says nothing is found out before anything is asked of it.
        match connection.greet(&[b"PING"]) {
            Err(error) if error.kind() != ErrorKind::Other => return Err(error),
            // A refusal is an answer: what was refused is asked again where it is needed.
            _ => {}
        }
        Ok(connection)
    }

    /// The same as [`Connection::ask`], within the time for connecting.
    fn greet(&mut self, parts: &[&[u8]]) -> io::Result<Reply> {
        self.queue(parts);
        self.send()?;
        accepted(self.next()?)
    }

    /// How long each answer may take from here on; at first as long as connecting.
    pub(super) fn limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Adds a command to those that are sent next.
    pub(super) fn queue(&mut self, parts: &[&[u8]]) {
        command(self.stream.queue(), parts);
    }

    /// Sends what is queued.
    pub(super) fn send(&mut self) -> io::Result<()> {
        done(self.stream.flush()).map_err(lost)
    }

    /// The next reply; a refusal too.
    pub(super) fn answer(&mut self) -> io::Result<Reply> {
        self.stream.limit(Some(self.limit));
        self.next()
    }

    fn next(&mut self) -> io::Result<Reply> {
        loop {
            if let Some(length) = self.measure.advance(self.stream.received())? {
                let reply = reply(&self.stream.received()[..length])?;
                self.stream.consume(length);
                self.measure = Measure::default();
                return Ok(reply);
            }
            done(self.stream.fill()).map_err(lost)?;
        }
    }

    /// Sends one command and takes its reply; a refusal is an error.
    pub(super) fn ask(&mut self, parts: &[&[u8]]) -> io::Result<Reply> {
        self.stream.limit(Some(self.limit));
        self.queue(parts);
        self.send()?;
        accepted(self.next()?)
    }
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
    Err(io::Error::new(kind, short(&words)))
}

/// A reply that the protocol rules out.
pub(super) fn unexpected(reply: &Reply) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!("the server answers {} where something else was due", short(&format!("{reply:?}"))),
    )
}

/// The first words of a server's, of which there may be megabytes.
fn short(words: &str) -> String {
    words.chars().take(400).collect()
}
