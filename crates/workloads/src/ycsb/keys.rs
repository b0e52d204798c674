//! Keys: a row's number, the identity that its key says, and the key's text.
//!
//! | profile | identity | text |
//! |---|---|---|
//! | ycsb, hashed | FNV hash of the number | "user", then the identity in decimal, padded with zeros |
//! | ycsb, ordered | the number | likewise |
//! | k2 | the number | the number in base 93 from `!` up, padded with `!` to the field's bytes |

use super::words::InsertOrder;
use crate::draw::fnv64;

/// The most bytes of a key.
pub(super) const KEY_BYTES_MAX: usize = 128;
// The longest key of zeros, with room for as many digits behind them as are copied at once.
const _: () = assert!(PREFIX.len() + 100 + DIGITS_MAX <= KEY_BYTES_MAX);

const PREFIX: &[u8; 4] = b"user";
/// The least digit of K2's numbers.
const ZERO: u8 = b'!';
const BASE: u64 = 93;

/// A key's text, in memory of its own.
#[derive(Clone, Debug)]
pub(super) struct KeyText {
    bytes: [u8; KEY_BYTES_MAX],
    len: usize,
}

impl KeyText {
    pub(super) fn new() -> KeyText {
        KeyText {
            bytes: [0; KEY_BYTES_MAX],
            len: 0,
        }
    }

    #[inline]
    pub(super) fn text(&self) -> &str {
        str::from_utf8(&self.bytes[..self.len]).expect("keys are made of ASCII")
    }
}

/// How keys are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// YCSB's.
    User {
        order: InsertOrder,
        /// The least number of digits.
        digits_min: usize,
    },
    /// K2's.
    Base93 {
        /// Bytes of every key.
        bytes: usize,
    },
}

impl Keys {
    /// The identity of a row's number.
    #[inline]
    pub(super) fn identity(&self, number: u64) -> u64 {
        match self {
            Keys::User {
                order: InsertOrder::Hashed,
                ..
            } => fnv64(number),
            Keys::User {
                order: InsertOrder::Ordered,
                ..
            }
            | Keys::Base93 { .. } => number,
        }
    }

    /// Writes the key of an identity.
    #[inline]
    pub(super) fn write(&self, identity: u64, key: &mut KeyText) {
        match *self {
            Keys::User { digits_min, .. } => {
                let (digits, mut at) = (decimal(identity), PREFIX.len());
                let significant = digits_of(identity);
                key.bytes[..at].copy_from_slice(PREFIX);
                if significant < digits_min {
                    key.bytes[at..at + digits_min - significant].fill(b'0');
                    at += digits_min - significant;
                }
                // A fixed length is copied quicker than the right one; what is too much is cut off.
                let start = DIGITS - significant;
                let copied = &digits[start..start + DIGITS_MAX];
                key.bytes[at..at + DIGITS_MAX].copy_from_slice(copied);
                key.len = at + significant;
            }
            Keys::Base93 { bytes } => {
                let mut rest = identity;
                for place in key.bytes[..bytes].iter_mut().rev() {
                    *place = ZERO + (rest % BASE) as u8;
                    rest /= BASE;
                }
                key.len = bytes;
            }
        }
    }

    /// The identity that a key says; none if it is no key of this kind.
    pub(super) fn read(&self, key: &str) -> Option<u64> {
        let identity = match *self {
            Keys::User { .. } => key.strip_prefix("user")?.parse().ok()?,
            Keys::Base93 { .. } => key.bytes().try_fold(0_u64, |sum, byte| {
                let digit = u64::from(byte.checked_sub(ZERO)?);
                sum.checked_mul(BASE)?.checked_add(digit)
            })?,
        };
        let mut again = KeyText::new();
        self.write(identity, &mut again);
        (again.text() == key).then_some(identity)
    }

    /// Something by which identities order as their keys do.
    pub(super) fn order(&self, identity: u64) -> (u64, usize) {
        match *self {
            Keys::Base93 { .. } => (identity, 0),
            Keys::User { digits_min, .. } => {
                let digits = digits_of(identity).max(digits_min);
                match DIGITS_MAX.checked_sub(digits) {
                    // Padded to at least as many digits as there can be: they order as numbers.
                    None | Some(0) => (identity, 0),
                    // Twenty digits may exceed a word, but the first nineteen and the length do not.
                    Some(1) => (identity, digits),
                    Some(short) => (
                        identity.saturating_mul(10_u64.pow(short as u32 - 1)),
                        digits,
                    ),
                }
            }
        }
    }
}

