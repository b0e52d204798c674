//! Fuzz targets for the decoders of the server's packets.

use super::capability as can;
use super::packet::{HEADER, header, put_bytes};
use super::reply::{Answer, Form, Preparing, ServerError};
use super::values::Column;
use syncline_contract::{Kind, Rows};

/// The first byte chooses capabilities and form; consecutive packets follow, each also decoded as a
/// greeting and as an answer to a preparation.
pub fn mysql_packets(data: &[u8]) {
    let (&choice, mut rest) = data.split_first().unwrap_or((&0, data));
    let form = if choice & 1 == 0 { Form::Text } else { Form::Binary };
    let capabilities = match choice >> 1 & 3 {
        0 => can::REQUESTED,
        1 => can::REQUESTED & !can::CACHED_COLUMNS,
        2 => 0,
        _ => can::REQUESTED & u64::from(choice).wrapping_mul(0x0101_0101_0101_0101),
    };
    let mut kinds: &[Kind] = &[];
    if choice & 8 != 0 {
        kinds = &[Kind::Int, Kind::Text];
    }
    let (mut answer, mut preparing) =
        (Answer::new(capabilities, form), Preparing::new(capabilities));
    let (mut columns, mut rows) = (Vec::<Column>::new(), Rows::new(0));
    let mut packets = 0;
    while let Some((length, _sequence)) = header(rest) {
        let Some(payload) = rest.get(HEADER..HEADER + length) else {
            break;
        };
        packets += 1;
        drop(super::login::Greeting::read(payload));
        drop((ServerError::read(payload), ServerError::early(payload)));
        drop((Column::read(payload), Column::name(payload)));
        drop(preparing.take(payload));
        let taken = answer.take(payload, &mut columns, kinds, &mut rows);
        assert!(
            columns.len() <= packets && rows.len() <= packets,
            "a packet adds one of each at most"
        );
        if !matches!(taken, Ok(None)) {
            answer = Answer::new(capabilities, form);
        }
        rest = &rest[HEADER + length..];
    }
}

/// A greeting, answers in both forms, an error, and packets with false lengths.
pub(crate) fn packet_seeds() -> Vec<Vec<u8>> {
    let packet = |sequence: u8, payload: &[u8]| {
        let length = (payload.len() as u32).to_le_bytes();
        [&length[..3], &[sequence], payload].concat()
    };
    let column = |name: &str, wire: u8| {
        let mut out = Vec::new();
        for text in ["def", "db", "t", "t", name, name] {
            put_bytes(&mut out, text.as_bytes());
        }
        out.extend_from_slice(&[0x0C, 63, 0, 20, 0, 0, 0, wire, 0, 0, 0, 0, 0]);
        out
    };
    let answer = |choice: u8, row: &[u8]| {
        let packets = [
            packet(1, &[2]),
            packet(2, &column("id", 8)),
            packet(3, &column("name", 253)),
            packet(4, row),
            packet(5, &[0xFE, 0, 0, 2, 0, 0, 0]),
        ];
        [&[choice][..], &packets.concat()].concat()
    };
    let mut greeting = vec![10];
    greeting.extend_from_slice(b"10.11.0-MariaDB\0");
    greeting.extend_from_slice(&[7, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0xFE, 0xF7, 45, 2, 0]);
    greeting.extend_from_slice(&[0xFF, 0x81, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    greeting.extend_from_slice(b"999999999999\0mysql_native_password\0");
    vec![
        [&[0][..], &packet(0, &greeting)].concat(),
        answer(2, b"\x0242\x03abc"),
        answer(3, b"\0\0\x2a\0\0\0\0\0\0\0\x03abc"),
        [&[0][..], &packet(1, b"\xff\x15\x04#28000Access denied")].concat(),
        [&[1][..], &packet(1, &[0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0])].concat(),
        answer(2, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff"),
        b"\0\xff\xff\xff\0".to_vec(),
    ]
}
