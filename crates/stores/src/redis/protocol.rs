//! Commands and replies of Redis as bytes: its serialization protocol, version 2, which every version
//! and every product that speaks as Redis does understands.

use std::io::{self, ErrorKind};

/// One reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// A word: `OK`, `QUEUED`.
    Word(String),
    /// A refusal, in the server's words.
    Error(String),
    Number(i64),
    /// Bytes, or nothing.
    Bytes(Option<Vec<u8>>),
    /// Several replies, or nothing: what EXEC answers when it did nothing.
    Several(Option<Vec<Reply>>),
}

/// Appends a command.
pub(super) fn command(into: &mut Vec<u8>, parts: &[&[u8]]) {
    header(into, b'*', parts.len());
    for part in parts {
        header(into, b'$', part.len());
        into.extend_from_slice(part);
        into.extend_from_slice(b"\r\n");
    }
}

fn header(into: &mut Vec<u8>, kind: u8, number: usize) {
    into.push(kind);
    into.extend_from_slice(number.to_string().as_bytes());
    into.extend_from_slice(b"\r\n");
}

/// The most bytes of one reply, of the line that says its kind and length, and the most replies and
/// levels in it: far above what any command of ours is answered.
const BYTES_MAX: usize = 64 << 20;
const LINE_MAX: usize = 64 << 10;
const REPLIES_MAX: u64 = 1 << 20;
const DEPTH_MAX: usize = 8;

/// Where the reply at the front of a stream ends: takes up where it left off when more has come, allocates
/// nothing for what a length only promises, and refuses what no server of this protocol answers.
#[derive(Debug, Default)]
pub(super) struct Measure {
    /// What was looked at.
    at: usize,
    /// How many replies are still due on each open level.
    open: Vec<u64>,
    /// Replies seen or promised.
    replies: u64,
}

impl Measure {
    /// The length of the reply, once all of it is there. The same bytes are given each time, and more.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        loop {
            let Some((line, begin)) = line(&bytes[self.at..])? else {
                return Ok(None);
            };
            let begin = self.at + begin;
            match header_of(line)? {
                (b'$', number) if number >= 0 => {
                    let length = usize::try_from(number).unwrap_or(usize::MAX);
                    if length > BYTES_MAX - begin.min(BYTES_MAX) {
                        return Err(too_long());
                    }
                    if bytes.len() < begin + length + 2 {
                        return Ok(None);
                    }
                    self.at = begin + length + 2;
                }
                (b'*', number) if number > 0 => {
                    let count = number.unsigned_abs();
                    self.replies = self.replies.saturating_add(count);
                    if self.replies > REPLIES_MAX {
                        return Err(too_long());
                    }
                    if self.open.len() == DEPTH_MAX {
                        return Err(garbled("replies nested too deep"));
                    }
                    self.open.push(count);
                    self.at = begin;
                    continue;
                }
                _ => self.at = begin,
            }
            if self.at > BYTES_MAX {
                return Err(too_long());
            }
            // One reply is whole, and with it every level that waited for it alone.
            loop {
                match self.open.last_mut() {
                    None => return Ok(Some(self.at)),
                    Some(left) => *left -= 1,
                }
                if self.open.last() != Some(&0) {
                    break;
                }
                self.open.pop();
            }
        }
    }
}

/// The reply that those bytes are, of which [`Measure`] has found the end.
pub(super) fn reply(bytes: &[u8]) -> io::Result<Reply> {
    let (reply, _length) = part(bytes, 0)?;
    Ok(reply)
}

/// The reply at the front, `depth` levels down, and its length.
fn part(bytes: &[u8], depth: usize) -> io::Result<(Reply, usize)> {
    let cut = || garbled("half a reply");
    let (line, mut at) = line(bytes)?.ok_or_else(cut)?;
    let (kind, number) = header_of(line)?;
    let words = || String::from_utf8_lossy(&line[1..]).into_owned();
    let read = match kind {
        b'+' => Reply::Word(words()),
        b'-' => Reply::Error(words()),
        b':' => Reply::Number(number),
        b'$' => {
            let Ok(length) = usize::try_from(number) else {
                return Ok((Reply::Bytes(None), at));
            };
            let value = at.checked_add(length).and_then(|end| bytes.get(at..end));
            let value = value.ok_or_else(cut)?;
            at += length + 2;
            Reply::Bytes(Some(value.to_vec()))
        }
        _ => {
            let Ok(count) = usize::try_from(number) else {
                return Ok((Reply::Several(None), at));
            };
            if depth == DEPTH_MAX {
                return Err(garbled("replies nested too deep"));
            }
            let mut several = Vec::with_capacity(count.min(1_024));
            for _ in 0..count {
                let rest = bytes.get(at..).ok_or_else(cut)?;
                let (one, length) = part(rest, depth + 1)?;
                several.push(one);
                at += length;
            }
            Reply::Several(Some(several))
        }
    };
    Ok((read, at))
}

