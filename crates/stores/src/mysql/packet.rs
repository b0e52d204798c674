//! Packets of the MySQL protocol: framing, and the integers and strings inside them.
//!
//! A packet is three bytes of length, one of sequence, and the payload. A payload of [`PAYLOAD_MAX`]
//! bytes or more is sent as several packets, all but the last of exactly that length. Sequences start
//! at 0 with each command and continue through its answer.
//!
//! Invariants:
//! 1. [`Reader`] never reads beyond its packet: one that is too short is [`Malformed`].
//! 2. Between [`begin`] and [`end`] only the packet's own bytes are appended.

/// The length of a packet's header, in bytes.
pub(super) const HEADER: usize = 4;

/// The maximum payload of one packet; one of exactly this length is followed by another packet.
pub(super) const PAYLOAD_MAX: usize = 0xFF_FF_FF;

/// A violation of the protocol by the server, with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

/// The start of a packet under construction.
#[derive(Clone, Copy, Debug)]
#[must_use = "a packet must be ended"]
pub(super) struct Start(usize);

/// Begins a packet at the end of `out`.
#[inline]
pub(super) fn begin(out: &mut Vec<u8>) -> Start {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    Start(start)
}

/// Ends the packet that started there, numbered from `sequence` on.
#[inline]
pub(super) fn end(out: &mut Vec<u8>, Start(start): Start, sequence: u8) {
    let length = out.len() - start - HEADER;
    if length >= PAYLOAD_MAX {
        split(out, start, sequence);
        return;
    }
    write_header(&mut out[start..start + HEADER], length, sequence);
}

/// Splits a long payload into several packets.
#[cold]
fn split(out: &mut Vec<u8>, start: usize, mut sequence: u8) {
    let payload = out.split_off(start + HEADER);
    out.truncate(start);
    let whole = payload.chunks_exact(PAYLOAD_MAX);
    let rest = whole.remainder();
    for part in whole.chain([rest]) {
        let at = out.len();
        out.extend_from_slice(&[0; HEADER]);
        write_header(&mut out[at..], part.len(), sequence);
        out.extend_from_slice(part);
        sequence = sequence.wrapping_add(1);
    }
}

#[inline]
fn write_header(header: &mut [u8], length: usize, sequence: u8) {
    header[..3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
    header[3] = sequence;
}

/// The length and sequence of a header; `None` if it is incomplete.
#[inline]
pub(super) fn header(bytes: &[u8]) -> Option<(usize, u8)> {
    let [a, b, c, sequence, ..] = *bytes else {
        return None;
    };
    Some((u32::from_le_bytes([a, b, c, 0]) as usize, sequence))
}

/// Appends a length-encoded integer of one to nine bytes.
#[inline]
pub(super) fn put_length(out: &mut Vec<u8>, value: usize) {
    match value {
        0..=250 => out.push(value as u8),
        251..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&(value as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&(value as u64).to_le_bytes());
        }
    }
}

/// Appends bytes after their length.
#[inline]
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_length(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends bytes with a terminating zero.
pub(super) fn put_terminated(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.push(0);
}

/// Reads a packet from front to back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads a payload.
    #[inline]
    pub(super) fn new(payload: &'a [u8]) -> Reader<'a> {
        Reader { rest: payload }
    }

    /// The unread bytes.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `count` bytes.
    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) =
            self.rest.split_at_checked(count).ok_or(Malformed("a packet that is too short"))?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) =
            self.rest.split_first_chunk::<N>().ok_or(Malformed("a packet that is too short"))?;
        self.rest = rest;
        Ok(*taken)
    }

    /// One byte.
    #[inline]
    pub(super) fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(u8::from_le_bytes)
    }

    /// Two bytes.
    #[inline]
    pub(super) fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    #[inline]
    pub(super) fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    #[inline]
    pub(super) fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length-encoded integer of one to nine bytes; the marker of null is invalid.
    #[inline]
    pub(super) fn length(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            small @ 0..=250 => Ok(u64::from(small)),
            0xFC => self.u16().map(u64::from),
            0xFD => {
                let [a, b, c] = self.array()?;
                Ok(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            0xFE => self.u64(),
            _ => Err(Malformed("an invalid length")),
        }
    }

    /// Bytes after their length.
    #[inline]
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.length()?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Bytes after their length, or null.
    pub(super) fn nullable_bytes(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        if self.rest.first() == Some(&0xFB) {
            self.rest = &self.rest[1..];
            return Ok(None);
        }
        self.bytes().map(Some)
    }

    /// Bytes up to a zero, or all remaining ones.
    pub(super) fn terminated(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == 0);
        let (taken, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADER, Malformed, PAYLOAD_MAX, Reader, begin, end, header, put_length};

    #[test]
    fn a_packet_carries_its_length_and_sequence() {
        let mut out = vec![9];
        let start = begin(&mut out);
        out.extend_from_slice(b"abc");
        end(&mut out, start, 7);
        assert_eq!(out, [9, 3, 0, 0, 7, b'a', b'b', b'c']);
        assert_eq!(header(&out[1..]), Some((3, 7)));
        assert_eq!(header(&out[..3]), None);
    }

    #[test]
    fn a_long_packet_is_split_and_its_last_part_is_shorter() {
        for (length, parts) in
            [(PAYLOAD_MAX, vec![PAYLOAD_MAX, 0]), (PAYLOAD_MAX + 5, vec![PAYLOAD_MAX, 5])]
        {
            let mut out = Vec::new();
            let start = begin(&mut out);
            out.resize(HEADER + length, 1);
            end(&mut out, start, 255);
            let (mut at, mut sequence) = (0, 255_u8);
            for part in parts {
                assert_eq!(header(&out[at..]), Some((part, sequence)));
                at += HEADER + part;
                sequence = sequence.wrapping_add(1);
            }
            assert_eq!(at, out.len());
        }
    }

    #[test]
    fn lengths_of_any_size_survive_a_round_trip() {
        for value in [0, 250, 251, 0xFFFF, 0x1_0000, 0xFF_FFFF, 0x100_0000, 1 << 40] {
            let mut out = Vec::new();
            put_length(&mut out, value);
            let mut reader = Reader::new(&out);
            assert_eq!(reader.length(), Ok(value as u64));
            assert!(reader.rest().is_empty());
        }
    }

    #[test]
    fn a_packet_that_is_too_short_is_malformed() {
        assert!(Reader::new(&[1, 2, 3]).u32().is_err());
        assert!(Reader::new(&[5, b'a']).bytes().is_err());
        assert!(Reader::new(&[0xFE, 1]).length().is_err());
        let huge = [0xFE, 255, 255, 255, 255, 255, 255, 255, 255];
        assert!(Reader::new(&huge).bytes().is_err());
        assert_eq!(Reader::new(&[0xFB]).length(), Err(Malformed("an invalid length")));
        assert_eq!(Reader::new(&[0xFB]).nullable_bytes(), Ok(None));
    }
}
