//! The rows of the Wisconsin benchmark, generated from a row's two numbers.

use syncline_contract::{Rows, Value};

/// The names of the integer columns.
pub(super) const INTEGERS: [&str; 13] = [
    "unique1",
    "unique2",
    "two",
    "four",
    "ten",
    "twenty",
    "onepercent",
    "tenpercent",
    "twentypercent",
    "fiftypercent",
    "unique3",
    "evenonepercent",
    "oddonepercent",
];
/// The names of the text columns.
pub(super) const TEXTS: [&str; 3] = ["stringu1", "stringu2", "string4"];
/// Bytes of a text.
pub(super) const TEXT_BYTES: usize = 52;
/// Columns of a row.
pub(super) const COLUMNS: usize = INTEGERS.len() + TEXTS.len();
/// The letters before the filler in the first two texts.
const LETTERS: usize = 7;

/// A prime larger than any number of rows, so multiplying by it permutes them.
const PRIME: u64 = 2_654_435_761;

/// The second number of a row.
pub(super) fn permuted(number: u64, rows: u64) -> u64 {
    number * PRIME % rows
}

/// Appends the row with these numbers.
pub(super) fn push(unique1: u64, unique2: u64, batch: &mut Rows) {
    let integers = integers(unique1, unique2);
    for integer in integers {
        batch.push(Value::Int(integer as i64));
    }
    let texts = [by_number(unique1), by_number(unique2), by_four(unique2)];
    for text in &texts {
        batch.push(Value::Text(str::from_utf8(text).expect("capital letters are text")));
    }
}

fn integers(unique1: u64, unique2: u64) -> [u64; INTEGERS.len()] {
    let onepercent = unique1 % 100;
    [
        unique1,
        unique2,
        unique1 % 2,
        unique1 % 4,
        unique1 % 10,
        unique1 % 20,
        onepercent,
        unique1 % 10,
        unique1 % 5,
        unique1 % 2,
        unique1,
        onepercent * 2,
        onepercent * 2 + 1,
    ]
}

/// A number in letters, with A for zero, and filler.
fn by_number(number: u64) -> [u8; TEXT_BYTES] {
    let mut text = [b'x'; TEXT_BYTES];
    let mut rest = number;
    for place in (0..LETTERS).rev() {
        text[place] = b'A' + (rest % 26) as u8;
        rest /= 26;
    }
    text
}

/// One of four letters in rotation, repeated four times, and filler.
fn by_four(number: u64) -> [u8; TEXT_BYTES] {
    let mut text = [b'x'; TEXT_BYTES];
    text[..4].fill(b"AHOV"[(number % 4) as usize]);
    text
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, by_number, permuted, push};
    use std::collections::BTreeSet;
    use syncline_contract::{Rows, Value};

    #[test]
    fn numbers_are_permuted() {
        for rows in [1, 7, 1_000, 10_000] {
            let all: BTreeSet<u64> = (0..rows).map(|number| permuted(number, rows)).collect();
            assert_eq!(all.into_iter().collect::<Vec<_>>(), (0..rows).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_row_follows_from_its_numbers() {
        let mut rows = Rows::new(COLUMNS);
        push(1_234, 5, &mut rows);
        let row = rows.row(0);
        assert_eq!(row.value(4), Value::Int(4));
        assert_eq!(row.value(6), Value::Int(34));
        assert_eq!(row.value(12), Value::Int(69));
        let Value::Text(text) = row.value(15) else { panic!("a text") };
        assert!(text.starts_with("HHHHx"), "{text}");
        assert_eq!(&by_number(27)[..7], b"AAAAABB");
    }
}
