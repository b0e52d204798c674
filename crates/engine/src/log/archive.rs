//! The archive: copies of the segments that checkpoints have released, in a directory of their own, so that a
//! backup can be brought forward to any later commit.
//!
//! A file `segment-NUMBER.log` of the archive is the segment of that number: its header, and its frames up to
//! the one after which its successor continues. So a copy holds only frames that are known to be stable, and
//! ends with the last of them. What the segment's own file holds behind that frame does not count.
//!
//! A released segment is not free before its copy is stable with its name. While the archive cannot take it,
//! the log grows; at the log's cap, commits that need room get the archive's error.
//!
//! Invariants:
//! 1. Under its own name a copy is complete and stable. It is written under another name first, which the
//!    next attempt overwrites.
//! 2. Every frame is read and verified when it is copied: what is damaged is not archived as if it were
//!    sound.
//! 3. Segments are archived in the order of their numbers. So the newest name says what is left to do, also
//!    after a crash.
//! 4. A copy is never replaced by another one. Two databases of one id, such as a database and a backup of it
//!    that was opened for writing, cannot mix their segments in one archive: the second is refused.
//! 5. A gap, which an opening without the archive leaves, is found when the archive is read: the header of
//!    each segment names the one before.

use crate::directory;
use crate::error::{Error, Result};
use crate::ids::{Csn, DatabaseId, SegmentNumber};
use crate::log::frame::FrameHeader;
use crate::log::open;
use crate::log::replay::{self, Newest, Placed, Range, Sink};
use crate::log::scan::{self, Reader, ScanPosition};
use crate::log::segment::{self, HEADER_BYTES, HeaderRead, SegmentHeader, index_of, read_header};
use crate::log::segments::LiveSegment;
use crate::log::survey::{Chain, ChainSegment};
use crate::planted_bug::{PlantedBug, planted};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use syncline_vfs::{Disk, File, OpenOptions};

/// Bytes that are copied at once.
const COPY_BYTES: usize = 1 << 20;

/// How far a backup is brought forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// To the end of the archive, and of the log if it is given.
    #[default]
    End,
    /// To this commit, the last one that is restored.
    Commit(Csn),
    /// To this time, in nanoseconds since 1970: everything is restored that was written to the log at that
    /// time or before.
    Time(u64),
}

/// The newest segment of an archive, whose directory is made if it is missing. None if it holds none. Refuses
/// the directory of a log or a database.
pub(super) fn open<D: Disk>(disk: &D, archive: &Path) -> Result<Option<SegmentHeader>> {
    let names = directory::made(disk, archive)?;
    let is_there = |name: &&str| names.contains(&PathBuf::from(name));
    if let Some(name) = ["lock", "making", "data"].into_iter().find(is_there) {
        let what = format!("it holds {name}, so it is a log or a database; name another directory");
        return Err(refused(archive, what));
    }
    let Some(newest) = names.iter().filter_map(|name| index_of(name)).max() else {
        return Ok(None);
    };
    let mut reader = Reader::open(disk, &segment::path(archive, newest))?;
    header_of(&mut reader, newest).map(Some)
}

/// Refuses an archive whose newest segment does not come before all of these segments of the log.
pub(super) fn check(
    archive: &Path,
    newest: &SegmentHeader,
    oldest_of_log: &SegmentHeader,
) -> Result<()> {
    if newest.database != oldest_of_log.database {
        let path = path(archive, newest.number);
        let (expected, found) = (oldest_of_log.database, newest.database);
        return Err(Error::WrongDatabase { path, expected, found });
    }
    if newest.number >= oldest_of_log.number {
        let (newest, oldest) = (newest.number, oldest_of_log.number);
        let what = format!(
            "it holds {newest}, but the log of this copy of the database has only reached {oldest}; name an \
             empty directory"
        );
        return Err(refused(archive, what));
    }
    Ok(())
}

/// Copies a released segment, whose successor is `next`. False if the successor's header is not written yet,
/// or if `is_wanted` becomes false.
pub(super) fn copy<D: Disk>(
    disk: &D,
    log: &Path,
    (released, next): (LiveSegment, LiveSegment),
    archive: &Path,
    is_wanted: &dyn Fn() -> bool,
) -> Result<bool> {
    let mut reader = Reader::open(disk, &segment::path(log, next.index))?;
    let successor = match read_header(reader.at(0, HEADER_BYTES)?) {
        HeaderRead::Sound(successor) if successor.number == next.number => successor,
        _ => return Ok(false),
    };
    let mut reader = Reader::open(disk, &segment::path(log, released.index))?;
    let header = header(&mut reader)?;
    if header.number != released.number {
        let what = format!("{} was there, but it holds {}", released.number, header.number);
        return Err(damaged(&reader, 0, what));
    }
    let end = end(&mut reader, &header, &successor)?;
    write(disk, &mut reader, (&header, end), archive, is_wanted)
}

