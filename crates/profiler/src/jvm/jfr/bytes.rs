//! Reads bytes in order, and never past their end.

use std::borrow::Cow;

/// Why bytes are not a valid flight recording: a clause.
pub(super) type ParseError = String;

/// The remaining bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    left: &'a [u8],
    /// True if whole numbers have variable length.
    compressed: bool,
}

/// A text in an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// Null.
    Null,
    /// The text itself.
    Here(String),
    /// The constant with this number.
    Constant(i64),
}

impl<'a> Bytes<'a> {
    pub(super) fn new(left: &'a [u8], compressed: bool) -> Bytes<'a> {
        Bytes { left, compressed }
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.compressed
    }

    pub(super) fn len(&self) -> usize {
        self.left.len()
    }

    /// The next bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], ParseError> {
        let (taken, left) = self.left.split_at_checked(count).ok_or_else(|| {
            format!("{count} bytes are required but {} are left", self.left.len())
        })?;
        self.left = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ParseError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn byte(&mut self) -> Result<u8, ParseError> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u16_fixed(&mut self) -> Result<u16, ParseError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32_fixed(&mut self) -> Result<u32, ParseError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64_fixed(&mut self) -> Result<u64, ParseError> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn float(&mut self) -> Result<f32, ParseError> {
        self.array().map(f32::from_be_bytes)
    }

    pub(super) fn double(&mut self) -> Result<f64, ParseError> {
        self.array().map(f64::from_be_bytes)
    }

    pub(super) fn long(&mut self) -> Result<i64, ParseError> {
        if !self.compressed {
            return self.u64_fixed().map(u64::cast_signed);
        }
        let mut value = 0_u64;
        for place in 0..8 {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                return Ok(value.cast_signed());
            }
        }
        Ok((value | u64::from(self.byte()?) << 56).cast_signed())
    }

    pub(super) fn int(&mut self) -> Result<i64, ParseError> {
        if self.compressed {
            return self.long();
        }
        self.u32_fixed().map(|value| i64::from(value.cast_signed()))
    }

    pub(super) fn short(&mut self) -> Result<i64, ParseError> {
        if self.compressed {
            return self.long();
        }
        self.u16_fixed().map(|value| i64::from(value.cast_signed()))
    }

    /// The number of elements that follow, each of at least one byte.
    pub(super) fn count(&mut self) -> Result<usize, ParseError> {
        let count = self.int()?;
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= self.left.len())
            .ok_or_else(|| format!("{count} elements in {} bytes", self.left.len()))
    }

    pub(super) fn text(&mut self) -> Result<Text, ParseError> {
        let here = |text: Cow<'_, str>| Text::Here(text.into_owned());
        match self.byte()? {
            0 => Ok(Text::Null),
            1 => Ok(Text::Here(String::new())),
            2 => Ok(Text::Constant(self.long()?)),
            3 => {
                let length = self.count()?;
                Ok(here(String::from_utf8_lossy(self.take(length)?)))
            }
            4 => self.characters(),
            5 => {
                let length = self.count()?;
                let latin = self.take(length)?;
                Ok(Text::Here(latin.iter().copied().map(char::from).collect()))
            }
            other => Err(format!("a text is of the unknown kind {other}")),
        }
    }

    fn characters(&mut self) -> Result<Text, ParseError> {
        let length = self.count()?;
        let mut units = Vec::new();
        for _ in 0..length {
            // A number that is too large for UTF-16 becomes the replacement character.
            units.push(u16::try_from(self.short()?).unwrap_or(0xfffd));
        }
        Ok(Text::Here(String::from_utf16_lossy(&units)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Text};

    #[test]
    fn whole_numbers_are_of_seven_bits_a_byte_and_eight_in_the_ninth() {
        let mut bytes = Bytes::new(&[0x7f, 0x80, 0x01], true);
        assert_eq!((bytes.long(), bytes.long()), (Ok(127), Ok(128)));
        let mut minus_one = Bytes::new(&[0xff; 9], true);
        assert_eq!(minus_one.long(), Ok(-1));
        assert_eq!(minus_one.len(), 0);
        let mut fixed = Bytes::new(&[0, 0, 1, 0], false);
        assert_eq!(fixed.int(), Ok(256));
    }

    #[test]
    fn texts_of_every_kind_are_read() {
        let bytes = [0, 1, 2, 9, 3, 2, 0xc3, 0xa9, 4, 2, 0x41, 0x42, 5, 1, 0xe9, 7];
        let mut bytes = Bytes::new(&bytes, true);
        let here = |text: &str| Ok(Text::Here(text.to_owned()));
        assert_eq!(bytes.text(), Ok(Text::Null));
        assert_eq!(bytes.text(), here(""));
        assert_eq!(bytes.text(), Ok(Text::Constant(9)));
        assert_eq!(bytes.text(), here("é"));
        assert_eq!(bytes.text(), here("AB"));
        assert_eq!(bytes.text(), here("é"));
        assert!(bytes.text().is_err());
    }

    #[test]
    fn a_count_of_more_than_is_left_is_refused() {
        let mut bytes = Bytes::new(&[0xff, 0xff, 0xff, 0xff, 0x07, 1], true);
        assert!(bytes.count().is_err());
    }
}
