//! The content of a field: text that follows from key, field and version, so that any value can be verified.
//!
//! ```text
//! value = version, six characters    body, the rest
//! ```
//!
//! The version is a number of 36 bits, zero for loaded values and a different one for every update, encoded
//! in six of 64 characters and masked by bits of the identity of key and field. The body is a slice of a long
//! random text, at an offset that follows from key, field and version. So a value in another row or field, a
//! torn one and a truncated one are detected, except for a chance of 1 in 65,536 that a body matches by
//! accident. Making or verifying a value of 100 bytes takes a hash and a copy or comparison, about 10 ns.
//!
//! A value shorter than six bytes has no space for a version: it is the start of the text of key and field,
//! the same in every write.

use super::histogram::FieldHistogram;
use super::option_values::Lengths;
use super::options::Options;
use crate::distributions::{Gray, Stream, mixed};
use std::sync::Arc;

/// Length of an encoded version.
const VERSION_SIGNS: usize = 6;
/// Bits of a version.
const VERSION_BITS: u64 = (1 << 36) - 1;
/// Number of offsets at which a body can start.
const STARTS: usize = 1 << 16;

const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
/// The number of each character; 64 for invalid ones.
const NUMBERS: [u8; 256] = numbers();
const NO_SIGN: u8 = 64;

/// Makes and verifies values.
#[derive(Clone, Debug)]
pub(super) struct Content {
    /// The random text from which bodies are taken.
    random: Arc<str>,
    bytes_max: usize,
    bytes_min: usize,
    lengths: ValueLengths,
}

#[derive(Clone, Debug)]
enum ValueLengths {
    Constant,
    Uniform,
    Zipfian(Gray),
    Histogram(FieldHistogram),
}

impl Content {
    /// For the values that the options describe.
    pub(super) fn of(options: &Options) -> Content {
        let (most, least) = (options.field_bytes as usize, options.field_bytes_min as usize);
        match &options.field_histogram {
            Some(histogram) if options.field_lengths == Lengths::Histogram => Content {
                lengths: ValueLengths::Histogram(histogram.clone()),
                ..Content::new(most, least, Lengths::Constant)
            },
            _ => Content::new(most, least, options.field_lengths),
        }
    }

    /// For values of at most `bytes_max` bytes, at least 1; and of at least `bytes_min`, if lengths vary.
    fn new(bytes_max: usize, bytes_min: usize, lengths: Lengths) -> Content {
        let mut random = vec![0; STARTS + bytes_max];
        Stream::of_load("ycsb values", 0).fill(&mut random);
        let random = String::from_utf8(random).expect("signs are ASCII");
        Content {
            random: random.into(),
            bytes_max,
            bytes_min,
            lengths: match lengths {
                Lengths::Constant | Lengths::Histogram => ValueLengths::Constant,
                Lengths::Uniform => ValueLengths::Uniform,
                Lengths::Zipfian => {
                    ValueLengths::Zipfian(Gray::new((bytes_max - bytes_min + 1) as u64, 0.99))
                }
            },
        }
    }

    /// Appends the value of a key's field in a version.
    #[inline]
    pub(super) fn write(&self, key: u64, field: usize, version: u64, value: &mut String) {
        let identity = identity(key, field);
        let version = version & VERSION_BITS;
        let bytes = self.bytes(identity, version);
        if bytes < VERSION_SIGNS {
            value.push_str(self.piece(identity, 0, bytes));
            return;
        }
        let mut hidden = version ^ (identity & VERSION_BITS);
        let signs: [u8; VERSION_SIGNS] = std::array::from_fn(|_| {
            let sign = SIGNS[(hidden & 63) as usize];
            hidden >>= 6;
            sign
        });
        value.push_str(str::from_utf8(&signs).expect("signs are ASCII"));
        value.push_str(self.piece(identity, version, bytes - VERSION_SIGNS));
    }

