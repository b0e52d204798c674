//! A frame: the unit of one write. A header, then records back to back, then zeros up to the frame unit.
//!
//! Header, 88 bytes, little endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | magic `SLFR` |
//! | 4 | 4 | CRC32C of everything from offset 8 to the end of the payload |
//! | 8 | 2 | format, 1 |
//! | 10 | 2 | flags: 1 = fragment, 2 = the fragment ends its record, 4 = copied by recovery |
//! | 12 | 4 | stream id, 0 |
//! | 16 | 16 | database id |
//! | 32 | 8 | segment number |
//! | 40 | 8 | frame number (the "ticket" of a write) |
//! | 48 | 8 | csn of the first record |
//! | 56 | 4 | count of records that end here |
//! | 60 | 4 | payload bytes |
//! | 64 | 8 | wall clock, ns since 1970, never less than in the frame before |
//! | 72 | 8 | last frame known stable when this one was built |
//! | 80 | 4 | CRC32C of the frame before |
//! | 84 | 4 | zero |
//!
//! A record is 8 bytes and its content: length of the content (4), kind (1), flags (1: bit 0 = a reader that
//! does not know the kind may skip the record), zero (2).
//!
//! Invariants:
//! 1. A frame holds whole records with consecutive csns, or (fragment) a piece of a single one.
//! 2. A record in fragments is counted by the last of them: until then the record does not exist.
//! 3. A frame is accepted only with the expected frame number, segment number, database id and checksum of
//!    its predecessor, and with a valid checksum of its own.

use crate::ids::{Csn, DatabaseId, FrameNumber, SegmentNumber};
use crate::planted_bug::{PlantedBug, planted};

/// Bytes of a frame's header.
pub(super) const HEADER_BYTES: usize = 88;

/// The position of the payload length in a header, in bits.
pub(super) const PAYLOAD_LENGTH_BITS: std::ops::Range<usize> = 60 * 8..64 * 8;

/// Bytes before each record's content.
pub(super) const RECORD_HEADER_BYTES: usize = 8;

/// The format of frames written here.
pub(super) const FORMAT: u16 = 1;

const MAGIC: [u8; 4] = *b"SLFR";

/// Above every commit, frame or segment number: a version word keeps 48 bits of its commit's number.
pub(super) const NUMBERS_END: u64 = 1 << 48;

/// The kind of a frame's payload, and whether recovery copied it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    /// The payload is a piece of one record.
    pub(super) fragment: bool,
    /// The piece is the last of its record.
    pub(super) last: bool,
    /// Recovery copied it from the segment before; so it may exist before the segment's header is synced.
    pub(super) copied: bool,
}

impl Flags {
    fn to_bits(self) -> u16 {
        u16::from(self.fragment) | u16::from(self.last) << 1 | u16::from(self.copied) << 2
    }

    fn from_bits(bits: u16) -> Flags {
        Flags { fragment: bits & 1 != 0, last: bits & 2 != 0, copied: bits & 4 != 0 }
    }
}

/// The header of a frame, without magic, checksum and format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) flags: Flags,
    pub(super) database: DatabaseId,
    pub(super) segment: SegmentNumber,
    pub(super) number: FrameNumber,
    pub(super) first: Csn,
    pub(super) count: u32,
    pub(super) payload_bytes: u32,
    pub(super) wall_ns: u64,
    pub(super) stable: FrameNumber,
    pub(super) previous_crc: u32,
}

impl FrameHeader {
    /// The last csn that is whole once this frame is stable.
    pub(super) fn last(&self) -> Csn {
        Csn(self.first.0 + u64::from(self.count) - 1)
    }

    /// True if the next frame starts with a new record.
    pub(super) fn ends_record(&self) -> bool {
        !self.flags.fragment || self.flags.last
    }

    /// Bytes that the frame takes in a segment with this unit.
    pub(super) fn frame_bytes(&self, unit: u32) -> usize {
        frame_bytes(self.payload_bytes as usize, unit)
    }
}

/// Bytes that a frame with this payload takes.
pub(super) fn frame_bytes(payload_bytes: usize, unit: u32) -> usize {
    (HEADER_BYTES + payload_bytes).next_multiple_of(unit as usize)
}

