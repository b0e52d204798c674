//! Texts: last names of three syllables, words for loading, zip codes, "ORIGINAL".
//!
//! The words for loading are slices of one pool of random letters and digits, at random offsets, so a row
//! costs no more than its bytes and no allocation.

use crate::distributions::Stream;
use std::sync::LazyLock;

/// Number of last names.
pub(super) const LAST_NAMES: i64 = 1_000;

/// Contained in one of ten item and stock texts.
const ORIGINAL: &[u8; 8] = b"ORIGINAL";

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

static LAST: LazyLock<Vec<String>> = LazyLock::new(|| {
    let name = |number: usize| {
        [number / 100, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit]).concat()
    };
    (0..LAST_NAMES as usize).map(name).collect()
});

/// The last name for a number from 0 to 999: one syllable for each of its three digits (clause 4.3.2.3).
#[inline]
pub(super) fn last_name(number: i64) -> &'static str {
    &LAST[number as usize]
}

/// True if an item or stock text marks the item as original.
#[inline]
pub(super) fn is_original(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == ORIGINAL[0]) {
        rest = &rest[at..];
        if rest.starts_with(ORIGINAL) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

const POOL_BYTES: usize = 1 << 18;

/// The pool of letters and digits for loading.
#[derive(Debug)]
pub(super) struct Texts(Box<str>);

impl Texts {
    pub(super) fn new() -> Texts {
        let mut bytes = vec![0; POOL_BYTES];
        Stream::of_load("texts", 0).fill(&mut bytes);
        let text = String::from_utf8(bytes).expect("streams fill with letters and digits");
        Texts(text.into_boxed_str())
    }

    /// This many letters and digits.
    #[inline]
    pub(super) fn of(&self, stream: &mut Stream, length: usize) -> &str {
        let start = stream.below((POOL_BYTES - length) as u64) as usize;
        &self.0[start..start + length]
    }

    /// A random number of letters and digits between two bounds.
    #[inline]
    pub(super) fn between(&self, stream: &mut Stream, least: usize, most: usize) -> &str {
        let length = stream.between(least as i64, most as i64) as usize;
        self.of(stream, length)
    }

    /// An item or stock text of 26 to 50 characters; one in ten contains "ORIGINAL" at a random place.
    pub(super) fn data<'a>(&'a self, stream: &mut Stream, buffer: &'a mut [u8; 50]) -> &'a str {
        let text = self.between(stream, 26, 50);
        if !stream.percent(10) {
            return text;
        }
        let buffer = &mut buffer[..text.len()];
        buffer.copy_from_slice(text.as_bytes());
        let place = stream.below((text.len() - ORIGINAL.len() + 1) as u64) as usize;
        buffer[place..place + ORIGINAL.len()].copy_from_slice(ORIGINAL);
        str::from_utf8(buffer).expect("letters and digits")
    }
}

/// Random digits.
pub(super) fn digits<'a>(stream: &mut Stream, buffer: &'a mut [u8]) -> &'a str {
    for byte in buffer.iter_mut() {
        *byte = b'0' + stream.below(10) as u8;
    }
    str::from_utf8(buffer).expect("digits")
}

/// A zip code: four random digits and "11111" (clause 4.3.2.7).
pub(super) fn zip<'a>(stream: &mut Stream, buffer: &'a mut [u8; 9]) -> &'a str {
    *buffer = *b"000011111";
    digits(stream, &mut buffer[..4]);
    str::from_utf8(buffer).expect("digits")
}

#[cfg(test)]
mod tests {
    use super::{Texts, is_original, last_name, zip};
    use crate::distributions::Stream;

    #[test]
    fn last_names_have_one_syllable_per_digit() {
        assert_eq!(last_name(0), "BARBARBAR");
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(999), "EINGEINGEING");
    }

    #[test]
    fn texts_keep_to_their_lengths_and_one_in_ten_is_original() {
        let (texts, mut stream) = (Texts::new(), Stream::of_load("test", 0));
        let (mut buffer, mut original, mut lengths) = ([0; 50], 0, [0; 51]);
        for _ in 0..100_000 {
            let text = texts.data(&mut stream, &mut buffer);
            lengths[text.len()] += 1;
            original += u32::from(is_original(text));
        }
        assert!((9_500..10_500).contains(&original), "{original}");
        assert!(lengths[..26].iter().all(|count| *count == 0));
        assert!(lengths[26..].iter().all(|count| *count > 3_000), "{lengths:?}");
    }

    #[test]
    fn original_is_found_at_either_end_and_not_in_part() {
        for text in ["ORIGINAL", "xOORIGINAL", "ORIGINALx"] {
            assert!(is_original(text), "{text}");
        }
        for text in ["", "ORIGINA", "ORIGINOL", "RIGINAL"] {
            assert!(!is_original(text), "{text}");
        }
    }

    #[test]
    fn a_zip_code_ends_in_ones() {
        let mut buffer = [0; 9];
        let text = zip(&mut Stream::of_load("zip", 0), &mut buffer);
        assert!(text.ends_with("11111") && text.bytes().all(|byte| byte.is_ascii_digit()));
    }
}
