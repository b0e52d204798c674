//! The survey at the start of recovery: which segment files exist, and which of them make up the log.
//!
//! The chain goes from the newest sound header back over "the segment before", until a segment that holds the
//! first commit needed. With an archive, the segments before it that are not archived yet are kept as well.
//! The other files are free.
//!
//! A state that a crash never leaves must be later loss or damage, and is refused:
//!
//! 1. A hole: `segment-N.log` is missing, though a file with a higher index exists, or a header says that it
//!    was whole.
//! 2. A file that a header says was whole, but that is blank or shorter than its own header says; a segment
//!    of the chain whose file has another length.
//! 3. A chain whose newest segment is older than one that some header, including a prepared file's, names as
//!    begun; or that ends before the frame which a prepared file says was stable.
//! 4. A file whose header is older than its first frame, or that has no sound header and holds a frame newer
//!    than the chain: then a stable header was lost. Copied frames may exist before their header.
//!
//! A crash may leave: a file at the end of the names, or one that no header vouches for, that is missing,
//! empty, short or blank, because its preparation was interrupted; a free file that is longer than its header
//! says, because it was being lengthened; and a header that was torn while a free file was marked or begun,
//! when the file had its full length.

use crate::error::{Error, Result};
use crate::ids::{Csn, DatabaseId, FrameNumber, SegmentNumber};
use crate::log::frame::{FrameHeader, HEADER_BYTES as FRAME_HEADER_BYTES};
use crate::log::options::{Durability, is_segment};
use crate::log::scan::{Reader, any_frame};
use crate::log::segment::{self, HeaderRead, SegmentHeader, index_of, read_header};
use crate::log::segments::{FreeFile, FreeFiles, WholeFiles};
use crate::planted_bug::{PlantedBug, planted};
use std::path::Path;
use syncline_vfs::Disk;

/// The name of the file that exists while a log is being made.
pub(super) const MAKING: &str = "making";

/// A segment file and its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentFileInfo {
    pub(super) index: u32,
    pub(super) header: HeaderRead,
    /// Its length.
    pub(super) bytes: u64,
}

/// A segment of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChainSegment {
    pub(super) index: u32,
    pub(super) header: SegmentHeader,
}

impl ChainSegment {
    /// Its file, once the segment is no longer needed.
    pub(super) fn file(&self) -> FreeFile {
        FreeFile { index: self.index, bytes: self.header.segment_bytes }
    }
}

/// The files that recovery reads from and may write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    /// Segments before the chain that are to be archived, oldest first.
    pub(super) released: Vec<ChainSegment>,
    /// Oldest first, not empty.
    pub(super) links: Vec<ChainSegment>,
    pub(super) spaces: FreeFiles,
    /// A frame of the newest segment that a prepared file declares stable; zero if none does.
    pub(super) named: FrameNumber,
    /// The newest segment whose header another file declares stable; 0 if none does.
    pub(super) begun: SegmentNumber,
}

impl Chain {
    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        let segments = self.released.iter().chain(&self.links);
        segments.map(|segment| segment.header.segment_bytes).sum::<u64>() + self.spaces.bytes()
    }
}

/// The segment files of a directory.
pub(super) fn find<D: Disk>(disk: &D, directory: &Path) -> Result<Vec<SegmentFileInfo>> {
    let mut found = Vec::new();
    for name in disk.list(directory)? {
        if let Some(index) = index_of(&name) {
            let (header, bytes) = header_of(disk, directory, index)?;
            found.push(SegmentFileInfo { index, header, bytes });
        }
    }
    found.sort_by_key(|file| file.index);
    Ok(found)
}

/// A file's header, and the file's length. An invalid header is read twice: a bit may have flipped during the
/// read.
fn header_of<D: Disk>(disk: &D, directory: &Path, index: u32) -> Result<(HeaderRead, u64)> {
    let read = || -> Result<(HeaderRead, u64)> {
        let mut reader = Reader::open(disk, &segment::path(directory, index))?;
        let header = read_header(reader.at(0, segment::HEADER_BYTES)?);
        Ok((header, reader.length()))
    };
    match read()? {
        sound @ (HeaderRead::Sound(_), _) => Ok(sound),
        (HeaderRead::Blank | HeaderRead::Bad | HeaderRead::Newer(_), _) => read(),
    }
}

