//! Commands and replies of Redis as bytes: version 2 of its serialization protocol, which every version
//! and every compatible product supports.

use std::io::{self, ErrorKind};

/// One reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// A status: `OK`, `QUEUED`.
    Word(String),
    /// A refusal, as the server words it.
    Error(String),
    Number(i64),
    /// Bytes, or null.
    Bytes(Option<Vec<u8>>),
    /// Several replies, or null: the answer of an EXEC that did nothing.
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

/// The limits of one reply: its size, the length of a line with kind and length, the number of replies
/// and of levels in it. All are far above the replies to our commands.
const BYTES_MAX: usize = 64 << 20;
const LINE_MAX: usize = 64 << 10;
const REPLIES_MAX: u64 = 1 << 20;
const DEPTH_MAX: usize = 8;

/// Finds the end of the next reply in a stream: it resumes where it stopped when more bytes arrive,
/// allocates nothing for a length field, and refuses invalid replies.
#[derive(Debug, Default)]
pub(super) struct ReplyParser {
    /// The number of examined bytes.
    at: usize,
    /// How many replies are still expected on each open level.
    open: Vec<u64>,
    /// Replies read or announced.
    replies: u64,
}

impl ReplyParser {
    /// The length of the reply, once it is complete. Each call gets the same bytes, followed by more.
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
                        return Err(garbled("replies that are nested too deeply"));
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
            // One reply is complete, and with it every level that waited only for it.
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

/// Decodes a complete reply, whose end [`ReplyParser`] has found.
pub(super) fn reply(bytes: &[u8]) -> io::Result<Reply> {
    let (reply, _length) = part(bytes, 0)?;
    Ok(reply)
}

/// The next reply, `depth` levels down, and its length.
fn part(bytes: &[u8], depth: usize) -> io::Result<(Reply, usize)> {
    let truncated = || garbled("half a reply");
    let (line, mut at) = line(bytes)?.ok_or_else(truncated)?;
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
            let value = value.ok_or_else(truncated)?;
            at += length + 2;
            Reply::Bytes(Some(value.to_vec()))
        }
        _ => {
            let Ok(count) = usize::try_from(number) else {
                return Ok((Reply::Several(None), at));
            };
            if depth == DEPTH_MAX {
                return Err(garbled("replies that are nested too deeply"));
            }
            let mut several = Vec::with_capacity(count.min(1_024));
            for _ in 0..count {
                let rest = bytes.get(at..).ok_or_else(truncated)?;
                let (one, length) = part(rest, depth + 1)?;
                several.push(one);
                at += length;
            }
            Reply::Several(Some(several))
        }
    };
    Ok((read, at))
}

/// The kind of a reply from its first line, and the number in it; 0 for a kind without one.
fn header_of(line: &[u8]) -> io::Result<(u8, i64)> {
    let Some((kind, text)) = line.split_first() else {
        return Err(garbled("an empty line"));
    };
    match kind {
        b'+' | b'-' => Ok((*kind, 0)),
        b':' | b'$' | b'*' => {
            let text = str::from_utf8(text).ok();
            let number = text.and_then(|text| text.parse().ok());
            let number = number.ok_or_else(|| garbled("an invalid number"))?;
            Ok((*kind, number))
        }
        _ => Err(garbled("a reply of an unknown kind")),
    }
}

/// The first line and the start of the next; `None` if it is incomplete.
fn line(bytes: &[u8]) -> io::Result<Option<(&[u8], usize)>> {
    let examined = &bytes[..bytes.len().min(LINE_MAX)];
    match examined.windows(2).position(|pair| pair == b"\r\n") {
        Some(end) => Ok(Some((&bytes[..end], end + 2))),
        None if examined.len() == LINE_MAX => Err(garbled("a line that is too long")),
        None => Ok(None),
    }
}

fn too_long() -> io::Error {
    garbled("a reply that is longer than any that this program requests")
}

fn garbled(what: &str) -> io::Error {
    let what = format!("it sent {what}: it does not speak Redis's protocol");
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::{DEPTH_MAX, Reply, ReplyParser, command};
    use std::io;

    /// The next reply and its length, from bytes received at once.
    fn reply(bytes: &[u8]) -> io::Result<Option<(Reply, usize)>> {
        let Some(length) = ReplyParser::default().advance(bytes)? else {
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
    fn incomplete_replies_are_not_returned() {
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
            assert_eq!(reply(&bytes[..end]).unwrap(), None, "truncated to {end}");
        }
        assert_eq!(reply(b"$-1\r\n").unwrap(), Some((Reply::Bytes(None), 5)));
    }

    #[test]
    fn invalid_replies_are_refused() {
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
    fn nested_replies_have_a_maximum_depth() {
        let nested = |depth: usize| [b"*1\r\n".repeat(depth), b":7\r\n".to_vec()].concat();
        assert!(reply(&nested(DEPTH_MAX)).unwrap().is_some());
        for depth in [DEPTH_MAX + 1, 1_000_000] {
            assert!(reply(&nested(depth)).is_err(), "{depth}");
        }
    }

    // A.E6
    #[test]
    fn hostile_bytes_have_the_same_result_for_any_division() {
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
            // Divided bytes must give the same result as undivided ones.
            let mut measure = ReplyParser::default();
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