/// The offset behind the frame after which the successor continues.
fn end<F: File>(
    reader: &mut Reader<F>,
    header: &SegmentHeader,
    successor: &SegmentHeader,
) -> Result<u64> {
    let limit = successor.after;
    let mut reached = ScanPosition::before(header);
    let mut end = u64::from(header.unit_bytes);
    if reached.frame < limit {
        let accept = &mut |frame: &FrameHeader, _payload: &[u8], _reached: &mut ScanPosition| {
            Ok(frame.number < limit)
        };
        end = scan::walk(reader, header, &mut reached, accept)?;
    }
    if reached.frame != limit || reached.crc != successor.after_crc {
        let what = format!("{} continues after {limit}, which cannot be read", successor.number);
        return Err(damaged(reader, end, what));
    }
    Ok(end)
}

fn write<D: Disk>(
    disk: &D,
    reader: &mut Reader<D::File>,
    (header, end): (&SegmentHeader, u64),
    archive: &Path,
    is_wanted: &dyn Fn() -> bool,
) -> Result<bool> {
    let path = path(archive, header.number);
    if is_archived(disk, archive, header)? {
        // The rename came through, and what followed failed.
        disk.sync_directory(archive)?;
        return Ok(true);
    }
    let unfinished = if planted(PlantedBug::ArchiveUnderItsName) {
        path.clone()
    } else {
        path.with_extension("new")
    };
    let mut write = || -> Result<bool> {
        let file = disk.open(&unfinished, OpenOptions::READ_WRITE)?;
        file.set_len(0)?;
        let mut at = 0;
        while at < end {
            if !is_wanted() {
                return Ok(false);
            }
            let bytes = COPY_BYTES.min((end - at) as usize);
            let piece = reader.at(at, bytes)?;
            file.write_at(piece, at)?;
            at += bytes as u64;
        }
        if !planted(PlantedBug::ArchiveUnsynced) {
            file.sync_all()?;
        }
        if unfinished != path {
            disk.rename(&unfinished, &path)?;
        }
        disk.sync_directory(archive)?;
        Ok(true)
    };
    match write() {
        Err(Error::Disk(error)) if error.is_full() => {
            disk.remove(&unfinished)?;
            Err(Error::Full { directory: archive.to_owned(), segment_bytes: end })
        }
        written => written,
    }
}

/// True if the segment is there already. Refuses another one of its number.
fn is_archived<D: Disk>(disk: &D, archive: &Path, header: &SegmentHeader) -> Result<bool> {
    let mut reader = match Reader::open(disk, &path(archive, header.number)) {
        Ok(reader) => reader,
        Err(Error::Disk(error)) if error.kind() == Some(ErrorKind::NotFound) => return Ok(false),
        Err(error) => return Err(error),
    };
    if planted(PlantedBug::ArchiveUnderItsName) {
        return Ok(false);
    }
    match read_header(reader.at(0, HEADER_BYTES)?) {
        HeaderRead::Sound(found) if found == *header => Ok(true),
        _ => {
            let what = format!("it holds another {}; name an empty directory", header.number);
            Err(refused(archive, what))
        }
    }
}

/// Where archived commits are read from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Archived<'a> {
    pub(crate) archive: &'a Path,
    /// The directory of the log, which continues the archive; no process may have it open for writing.
    pub(crate) log: Option<&'a Path>,
    pub(crate) database: DatabaseId,
}

/// Passes the commits after `from` to the sink, in order: those in the archive, then those in the log.
/// Returns the last one, and when it was written, in nanoseconds since 1970, if any was read.
pub(crate) fn read_archived<D: Disk>(
    disk: &D,
    archived: Archived<'_>,
    (from, until): (Csn, Until),
    sink: &mut Sink<'_>,
) -> Result<(Csn, Option<u64>)> {
    let range = Range { from, until };
    let segments = archived.segments(disk)?;
    let Some(log) = archived.log else {
        return archived.read(disk, (segments, None), range, sink);
    };
    let newest = segments.last().map_or(SegmentNumber(0), |newest| newest.header.number);
    let (_lock, chain) = open::chain_to_read(disk, log, archived.database, newest)?;
    archived.read(disk, (segments, Some((log, chain))), range, sink)
}

