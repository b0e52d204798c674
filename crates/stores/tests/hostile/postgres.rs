//! The protocol of PostgreSQL.

use crate::server::{Act, Close, DEADLINE_MS, Drip, Forever, Reads, Silence, all_end, send};

/// A message: its tag, its length, its body.
fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[tag][..], &length, body].concat()
}

/// A message with any length field.
fn claims(tag: u8, length: u32) -> Vec<u8> {
    [&[tag][..], &length.to_be_bytes()].concat()
}

fn notice() -> Vec<u8> {
    message(b'N', b"SNOTICE\0C00000\0Mpatience\0\0")
}

fn authentication(kind: u32, rest: &[u8]) -> Vec<u8> {
    message(b'R', &[&kind.to_be_bytes()[..], rest].concat())
}

/// After the client's start-up packet.
fn after_startup(then: Vec<Act>) -> Vec<Act> {
    let mut script = vec![Reads];
    script.extend(then);
    script
}

/// A server that accepts a client, and reads its first request.
fn let_in(then: Vec<Act>) -> Vec<Act> {
    let mut script = vec![Reads, send(authentication(0, b"")), send(message(b'Z', b"I")), Reads];
    script.extend(then);
    script
}

/// The scripts of servers, by name.
pub(crate) fn cases() -> Vec<(&'static str, Vec<Act>)> {
    let scram = |first: &str| {
        let mut script = vec![Reads, send(authentication(10, b"SCRAM-SHA-256\0\0")), Reads];
        script.push(send(authentication(11, first.as_bytes())));
        script
    };
    let row = |cells: i16, rest: &[u8]| message(b'D', &[&cells.to_be_bytes()[..], rest].concat());
    vec![
        ("silent", vec![Silence]),
        ("closes at once", vec![Close]),
        ("closes after the first words", after_startup(vec![Close])),
        ("speaks HTTP", after_startup(vec![send("HTTP/1.1 400 Bad Request\r\n\r\n")])),
        ("zeros for ever", after_startup(vec![Forever(vec![0; 512])])),
        (
            "a message of 2 GB",
            after_startup(vec![send(claims(b'R', 0x7fff_ffff)), Forever(vec![0; 512])]),
        ),
        ("a negative length", after_startup(vec![send(claims(b'R', 0xffff_ffff))])),
        ("a length of 3", after_startup(vec![send(claims(b'R', 3))])),
        ("a length of 0", after_startup(vec![send(claims(b'R', 0))])),
        ("a longer log-in than any", after_startup(vec![send(claims(b'R', 65_537)), Silence])),
        ("a notice of 2 GB", after_startup(vec![send(claims(b'N', 2_000_000_000))])),
        ("notices for ever", after_startup(vec![Forever(notice())])),
        ("notices that drip", after_startup(vec![Drip(notice())])),
        ("half a message", after_startup(vec![send(claims(b'R', 8)), Silence])),
        ("half a message, then its end", after_startup(vec![send(claims(b'R', 8)), Close])),
        ("an unknown tag", after_startup(vec![send(message(b'!', b""))])),
        ("an unknown log-in", after_startup(vec![send(authentication(99, b""))])),
        ("a log-in without a kind", after_startup(vec![send(message(b'R', b""))])),
        ("a truncated md5 salt", after_startup(vec![send(authentication(5, b"x"))])),
        ("clear text", after_startup(vec![send(authentication(3, b""))])),
        ("no mechanism", after_startup(vec![send(authentication(10, b"\0"))])),
        ("mechanisms without end", after_startup(vec![send(authentication(10, &[b'x'; 60_000]))])),
        ("SCRAM of four thousand million rounds", scram("r=x,s=AAAA,i=4294967295")),
        ("SCRAM of negative rounds", scram("r=x,s=AAAA,i=-1")),
        ("SCRAM with another's nonce", scram("r=x,s=AAAA,i=4096")),
        ("SCRAM garbage", scram("\u{0}\u{1}")),
        ("a log-in again and again", after_startup(vec![Forever(authentication(5, b"salt"))])),
        ("an error without words", after_startup(vec![send(message(b'E', b""))])),
        ("an error without end", after_startup(vec![send(message(b'E', &[b'M'; 60_000]))])),
        (
            "an error of 60 kB",
            after_startup(vec![send(message(
                b'E',
                &[b"SFATAL\0C28000\0M", &[b'x'; 60_000][..], b"\0\0"].concat(),
            ))]),
        ),
        (
            "let in, then silent before it is ready",
            after_startup(vec![send(authentication(0, b"")), Silence]),
        ),
        (
            "parameters for ever",
            after_startup(vec![send(authentication(0, b"")), Forever(message(b'S', b"a\0b\0"))]),
        ),
        (
            "keys for ever",
            after_startup(vec![send(authentication(0, b"")), Forever(message(b'K', &[0; 8]))]),
        ),
        (
            "let in, then drips",
            after_startup(vec![send(authentication(0, b"")), Drip(message(b'S', b"a\0b\0"))]),
        ),
        (
            "no readiness that is known",
            after_startup(vec![send(authentication(0, b"")), send(message(b'Z', b"?"))]),
        ),
        ("ready, then silent", let_in(vec![Silence])),
        ("ready, then closed", let_in(vec![Close])),
        ("ready, then notices for ever", let_in(vec![Forever(notice())])),
        ("ready, then notices that drip", let_in(vec![Drip(notice())])),
        ("ready, then 2 GB", let_in(vec![send(claims(b'D', 0x7fff_ffff)), Forever(vec![0; 512])])),
        ("ready, then a row of minus five cells", let_in(vec![send(row(-5, b"")), Silence])),
        ("ready, then a row of cells that are not there", let_in(vec![send(row(32_767, b""))])),
        ("ready, then a cell of 2 GB", let_in(vec![send(row(1, &[0x7f, 0xff, 0xff, 0xff]))])),
        ("ready, then rows for ever", let_in(vec![Forever(row(1, &[0, 0, 0, 1, b'x']))])),
        ("ready, then empty rows for ever", let_in(vec![Forever(row(0, b""))])),
        ("ready, then an unknown tag", let_in(vec![send(message(b'!', b""))])),
    ]
}

