//! Writing and reading the parts of the catalogue's rows.

use crate::access::key::Malformed;

const SHORT: Malformed = Malformed("a row of the catalogue ends too early");

/// A row that is being written.
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    pub(super) fn u16(&mut self, number: u16) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn name(&mut self, name: &str) {
        self.u8(u8::try_from(name.len()).expect("a checked name is short"));
        self.bytes(name.as_bytes());
    }
}

/// A row that is being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*bytes)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// A byte of flags; unknown flags are refused.
    pub(super) fn flags(&mut self, known: u8) -> Result<u8, Malformed> {
        let flags = self.u8()?;
        if flags & !known == 0 {
            Ok(flags)
        } else {
            Err(Malformed("a row of the catalogue has an unknown flag"))
        }
    }

    pub(super) fn name(&mut self) -> Result<String, Malformed> {
        let length = self.u8()?;
        let name = str::from_utf8(self.bytes(length.into())?);
        name.map(str::to_owned).map_err(|_utf8| Malformed("a name in the catalogue is not UTF-8"))
    }

    pub(super) fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Malformed("a row of the catalogue continues after its end"))
        }
    }
}