/// True if nothing was ever committed here: no segment has been begun. Unreadable files belong to another
/// program, unless a log was being made here when the power failed.
pub(super) fn is_unused(found: &[SegmentFileInfo], is_being_made: bool) -> bool {
    found.iter().all(|file| match file.header {
        HeaderRead::Sound(header) => {
            header.number == SegmentNumber(0) && header.begun == SegmentNumber(0)
        }
        HeaderRead::Blank => true,
        HeaderRead::Bad => is_being_made,
        HeaderRead::Newer(_) => false,
    })
}

/// Orders the files into a chain that holds every commit after `replay_from`. `archived` is the newest
/// segment of the archive, 0 for none; without an archive no segment before the chain is kept.
pub(super) fn chain<D: Disk>(
    disk: &D,
    directory: &Path,
    found: &[SegmentFileInfo],
    database: Option<DatabaseId>,
    replay_from: Csn,
    archived: Option<SegmentNumber>,
) -> Result<Chain> {
    let mut sound = Vec::new();
    for file in found {
        let path = segment::path(directory, file.index);
        match file.header {
            HeaderRead::Sound(header) if header.number > SegmentNumber(0) => {
                sound.push(ChainSegment { index: file.index, header });
            }
            HeaderRead::Newer(found) => {
                let known = segment::FORMAT;
                return Err(Error::Newer { path, found, known });
            }
            HeaderRead::Sound(_) | HeaderRead::Blank | HeaderRead::Bad => {}
        }
    }
    sound.sort_by_key(|link| link.header.number);
    let newest = sound.last().copied();
    let database = database.or(newest.map(|link| link.header.database));
    check_database(directory, &sound, database)?;
    let evidence = Evidence::of(found, database);
    if !planted(PlantedBug::HoleInSegments) {
        refuse_lost_files(directory, found, &evidence)?;
    }
    let reached = newest.map_or(SegmentNumber(0), |link| link.header.number);
    if evidence.begun > reached && !planted(PlantedBug::HoleInSegments) {
        return Err(lost_segment(directory, evidence.begun, reached));
    }
    let Some(newest) = newest else {
        return Err(none_begun(disk, directory, found));
    };
    let links = links_back(directory, &sound, replay_from)?;
    refuse_lengthened(directory, found, &links)?;
    refuse_lost_headers(disk, directory, found, &newest.header)?;
    let released = match archived {
        Some(archived) => unarchived(&sound, &links[0].header, archived),
        None => Vec::new(),
    };
    refuse_lengthened(directory, found, &released)?;
    Ok(Chain {
        spaces: spaces(found, &[&released, &links], &evidence),
        released,
        named: evidence.named_in(found, newest.header.number),
        begun: evidence.begun_in(found),
        links,
    })
}

/// What the headers say about files and segments other than their own.
struct Evidence {
    database: Option<DatabaseId>,
    /// Files with a lower index were whole.
    whole_files: u32,
    /// This segment was begun.
    begun: SegmentNumber,
    /// The length of every file is a multiple of this.
    unit_bytes: u32,
}

impl Evidence {
    fn of(found: &[SegmentFileInfo], database: Option<DatabaseId>) -> Evidence {
        let mut evidence =
            Evidence { database, whole_files: 0, begun: SegmentNumber(0), unit_bytes: 512 };
        for file in found {
            if let Some(header) = evidence.header(file) {
                evidence.whole_files = evidence.whole_files.max(header.whole_files);
                evidence.begun = evidence.begun.max(header.begun);
                evidence.unit_bytes = header.unit_bytes;
            }
        }
        evidence
    }

    /// The sound header of a file, if it belongs to this log.
    fn header(&self, file: &SegmentFileInfo) -> Option<SegmentHeader> {
        match file.header {
            HeaderRead::Sound(header) => {
                Some(header).filter(|header| self.database.is_none_or(|id| id == header.database))
            }
            HeaderRead::Blank | HeaderRead::Bad | HeaderRead::Newer(_) => None,
        }
    }

    /// The newest segment whose header some file declares stable.
    fn begun_in(&self, found: &[SegmentFileInfo]) -> SegmentNumber {
        let headers = found.iter().filter_map(|file| self.header(file));
        // A log that never synced guarantees nothing that a sync would have covered.
        let synced = headers.filter(|header| header.durability != Durability::None);
        synced.map(|header| header.begun).max().unwrap_or_default()
    }