impl Archived<'_> {
    /// The archived segments, oldest first.
    fn segments<D: Disk>(&self, disk: &D) -> Result<Vec<ChainSegment>> {
        let archive = self.archive;
        let names = match disk.list(archive) {
            Err(error) if error.kind() == Some(ErrorKind::NotFound) => {
                return Err(refused(archive, "there is no such directory".to_owned()));
            }
            listed => listed?,
        };
        let mut found = Vec::new();
        for index in names.iter().filter_map(|name| index_of(name)) {
            let path = segment::path(archive, index);
            let header = header_of(&mut Reader::open(disk, &path)?, index)?;
            if header.database != self.database {
                let (expected, found) = (self.database, header.database);
                return Err(Error::WrongDatabase { path, expected, found });
            }
            found.push(ChainSegment { index, header });
        }
        found.sort_by_key(|segment| segment.header.number);
        Ok(found)
    }

    /// Reads archived segments, and the newer ones of the log.
    fn read<D: Disk>(
        &self,
        disk: &D,
        (archived, log): (Vec<ChainSegment>, Option<(&Path, Chain)>),
        range: Range,
        sink: &mut Sink<'_>,
    ) -> Result<(Csn, Option<u64>)> {
        let placed = |directory| move |segment| Placed { directory, segment };
        let mut found: Vec<_> = archived.into_iter().map(placed(self.archive)).collect();
        let mut newest = Newest::Archived;
        if let Some((directory, chain)) = log {
            let of_log = &chain.links[0].header;
            if let Some(Placed { segment, .. }) = found.last()
                && segment.header.number >= of_log.number
            {
                let (archived, reached) = (segment.header.number, chain_end(&chain));
                let what = format!(
                    "it holds {archived}, but the log in {} has only reached {reached}; name the \
                     original's log",
                    directory.display()
                );
                return Err(refused(self.archive, what));
            }
            let segments = chain.released.into_iter().chain(chain.links);
            found.extend(segments.map(placed(directory)));
            newest = Newest::InLog { named: chain.named };
        }
        let from = range.from;
        let holding = |csn: Csn| {
            let begins = |placed: &Placed<'_>| placed.segment.header.first_whole() <= csn;
            found.partition_point(begins).checked_sub(1)
        };
        // The time of the commit before the range tells whether the backup is older than the limit.
        let Some(begins) = holding(from).or_else(|| holding(from.next())) else {
            let Some(first) = found.first() else {
                return Ok((from, None));
            };
            let what = format!(
                "it begins with {}, but commits after {from} are needed; use a later backup",
                first.segment.header.first
            );
            return Err(refused(self.archive, what));
        };
        let links = &found[begins..];
        let follows =
            |pair: &[Placed<'_>]| pair[1].segment.header.previous == pair[0].segment.header.number;
        let Some(gap) = links.windows(2).position(|pair| !follows(pair)) else {
            let end = replay::read_range(disk, links, newest, range, sink)?;
            return Ok((end.csn, end.wall_ns));
        };
        let end = replay::read_range(disk, &links[..=gap], Newest::Archived, range, sink)?;
        if end.is_limited || range.until == Until::Commit(end.csn) {
            return Ok((end.csn, end.wall_ns));
        }
        let (before, behind) = (&links[gap].segment.header, &links[gap + 1].segment.header);
        let what = format!(
            "segments between {} and {} are missing, with commits after {}; use a later backup, or restore up \
             to that commit",
            before.number, behind.number, end.csn
        );
        Err(refused(self.archive, what))
    }
}

/// The newest segment of a log.
fn chain_end(chain: &Chain) -> SegmentNumber {
    chain.links[chain.links.len() - 1].header.number
}

/// The path of a segment in the archive.
fn path(archive: &Path, number: SegmentNumber) -> PathBuf {
    let index = u32::try_from(number.0).expect("a log has fewer than four billion segments");
    segment::path(archive, index)
}

/// The header of a segment in the archive.
fn header_of<F: File>(reader: &mut Reader<F>, index: u32) -> Result<SegmentHeader> {
    let header = header(reader)?;
    if header.number != SegmentNumber(index.into()) {
        let what = format!("it holds {}, which is not its name", header.number);
        return Err(damaged(reader, 0, what));
    }
    Ok(header)
}

fn header<F: File>(reader: &mut Reader<F>) -> Result<SegmentHeader> {
    let mut read = read_header(reader.at(0, HEADER_BYTES)?);
    if !matches!(read, HeaderRead::Sound(_)) {
        // A bit may have flipped during the read.
        reader.forget();
        read = read_header(reader.at(0, HEADER_BYTES)?);
    }
    match read {
        HeaderRead::Sound(header) => Ok(header),
        HeaderRead::Newer(found) => {
            let path = reader.path().to_owned();
            Err(Error::Newer { path, found, known: segment::FORMAT })
        }
        HeaderRead::Blank | HeaderRead::Bad => {
            Err(damaged(reader, 0, "the header cannot be read".to_owned()))
        }
    }
}

fn damaged<F: File>(reader: &Reader<F>, offset: u64, what: String) -> Error {
    Error::Damaged { path: reader.path().to_owned(), offset, what }
}

fn refused(archive: &Path, what: String) -> Error {
    Error::Archive { directory: archive.to_owned(), what }
}
