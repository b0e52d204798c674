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

/// The reply at the front and its length; none if it is not whole yet.
pub(super) fn reply(bytes: &[u8]) -> io::Result<Option<(Reply, usize)>> {
    let Some((line, mut at)) = line(bytes) else {
        return Ok(None);
    };
    let Some((kind, text)) = line.split_first() else {
        return Err(garbled("an empty line"));
    };
    let words = || String::from_utf8_lossy(text).into_owned();
    let number = || -> io::Result<i64> {
        let text = str::from_utf8(text).ok();
        let number = text.and_then(|text| text.parse().ok());
        number.ok_or_else(|| garbled("a number that is none"))
    };
    let read = match kind {
        b'+' => Reply::Word(words()),
        b'-' => Reply::Error(words()),
        b':' => Reply::Number(number()?),
        b'$' => {
            let Ok(length) = usize::try_from(number()?) else {
                return Ok(Some((Reply::Bytes(None), at)));
            };
            let Some(end) = at.checked_add(length + 2) else {
                return Err(garbled("an endless length"));
            };
            let Some(value) = bytes.get(at..end) else {
                return Ok(None);
            };
            at = end;
            Reply::Bytes(Some(value[..length].to_vec()))
        }
        b'*' => {
            let Ok(count) = usize::try_from(number()?) else {
                return Ok(Some((Reply::Several(None), at)));
            };
            let mut several = Vec::with_capacity(count.min(bytes.len()));
            for _ in 0..count {
                let Some((one, length)) = reply(&bytes[at..])? else {
                    return Ok(None);
                };
                several.push(one);
                at += length;
            }
            Reply::Several(Some(several))
        }
        _ => return Err(garbled("a reply of no known kind")),
    };
    Ok(Some((read, at)))
}

fn line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    Some((&bytes[..end], end + 2))
}

fn garbled(what: &str) -> io::Error {
    let what = format!("it answers {what}: no server of Redis's protocol listens there");
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::{Reply, command, reply};

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
        assert_eq!(
            reply(bytes).unwrap(),
            Some((Reply::Several(Some(several)), whole))
        );
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
        ] {
            assert!(reply(bytes).is_err(), "{bytes:?}");
        }
    }
}