/// The kind of a reply by its first line, and the number there; 0 of a kind that has none.
fn header_of(line: &[u8]) -> io::Result<(u8, i64)> {
    let Some((kind, text)) = line.split_first() else {
        return Err(garbled("an empty line"));
    };
    match kind {
        b'+' | b'-' => Ok((*kind, 0)),
        b':' | b'$' | b'*' => {
            let text = str::from_utf8(text).ok();
            let number = text.and_then(|text| text.parse().ok());
            let number = number.ok_or_else(|| garbled("a number that is none"))?;
            Ok((*kind, number))
        }
        _ => Err(garbled("a reply of no known kind")),
    }
}

/// The first line and where the next begins; none if its end has not come.
fn line(bytes: &[u8]) -> io::Result<Option<(&[u8], usize)>> {
    let looked = &bytes[..bytes.len().min(LINE_MAX)];
    match looked.windows(2).position(|pair| pair == b"\r\n") {
        Some(end) => Ok(Some((&bytes[..end], end + 2))),
        None if looked.len() == LINE_MAX => Err(garbled("an endless line")),
        None => Ok(None),
    }
}

fn too_long() -> io::Error {
    garbled("a longer reply than any command of ours has")
}

fn garbled(what: &str) -> io::Error {
    let what = format!("it answers {what}: no server of Redis's protocol listens there");
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::{DEPTH_MAX, Measure, Reply, command};
    use std::io;

    /// The reply at the front and its length, of bytes that came at once.
    fn reply(bytes: &[u8]) -> io::Result<Option<(Reply, usize)>> {
        let Some(length) = Measure::default().advance(bytes)? else {
            return Ok(None);
        };
        Ok(Some((super::reply(&bytes[..length])?, length)))
    }

    #[test]
    fn a_command_is_its_parts_with_their_lengths() {
        let mut bytes = Vec::new();
        command(&mut bytes, &[b"SET", b"a\r\n", b""]);
        assert_eq!(bytes, b"*3\r\n$3\r\nSET\r\n$3\r\na\r\n\r\n$0\r\n\r\n");
    }

    #[test]
    fn replies_come_whole_or_not_at_all() {
        let bytes = b"*5\r\n+OK\r\n-ERR no\r\n:-7\r\n$3\r\na\r\n\r\n*-1\r\n+next";
        let several = vec![
            Reply::Word("OK".to_owned()),
            Reply::Error("ERR no".to_owned()),
            Reply::Number(-7),
            Reply::Bytes(Some(b"a\r\n".to_vec())),
            Reply::Several(None),
        ];
        let whole = bytes.len() - b"+next".len();
        assert_eq!(reply(bytes).unwrap(), Some((Reply::Several(Some(several)), whole)));
        for end in 0..whole {
            assert_eq!(reply(&bytes[..end]).unwrap(), None, "cut at {end}");
        }
        assert_eq!(reply(b"$-1\r\n").unwrap(), Some((Reply::Bytes(None), 5)));
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for bytes in [
            &b"HTTP/1.1 400\r\n"[..],
            b"\r\n",
            b":x\r\n",
            b"$9999999999999999999\r\n",
            // A.E6
            b"$9223372036854775807\r\n",
            b"$2000000000\r\n",
            b"*2000000000\r\n",
            b"*9223372036854775807\r\n",
            b"$-9223372036854775809\r\n",
        ] {
            assert!(reply(bytes).is_err(), "{bytes:?}");
        }
        assert!(reply(&vec![b'+'; super::LINE_MAX]).is_err());
    }

    // A.E6
    #[test]
    fn replies_nest_so_deep_and_no_deeper() {
        let nested = |depth: usize| [b"*1\r\n".repeat(depth), b":7\r\n".to_vec()].concat();
        assert!(reply(&nested(DEPTH_MAX)).unwrap().is_some());
        for depth in [DEPTH_MAX + 1, 1_000_000] {
            assert!(reply(&nested(depth)).is_err(), "{depth}");
        }
    }

    // A.E6
    #[test]
    fn hostile_bytes_end_in_a_reply_a_wait_or_a_refusal_however_they_are_cut() {
        let parts: [&[u8]; 16] = [
            b"*",
            b"$",
            b":",
            b"+",
            b"-",
            b"\r\n",
            b"\r",
            b"\n",
            b"0",
            b"1",
            b"3",
            b"-1",
            b"abc",
            b"4294967296",
            b"9223372036854775807",
            b"\0\xff",
        ];
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..20_000 {
            let mut bytes = Vec::new();
            for _ in 0..random.usize(1..24) {
                bytes.extend_from_slice(parts[random.usize(..parts.len())]);
            }
            let whole = reply(&bytes);
            // What comes in pieces is measured as what comes at once.
            let mut measure = Measure::default();
            let mut pieces = Ok(None);
            for end in 0..=bytes.len() {
                pieces = measure.advance(&bytes[..end]);
                if !matches!(pieces, Ok(None)) {
                    break;
                }
            }
            match (whole, pieces) {
                (Ok(whole), Ok(length)) => {
                    assert_eq!(whole.map(|(_, length)| length), length, "{bytes:?}");
                }
                (Err(_), Err(_)) => {}
                other => panic!("{bytes:?}: {other:?}"),
            }
        }
    }
}
