//! A segment: one file of the log, with a header unit and then frames.
//!
//! Header, in the first 512 bytes of the file, little endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | magic `SYNCLOG1` |
//! | 8 | 4 | CRC32C of bytes 12 to 128 |
//! | 12 | 4 | format, 2; 1 is read as well |
//! | 16 | 16 | database id |
//! | 32 | 8 | number of this segment, 0 for a prepared file that holds nothing yet |
//! | 40 | 8 | number of the segment before, 0 for none |
//! | 48 | 8 | continues after this frame |
//! | 56 | 4 | CRC32C of that frame; not checked in a mark, where it may belong to a later frame |
//! | 60 | 4 | stream id, 0 |
//! | 64 | 8 | csn of the first record |
//! | 72 | 8 | bytes of this file |
//! | 80 | 4 | frame unit bytes |
//! | 84 | 1 | durability of the writer: 0 none, 1 data, 2 full |
//! | 85 | 1 | 1 if recovery wrote it |
//! | 86 | 1 | 1 if the first record began in the segment before |
//! | 87 | 1 | zero |
//! | 88 | 8 | wall clock, ns since 1970 |
//! | 96 | 8 | newest segment whose header was stable when this one was written, 0 if unknown |
//! | 104 | 4 | n: the files 0 to n - 1 were whole when this header was written |
//! | 108 | 20 | zero |
//!
//! Bytes 96 to 108 let a later opening detect a lost file: see `survey`. Logs of version 0.1 have zeros
//! there, which mean nothing. In a log of format 1 all files have the same size.
//!
//! Invariants:
//! 1. The header is stable before a frame of its number is written, except for frames flagged as copied.
//! 2. Every frame up to "continues after" was stable before the header was written. So the header permanently
//!    overrules what the segment before holds behind that frame, and the frames that it names must be
//!    readable.
//! 3. File names are fixed (`segment-0.log`, `segment-1.log`, ...). A file whose segment is no longer needed
//!    is reused under a new number: no rename, no directory sync, no allocation.
//! 4. A reused file is marked again, with a header of number 0, if the current segment's header is known to
//!    be stable by then; so a mark names only a segment that must exist.
//! 5. Before it is used, a file is filled with zeros to its full length, synced, its name synced, and then
//!    marked with a header of number 0. A file without that mark was interrupted and is made anew.
//! 6. A file keeps its size while it holds a segment. A free file may be lengthened ([`lengthen`]): zeros
//!    behind its end, synced, and only then a header that names the new size. Meanwhile it keeps its header
//!    and everything up to the old size, so a file that another header counts as whole stays whole. A crash
//!    leaves a free file longer than its header says; the bytes behind that size are cut off before the file
//!    is used or lengthened again. A file with a segment of the log has exactly its header's size.

use crate::error::{Error, Result};
use crate::ids::{Csn, DatabaseId, FrameNumber, SegmentNumber};
use crate::log::frame::{NUMBERS_END, array};
use crate::log::options::{self, Durability};
use crate::planted_bug::{PlantedBug, planted};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use syncline_vfs::{Access, AlignedBuffer, Create, Disk, File, OpenOptions, WriteSync};

/// Bytes of a header, within the first sector.
pub(super) const HEADER_BYTES: usize = 128;

/// The format of segments written here.
pub(super) const FORMAT: u32 = 2;

const MAGIC: [u8; 8] = *b"SYNCLOG1";

/// Bytes of zeros written between two syncs; small, so that concurrent commits do not wait long.
const PREPARE_STEP_BYTES: u64 = 4 << 20;

/// The fields of a segment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub(super) database: DatabaseId,
    pub(super) number: SegmentNumber,
    /// Zero for the first segment of a log.
    pub(super) previous: SegmentNumber,
    pub(super) after: FrameNumber,
    pub(super) after_crc: u32,
    pub(super) first: Csn,
    /// The size of this file.
    pub(super) segment_bytes: u64,
    pub(super) unit_bytes: u32,
    pub(super) durability: Durability,
    pub(super) by_recovery: bool,
    /// The record of commit `first` began in the segment before.
    pub(super) mid_record: bool,
    pub(super) wall_ns: u64,
    /// The newest segment whose header was stable when this one was written; 0 if unknown.
    pub(super) begun: SegmentNumber,
    /// The files with a lower index were whole when this header was written: named, of full length, and
    /// marked.
    pub(super) whole_files: u32,
}

impl SegmentHeader {
    /// The first commit whose record begins in the segment.
    pub(super) fn first_whole(&self) -> Csn {
        if self.mid_record { self.first.next() } else { self.first }
    }

