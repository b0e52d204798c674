//! The protocol of MySQL and MariaDB.

use crate::server::{Act, Close, DEADLINE_MS, Drip, Forever, Reads, Silence, all_end, send};

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
    [&length[..3], &[sequence], payload].concat()
}

/// A server's first packet.
fn greeting() -> Vec<u8> {
    let abilities: u64 = 0xFFFF_F7FF & !1;
    let mut out = vec![10];
    out.extend_from_slice(b"10.11.0-MariaDB\0");
    out.extend_from_slice(&7_u32.to_le_bytes());
    out.extend_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 0]);
    out.extend_from_slice(&(abilities as u16).to_le_bytes());
    out.extend_from_slice(&[45, 2, 0]);
    out.extend_from_slice(&((abilities >> 16) as u16).to_le_bytes());
    out.push(21);
    out.extend_from_slice(&[0; 6]);
    out.extend_from_slice(&0_u32.to_le_bytes());
    out.extend_from_slice(&[9; 12]);
    out.push(0);
    out.extend_from_slice(b"mysql_native_password\0");
    packet(0, &out)
}

fn greeted(then: Vec<Act>) -> Vec<Act> {
    let mut script = vec![send(greeting()), Reads];
    script.extend(then);
    script
}

/// A server that accepts a client, and reads its first request.
fn let_in(then: Vec<Act>) -> Vec<Act> {
    let mut script = vec![send(greeting()), Reads, send(packet(2, &[0, 0, 0, 2, 0, 0, 0])), Reads];
    script.extend(then);
    script
}

/// The scripts of servers, by name.
pub(crate) fn cases() -> Vec<(&'static str, Vec<Act>)> {
    let whole = greeting();
    let column = packet(
        2,
        b"\x03def\x00\x00\x00\x01c\x00\x0c\x21\x00\xff\x00\x00\x00\xfd\x00\x00\x00\x00\x00",
    );
    vec![
        ("silent", vec![Silence]),
        ("closes at once", vec![Close]),
        ("speaks HTTP", vec![send("HTTP/1.1 400 Bad Request\r\n\r\n"), Silence]),
        ("speaks SMTP", vec![send("220 mail.example ESMTP\r\n"), Close]),
        ("zeros for ever", vec![Forever(vec![0; 512])]),
        ("the longest packet", vec![send([0xff, 0xff, 0xff, 0]), Forever(vec![b'x'; 512])]),
        ("an empty greeting", vec![send(packet(0, b""))]),
        ("another protocol", vec![send(packet(0, &[9; 40]))]),
        ("a truncated greeting", vec![send(packet(0, &whole[4..30]))]),
        ("half a greeting", vec![send(&whole[..20]), Silence]),
        ("half a greeting, then its end", vec![send(&whole[..20]), Close]),
        ("a greeting that drips", vec![Drip(vec![0x40, 0, 0, 0, 10])]),
        ("an error that drips", vec![Drip(packet(0, b"\xff\x10\x04no")), Silence]),
        (
            "an error of 60 kB",
            vec![send(packet(0, &[b"\xff\x10\x04", &[b'x'; 60_000][..]].concat()))],
        ),
        ("an old server", vec![send(packet(0, &[&b"\x0a3.23\0"[..], &[0; 60]].concat()))]),
        ("greets, then silent", greeted(vec![Silence])),
        ("greets, then closed", greeted(vec![Close])),
        ("greets, then an unknown answer", greeted(vec![send(packet(2, &[7, 7]))])),
        ("greets, then empty packets", greeted(vec![Forever(packet(2, b""))])),
        (
            "greets, then an unknown plugin",
            greeted(vec![send(packet(2, b"\xfeauth_gssapi_client\0x"))]),
        ),
        (
            "requests the password in clear",
            greeted(vec![send(packet(2, b"\xfemysql_clear_password\0"))]),
        ),
        (
            "switches for ever",
            greeted(vec![Forever(packet(
                2,
                b"\xfemysql_native_password\x0012345678901234567890\0",
            ))]),
        ),
        ("goes on for ever", greeted(vec![Forever(packet(2, &[1, 3]))])),
        (
            "switches to waiting for ever",
            greeted(vec![
                send(packet(2, b"\xfecaching_sha2_password\x0012345678901234567890\0")),
                Reads,
                Forever(packet(4, &[1, 3])),
            ]),
        ),
        ("a log-in that drips", greeted(vec![Drip(packet(2, &[1, 3]))])),
        (
            "a longer log-in than any",
            greeted(vec![send([0xff, 0xff, 0xfe, 2]), Forever(vec![b'x'; 512])]),
        ),
        ("let in, then silent", let_in(vec![Silence])),
        ("let in, then closed", let_in(vec![Close])),
        ("let in, then drips", let_in(vec![Drip(packet(1, &[1]))])),
        ("let in, then an empty packet", let_in(vec![send(packet(1, b""))])),
        ("requests a local file", let_in(vec![send(packet(1, b"\xfb/etc/passwd")), Silence])),
        (
            "columns beyond any",
            let_in(vec![
                send(packet(1, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff")),
                Forever(column.clone()),
            ]),
        ),
        ("many columns, then silent", let_in(vec![send(packet(1, b"\xfd\xff\xff\xff")), Silence])),
        (
            "a truncated column",
            let_in(vec![send(packet(1, &[1])), send(packet(2, b"\x03de")), Silence]),
        ),
        (
            "rows for ever",
            let_in(vec![send(packet(1, &[1])), send(&column), Forever(packet(3, b"\x01x"))]),
        ),
        (
            "nulls for ever",
            let_in(vec![send(packet(1, &[1])), send(&column), Forever(packet(3, b"\xfb"))]),
        ),
        (
            "a cell longer than its packet",
            let_in(vec![
                send(packet(1, &[1])),
                send(&column),
                send(packet(3, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7fx")),
            ]),
        ),
        (
            "packets of the longest length for ever",
            let_in(vec![Forever([&[0xff, 0xff, 0xff, 1][..], &vec![b'x'; 0xff_ff_ff]].concat())]),
        ),
        ("another answer for ever", let_in(vec![Forever(packet(1, &[0, 0, 0, 8, 0, 0, 0]))])),
    ]
}

// A.E6
#[test]
fn a_hostile_mysql_ends_in_a_sentence() {
    all_end(cases(), |port| {
        format!(
            "mysql://ann:secret@127.0.0.1:{port}?tls=disable&live=yes&connect_timeout_ms={DEADLINE_MS}"
        )
    });
}
