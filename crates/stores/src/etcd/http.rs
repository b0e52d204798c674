//! HTTP/1.1, limited to what etcd's gateway uses: one request, one answer, on a persistent connection.
//!
//! 1. A request is one write, so that head and body are not delayed separately.
//! 2. An answer is bounded: its head, its body, each line, and the total time. A length field alone
//!    never causes an allocation of that size.

use crate::wire::{Stream, done, lost};
use std::io::{self, ErrorKind};

/// The maximum size of an answer's head and of its body, in bytes: more than a page of rows or the
/// metrics have.
const HEAD_MAX: usize = 64 << 10;
const BODY_MAX: usize = 32 << 20;
/// The maximum length of a line that begins a chunk, in bytes.
const CHUNK_LINE_MAX: usize = 4 << 10;

/// A request.
pub(super) struct Request<'r> {
    pub(super) method: &'static str,
    pub(super) path: &'r str,
    pub(super) host: &'r str,
    pub(super) authorization: Option<&'r str>,
    pub(super) body: &'r [u8],
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    /// The server closes the connection.
    pub(super) closes: bool,
}

/// How the end of a body is determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Length(usize),
    Chunks,
    UntilClosed,
}

#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    extent: Extent,
    closes: bool,
}

/// Sends a request and reads the answer.
pub(super) fn ask(stream: &mut Stream, request: &Request<'_>) -> io::Result<Answer> {
    write(request, stream.queue());
    done(stream.flush()).map_err(lost)?;
    loop {
        let head = head(stream)?;
        // Informational responses, 100 to 199, precede the answer.
        if head.status >= 200 {
            return body(stream, &head);
        }
    }
}

fn write(request: &Request<'_>, into: &mut Vec<u8>) {
    let Request { method, path, host, .. } = request;
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n");
    if let Some(token) = request.authorization {
        text.push_str(&format!("Authorization: {token}\r\n"));
    }
    if *method == "POST" {
        let length = request.body.len();
        text.push_str(&format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"));
    }
    text.push_str("\r\n");
    into.extend_from_slice(text.as_bytes());
    into.extend_from_slice(request.body);
}

fn head(stream: &mut Stream) -> io::Result<Head> {
    loop {
        let received = stream.received();
        let examined = &received[..received.len().min(HEAD_MAX)];
        if let Some(end) = examined.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = parsed(&received[..end])?;
            stream.consume(end + 4);
            return Ok(head);
        }
        if received.len() >= HEAD_MAX {
            return Err(garbled("a head that is too long"));
        }
        if !b"HTTP/1.".starts_with(&received[..received.len().min(7)]) {
            return Err(garbled("data that is not HTTP"));
        }
        done(stream.fill()).map_err(lost)?;
    }
}

fn parsed(head: &[u8]) -> io::Result<Head> {
    let text = str::from_utf8(head).map_err(|_error| garbled("a head that is not text"))?;
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let status = first.strip_prefix("HTTP/1.").and_then(|rest| {
        let code = rest.split(' ').nth(1)?;
        code.parse().ok().filter(|code| (100..600).contains(code))
    });
    let status: u16 = status.ok_or_else(|| garbled("data that is not HTTP"))?;
    let mut found =
        Head { status, extent: Extent::UntilClosed, closes: first.starts_with("HTTP/1.0") };
    for line in lines {
        let Some((name, value)) = line.split_once(':') else {
            return Err(garbled("a malformed head"));
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => {
                found.extent = Extent::Chunks;
            }
            "content-length" if found.extent != Extent::Chunks => {
                let length = value.parse::<u64>().ok();
                let length = length.ok_or_else(|| garbled("a length that is not a number"))?;
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                if length > BODY_MAX {
                    return Err(too_long());
                }
                found.extent = Extent::Length(length);
            }
            "connection" if value.eq_ignore_ascii_case("close") => found.closes = true,
            _ => {}
        }
    }
    if status < 200 || matches!(status, 204 | 304) {
        found.extent = Extent::Length(0);
    }
    Ok(found)
}