// A.E6
#[test]
fn a_hostile_postgresql_ends_in_a_sentence() {
    all_end(cases(), |port| {
        format!(
            "postgres://ann:secret@127.0.0.1:{port}/d?tls=disable&live=yes&connect_timeout_ms={DEADLINE_MS}"
        )
    });
}

/// The scripts of servers that are asked to encrypt, by name.
pub(crate) fn encryption_cases() -> Vec<(&'static str, Vec<Act>)> {
    vec![
        ("silent", vec![Silence]),
        ("neither yes nor no", vec![Reads, send("?")]),
        ("no", vec![Reads, send("N")]),
        ("yes, then silent", vec![Reads, send("S"), Silence]),
        ("yes, and more in clear", vec![Reads, send("Sclear"), Silence]),
        ("yes, then garbage", vec![Reads, send("S"), Reads, send("no record of TLS at all")]),
        ("yes, then drips", vec![Reads, send("S"), Reads, Drip(vec![22, 3, 3, 255, 255])]),
        ("yes, then closed", vec![Reads, send("S"), Reads, Close]),
        ("yes, then records for ever", {
            let record = [&[22, 3, 3, 1, 0][..], &[0; 256]].concat();
            vec![Reads, send("S"), Reads, Forever(record)]
        }),
    ]
}

// A.E6
#[test]
fn a_hostile_encryption_ends_in_a_sentence() {
    all_end(encryption_cases(), |port| {
        format!("postgres://ann@127.0.0.1:{port}/d?tls=require&connect_timeout_ms={DEADLINE_MS}")
    });
}
