//! The loaded rows of a subscriber, generated from its number alone.

use crate::distributions::Stream;
use syncline_contract::{Rows, Value};

/// The possible starts of call forwarding, in hours.
pub(super) const STARTS: [i64; 3] = [0, 8, 16];
/// Length of a subscriber's number.
pub(super) const SUB_NBR_BYTES: usize = 15;
/// Number of columns of each width: bits, half bytes, bytes.
pub(super) const COLUMNS_EACH: usize = 10;

/// Appends the row of a subscriber.
pub(super) fn subscriber(s_id: i64, batch: &mut Rows) {
    let mut stream = Stream::of_load("subscriber", s_id as u64);
    batch.push(Value::Int(s_id));
    batch.push(Value::Text(text(&sub_nbr(s_id))));
    for most in [1, 15, 255] {
        for _ in 0..COLUMNS_EACH {
            batch.push(Value::Int(stream.between(0, most)));
        }
    }
    // The locations of the switching centre and of the visitor.
    for _ in 0..2 {
        batch.push(Value::Int(stream.between(1, u32::MAX.into())));
    }
}

/// Appends a subscriber's rows of access.
pub(super) fn access_info(s_id: i64, batch: &mut Rows) {
    let mut stream = Stream::of_load("access info", s_id as u64);
    for ai_type in access_types(s_id) {
        let data = [0; 2].map(|_| Value::Int(stream.between(0, 255)));
        let (three, five) = (letters::<3>(&mut stream), letters::<5>(&mut stream));
        let [data1, data2] = data;
        let row = [
            Value::Int(s_id),
            Value::Int(ai_type),
            data1,
            data2,
            Value::Text(text(&three)),
            Value::Text(text(&five)),
        ];
        batch.push_row(&row);
    }
}

/// Appends a subscriber's special facilities.
pub(super) fn special_facility(s_id: i64, batch: &mut Rows) {
    let mut stream = Stream::of_load("special facility", s_id as u64);
    for sf_type in facility_types(s_id) {
        let is_active = i64::from(stream.percent(85));
        let [error_cntrl, data_a] = [0; 2].map(|_| Value::Int(stream.between(0, 255)));
        let data_b = letters::<5>(&mut stream);
        let row = [
            Value::Int(s_id),
            Value::Int(sf_type),
            Value::Int(is_active),
            error_cntrl,
            data_a,
            Value::Text(text(&data_b)),
        ];
        batch.push_row(&row);
    }
}

/// Appends a subscriber's call forwardings.
pub(super) fn call_forwarding(s_id: i64, batch: &mut Rows) {
    let mut stream = Stream::of_load("call forwarding", s_id as u64);
    for (sf_type, start) in forwardings(s_id) {
        let mut number = [0; 15];
        for digit in &mut number {
            *digit = b'0' + stream.below(10) as u8;
        }
        let row = [
            Value::Int(s_id),
            Value::Int(sf_type),
            Value::Int(start),
            Value::Int(start + stream.between(1, 8)),
            Value::Text(text(&number)),
        ];
        batch.push_row(&row);
    }
}

/// The types of a subscriber's accesses, ascending.
pub(super) fn access_types(s_id: i64) -> Vec<i64> {
    let mut stream = Stream::of_load("access types", s_id as u64);
    some_of([1, 2, 3, 4], 1, &mut stream)
}

/// The types of a subscriber's special facilities, ascending.
pub(super) fn facility_types(s_id: i64) -> Vec<i64> {
    let mut stream = Stream::of_load("facility types", s_id as u64);
    some_of([1, 2, 3, 4], 1, &mut stream)
}

/// The special facilities and starts of a subscriber's call forwardings, ascending.
pub(super) fn forwardings(s_id: i64) -> Vec<(i64, i64)> {
    let mut stream = Stream::of_load("forwardings", s_id as u64);
    let mut all = Vec::new();
    for sf_type in facility_types(s_id) {
        let starts = some_of(STARTS, 0, &mut stream);
        all.extend(starts.into_iter().map(|start| (sf_type, start)));
    }
    all
}

/// A random subset of at least `least` elements; each size is equally likely; ascending.
fn some_of<const N: usize>(mut of: [i64; N], least: i64, stream: &mut Stream) -> Vec<i64> {
    let count = stream.between(least, N as i64) as usize;
    stream.shuffle(&mut of);
    let mut some = of[..count].to_vec();
    some.sort_unstable();
    some
}

/// A subscriber's number as it is dialled: 15 digits.
#[inline]
pub(super) fn sub_nbr(s_id: i64) -> [u8; SUB_NBR_BYTES] {
    let mut digits = [b'0'; SUB_NBR_BYTES];
    let mut rest = s_id;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    digits
}

/// Capital letters.
fn letters<const N: usize>(stream: &mut Stream) -> [u8; N] {
    [0; N].map(|_: u8| b'A' + stream.below(26) as u8)
}

/// Digits or letters as text.
#[inline]
pub(super) fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("digits and letters are text")
}

#[cfg(test)]
mod tests {
    use super::{access_types, facility_types, forwardings, sub_nbr, text};

    #[test]
    fn numbers_of_types_and_forwardings_are_equally_likely() {
        const SUBSCRIBERS: i64 = 20_000;
        let (mut access, mut facilities, mut starts) = ([0; 5], [0; 5], [0; 4]);
        let mut all = 0;
        for s_id in 1..=SUBSCRIBERS {
            access[access_types(s_id).len()] += 1;
            facilities[facility_types(s_id).len()] += 1;
            for sf_type in facility_types(s_id) {
                let of = forwardings(s_id).iter().filter(|one| one.0 == sf_type).count();
                starts[of] += 1;
                all += 1;
            }
        }
        for count in access[1..].iter().chain(&facilities[1..]) {
            assert!((4_700..=5_300).contains(count), "{access:?} {facilities:?}");
        }
        assert_eq!(access[0] + facilities[0], 0);
        for count in starts {
            assert!((count * 4_i32).abs_diff(all) < all as u32 / 20, "{starts:?}");
        }
    }

    #[test]
    fn a_number_has_fifteen_digits() {
        assert_eq!(text(&sub_nbr(104)), "000000000000104");
    }
}
