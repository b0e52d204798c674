//! Fuzz targets for the decoders of the server's messages.

use super::control::cells;
use super::failure::ServerError;
use super::prepared::columns;
use super::protocol::{LOG_IN_MAX, MESSAGE_MAX, first_message, tag};
use super::types::{FLOAT8, INT8, TEXT};
use super::values::{push_binary, push_text};
use super::{control, login};
use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use syncline_contract::{Kind, Rows};

const KINDS: [Kind; 6] =
    [Kind::Int, Kind::Float, Kind::Decimal { scale: 2 }, Kind::Text, Kind::Bytes, Kind::Timestamp];

/// Decodes consecutive messages, each with every decoder that could apply to it. A length field never
/// makes a decoder read beyond the bytes or allocate that much.
pub fn postgres_messages(data: &[u8]) {
    let mut rest = data;
    while let Ok(Some((tag, length))) = first_message(rest, MESSAGE_MAX) {
        assert!((5..=rest.len()).contains(&length), "a message lies within the received bytes");
        let (message, body) = (&rest[..length], &rest[5..length]);
        if length <= LOG_IN_MAX && tag == tag::AUTHENTICATION {
            drop(Message::parse(&mut BytesMut::from(message)));
        }
        drop(ServerError::of(body));
        let _rounds = login::iterations(body);
        if let Some(columns) = columns(body) {
            // A name's terminator, a type and the fixed fields around it.
            assert!(columns.len() <= body.len() / 19);
        }
        row(body);
        rest = &rest[length..];
    }
    // Bytes that are not a whole message during a log-in may be one later, but not vice versa.
    if matches!(first_message(rest, LOG_IN_MAX), Ok(Some(_))) {
        assert!(matches!(first_message(rest, MESSAGE_MAX), Ok(Some(_))));
    }
}

fn row(body: &[u8]) {
    if let Some(texts) = control::text_row(body) {
        assert!(texts.len() <= body.len() / 4);
    }
    let mut taken = 0;
    for cell in cells(body).into_iter().flatten() {
        let Some(bytes) = cell else { continue };
        let Some(bytes) = bytes else { break };
        taken += bytes.len();
        let mut rows = Rows::new(1);
        let kinds = KINDS.map(|kind| push_binary(Some(bytes), kind, &mut rows));
        let oids = [INT8, FLOAT8, TEXT].map(|oid| push_text(Some(bytes), oid, &mut rows));
        let accepted = kinds.iter().chain(&oids).filter(|taken| **taken).count();
        assert_eq!(rows.len(), accepted, "each accepted cell adds one value");
    }
    assert!(taken <= body.len());
}

/// A log-in, an answer of rows, an error, and messages with false lengths.
pub(crate) fn message_seeds() -> Vec<Vec<u8>> {
    let message = |tag: u8, body: &[u8]| {
        let length = (body.len() as u32 + 4).to_be_bytes();
        [&[tag][..], &length, body].concat()
    };
    let log_in = [
        message(b'R', &[0, 0, 0, 10]),
        message(b'R', b"\0\0\0\x0ASCRAM-SHA-256\0\0"),
        message(b'R', b"\0\0\0\x0Br=abc,s=AAAA,i=4096"),
        message(b'R', &[0; 4]),
        message(b'S', b"server_version\x0015\0"),
        message(b'K', &[0, 0, 0, 7, 0, 0, 0, 9]),
        message(b'Z', b"I"),
    ];
    let column = b"\0\x01balance\0\0\0\0\x09\0\x02\0\0\0\x14\0\x08\xff\xff\xff\xff\0\0";
    let rows = [
        message(b'T', column),
        message(b'D', b"\0\x03\0\0\0\x08\0\0\0\0\0\0\0\x2a\xff\xff\xff\xff\0\0\0\x0212"),
        message(b'D', b"\0\x01\0\0\0\x0a\0\x01\0\0\0\0\0\x02\x04\xd2"),
        message(b'C', b"SELECT 2\0"),
    ];
    vec![
        log_in.concat(),
        rows.concat(),
        message(b'E', b"SERROR\0C42P05\0Mprepared statement already exists\0\0"),
        message(b'D', b"\x7f\xff\x7f\xff\xff\xff"),
        b"D\x7f\xff\xff\xff".to_vec(),
    ]
}
