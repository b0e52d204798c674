//! Walks the frames of one segment file: which are accepted, where they end, and whether the bytes behind the
//! end prove that stable data was damaged.
//!
//! The reader goes through the page cache. Frames that might be in the cache but not on the disk are copied
//! by recovery before they count.

use crate::error::{Error, Result};
use crate::ids::{Csn, FrameNumber};
use crate::log::frame::{self, FrameHeader};
use crate::log::segment::SegmentHeader;
use crate::planted_bug::{PlantedBug, planted};
use std::path::{Path, PathBuf};
use syncline_vfs::{Disk, File, OpenOptions};

/// Bytes read at once.
const WINDOW_BYTES: usize = 1 << 20;

/// The last accepted frame, and the state of the log up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScanPosition {
    pub(super) frame: FrameNumber,
    pub(super) crc: u32,
    /// The last whole commit.
    pub(super) csn: Csn,
    pub(super) wall_ns: u64,
    /// The highest frame that an accepted header or frame declares stable.
    pub(super) stable: FrameNumber,
}

impl ScanPosition {
    /// The position before the first frame of a segment.
    pub(super) fn before(segment: &SegmentHeader) -> ScanPosition {
        ScanPosition {
            frame: segment.after,
            crc: segment.after_crc,
            csn: Csn(segment.first.0 - 1),
            wall_ns: segment.wall_ns,
            stable: segment.after,
        }
    }
}

/// A segment file being read.
#[derive(Debug)]
pub(super) struct Reader<F> {
    file: F,
    path: PathBuf,
    length: u64,
    window: Vec<u8>,
    window_start: u64,
}