    /// The version in a value of this key and field; none if the value is too short.
    pub(super) fn version(key: u64, field: usize, value: &str) -> Option<u64> {
        let (signs, _) = value.as_bytes().split_first_chunk::<VERSION_SIGNS>()?;
        let digits = signs.iter().rev();
        let hidden = digits
            .fold(0, |hidden, sign| (hidden << 6) | u64::from(NUMBERS[usize::from(*sign)] & 63));
        Some(hidden ^ (identity(key, field) & VERSION_BITS))
    }

    /// The distance from one version to a later one.
    pub(super) fn versions_between(first: u64, version: u64) -> u64 {
        version.wrapping_sub(first) & VERSION_BITS
    }

    /// True if a value is valid for this key and field, in any version.
    #[inline]
    pub(super) fn holds(&self, key: u64, field: usize, value: &str) -> bool {
        let identity = identity(key, field);
        let bytes = value.as_bytes();
        let Some((signs, body)) = bytes.split_first_chunk::<VERSION_SIGNS>() else {
            let fits = self.may_be(bytes.len());
            return fits && self.piece(identity, 0, bytes.len()) == value;
        };
        let (mut hidden, mut all) = (0, 0);
        for sign in signs.iter().rev() {
            let number = NUMBERS[usize::from(*sign)];
            all |= number;
            hidden = (hidden << 6) | u64::from(number & 63);
        }
        let version = hidden ^ (identity & VERSION_BITS);
        all & NO_SIGN == 0
            && bytes.len() == self.bytes(identity, version)
            && self.piece(identity, version, body.len()).as_bytes() == body
    }

    /// The length of a value.
    #[inline]
    fn bytes(&self, identity: u64, version: u64) -> usize {
        match &self.lengths {
            ValueLengths::Constant => self.bytes_max,
            ValueLengths::Uniform => {
                let spread = (self.bytes_max - self.bytes_min + 1) as u64;
                let longer = Self::of_length(identity, version).below(spread);
                self.bytes_min + longer as usize
            }
            ValueLengths::Zipfian(gray) => {
                self.bytes_min + gray.draw(&mut Self::of_length(identity, version)) as usize
            }
            ValueLengths::Histogram(histogram) => {
                histogram.draw(&mut Self::of_length(identity, version)) as usize
            }
        }
    }

    /// True if a value without a version may have this length.
    fn may_be(&self, bytes: usize) -> bool {
        match &self.lengths {
            ValueLengths::Constant => bytes == self.bytes_max,
            ValueLengths::Histogram(histogram) => histogram.has(bytes as u64),
            ValueLengths::Uniform | ValueLengths::Zipfian(_) => {
                (self.bytes_min..=self.bytes_max).contains(&bytes)
            }
        }
    }

    fn of_length(identity: u64, version: u64) -> Stream {
        Stream::of_load("ycsb lengths", identity ^ mixed(version))
    }

    #[inline]
    fn piece(&self, identity: u64, version: u64, bytes: usize) -> &str {
        // The version is mixed into the offset differently from the identity, otherwise flipping its bits
        // would be like flipping the identity's.
        let start = (mixed(identity.rotate_left(24) ^ version) >> 48) as usize;
        &self.random[start..start + bytes]
    }
}