    /// The last frame of a segment that a prepared file declares stable.
    fn named_in(&self, found: &[SegmentFileInfo], segment: SegmentNumber) -> FrameNumber {
        let headers = found.iter().filter_map(|file| self.header(file));
        let says = |header: &SegmentHeader| {
            // Frames that were only written may be lost in any order.
            header.number == SegmentNumber(0)
                && header.begun == segment
                && header.durability != Durability::None
        };
        let frames = headers.filter(says).map(|header| header.after);
        frames.max().unwrap_or(FrameNumber::ZERO)
    }
}

/// Refuses files that are missing, blank or too short though they were whole.
fn refuse_lost_files(
    directory: &Path,
    found: &[SegmentFileInfo],
    evidence: &Evidence,
) -> Result<()> {
    let mut names = 0..;
    for file in found {
        if let Some(index) = names.next().filter(|index| *index < file.index) {
            return Err(lost_file(directory, index));
        }
        let is_whole = file.index < evidence.whole_files;
        let is_blank = is_whole && file.header == HeaderRead::Blank;
        let what = match file.header {
            _ if is_blank => "it is blank, but it was written and synced".to_owned(),
            HeaderRead::Sound(header)
                if file.bytes < header.segment_bytes
                    && (is_whole || header.number > SegmentNumber(0)) =>
            {
                other_length(file.bytes, header.segment_bytes)
            }
            HeaderRead::Bad if is_whole && !is_segment(file.bytes, evidence.unit_bytes) => {
                format!("it has {} bytes, which no segment has", file.bytes)
            }
            _ => continue,
        };
        return Err(Error::Damaged {
            path: segment::path(directory, file.index),
            offset: if is_blank { 0 } else { file.bytes },
            what,
        });
    }
    let next = found.len() as u32;
    if next < evidence.whole_files {
        return Err(lost_file(directory, next));
    }
    Ok(())
}

fn other_length(bytes: u64, expected: u64) -> String {
    format!("it has {bytes} bytes instead of the {expected} that were synced")
}

/// Refuses segments of the chain whose files are longer than their headers say: only free files are
/// lengthened.
fn refuse_lengthened(
    directory: &Path,
    found: &[SegmentFileInfo],
    links: &[ChainSegment],
) -> Result<()> {
    for link in links {
        let expected = link.header.segment_bytes;
        let file = found.iter().find(|file| file.index == link.index);
        if let Some(file) = file.filter(|file| file.bytes != expected) {
            return Err(Error::Damaged {
                path: segment::path(directory, file.index),
                offset: file.bytes.min(expected),
                what: other_length(file.bytes, expected),
            });
        }
    }
    Ok(())
}

fn lost_file(directory: &Path, index: u32) -> Error {
    Error::Missing {
        directory: directory.to_owned(),
        what: format!(
            "segment-{index}.log is missing, but other files of the log say that it existed; restore that \
             file, or restore the database from a backup"
        ),
    }
}

fn lost_segment(directory: &Path, begun: SegmentNumber, newest: SegmentNumber) -> Error {
    let newest = match newest {
        SegmentNumber(0) => "no file holds a segment".to_owned(),
        newest => format!("the newest segment in any file is {newest}"),
    };
    Error::Missing {
        directory: directory.to_owned(),
        what: format!(
            "{begun} was begun, but {newest}; restore the newest segment file, or restore the \
             database from a backup"
        ),
    }
}

/// The files outside these segments: which may be reused, and which must be made anew.
fn spaces(
    found: &[SegmentFileInfo],
    segments: &[&[ChainSegment]; 2],
    evidence: &Evidence,
) -> FreeFiles {
    let mut spaces = FreeFiles {
        next_index: found.last().map_or(0, |file| file.index + 1),
        whole: WholeFiles::below(evidence.whole_files),
        ..FreeFiles::default()
    };
    for file in found {
        let index = file.index;
        let bytes = match evidence.header(file) {
            Some(header) => (header.segment_bytes <= file.bytes).then_some(header.segment_bytes),
            // Torn while it was marked or begun, at its full length.
            None => (index < evidence.whole_files).then_some(file.bytes),
        };
        let is_held = segments.iter().copied().flatten().any(|segment| segment.index == index);
        let left_behind = file.bytes - bytes.unwrap_or(0).min(file.bytes);
        if !is_held && left_behind > 0 {
            spaces.left_behind.insert(index, left_behind);
        }
        if is_held {
        } else if let Some(bytes) = bytes {
            spaces.free.push(FreeFile { index, bytes });
        } else {
            spaces.unmade.insert(index);
        }
    }
    spaces
}

