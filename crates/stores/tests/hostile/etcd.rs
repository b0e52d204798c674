//! The HTTP gateway of etcd.

use crate::server::{Act, Close, DEADLINE_MS, Drip, Forever, Reads, Silence, all_end, send};

fn answers(head: &str, then: Vec<Act>) -> Vec<Act> {
    let mut script = vec![Reads, send(head)];
    script.extend(then);
    script
}

fn json(text: &str) -> Vec<Act> {
    let length = text.len();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{text}");
    vec![Reads, send(answer)]
}

/// The scripts of servers, by name.
pub(crate) fn cases() -> Vec<(&'static str, Vec<Act>)> {
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut known = json(r#"{"version":"3.4.0"}"#);
    known.extend([Reads, Silence]);
    vec![
        ("silent", vec![Silence]),
        ("closes at once", vec![Close]),
        ("closes after the question", vec![Reads, Close]),
        ("drips a head", vec![Reads, Drip(b"HTTP/1.1 200 OK\r\nx: y\r\n".to_vec())]),
        ("endless head", answers("HTTP/1.1 200 OK\r\n", vec![Forever(b"a: b\r\n".to_vec())])),
        ("endless line", answers("HTTP/1.1 200 ", vec![Forever(b"a".to_vec())])),
        ("no HTTP", answers("220 mail.example ESMTP\r\n", vec![])),
        ("zeros", answers("", vec![Forever(vec![0; 512])])),
        ("no status", answers("HTTP/1.1 \r\n\r\n", vec![])),
        ("status beyond", answers("HTTP/1.1 99999 x\r\n\r\n", vec![])),
        ("half a head", answers("HTTP/1.1 200 OK\r\nContent-", vec![Close])),
        ("1xx for ever", answers("", vec![Forever(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec())])),
        (
            "a body of 2 GB",
            answers("HTTP/1.1 200 OK\r\nContent-Length: 2000000000\r\n\r\n", vec![]),
        ),
        (
            "a length beyond any",
            answers("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", vec![]),
        ),
        ("a negative length", answers("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", vec![])),
        (
            "a body that never comes",
            answers("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{", vec![Silence]),
        ),
        (
            "a body that ends early",
            answers("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{", vec![Close]),
        ),
        (
            "a body that drips",
            answers("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n", vec![Drip(b" ".to_vec())]),
        ),
        (
            "a body without end",
            answers("HTTP/1.1 200 OK\r\n\r\n", vec![Forever(vec![b' '; 4_096])]),
        ),
        ("a chunk of 2 GB", answers(CHUNKED, vec![send("77359400\r\n"), Silence])),
        ("a chunk beyond any", answers(CHUNKED, vec![send("ffffffffffffffffff\r\n"), Silence])),
        ("a chunk without length", answers(CHUNKED, vec![send("\r\n"), Silence])),
        ("a chunk with a wrong length", answers(CHUNKED, vec![send("1\r\nab\r\n"), Silence])),
        ("endless chunks", answers(CHUNKED, vec![Forever(b"4\r\n    \r\n".to_vec())])),
        ("endless line of a chunk", answers(CHUNKED, vec![Forever(b"0".to_vec())])),
        ("endless trailers", answers(CHUNKED, vec![send("0\r\n"), Forever(b"a: b\r\n".to_vec())])),
        ("no JSON", json("<html>")),
        ("deep JSON", json(&"[".repeat(1_000_000))),
        ("wide JSON", json(&format!("[{}1]", "1,".repeat(2_000_000)))),
        ("a refusal of a megabyte", {
            let text = "x".repeat(1_000_000);
            answers(&format!("HTTP/1.1 500 No\r\nContent-Length: 1000000\r\n\r\n{text}"), vec![])
        }),
        ("known, then silent", known),
    ]
}

// A.E6
#[test]
fn a_hostile_etcd_ends_in_a_sentence() {
    all_end(cases(), |port| format!("etcd://127.0.0.1:{port}?connect_timeout_ms={DEADLINE_MS}"));
}