impl<F: File> Reader<F> {
    pub(super) fn open<D: Disk<File = F>>(disk: &D, path: &Path) -> Result<Reader<F>> {
        let file = disk.open(path, OpenOptions::READ)?;
        let length = file.len()?;
        Ok(Reader { file, path: path.to_owned(), length, window: Vec::new(), window_start: 0 })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// `bytes` bytes at `offset`, fewer only at the end of the file.
    pub(super) fn at(&mut self, offset: u64, bytes: usize) -> Result<&[u8]> {
        let end = self.length.min(offset + bytes as u64);
        let window_end = self.window_start + self.window.len() as u64;
        if offset < self.window_start || end > window_end {
            self.load(offset, bytes)?;
        }
        let from = (offset - self.window_start) as usize;
        let to = (end.max(offset) - self.window_start) as usize;
        Ok(self.window.get(from..to).unwrap_or_default())
    }

    fn load(&mut self, offset: u64, bytes: usize) -> Result<()> {
        let length = (bytes.max(WINDOW_BYTES) as u64).min(self.length.saturating_sub(offset));
        self.window.resize(length as usize, 0);
        self.window_start = offset;
        let read = self.file.read_at(&mut self.window, offset);
        match read {
            Ok(read) => self.window.truncate(read),
            Err(error) => {
                self.window.clear();
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Drops the bytes read so far, so that the next access reads the file again.
    pub(super) fn forget(&mut self) {
        self.window.clear();
    }

    /// The frame at `offset` if it is whole and its checksum is right: header, checksum and payload.
    pub(super) fn frame(
        &mut self,
        offset: u64,
        unit: u32,
    ) -> Result<Option<(FrameHeader, u32, &[u8])>> {
        let Some(bytes) = frame::announced_bytes(self.at(offset, frame::HEADER_BYTES)?, unit)
        else {
            return Ok(None);
        };
        if bytes as u64 > self.length.saturating_sub(offset) {
            return Ok(None);
        }
        let bytes = self.at(offset, bytes)?;
        Ok(frame::open(bytes).map(|(header, crc)| {
            let end = frame::HEADER_BYTES + header.payload_bytes as usize;
            (header, crc, &bytes[frame::HEADER_BYTES..end])
        }))
    }
}

/// True if `found` is the frame that follows `reached` in the segment `segment`.
pub(super) fn follows(
    found: &FrameHeader,
    segment: &SegmentHeader,
    reached: &ScanPosition,
) -> bool {
    let chained = found.previous_crc == reached.crc || planted(PlantedBug::NoContinuesAfter);
    found.database == segment.database
        && found.segment == segment.number
        && found.number == reached.frame.next()
        && found.first == reached.csn.next()
        && chained
}

/// Receives each frame that [`walk`] accepts; returning false ends the walk.
pub(super) type Accept<'a> = dyn FnMut(&FrameHeader, &[u8], &mut ScanPosition) -> Result<bool> + 'a;

/// Passes the accepted frames of a segment to `accept` and returns the offset after the last one.
pub(super) fn walk<F: File>(
    reader: &mut Reader<F>,
    segment: &SegmentHeader,
    reached: &mut ScanPosition,
    accept: &mut Accept<'_>,
) -> Result<u64> {
    let unit = segment.unit_bytes;
    let mut offset = u64::from(unit);
    let mut is_second_read = false;
    while offset < reader.length() {
        let expected = *reached;
        let found = reader.frame(offset, unit)?;
        let next = found.filter(|(header, ..)| follows(header, segment, &expected));
        let Some((header, crc, payload)) = next else {
            // A bit may have flipped during the read: the frame that ends the log is read twice.
            if is_second_read {
                break;
            }
            is_second_read = true;
            reader.forget();
            continue;
        };
        is_second_read = false;
        reached.frame = header.number;
        reached.crc = crc;
        reached.wall_ns = header.wall_ns;
        reached.stable = reached.stable.max(header.stable);
        if header.count > 0 {
            reached.csn = header.last();
        }
        let bytes = header.frame_bytes(unit) as u64;
        if !accept(&header, payload, reached)? {
            return Ok(offset + bytes);
        }
        offset += bytes;
    }
    Ok(offset)
}

/// Bytes that a disk writes entirely or not at all.
const SECTOR_BYTES: usize = 512;

/// Refuses the log if a frame behind `offset` declares the frame expected there stable, or if the bytes there
/// are that frame with a flipped bit.
pub(super) fn refuse_damage<F: File>(
    reader: &mut Reader<F>,
    segment: &SegmentHeader,
    reached: &ScanPosition,
    offset: u64,
) -> Result<()> {
    let missing = reached.frame.next();
    let known = reached.stable >= missing;
    let was_stable = known
        || is_damaged_frame(reader, segment, reached, offset)?
        || any_frame(reader, segment.unit_bytes, offset, |found| {
            found.database == segment.database
                && found.segment == segment.number
                && found.number > missing
                && found.stable >= missing
        })?;
    if was_stable && !planted(PlantedBug::TruncateDamage) {
        return Err(Error::Damaged {
            path: reader.path().to_owned(),
            offset,
            what: format!("{missing} was written there and cannot be read"),
        });
    }
    Ok(())
}

/// True if flipping one bit of the bytes at `offset` makes them the next frame, with the right checksum. An
/// interrupted write leaves such bytes only with a probability of a few in a billion:
///
/// 1. In a frame within one sector, which is written entirely or not at all, every bit is tried. A failed
///    write may end within a sector, and its frame was not acknowledged: so a bit is ignored if only zeros
///    follow it in the frame, as in the prepared file.
/// 2. In a longer frame only the header bits that chain it to its predecessor are tried: a frame that lacks
///    later sectors would need too many tries for a checksum of 32 bits.
/// 3. A frame whose only error is its length counts as the first kind.
fn is_damaged_frame<F: File>(
    reader: &mut Reader<F>,
    segment: &SegmentHeader,
    reached: &ScanPosition,
    offset: u64,
) -> Result<bool> {
    let is_next = |header: &FrameHeader| follows(header, segment, reached);
    let mut sector = reader.at(offset, SECTOR_BYTES)?.to_vec();
    let in_one_sector =
        |header: &FrameHeader| frame::HEADER_BYTES + header.payload_bytes as usize <= SECTOR_BYTES;
    let may_be_torn = frame::unchecked_header(&sector)
        .is_some_and(|header| is_next(&header) && !in_one_sector(&header));
    if sector.len() < SECTOR_BYTES {
        return Ok(false);
    }
    // Only its length may be wrong.
    let bits = if may_be_torn { frame::PAYLOAD_LENGTH_BITS } else { 0..sector.len() * 8 };
    for bit in bits {
        let (byte, mask) = (bit / 8, 1 << (bit % 8));
        sector[byte] ^= mask;
        if let Some(header) = frame::unchecked_header(&sector).filter(is_next) {
            let bytes = header.frame_bytes(segment.unit_bytes);
            let is_tried = !may_be_torn || in_one_sector(&header);
            if is_tried && bytes as u64 <= reader.length() - offset {
                let mut whole = reader.at(offset, bytes)?.to_vec();
                whole[byte] ^= mask;
                let was_passed = whole[byte + 1..].iter().any(|byte| *byte != 0);
                if was_passed && frame::open(&whole).is_some() {
                    return Ok(true);
                }
            }
        }
        sector[byte] ^= mask;
    }
    Ok(false)
}

/// True if a whole frame at or after `offset` satisfies `such`.
pub(super) fn any_frame<F: File>(
    reader: &mut Reader<F>,
    unit: u32,
    offset: u64,
    such: impl Fn(&FrameHeader) -> bool,
) -> Result<bool> {
    let mut at = offset;
    while at < reader.length() {
        if reader.frame(at, unit)?.is_some_and(|(header, ..)| such(&header)) {
            return Ok(true);
        }
        at += u64::from(unit);
    }
    Ok(false)
}