/// Writes the header in front of the payload, which is already in place at [`HEADER_BYTES`], and zeros behind
/// it up to the unit. Returns the frame's checksum and its length in bytes.
pub(super) fn seal(frame: &mut [u8], header: &FrameHeader, unit: u32) -> (u32, usize) {
    let end = HEADER_BYTES + header.payload_bytes as usize;
    let len = header.frame_bytes(unit);
    frame[0..4].copy_from_slice(&MAGIC);
    frame[8..10].copy_from_slice(&FORMAT.to_le_bytes());
    frame[10..12].copy_from_slice(&header.flags.to_bits().to_le_bytes());
    frame[12..16].fill(0);
    frame[16..32].copy_from_slice(&header.database.0);
    frame[32..40].copy_from_slice(&header.segment.0.to_le_bytes());
    frame[40..48].copy_from_slice(&header.number.0.to_le_bytes());
    frame[48..56].copy_from_slice(&header.first.0.to_le_bytes());
    frame[56..60].copy_from_slice(&header.count.to_le_bytes());
    frame[60..64].copy_from_slice(&header.payload_bytes.to_le_bytes());
    frame[64..72].copy_from_slice(&header.wall_ns.to_le_bytes());
    frame[72..80].copy_from_slice(&header.stable.0.to_le_bytes());
    frame[80..84].copy_from_slice(&header.previous_crc.to_le_bytes());
    frame[84..88].fill(0);
    frame[end..len].fill(0);
    let crc = crc32c::crc32c(&frame[8..end]);
    frame[4..8].copy_from_slice(&crc.to_le_bytes());
    (crc, len)
}

/// Reads the frame at the start of `bytes`: its header and checksum, if it is whole and the checksum is
/// right.
pub(super) fn open(bytes: &[u8]) -> Option<(FrameHeader, u32)> {
    let header = unchecked_header(bytes)?;
    let end = HEADER_BYTES.checked_add(header.payload_bytes as usize)?;
    let crc = u32::from_le_bytes(array(bytes, 4));
    let covered = bytes.get(8..end)?;
    let format_fits = u16::from_le_bytes(array(bytes, 8)) == FORMAT;
    let right = crc32c::crc32c(covered);
    if planted(PlantedBug::ReChecksum) {
        return format_fits.then_some((header, right));
    }
    let sound = right == crc || planted(PlantedBug::SkipChecksum);
    (format_fits && sound && is_sensible(&header)).then_some((header, crc))
}

/// The header fields if the magic is right; they are not verified in any other way.
pub(super) fn unchecked_header(bytes: &[u8]) -> Option<FrameHeader> {
    if bytes.len() < HEADER_BYTES || bytes[0..4] != MAGIC {
        return None;
    }
    Some(FrameHeader {
        flags: Flags::from_bits(u16::from_le_bytes(array(bytes, 10))),
        database: DatabaseId(array(bytes, 16)),
        segment: SegmentNumber(u64::from_le_bytes(array(bytes, 32))),
        number: FrameNumber(u64::from_le_bytes(array(bytes, 40))),
        first: Csn(u64::from_le_bytes(array(bytes, 48))),
        count: u32::from_le_bytes(array(bytes, 56)),
        payload_bytes: u32::from_le_bytes(array(bytes, 60)),
        wall_ns: u64::from_le_bytes(array(bytes, 64)),
        stable: FrameNumber(u64::from_le_bytes(array(bytes, 72))),
        previous_crc: u32::from_le_bytes(array(bytes, 80)),
    })
}

/// Checks the values that reading relies on. A frame that fails was written by a program with a bug, or
/// damaged in a way that its checksum does not show.
fn is_sensible(header: &FrameHeader) -> bool {
    // Each record that a frame holds whole has a header.
    let records_max = header.payload_bytes as usize / RECORD_HEADER_BYTES;
    let is_counted = header.flags.fragment || header.count as usize <= records_max;
    is_counted
        && (1..NUMBERS_END).contains(&header.first.0)
        && (1..NUMBERS_END).contains(&header.number.0)
        && header.stable < header.number
}

/// The length in bytes of the frame that starts with `bytes`, according to its unverified header.
pub(super) fn announced_bytes(bytes: &[u8], unit: u32) -> Option<usize> {
    if bytes.len() < HEADER_BYTES || bytes[0..4] != MAGIC {
        return None;
    }
    let payload_bytes = u32::from_le_bytes(array(bytes, 60));
    Some(frame_bytes(payload_bytes as usize, unit))
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A csn whose transaction was refused after taking it.
    Void,
    /// The changes of a transaction.
    Transaction,
}