fn check_database(
    directory: &Path,
    sound: &[ChainSegment],
    expected: Option<DatabaseId>,
) -> Result<()> {
    let Some(expected) = expected else {
        return Ok(());
    };
    let other = sound.iter().find(|link| link.header.database != expected);
    match other {
        Some(link) if !planted(PlantedBug::AnyDatabase) => Err(Error::WrongDatabase {
            path: segment::path(directory, link.index),
            expected,
            found: link.header.database,
        }),
        _ => Ok(()),
    }
}

/// The segments from the newest back to one that holds the first commit needed; oldest first.
fn links_back(
    directory: &Path,
    sound: &[ChainSegment],
    replay_from: Csn,
) -> Result<Vec<ChainSegment>> {
    let mut links: Vec<ChainSegment> = sound.last().copied().into_iter().collect();
    while let Some(oldest) = links.last()
        && oldest.header.first_whole() > replay_from.next()
    {
        let needed = oldest.header.previous;
        let before = sound.iter().find(|link| link.header.number == needed);
        let before = before.ok_or_else(|| Error::Missing {
            directory: directory.to_owned(),
            what: format!(
                "the log begins with {}, but commits after {replay_from} are needed and {needed} is \
                 missing; restore the missing segment files",
                oldest.header.first,
            ),
        })?;
        links.push(*before);
    }
    links.reverse();
    Ok(links)
}

/// The segments before `oldest` that are not archived, oldest first, if their files still hold them.
fn unarchived(
    sound: &[ChainSegment],
    oldest: &SegmentHeader,
    archived: SegmentNumber,
) -> Vec<ChainSegment> {
    let mut released = Vec::new();
    let mut before = oldest.previous;
    while before > archived
        && let Some(segment) = sound.iter().find(|segment| segment.header.number == before)
    {
        released.push(*segment);
        before = segment.header.previous;
    }
    released.reverse();
    released
}

/// Refuses a file that holds a frame of a segment newer than all headers: in a file without a sound header
/// any such frame counts, in a file with an older header only the first frame.
fn refuse_lost_headers<D: Disk>(
    disk: &D,
    directory: &Path,
    found: &[SegmentFileInfo],
    newest: &SegmentHeader,
) -> Result<()> {
    for file in found {
        let is_newer = |frame: &FrameHeader| {
            frame.database == newest.database
                && frame.segment > newest.number
                && !frame.flags.copied
        };
        let unit = newest.unit_bytes;
        let mut reader = Reader::open(disk, &segment::path(directory, file.index))?;
        let lost = match file.header {
            HeaderRead::Sound(header) if header.number == newest.number => false,
            HeaderRead::Sound(_) => {
                let first = reader.frame(u64::from(unit), unit)?;
                first.is_some_and(|(header, ..)| is_newer(&header))
            }
            _ => any_frame(&mut reader, unit, u64::from(unit), is_newer)?,
        };
        if lost && !planted(PlantedBug::TruncateDamage) {
            return Err(Error::Damaged {
                path: reader.path().to_owned(),
                offset: 0,
                what: "the header was stable and cannot be read".to_owned(),
            });
        }
    }
    Ok(())
}

/// Why there is no log, though there may be files: no segment was ever begun, the first header was damaged,
/// or the files belong to another program.
fn none_begun<D: Disk>(disk: &D, directory: &Path, found: &[SegmentFileInfo]) -> Error {
    let is_being_made = disk.list(directory).is_ok_and(|names| names.contains(&MAKING.into()));
    if is_unused(found, is_being_made) {
        return Error::Missing {
            directory: directory.to_owned(),
            what: "no file in it holds a segment that was begun; name the right directory, or restore the \
                   database from a backup"
                .to_owned(),
        };
    }
    let bad = found.iter().find(|file| file.header == HeaderRead::Bad);
    let path = segment::path(directory, bad.map_or(0, |file| file.index));
    let has_frames = |mut reader: Reader<D::File>| -> Result<bool> {
        let magic = *b"SLFR";
        let found = (1..reader.length() / 512).any(|sector| {
            let bytes = reader.at(sector * 512, FRAME_HEADER_BYTES);
            bytes.is_ok_and(|bytes| bytes.starts_with(&magic))
        });
        Ok(found)
    };
    match Reader::open(disk, &path).and_then(has_frames) {
        Ok(true) => {
            Error::Damaged { path, offset: 0, what: "the header cannot be read".to_owned() }
        }
        Ok(false) => Error::NotASegment { path },
        Err(error) => error,
    }
}