/// Digits that are written at once.
const DIGITS: usize = 24;
/// Digits of the greatest number.
const DIGITS_MAX: usize = 20;

#[inline]
fn digits_of(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// A number in 24 digits, and room behind them so that as many as there can be are copied from any.
#[inline]
fn decimal(number: u64) -> [u8; DIGITS + DIGITS_MAX] {
    const EIGHT: u64 = 100_000_000;
    let (high, low) = (number / EIGHT, number % EIGHT);
    let mut digits = [0; DIGITS + DIGITS_MAX];
    digits[..8].copy_from_slice(&eight_digits(high / EIGHT));
    digits[8..16].copy_from_slice(&eight_digits(high % EIGHT));
    digits[16..DIGITS].copy_from_slice(&eight_digits(low));
    digits
}

/// A number below 10^8 in eight digits: halves, quarters and eighths of the word are split at once.
#[inline]
fn eight_digits(number: u64) -> [u8; 8] {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = tens | ((twos - tens * 10) << 8);
    (ones + 0x3030_3030_3030_3030).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::{InsertOrder, KeyText, Keys};

    fn user(order: InsertOrder, digits_min: usize) -> Keys {
        Keys::User { order, digits_min }
    }

    fn text(keys: Keys, number: u64) -> String {
        let mut key = KeyText::new();
        keys.write(keys.identity(number), &mut key);
        key.text().to_owned()
    }

    #[test]
    fn keys_read_as_ycsb_and_k2_write_them() {
        let hashed = user(InsertOrder::Hashed, 1);
        assert_eq!(text(hashed, 0), "user6284781860667377211");
        assert_eq!(text(user(InsertOrder::Ordered, 1), 0), "user0");
        assert_eq!(text(user(InsertOrder::Ordered, 6), 42), "user000042");
        assert_eq!(
            text(user(InsertOrder::Ordered, 30), 7),
            format!("user{:030}", 7)
        );
        let base = Keys::Base93 { bytes: 10 };
        assert_eq!(text(base, 0), "!!!!!!!!!!");
        assert_eq!(text(base, 92), "!!!!!!!!!}");
        assert_eq!(text(base, 93 * 93 + 2), "!!!!!!!\"!#");
    }

    #[test]
    fn keys_turn_back_and_others_are_none() {
        let mut words = fastrand::Rng::with_seed(3);
        for keys in [
            user(InsertOrder::Hashed, 1),
            user(InsertOrder::Ordered, 1),
            user(InsertOrder::Ordered, 12),
            Keys::Base93 { bytes: 10 },
        ] {
            for _ in 0..20_000 {
                let number = words.u64(..) >> words.u32(5..64);
                let key = text(keys, number);
                assert_eq!(keys.read(&key), Some(keys.identity(number)), "{key}");
                if let Keys::User { digits_min, .. } = keys {
                    let written = format!("user{:0digits_min$}", keys.identity(number));
                    assert_eq!(key, written);
                }
            }
            assert_eq!(keys.read(""), None);
            assert_eq!(keys.read("user007"), None);
            assert_eq!(keys.read("user-7"), None);
        }
    }

    #[test]
    fn the_order_is_that_of_the_texts() {
        let mut words = fastrand::Rng::with_seed(4);
        for keys in [
            user(InsertOrder::Hashed, 1),
            user(InsertOrder::Ordered, 1),
            user(InsertOrder::Ordered, 5),
            user(InsertOrder::Ordered, 20),
            user(InsertOrder::Ordered, 21),
            Keys::Base93 { bytes: 10 },
        ] {
            let mut all: Vec<u64> = (0..5_000)
                .map(|_| keys.identity(words.u64(..) >> words.u32(1..64)))
                .collect();
            all.sort_unstable_by_key(|identity| keys.order(*identity));
            let texts: Vec<String> = all
                .iter()
                .map(|identity| {
                    let mut key = KeyText::new();
                    keys.write(*identity, &mut key);
                    key.text().to_owned()
                })
                .collect();
            if !matches!(keys, Keys::Base93 { .. }) {
                assert!(texts.is_sorted(), "{keys:?}");
            }
        }
    }
}