impl Kind {
    /// The byte on disk.
    pub(super) fn byte(self) -> u8 {
        match self {
            Kind::Void => 0,
            Kind::Transaction => 1,
        }
    }
}

/// The header of a record with `bytes` bytes of content.
#[inline]
pub(super) fn record_header(kind: Kind, bytes: usize) -> [u8; RECORD_HEADER_BYTES] {
    let mut header = [0; RECORD_HEADER_BYTES];
    header[0..4].copy_from_slice(&(bytes as u32).to_le_bytes());
    header[4] = kind.byte();
    // A reader that does not know voids may skip them.
    header[5] = u8::from(kind == Kind::Void);
    header
}

/// A record as read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordRead<'a> {
    pub(super) kind: u8,
    pub(super) may_be_skipped: bool,
    pub(super) content: &'a [u8],
}

/// The record at the start of `bytes` and the bytes that follow it; none if it is truncated.
pub(super) fn split_record(bytes: &[u8]) -> Option<(RecordRead<'_>, &[u8])> {
    let (header, rest) = bytes.split_at_checked(RECORD_HEADER_BYTES)?;
    let length = u32::from_le_bytes(array(header, 0)) as usize;
    let (content, rest) = rest.split_at_checked(length)?;
    let record = RecordRead { kind: header[4], may_be_skipped: header[5] & 1 != 0, content };
    Some((record, rest))
}

/// `N` bytes from `at`; the caller has checked the length.
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

#[cfg(test)]
mod tests {
    use super::{
        Flags, FrameHeader, HEADER_BYTES, Kind, announced_bytes, open, record_header, seal,
        split_record,
    };
    use crate::ids::{Csn, DatabaseId, FrameNumber, SegmentNumber};

    fn header(payload_bytes: u32) -> FrameHeader {
        FrameHeader {
            flags: Flags { fragment: true, last: false, copied: true },
            database: DatabaseId([7; 16]),
            segment: SegmentNumber(3),
            number: FrameNumber(19),
            first: Csn(200),
            count: 2,
            payload_bytes,
            wall_ns: 1_234_567,
            stable: FrameNumber(18),
            previous_crc: 0xdead_beef,
        }
    }

    #[test]
    fn a_sealed_frame_reads_back_and_is_padded_with_zeros() {
        let mut frame = vec![0xff; 2048];
        frame[HEADER_BYTES..HEADER_BYTES + 600].fill(5);
        let (crc, len) = seal(&mut frame, &header(600), 512);
        assert_eq!(len, 1024);
        assert_eq!(announced_bytes(&frame, 512), Some(1024));
        assert_eq!(open(&frame[..len]), Some((header(600), crc)));
        assert!(frame[HEADER_BYTES + 600..len].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn every_flipped_bit_is_detected() {
        let mut frame = vec![0; 512];
        frame[HEADER_BYTES..HEADER_BYTES + 40].fill(9);
        seal(&mut frame, &header(40), 512);
        for bit in 0..(HEADER_BYTES + 40) * 8 {
            frame[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(&frame), None, "bit {bit}");
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(open(&frame).is_some());
    }

    #[test]
    fn a_truncated_frame_or_a_wild_length_is_refused() {
        let mut frame = vec![0; 1024];
        seal(&mut frame, &header(900), 512);
        for len in [0, 3, HEADER_BYTES - 1, HEADER_BYTES, 512, 987] {
            assert_eq!(open(&frame[..len]), None, "{len} bytes");
        }
        frame[60..64].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(open(&frame), None);
    }

    #[test]
    fn records_are_split_and_a_truncated_one_is_refused() {
        let mut bytes = record_header(Kind::Transaction, 3).to_vec();
        bytes.extend_from_slice(b"abc");
        bytes.extend_from_slice(&record_header(Kind::Void, 0));
        let (first, rest) = split_record(&bytes).unwrap();
        assert_eq!((first.kind, first.content), (1, &b"abc"[..]));
        let (second, rest) = split_record(rest).unwrap();
        assert!(second.may_be_skipped && second.content.is_empty() && rest.is_empty());
        assert_eq!(split_record(&bytes[..10]), None);
        assert_eq!(split_record(&bytes[..7]), None);
    }
}
