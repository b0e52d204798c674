//! Redis's protocol.

use crate::server::{Act, Close, DEADLINE_MS, Drip, Forever, Reads, Silence, all_end, send};

/// A server that accepts a client: it answers PING and the session's name.
fn let_in(then: Vec<Act>) -> Vec<Act> {
    let mut script = vec![Reads, send("+PONG\r\n"), Reads, send("+OK\r\n"), Reads];
    script.extend(then);
    script
}

/// The scripts of servers, by name.
pub(crate) fn cases() -> Vec<(&'static str, Vec<Act>)> {
    let deep = b"*1\r\n".repeat(1_000_000);
    vec![
        ("silent", vec![Silence]),
        ("closes at once", vec![Close]),
        ("closes after the question", vec![Reads, Close]),
        ("drips a word", vec![Drip(b"+P".to_vec())]),
        ("drips notices", vec![Drip(b"+a\r\n".to_vec())]),
        ("endless line", vec![Forever(b"+aaaaaaaa".to_vec())]),
        ("endless zeros", vec![Forever(vec![0; 512])]),
        ("endless lines of nothing", vec![Forever(b"\r\n".to_vec())]),
        ("speaks HTTP", vec![send("HTTP/1.1 400 Bad Request\r\n\r\n")]),
        ("no number", vec![send("$many\r\n")]),
        ("a length of 2 GB", vec![send("$2000000000\r\n"), Forever(b"x".to_vec())]),
        ("the longest length", vec![send("$9223372036854775807\r\n")]),
        ("a length beyond any", vec![send("$99999999999999999999\r\n")]),
        ("a negative number beyond any", vec![send("*-99999999999999999999\r\n")]),
        (
            "two thousand million replies",
            vec![send("*2000000000\r\n"), Forever(b":1\r\n".to_vec())],
        ),
        ("replies within replies", vec![send(&deep)]),
        ("replies within replies for ever", vec![Forever(b"*1\r\n".to_vec())]),
        ("bulk without its end", vec![send("$3\r\nabcdefgh"), Silence]),
        ("half a bulk", vec![send("$300\r\nabc"), Silence]),
        ("half a bulk, then its end", vec![send("$300\r\nabc"), Close]),
        ("unknown kind", vec![send("?what\r\n")]),
        ("a refusal of a megabyte", vec![send(format!("-{}\r\n", "x".repeat(60_000)))]),
        ("let in, then silent", let_in(vec![Silence])),
        ("let in, then closed", let_in(vec![Close])),
        ("let in, then drips", let_in(vec![Drip(b"$9".to_vec())])),
        ("let in, then 2 GB", let_in(vec![send("$2000000000\r\n")])),
        ("let in, then deep", let_in(vec![send(&deep)])),
        ("let in, then a number", let_in(vec![send(":7\r\n"), Silence])),
        (
            "let in, then replies for ever",
            let_in(vec![send("*1000000\r\n"), Forever(b":1\r\n".to_vec())]),
        ),
        (
            "let in, then an answer of 60 MB",
            let_in(vec![send("$60000000\r\n"), Forever(vec![b'x'; 4_096])]),
        ),
    ]
}

// A.E6
#[test]
fn a_hostile_redis_ends_in_a_sentence() {
    all_end(cases(), |port| {
        format!("redis://127.0.0.1:{port}/?live=yes&connect_timeout_ms={DEADLINE_MS}")
    });
}

/// The scripts of servers that are asked to encrypt, by name.
pub(crate) fn encryption_cases() -> Vec<(&'static str, Vec<Act>)> {
    vec![
        ("silent", vec![Silence]),
        ("closes", vec![Reads, Close]),
        ("speaks in clear", vec![Reads, send("+PONG\r\n")]),
        ("drips a record", vec![Reads, Drip(vec![22, 3, 3, 255, 255])]),
        ("endless records", vec![Reads, Forever([&[22, 3, 3, 1, 0][..], &[0; 256]].concat())]),
        ("an alert", vec![Reads, send([21, 3, 3, 0, 2, 2, 40])]),
    ]
}

// A.E6
#[test]
fn a_hostile_encryption_ends_in_a_sentence() {
    all_end(encryption_cases(), |port| {
        format!("rediss://127.0.0.1:{port}/?tls=require&connect_timeout_ms={DEADLINE_MS}")
    });
}
