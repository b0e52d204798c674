//! Message lines over a connection, and the client side of the witness protocol.

use super::finding::Cuts;
use super::judgement::Judgement;
use super::protocol::{Begin, Call, GREETING, LINE_BYTES_MAX, Reply, line};
use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Time limit for an answer of the witness.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// Time limit for connecting.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// The most promises by which a witness may lag behind its writer.
const LAG_MAX: u64 = 64;

/// The result of reading a line.
#[derive(Debug)]
pub(super) enum ReadLine<T> {
    /// A message.
    Message(T),
    /// Nothing has arrived yet.
    Nothing,
    /// The other side closed the connection.
    Closed,
    /// The connection broke.
    Broken,
    /// A line that is not a message; the text says why.
    Nonsense(String),
}

/// Splits a stream of bytes into lines of limited length.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
}

impl<R: Read> Lines<R> {
    pub(super) fn of(input: R) -> Lines<R> {
        Lines { input, buffer: Vec::new() }
    }

    /// True if the next line is already buffered.
    pub(super) fn is_ready(&self) -> bool {
        self.buffer.contains(&b'\n')
    }

    /// The next line without its end.
    pub(super) fn text(&mut self) -> ReadLine<Vec<u8>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
                line.pop();
                return ReadLine::Message(line);
            }
            if self.buffer.len() >= LINE_BYTES_MAX {
                return ReadLine::Nonsense(format!("a line is longer than {LINE_BYTES_MAX} bytes"));
            }
            let mut more = [0; LINE_BYTES_MAX];
            match self.input.read(&mut more) {
                Ok(0) => return ReadLine::Closed,
                Ok(bytes) => self.buffer.extend_from_slice(&more[..bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_time_out(&error) => return ReadLine::Nothing,
                Err(_) => return ReadLine::Broken,
            }
        }
    }

    /// The next message.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> ReadLine<T> {
        match self.text() {
            ReadLine::Message(line) => match serde_json::from_slice(&line) {
                Ok(message) => ReadLine::Message(message),
                Err(error) => ReadLine::Nonsense(error.to_string()),
            },
            ReadLine::Nothing => ReadLine::Nothing,
            ReadLine::Closed => ReadLine::Closed,
            ReadLine::Broken => ReadLine::Broken,
            ReadLine::Nonsense(why) => ReadLine::Nonsense(why),
        }
    }
}

