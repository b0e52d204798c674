//! Keys: a row's number, the identity in its key, and the key's text.
//!
//! | profile | identity | text |
//! |---|---|---|
//! | ycsb, hashed | FNV hash of the number | "user", then the identity in decimal, padded with zeros |
//! | ycsb, ordered | the number | the same |
//! | k2 | the number | the number in base 93 from `!`, padded with `!` to the field's length |

use super::option_values::InsertOrder;
use crate::distributions::fnv64;
use std::iter;

/// The most bytes of a key.
pub(super) const KEY_BYTES_MAX: usize = 128;
// The longest padded key.
const _: () = assert!(PREFIX.len() + 100 <= KEY_BYTES_MAX);

const PREFIX: &str = "user";
/// The lowest digit of K2's numbers.
const ZERO: u8 = b'!';
const BASE: u64 = 93;

/// The format of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// YCSB's keys.
    User {
        order: InsertOrder,
        /// The minimum number of digits.
        digits_min: usize,
    },
    /// K2's keys.
    Base93 {
        /// Length of every key.
        bytes: usize,
    },
}

impl Keys {
    /// The identity for a row's number.
    #[inline]
    pub(super) fn identity(&self, number: u64) -> u64 {
        match self {
            Keys::User { order: InsertOrder::Hashed, .. } => fnv64(number),
            Keys::User { order: InsertOrder::Ordered, .. } | Keys::Base93 { .. } => number,
        }
    }

    /// Replaces the text by the key of an identity.
    #[inline]
    pub(super) fn write(&self, identity: u64, key: &mut String) {
        key.clear();
        match *self {
            Keys::User { digits_min, .. } => {
                let mut digits = itoa::Buffer::new();
                let digits = digits.format(identity);
                key.push_str(PREFIX);
                if digits.len() < digits_min {
                    key.extend(iter::repeat_n('0', digits_min - digits.len()));
                }
                key.push_str(digits);
            }
            Keys::Base93 { bytes } => {
                let digits = (0..bytes as u32).rev().map(|place| {
                    let power = BASE.checked_pow(place);
                    power.map_or(0, |power| identity / power % BASE)
                });
                key.extend(digits.map(|digit| char::from(ZERO + digit as u8)));
            }
        }
    }

    /// The key of an identity.
    pub(super) fn text(&self, identity: u64) -> String {
        let mut key = String::new();
        self.write(identity, &mut key);
        key
    }

    /// The identity in a key; none if it is not a valid key.
    pub(super) fn read(&self, key: &str) -> Option<u64> {
        let identity = match *self {
            Keys::User { .. } => key.strip_prefix(PREFIX)?.parse().ok()?,
            Keys::Base93 { .. } => key.bytes().try_fold(0_u64, |sum, byte| {
                let digit = u64::from(byte.checked_sub(ZERO)?);
                sum.checked_mul(BASE)?.checked_add(digit)
            })?,
        };
        (self.text(identity) == key).then_some(identity)
    }

    /// A value that orders identities like their keys.
    pub(super) fn order(&self, identity: u64) -> (u64, usize) {
        match *self {
            Keys::Base93 { .. } => (identity, 0),
            Keys::User { digits_min, .. } => {
                let digits = digits_of(identity).max(digits_min);
                match DIGITS_MAX.checked_sub(digits) {
                    // Padded to at least as many digits as a number can have, so they order as numbers.
                    None | Some(0) => (identity, 0),
                    // Twenty digits may exceed a word, but the first nineteen and the length do not.
                    Some(1) => (identity, digits),
                    Some(short) => (identity.saturating_mul(10_u64.pow(short as u32 - 1)), digits),
                }
            }
        }
    }
}

/// Digits of the greatest number.
const DIGITS_MAX: usize = 20;

fn digits_of(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

#[cfg(test)]
mod tests {
    use super::{InsertOrder, Keys};

    fn user(order: InsertOrder, digits_min: usize) -> Keys {
        Keys::User { order, digits_min }
    }

    fn text(keys: Keys, number: u64) -> String {
        keys.text(keys.identity(number))
    }

    #[test]
    fn keys_match_those_of_ycsb_and_k2() {
        let hashed = user(InsertOrder::Hashed, 1);
        assert_eq!(text(hashed, 0), "user6284781860667377211");
        assert_eq!(text(user(InsertOrder::Ordered, 1), 0), "user0");
        assert_eq!(text(user(InsertOrder::Ordered, 6), 42), "user000042");
        assert_eq!(text(user(InsertOrder::Ordered, 30), 7), format!("user{:030}", 7));
        let base = Keys::Base93 { bytes: 10 };
        assert_eq!(text(base, 0), "!!!!!!!!!!");
        assert_eq!(text(base, 92), "!!!!!!!!!}");
        assert_eq!(text(base, 93 * 93 + 2), "!!!!!!!\"!#");
    }

    #[test]
    fn valid_keys_are_parsed_and_others_are_refused() {
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
            let mut all: Vec<u64> =
                (0..5_000).map(|_| keys.identity(words.u64(..) >> words.u32(1..64))).collect();
            all.sort_unstable_by_key(|identity| keys.order(*identity));
            let texts: Vec<String> = all.iter().map(|identity| keys.text(*identity)).collect();
            if !matches!(keys, Keys::Base93 { .. }) {
                assert!(texts.is_sorted(), "{keys:?}");
            }
        }
    }
}