    /// The header as bytes.
    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[12..16].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.database.0);
        bytes[32..40].copy_from_slice(&self.number.0.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.previous.0.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.after.0.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.after_crc.to_le_bytes());
        bytes[64..72].copy_from_slice(&self.first.0.to_le_bytes());
        bytes[72..80].copy_from_slice(&self.segment_bytes.to_le_bytes());
        bytes[80..84].copy_from_slice(&self.unit_bytes.to_le_bytes());
        bytes[84] = match self.durability {
            Durability::None => 0,
            Durability::Data => 1,
            Durability::Full => 2,
        };
        bytes[85] = u8::from(self.by_recovery);
        bytes[86] = u8::from(self.mid_record);
        bytes[88..96].copy_from_slice(&self.wall_ns.to_le_bytes());
        bytes[96..104].copy_from_slice(&self.begun.0.to_le_bytes());
        bytes[104..108].copy_from_slice(&self.whole_files.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[12..]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
}

/// The result of reading a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderRead {
    /// A valid header.
    Sound(SegmentHeader),
    /// Only zeros: prepared and not yet used, or never finished.
    Blank,
    /// Neither: a header torn while it was written, or damage.
    Bad,
    /// A header of a later format.
    Newer(u32),
}

/// Reads a header.
pub(super) fn read_header(bytes: &[u8]) -> HeaderRead {
    let blank = bytes.iter().all(|&byte| byte == 0);
    if blank {
        return HeaderRead::Blank;
    }
    if bytes.len() < HEADER_BYTES || bytes[0..8] != MAGIC {
        return HeaderRead::Bad;
    }
    let crc = u32::from_le_bytes(array(bytes, 8));
    if crc32c::crc32c(&bytes[12..HEADER_BYTES]) != crc {
        return HeaderRead::Bad;
    }
    let format = u32::from_le_bytes(array(bytes, 12));
    if format > FORMAT {
        return HeaderRead::Newer(format);
    }
    let durability = match bytes[84] {
        0 => Durability::None,
        1 => Durability::Data,
        2 => Durability::Full,
        _ => return HeaderRead::Bad,
    };
    let header = SegmentHeader {
        database: DatabaseId(array(bytes, 16)),
        number: SegmentNumber(u64::from_le_bytes(array(bytes, 32))),
        previous: SegmentNumber(u64::from_le_bytes(array(bytes, 40))),
        after: FrameNumber(u64::from_le_bytes(array(bytes, 48))),
        after_crc: u32::from_le_bytes(array(bytes, 56)),
        first: Csn(u64::from_le_bytes(array(bytes, 64))),
        segment_bytes: u64::from_le_bytes(array(bytes, 72)),
        unit_bytes: u32::from_le_bytes(array(bytes, 80)),
        durability,
        by_recovery: bytes[85] != 0,
        mid_record: bytes[86] != 0,
        wall_ns: u64::from_le_bytes(array(bytes, 88)),
        begun: SegmentNumber(u64::from_le_bytes(array(bytes, 96))),
        whole_files: u32::from_le_bytes(array(bytes, 104)),
    };
    if is_sensible(&header) { HeaderRead::Sound(header) } else { HeaderRead::Bad }
}

/// Checks sizes and numbers that reading relies on. A header that fails was written by a program with a bug,
/// or damaged in a way that its checksum does not show.
fn is_sensible(header: &SegmentHeader) -> bool {
    let is_prepared_only = header.number == SegmentNumber(0);
    options::is_unit(header.unit_bytes)
        && options::is_segment(header.segment_bytes, header.unit_bytes)
        && (1..NUMBERS_END).contains(&header.first.0)
        && header.number.0 < NUMBERS_END
        && header.begun.0 < NUMBERS_END
        && header.after.0 < NUMBERS_END
        && (is_prepared_only || header.previous < header.number)
}

/// A prepared file, open for the log's writes.
#[derive(Debug)]
pub(super) struct SegmentFile<F> {
    /// The number in the file's fixed name.
    pub(super) index: u32,
    pub(super) file: Arc<F>,
    /// Its size.
    pub(super) bytes: u64,
}

impl<F> Clone for SegmentFile<F> {
    fn clone(&self) -> SegmentFile<F> {
        SegmentFile { index: self.index, file: Arc::clone(&self.file), bytes: self.bytes }
    }
}

/// How segment files are opened and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    /// Bypasses the page cache.
    pub(super) direct: bool,
    /// Each write is itself a sync; otherwise a call to sync follows it.
    pub(super) write_sync: bool,
    pub(super) durability: Durability,
}

impl Mode {
    /// True if each write is itself a sync.
    pub(super) fn write_is_sync(self) -> bool {
        self.write_sync && self.durability != Durability::None
    }