fn is_time_out(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// The promises of a subject's last run.
#[derive(Debug)]
pub(super) struct LastPromises {
    pub(super) begin: Begin,
    pub(super) count: u64,
    pub(super) end: super::cut_kind::End,
    /// The latest, oldest first: sequence and checksum.
    pub(super) latest: Vec<(u64, u32)>,
}

/// A connection to a witness.
#[derive(Debug)]
pub struct WitnessClient {
    stream: TcpStream,
    lines: Lines<TcpStream>,
    witness: String,
    /// Promises sent, and those acknowledged as stable.
    sent: u64,
    kept: u64,
}

impl WitnessClient {
    /// Connects to a witness at `HOST:PORT`.
    pub fn connect(witness: &str) -> Result<WitnessClient> {
        let cannot = |error: io::Error| {
            Error::cannot(format!("cannot reach the witness {witness}: {error}"))
        };
        let mut last = io::Error::from(ErrorKind::NotFound);
        for address in witness.to_socket_addrs().map_err(cannot)? {
            match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
                Ok(stream) => return WitnessClient::greet(stream, witness),
                Err(error) => last = error,
            }
        }
        Err(cannot(last))
    }

    fn greet(stream: TcpStream, witness: &str) -> Result<WitnessClient> {
        let cannot = |error: io::Error| {
            Error::cannot(format!("cannot talk to the witness {witness}: {error}"))
        };
        stream.set_nodelay(true).map_err(cannot)?;
        stream.set_read_timeout(Some(ANSWER_LIMIT)).map_err(cannot)?;
        stream.set_write_timeout(Some(ANSWER_LIMIT)).map_err(cannot)?;
        let lines = Lines::of(stream.try_clone().map_err(cannot)?);
        let mut caller =
            WitnessClient { stream, lines, witness: witness.to_owned(), sent: 0, kept: 0 };
        caller.write(format!("{GREETING}\n").as_bytes())?;
        match caller.lines.text() {
            ReadLine::Message(text) if text == GREETING.as_bytes() => Ok(caller),
            ReadLine::Message(text) => {
                let text = String::from_utf8_lossy(&text).into_owned();
                let short: String = text.chars().take(200).collect();
                Err(caller.wrong(&format!(
                    "does not speak this version of the protocol; its greeting is {short:?}"
                )))
            }
            _ => Err(caller.wrong("sent no greeting; is it syncline verify witness?")),
        }
    }

    pub(super) fn begin(&mut self, begin: Begin) -> Result<()> {
        self.send(&Call::Begin(begin))?;
        match self.answer()? {
            Reply::Begun => Ok(()),
            _ => Err(self.mismatch()),
        }
    }

    /// Sends the next promise; waits only if the witness lags too far behind.
    pub(super) fn promise(&mut self, sequence: u64, checksum: u32) -> Result<()> {
        self.send(&Call::Promise(sequence, checksum))?;
        self.sent = sequence + 1;
        while self.sent - self.kept > LAG_MAX {
            self.read_kept()?;
        }
        Ok(())
    }

    /// Ends the run in an orderly way; all promises are stable when this returns.
    pub(super) fn leave(&mut self) -> Result<()> {
        self.send(&Call::Leave)?;
        while self.kept < self.sent {
            self.read_kept()?;
        }
        Ok(())
    }

    pub(super) fn ask(&mut self, subject: &str) -> Result<LastPromises> {
        self.send(&Call::Ask(subject.to_owned()))?;
        let Reply::Run { begin, promised, end } = self.answer()? else {
            return Err(self.mismatch());
        };
        let mut latest = Vec::new();
        loop {
            match self.answer()? {
                Reply::LastPromises(sequence, checksum) => latest.push((sequence, checksum)),
                Reply::Done => break,
                _ => return Err(self.mismatch()),
            }
        }
        Ok(LastPromises { begin, count: promised, end, latest })
    }

    pub(super) fn judged(&mut self, judgement: &Judgement) -> Result<Vec<Cuts>> {
        self.send(&Call::Judged(judgement.clone()))?;
        match self.answer()? {
            Reply::Sum(cuts) => Ok(cuts),
            _ => Err(self.mismatch()),
        }
    }

    fn read_kept(&mut self) -> Result<()> {
        match self.answer()? {
            Reply::Kept(last) => {
                self.kept = last.map_or(0, |last| last.saturating_add(1));
                Ok(())
            }
            _ => Err(self.mismatch()),
        }
    }

    fn send(&mut self, call: &Call) -> Result<()> {
        self.write(&line(call)?)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.stream.write_all(bytes);
        written.map_err(|error| {
            // The witness's refusal explains more than a broken pipe.
            match self.lines.next::<Reply>() {
                ReadLine::Message(Reply::Refused(why)) => self.refused(&why),
                _ => self.wrong(&format!("is gone: {error}")),
            }
        })
    }

    fn answer(&mut self) -> Result<Reply> {
        match self.lines.next() {
            ReadLine::Message(Reply::Refused(why)) => Err(self.refused(&why)),
            ReadLine::Message(reply) => Ok(reply),
            ReadLine::Nothing => Err(self.wrong("does not answer")),
            ReadLine::Closed | ReadLine::Broken => Err(self.wrong("is gone")),
            ReadLine::Nonsense(why) => Err(self.wrong(&format!("sent an invalid answer: {why}"))),
        }
    }

    fn refused(&self, why: &str) -> Error {
        let witness = &self.witness;
        Error::cannot(format!("the witness {witness} refuses: {why}"))
    }

    fn mismatch(&self) -> Error {
        self.wrong("answered another question")
    }

    fn wrong(&self, what: &str) -> Error {
        Error::cannot(format!("the witness {} {what}", self.witness))
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, ReadLine};
    use crate::disk::protocol::{Call, LINE_BYTES_MAX, Reply};

    /// Delivers its bytes a few at a time.
    struct Slow<'s>(&'s [u8], usize);

    impl std::io::Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let bytes = self.1.min(self.0.len()).min(buffer.len());
            buffer[..bytes].copy_from_slice(&self.0[..bytes]);
            self.0 = &self.0[bytes..];
            Ok(bytes)
        }
    }

    #[test]
    fn lines_do_not_depend_on_how_they_arrive() {
        for step in [1, 2, 3, 100] {
            let mut lines = Lines::of(Slow(b"\"leave\"\n{\"promise\":[1,2]}\n\"le", step));
            assert!(matches!(lines.next(), ReadLine::Message(Call::Leave)));
            assert!(matches!(lines.next(), ReadLine::Message(Call::Promise(1, 2))));
            assert!(matches!(lines.next::<Call>(), ReadLine::Closed));
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let long = vec![b'x'; 3 * LINE_BYTES_MAX];
        let mut lines = Lines::of(&*long);
        assert!(matches!(lines.text(), ReadLine::Nonsense(_)));
        assert!(lines.buffer.len() <= 2 * LINE_BYTES_MAX);
    }

    #[test]
    fn random_bytes_are_messages_or_nonsense() {
        let mut random = fastrand::Rng::with_seed(11);
        let words: [&[u8]; 9] = [
            b"{\"promise\":[",
            b"18446744073709551615,",
            b"4294967296]}",
            b"\n",
            b"\"leave\"",
            b"{\"begin\":{\"run\":\"",
            b"{\"judged\":{\"kind\":",
            b"{\"kept\":null}",
            b"\xff\x00[[[[[[[[",
        ];
        let (mut messages, mut nonsense) = (0, 0);
        for _ in 0..4000 {
            let mut bytes = Vec::new();
            for _ in 0..random.usize(1..12) {
                if random.u8(..) < 40 {
                    bytes.push(random.u8(..));
                }
                bytes.extend_from_slice(words[random.usize(..words.len())]);
            }
            let mut calls = Lines::of(Slow(&bytes, random.usize(1..50)));
            loop {
                match calls.next::<Call>() {
                    ReadLine::Message(_) => messages += 1,
                    ReadLine::Nonsense(_) => nonsense += 1,
                    _ => break,
                }
            }
            let mut replies = Lines::of(&*bytes);
            while !matches!(replies.next::<Reply>(), ReadLine::Closed | ReadLine::Broken) {}
        }
        assert!(messages > 20 && nonsense > 1000, "{messages} {nonsense}");
    }
}
