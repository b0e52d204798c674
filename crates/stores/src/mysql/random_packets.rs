//! Tests the decoders of answers and greetings with random packets, composed of parts of real ones and
//! of hostile lengths.

use super::capability as can;
use super::packet::put_bytes;
use super::reply::{Answer, Form, Preparing};
use super::values::Column;
use syncline_contract::{Kind, Rows};

/// A column's description.
fn described(name: &str, wire: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for text in ["def", "db", "t", "t", name, name] {
        put_bytes(&mut out, text.as_bytes());
    }
    out.extend_from_slice(&[0x0C, 63, 0, 20, 0, 0, 0, wire, 0, 0, 0, 0, 0]);
    out
}

// A.E6
#[test]
fn hostile_packets_never_cause_a_panic() {
    let mut random = fastrand::Rng::with_seed(17);
    let mut ends = [0; 3];
    for _ in 0..20_000 {
        let form = if random.bool() { Form::Text } else { Form::Binary };
        let capabilities = can::REQUESTED & random.u64(..);
        let (mut answer, mut preparing) =
            (Answer::new(capabilities, form), Preparing::new(capabilities));
        let (mut columns, mut rows) = (Vec::<Column>::new(), Rows::new(0));
        let kinds = [Kind::Int, Kind::Text];
        let mut payload = Vec::new();
        for _ in 0..random.usize(1..12) {
            payload.clear();
            for _ in 0..random.usize(1..6) {
                match random.u8(..7) {
                    0 => payload.push(random.u8(..)),
                    1 => payload.extend([1, 2, 251, 252, 253, 254, 255].map(|_| random.u8(250..))),
                    2 => payload.extend_from_slice(&described("c", random.u8(..))),
                    3 => payload.extend([0xFE, 255, 255, 255, 255, 255, 255, 255, 255]),
                    4 => payload.extend([0xFD, 255, 255, 255]),
                    5 => payload.push(random.u8(..4)),
                    _ => payload.extend_from_slice(b"\xffabc#12345words"),
                }
            }
            // No packet causes a panic, and there are never more rows than packets.
            drop(preparing.take(&payload));
            drop(super::login::Greeting::read(&payload));
            match answer.take(&payload, &mut columns, &kinds, &mut rows) {
                Ok(None) => ends[0] += 1,
                Ok(Some(_)) => ends[1] += 1,
                Err(_) => ends[2] += 1,
            }
            assert!(rows.len() <= 12 && columns.len() <= 12);
        }
    }
    assert!(ends.iter().all(|count| *count > 100), "{ends:?}");
}