    /// How a write becomes stable, in words.
    pub(super) fn sync_method(self) -> &'static str {
        match (self.durability, self.write_is_sync(), self.direct) {
            (Durability::None, ..) => "none: written, never synced",
            (Durability::Data, true, true) => "O_DIRECT + O_DSYNC",
            (Durability::Full, true, true) => "O_DIRECT + O_SYNC",
            (Durability::Data, true, false) => "O_DSYNC",
            (Durability::Full, true, false) => "O_SYNC",
            (Durability::Data, false, _) => "fdatasync",
            (Durability::Full, false, _) => "fsync",
        }
    }

    pub(super) fn open_options(self) -> OpenOptions {
        let write_sync = match self.durability {
            _ if !self.write_is_sync() => WriteSync::No,
            Durability::Full => WriteSync::Full,
            Durability::None | Durability::Data => WriteSync::Data,
        };
        OpenOptions {
            access: Access::ReadWrite,
            create: Create::Never,
            direct: self.direct,
            write_sync,
        }
    }
}

/// The path of a segment file.
pub(super) fn path(directory: &Path, index: u32) -> PathBuf {
    directory.join(format!("segment-{index}.log"))
}

/// The index in a segment file's name; none if the name is not one of the fixed names.
pub(super) fn index_of(name: &Path) -> Option<u32> {
    let name = name.to_str()?;
    let digits = name.strip_prefix("segment-")?.strip_suffix(".log")?;
    let index = digits.parse().ok()?;
    (format!("segment-{index}.log") == name).then_some(index)
}

/// Makes a file of zeros that is stable with its name, and marks it as prepared with a header of number 0;
/// `like` supplies that header's other fields. Earlier contents of the file are discarded. This is the only
/// place where a full disk may show. Zeros bypass the page cache if the log's own writes do: copying them
/// there would take more processor time than everything else that the log's threads do.
pub(super) fn prepare<D: Disk>(
    disk: &D,
    directory: &Path,
    (index, like): (u32, &SegmentHeader),
    is_direct: bool,
) -> Result<()> {
    make(disk, directory, (index, like.segment_bytes), is_direct)?;
    mark(disk, directory, (index, like), is_direct)
}

/// The first half of [`prepare`]: a whole file of zeros.
pub(super) fn make<D: Disk>(
    disk: &D,
    directory: &Path,
    (index, segment_bytes): (u32, u64),
    is_direct: bool,
) -> Result<()> {
    let made = fill(disk, directory, (index, segment_bytes), is_direct);
    made.map_err(|error| full_or_failed(directory, segment_bytes, error))
}

/// The first file of a log that counts as complete only later: zeros and header, stable with the name after
/// one sync of each.
pub(super) fn make_first<D: Disk>(
    disk: &D,
    directory: &Path,
    header: &SegmentHeader,
) -> Result<()> {
    let make = || {
        let file = disk.open(&path(directory, 0), made_with(false))?;
        file.preallocate(header.segment_bytes)?;
        file.write_at(&header.to_bytes(), 0)?;
        file.sync_all()?;
        disk.sync_directory(directory)
    };
    make().map_err(|error| full_or_failed(directory, header.segment_bytes, error))
}