#[inline]
fn identity(key: u64, field: usize) -> u64 {
    mixed(key ^ (field as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

const fn numbers() -> [u8; 256] {
    let mut numbers = [NO_SIGN; 256];
    let mut number = 0;
    while number < SIGNS.len() {
        numbers[SIGNS[number] as usize] = number as u8;
        number += 1;
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::{Content, Lengths};

    fn value(content: &Content, key: u64, field: usize, version: u64) -> String {
        let mut value = String::new();
        content.write(key, field, version, &mut value);
        value
    }

    #[test]
    fn values_are_valid_in_any_version_but_only_in_their_place() {
        let mut words = fastrand::Rng::with_seed(5);
        for (most, lengths) in [
            (100, Lengths::Constant),
            (10, Lengths::Constant),
            (100, Lengths::Uniform),
            (100, Lengths::Zipfian),
        ] {
            let content = Content::new(most, 8.min(most), lengths);
            let mut elsewhere = 0;
            for _ in 0..5_000 {
                let (key, field, version) = (words.u64(..), words.usize(..10), words.u64(..));
                let made = value(&content, key, field, version);
                assert!(content.holds(key, field, &made), "{made}");
                elsewhere += usize::from(content.holds(key + 1, field, &made));
                elsewhere += usize::from(content.holds(key, field + 1, &made));
                elsewhere += usize::from(content.holds(key, field, &made[..made.len() - 1]));
                elsewhere += usize::from(content.holds(key, field, &format!("{made}A")));
            }
            assert!(elsewhere <= 20, "{most} bytes, {lengths:?}: {elsewhere} of 20,000");
        }
    }

    /// f15.
    #[test]
    fn values_with_lengths_of_a_histogram_are_valid() {
        let options = crate::ycsb::Options::parse(
            &syncline_contract::OptionArgs::new(
                "workload ycsb".to_owned(),
                crate::ycsb::Options::LISTING,
                &[
                    ("field_lengths".to_owned(), "histogram".to_owned()),
                    ("field_histogram".to_owned(), "3:2,0,5,1".to_owned()),
                ],
            )
            .unwrap(),
        );
        let content = Content::of(&options.unwrap());
        let mut lengths = std::collections::BTreeSet::new();
        for key in 0..500 {
            let made = value(&content, key, 1, 4);
            assert!(content.holds(key, 1, &made), "{made}");
            lengths.insert(made.len());
        }
        assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [3, 9]);
    }

    #[test]
    fn a_change_of_any_byte_is_detected() {
        let content = Content::new(100, 1, Lengths::Constant);
        let made = value(&content, 7, 3, 12_345);
        for place in 0..made.len() {
            let mut bytes = made.clone().into_bytes();
            bytes[place] = if bytes[place] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(!content.holds(7, 3, &changed), "byte {place}");
        }
        assert_ne!(made, value(&content, 7, 3, 12_346));
    }

    #[test]
    fn a_value_too_short_for_a_version_is_the_same_in_all() {
        let content = Content::new(5, 1, Lengths::Constant);
        let made = value(&content, 9, 0, 1);
        assert_eq!(made, value(&content, 9, 0, 2));
        assert!(content.holds(9, 0, &made) && !content.holds(9, 1, &made));
        assert!(!content.holds(9, 0, "") && !content.holds(9, 0, &made[..4]));
    }

    #[test]
    fn lengths_are_within_their_bounds() {
        for (lengths, least) in [(Lengths::Uniform, 20), (Lengths::Zipfian, 1)] {
            let content = Content::new(60, least, lengths);
            let all = (0..2_000).map(|key| value(&content, key, 0, 0).len());
            let all: Vec<usize> = all.collect();
            assert_eq!(all.iter().min(), Some(&least), "{lengths:?}");
            assert!(all.iter().max().is_some_and(|most| *most > 50 && *most <= 60));
        }
    }

    /// About 10 ns in an optimized build. The bound holds on a busy machine without optimization too, but not
    /// if the random text were generated for every check.
    #[test]
    fn verifying_a_value_costs_a_hash_and_a_comparison() {
        let content = Content::new(100, 1, Lengths::Constant);
        let fields: Vec<String> = (0..10).map(|field| value(&content, 5, field, 9)).collect();
        let (rounds, mut held) = (5_000_u64, 0_u64);
        let began = std::time::SystemTime::now();
        for _ in 0..rounds {
            for (field, made) in fields.iter().enumerate() {
                held += u64::from(content.holds(std::hint::black_box(5), field, made));
            }
        }
        assert_eq!(held, rounds * 10);
        let took_ns = began.elapsed().unwrap().as_nanos() as f64 / held as f64;
        assert!(took_ns < 50_000.0, "a field of 100 bytes: {took_ns:.1} ns");
    }
}
