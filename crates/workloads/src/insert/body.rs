//! The text of a row: 100 characters that identify the row and verify every character.
//!
//! Format, all in lower case hexadecimal:
//!
//! | characters | content |
//! |---|---|
//! | 0..8 | the client's number |
//! | 8..24 | the row's number among that client's rows |
//! | 24..100 | digits mixed from seed, client and row |
//!
//! The mixed digits serve as checksum and filler: anyone with the seed can recompute them, so a change of any
//! character is detected. Making a body takes eight rounds of mixing without a table, about 25 ns.

use crate::distributions::mixed;

/// Size of a body in bytes.
pub const BODY_BYTES: usize = 100;

const CLIENT_BYTES: usize = 8;
const TOKEN_BYTES: usize = 24;

/// An odd constant whose multiples visit all 64-bit numbers, far from each other.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A row's text, rewritten in place for each row.
#[derive(Clone, Debug)]
pub struct Body {
    bytes: [u8; BODY_BYTES],
    seed: u64,
}

impl Body {
    /// The maker of bodies for one seed.
    pub fn new(seed: u64) -> Body {
        Body { bytes: [b'0'; BODY_BYTES], seed }
    }

    /// The body of a client's row.
    #[inline]
    pub fn write(&mut self, client: u32, row: u64) -> &str {
        let token = hex(row);
        self.bytes[..CLIENT_BYTES].copy_from_slice(&hex(u64::from(client))[8..]);
        self.bytes[CLIENT_BYTES..TOKEN_BYTES].copy_from_slice(&token);
        let base = mixed(mixed(self.seed ^ mixed(u64::from(client))) ^ row);
        // Each chunk mixes a different number, so that the processor can work on several at once.
        for (number, chunk) in (1_u64..).zip(self.bytes[TOKEN_BYTES..].chunks_mut(16)) {
            let digits = hex(mixed(base.wrapping_add(number.wrapping_mul(ODD))));
            chunk.copy_from_slice(&digits[..chunk.len()]);
        }
        str::from_utf8(&self.bytes).expect("hexadecimal digits are text")
    }

    /// The client and row of a text, if every character is as that client sent it.
    pub fn read(&mut self, text: &str) -> Option<(u32, u64)> {
        let client = u32::from_str_radix(text.get(..CLIENT_BYTES)?, 16).ok()?;
        let row = u64::from_str_radix(text.get(CLIENT_BYTES..TOKEN_BYTES)?, 16).ok()?;
        (self.write(client, row) == text).then_some((client, row))
    }
}

/// Sixteen hexadecimal digits of a word, highest first, computed eight at a time.
#[inline]
fn hex(word: u64) -> [u8; 16] {
    let mut digits = [0; 16];
    digits[..8].copy_from_slice(&eight_digits((word >> 32) as u32).to_be_bytes());
    digits[8..].copy_from_slice(&eight_digits(word as u32).to_be_bytes());
    digits
}

#[inline]
fn eight_digits(half: u32) -> u64 {
    // Spread the eight nibbles over eight bytes, then add '0' to each, and 39 more to those of ten and above.
    let mut nibbles = u64::from(half);
    nibbles = (nibbles | (nibbles << 16)) & 0x0000_ffff_0000_ffff;
    nibbles = (nibbles | (nibbles << 8)) & 0x00ff_00ff_00ff_00ff;
    nibbles = (nibbles | (nibbles << 4)) & 0x0f0f_0f0f_0f0f_0f0f;
    let above_nine = ((nibbles + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    nibbles + 0x3030_3030_3030_3030 + above_nine * 39
}

#[cfg(test)]
mod tests {
    use super::{BODY_BYTES, Body, hex};

    #[test]
    fn digits_match_the_standard_library() {
        for word in [0, 1, 9, 10, 15, 16, 0x0123_4567_89ab_cdef, u64::MAX] {
            assert_eq!(str::from_utf8(&hex(word)), Ok(format!("{word:016x}").as_str()));
        }
    }

    #[test]
    fn a_body_identifies_its_row_and_detects_changes() {
        let mut maker = Body::new(7);
        let text = maker.write(3, 41).to_owned();
        assert_eq!(text.len(), BODY_BYTES);
        assert_eq!(maker.read(&text), Some((3, 41)));
        for place in 0..BODY_BYTES {
            let mut bytes = text.clone().into_bytes();
            bytes[place] = if bytes[place] == b'0' { b'1' } else { b'0' };
            let altered = String::from_utf8(bytes).unwrap();
            assert_eq!(maker.read(&altered), None, "change at {place}");
        }
        assert_eq!(maker.read(&text[..99]), None);
        assert_eq!(maker.read(""), None);
        assert_eq!(maker.read("søk"), None);
        assert_eq!(Body::new(8).read(&text), None);
    }
}