fn body(stream: &mut Stream, head: &Head) -> io::Result<Answer> {
    let mut body = Vec::new();
    match head.extent {
        Extent::Length(length) => take(stream, length, &mut body)?,
        Extent::Chunks => loop {
            let length = chunk(stream)?;
            if length > BODY_MAX - body.len() {
                return Err(too_long());
            }
            if length == 0 {
                // Trailers after the last chunk are skipped, up to an empty line.
                while !line(stream)?.is_empty() {}
                break;
            }
            take(stream, length, &mut body)?;
            if !line(stream)?.is_empty() {
                return Err(garbled("a chunk with a wrong length"));
            }
        },
        Extent::UntilClosed => loop {
            let received = stream.received();
            if received.len() > BODY_MAX - body.len() {
                return Err(too_long());
            }
            body.extend_from_slice(received);
            let length = received.len();
            stream.consume(length);
            if !done(stream.fill_or_end()).map_err(lost)? {
                break;
            }
        },
    }
    Ok(Answer {
        status: head.status,
        body,
        closes: head.closes || head.extent == Extent::UntilClosed,
    })
}

/// Reads `length` bytes of a body.
fn take(stream: &mut Stream, mut length: usize, into: &mut Vec<u8>) -> io::Result<()> {
    while length > 0 {
        let received = stream.received();
        let part = received.len().min(length);
        into.extend_from_slice(&received[..part]);
        stream.consume(part);
        length -= part;
        if length > 0 {
            done(stream.fill()).map_err(lost)?;
        }
    }
    Ok(())
}

/// The length of the next chunk.
fn chunk(stream: &mut Stream) -> io::Result<usize> {
    let line = line(stream)?;
    let digits = line.split(';').next().unwrap_or_default().trim();
    let length = u64::from_str_radix(digits, 16);
    let length = length.map_err(|_error| garbled("a chunk without a length"))?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > BODY_MAX {
        return Err(too_long());
    }
    Ok(length)
}

/// The next line, without its end.
fn line(stream: &mut Stream) -> io::Result<String> {
    loop {
        let received = stream.received();
        if let Some(end) = received.windows(2).position(|pair| pair == b"\r\n") {
            let line = String::from_utf8_lossy(&received[..end]).into_owned();
            stream.consume(end + 2);
            return Ok(line);
        }
        if received.len() >= CHUNK_LINE_MAX {
            return Err(garbled("a line that is too long"));
        }
        done(stream.fill()).map_err(lost)?;
    }
}

fn garbled(what: &str) -> io::Error {
    let what = format!("it sent {what}: it is not a gateway of etcd");
    io::Error::new(ErrorKind::InvalidData, what)
}

fn too_long() -> io::Error {
    let what = format!("it sent an answer of more than {} MiB", BODY_MAX >> 20);
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::{Extent, Head, parsed};

    #[test]
    fn a_head_determines_the_end_of_its_body() {
        let head = |text: &str| parsed(text.as_bytes()).unwrap();
        let expected = |extent, closes| Head { status: 200, extent, closes };
        assert_eq!(
            head("HTTP/1.1 200 OK\r\nContent-Length: 7"),
            expected(Extent::Length(7), false)
        );
        assert_eq!(
            head("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nContent-Length: 9"),
            expected(Extent::Chunks, false)
        );
        assert_eq!(head("HTTP/1.0 200 OK"), expected(Extent::UntilClosed, true));
        assert_eq!(head("HTTP/1.1 204 No").extent, Extent::Length(0));
    }

    // A.E6
    #[test]
    fn a_hostile_head_is_refused() {
        for text in [
            "",
            "HTTP/2 200",
            "HTTP/1.1",
            "HTTP/1.1 two",
            "HTTP/1.1 99 x",
            "HTTP/1.1 200 OK\r\nno colon",
            "HTTP/1.1 200 OK\r\nContent-Length: -1",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999",
            "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807",
            "HTTP/1.1 200 OK\r\nContent-Length: 2000000000",
        ] {
            assert!(parsed(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parsed(b"HTTP/1.1 200 \xff\r\n").is_err());
    }
}