/// The second half of [`prepare`]; also marks a reused file. The old header is overwritten, so its segment
/// must no longer be needed, and the current segment's header must be stable.
pub(super) fn mark<D: Disk>(
    disk: &D,
    directory: &Path,
    (index, like): (u32, &SegmentHeader),
    is_direct: bool,
) -> Result<()> {
    let header = SegmentHeader { number: SegmentNumber(0), ..*like };
    let write = || {
        let options = OpenOptions { create: Create::Never, ..made_with(is_direct) };
        let file = disk.open(&path(directory, index), options)?;
        let mut first = AlignedBuffer::zeroed(header.unit_bytes as usize);
        first[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
        file.write_at(&first, 0)?;
        file.sync_all()
    };
    write().map_err(|error| full_or_failed(directory, like.segment_bytes, error))
}

fn full_or_failed(directory: &Path, segment_bytes: u64, error: syncline_vfs::Error) -> Error {
    if error.is_full() {
        Error::Full { directory: directory.to_owned(), segment_bytes }
    } else {
        error.into()
    }
}

fn made_with(is_direct: bool) -> OpenOptions {
    OpenOptions { direct: is_direct, ..OpenOptions::READ_WRITE }
}

fn fill<D: Disk>(
    disk: &D,
    directory: &Path,
    (index, segment_bytes): (u32, u64),
    is_direct: bool,
) -> syncline_vfs::Result<()> {
    let file = disk.open(&path(directory, index), made_with(is_direct))?;
    if !file.is_empty()? {
        file.set_len(0)?;
    }
    add_zeros(&file, 0, segment_bytes)?;
    if !planted(PlantedBug::SkipDirectorySync) {
        disk.sync_directory(directory)?;
    }
    Ok(())
}

/// Extends a file from one length to another with zeros that are stable. If the disk has no space for them,
/// the file has its old length again.
fn add_zeros(file: &impl File, from: u64, to: u64) -> syncline_vfs::Result<()> {
    let mut length = from;
    while length < to {
        length = to.min(length + PREPARE_STEP_BYTES);
        let sync = || {
            if planted(PlantedBug::UnsyncedGrowth) { Ok(()) } else { file.sync_all() }
        };
        let added = file.preallocate(length).and_then(|()| sync());
        if let Err(error) = added {
            if error.is_full() {
                // A checkpoint may need the space that the file has taken.
                file.set_len(from)?;
            }
            return Err(error);
        }
    }
    Ok(())
}

/// The length of a segment file; 0 if there is none.
pub(super) fn length<D: Disk>(disk: &D, directory: &Path, index: u32) -> syncline_vfs::Result<u64> {
    match disk.open(&path(directory, index), OpenOptions::READ) {
        Ok(file) => file.len(),
        Err(error) if error.kind() == Some(ErrorKind::NotFound) => Ok(0),
        Err(error) => Err(error),
    }
}

/// Lengthens a free file from one size to another with zeros. Its header does not change.
pub(super) fn lengthen<D: Disk>(
    disk: &D,
    directory: &Path,
    (index, from, to): (u32, u64, u64),
    is_direct: bool,
) -> Result<()> {
    let lengthen = || {
        let options = OpenOptions { create: Create::Never, ..made_with(is_direct) };
        let file = disk.open(&path(directory, index), options)?;
        let from = if planted(PlantedBug::RefillFreeFile) { 0 } else { from };
        if file.len()? != from {
            // An earlier attempt was interrupted, and what it has added may be missing in part.
            file.set_len(from)?;
        }
        add_zeros(&file, from, to)
    };
    lengthen().map_err(|error| full_or_failed(directory, to - from, error))
}

/// Opens a prepared file of this size for the log's writes. What an interrupted attempt to lengthen it has
/// left behind the size is cut off.
pub(super) fn open<D: Disk>(
    disk: &D,
    directory: &Path,
    (index, bytes): (u32, u64),
    access: Mode,
) -> Result<SegmentFile<D::File>> {
    let file = disk.open(&path(directory, index), access.open_options())?;
    if file.len()? > bytes && !planted(PlantedBug::KeepInterruptedGrowth) {
        file.set_len(bytes)?;
        file.sync_all()?;
    }
    Ok(SegmentFile { index, file: Arc::new(file), bytes })
}

#[cfg(test)]
mod tests {
    use super::{HEADER_BYTES, HeaderRead, SegmentHeader, index_of, path, read_header};
    use crate::ids::{Csn, DatabaseId, FrameNumber, SegmentNumber};
    use crate::log::options::Durability;
    use std::path::Path;

    fn header() -> SegmentHeader {
        SegmentHeader {
            database: DatabaseId([3; 16]),
            number: SegmentNumber(12),
            previous: SegmentNumber(10),
            after: FrameNumber(99),
            after_crc: 5,
            first: Csn(1000),
            segment_bytes: 1 << 20,
            unit_bytes: 512,
            durability: Durability::Full,
            by_recovery: true,
            mid_record: true,
            wall_ns: 77,
            begun: SegmentNumber(11),
            whole_files: 3,
        }
    }

    #[test]
    fn a_header_reads_back_and_every_flipped_bit_is_detected() {
        let mut bytes = header().to_bytes();
        assert_eq!(read_header(&bytes), HeaderRead::Sound(header()));
        for bit in 0..HEADER_BYTES * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read_header(&bytes), HeaderRead::Bad, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn zeros_are_blank_and_a_later_format_is_named() {
        assert_eq!(read_header(&[0; 512]), HeaderRead::Blank);
        let mut bytes = header().to_bytes();
        bytes[12] = 3;
        let crc = crc32c::crc32c(&bytes[12..]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(read_header(&bytes), HeaderRead::Newer(3));
    }

    #[test]
    fn only_the_fixed_names_are_segments() {
        let name = path(Path::new("d"), 7);
        assert_eq!(index_of(Path::new(name.file_name().unwrap())), Some(7));
        for other in ["segment-07.log", "segment-.log", "lock", "segment-1.log.old"] {
            assert_eq!(index_of(Path::new(other)), None, "{other}");
        }
    }
}
