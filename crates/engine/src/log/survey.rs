//! The survey that recovery begins with: which segment files there are, and which of them make up
//! the log.
//!
//! The chain goes from the newest sound header back over "the segment before", until a segment that
//! holds the first commit wanted. Files outside the chain are free; files without a sound header are
//! broken, and must not hold a frame that is newer than the chain: such a frame is evidence that a
//! stable header was lost.

use crate::error::{Error, Result};
use crate::ids::{Csn, DatabaseId, SegmentNumber};
use crate::log::frame::HEADER_BYTES as FRAME_HEADER_BYTES;
use crate::log::scan::{Reader, any_frame};
use crate::log::segment::{self, HeaderRead, SegmentHeader, index_of, read_header};
use crate::plant::{Plant, planted};
use std::path::Path;
use syncline_disk::Disk;

/// The name of a file that is there while a log is being made.
pub(super) const MAKING: &str = "making";

/// A segment file and what its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) index: u32,
    pub(super) header: HeaderRead,
}

/// A segment of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) index: u32,
    pub(super) header: SegmentHeader,
}

/// What recovery reads from and may write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    /// Oldest first, not empty.
    pub(super) links: Vec<Link>,
    /// Whole files that hold nothing needed.
    pub(super) free: Vec<u32>,
    /// The first index of no file.
    pub(super) next_index: u32,
}

/// The segment files of a directory.
pub(super) fn find<D: Disk>(disk: &D, directory: &Path) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for name in disk.list(directory)? {
        if let Some(index) = index_of(&name) {
            let header = header_of(disk, directory, index)?;
            found.push(Found { index, header });
        }
    }
    Ok(found)
}

/// A file's header. What cannot be believed is read twice: a bit may have flipped on the way here.
fn header_of<D: Disk>(disk: &D, directory: &Path, index: u32) -> Result<HeaderRead> {
    let look = || -> Result<HeaderRead> {
        let mut reader = Reader::open(disk, &segment::path(directory, index))?;
        Ok(read_header(reader.at(0, segment::HEADER_BYTES)?))
    };
    match look()? {
        HeaderRead::Sound(header) => Ok(HeaderRead::Sound(header)),
        HeaderRead::Blank | HeaderRead::Bad | HeaderRead::Newer(_) => look(),
    }
}

/// True if nothing was ever committed here: no segment has been begun. Bytes that cannot be
/// understood are somebody else's, unless a log was being made here when the power went off.
pub(super) fn is_unused(found: &[Found], is_being_made: bool) -> bool {
    found.iter().all(|file| match file.header {
        HeaderRead::Sound(header) => header.number == SegmentNumber(0),
        HeaderRead::Blank => true,
        HeaderRead::Bad => is_being_made,
        HeaderRead::Newer(_) => false,
    })
}

/// Orders the files into a chain that holds every commit after `replay_from`.
pub(super) fn chain<D: Disk>(
    disk: &D,
    directory: &Path,
    found: &[Found],
    database: Option<DatabaseId>,
    replay_from: Csn,
) -> Result<Chain> {
    let mut sound = Vec::new();
    let mut free = Vec::new();
    for file in found {
        let path = segment::path(directory, file.index);
        match file.header {
            HeaderRead::Sound(header) if header.number > SegmentNumber(0) => sound.push(Link {
                index: file.index,
                header,
            }),
            HeaderRead::Sound(_) => free.push(file.index),
            HeaderRead::Newer(found) => {
                let known = segment::FORMAT;
                return Err(Error::Newer { path, found, known });
            }
            HeaderRead::Blank | HeaderRead::Bad => {}
        }
    }
    sound.sort_by_key(|link| link.header.number);
    let Some(newest) = sound.last().copied() else {
        return Err(none_begun(disk, directory, found));
    };
    check_database(
        directory,
        &sound,
        database.unwrap_or(newest.header.database),
    )?;
    let links = links_back(directory, &sound, replay_from)?;
    refuse_lost_headers(disk, directory, found, &newest.header)?;
    let in_chain = |index| links.iter().any(|link: &Link| link.index == index);
    free.extend(
        sound
            .iter()
            .map(|link| link.index)
            .filter(|index| !in_chain(*index)),
    );
    Ok(Chain {
        links,
        free,
        next_index: found.iter().map(|file| file.index + 1).max().unwrap_or(0),
    })
}

fn check_database(directory: &Path, sound: &[Link], expected: DatabaseId) -> Result<()> {
    let stranger = sound.iter().find(|link| link.header.database != expected);
    match stranger {
        Some(link) if !planted(Plant::AnyDatabase) => Err(Error::WrongDatabase {
            path: segment::path(directory, link.index),
            expected,
            found: link.header.database,
        }),
        _ => Ok(()),
    }
}

/// From the newest segment back to one that holds the first commit wanted; oldest first.
fn links_back(directory: &Path, sound: &[Link], replay_from: Csn) -> Result<Vec<Link>> {
    let mut links: Vec<Link> = sound.last().copied().into_iter().collect();
    while let Some(oldest) = links.last()
        && oldest.header.first_whole() > replay_from.next()
    {
        let wanted = oldest.header.previous;
        let before = sound.iter().find(|link| link.header.number == wanted);
        let before = before.ok_or_else(|| Error::Missing {
            directory: directory.to_owned(),
            what: format!(
                "the log begins with {}, but commits after {replay_from} are wanted and {wanted} is \
                 not there; restore the missing segment files",
                oldest.header.first,
            ),
        })?;
        links.push(*before);
    }
    links.reverse();
    Ok(links)
}

/// Refuses if a file without a sound header holds a frame of a segment newer than all headers.
fn refuse_lost_headers<D: Disk>(
    disk: &D,
    directory: &Path,
    found: &[Found],
    newest: &SegmentHeader,
) -> Result<()> {
    for file in found {
        if matches!(file.header, HeaderRead::Sound(_)) {
            continue;
        }
        let mut reader = Reader::open(disk, &segment::path(directory, file.index))?;
        let unit = newest.unit_bytes;
        let lost = any_frame(&mut reader, unit, u64::from(unit), |frame| {
            frame.database == newest.database
                && frame.segment > newest.number
                && !frame.flags.copied
        })?;
        if lost && !planted(Plant::TruncateDamage) {
            return Err(Error::Damaged {
                path: reader.path().to_owned(),
                offset: 0,
                what: "the header was stable and cannot be read".to_owned(),
            });
        }
    }
    Ok(())
}

/// Why there is no log, though there may be files: nothing was ever begun, a first header was
/// damaged, or the files are not ours.
fn none_begun<D: Disk>(disk: &D, directory: &Path, found: &[Found]) -> Error {
    let is_being_made = disk
        .list(directory)
        .is_ok_and(|names| names.contains(&MAKING.into()));
    if is_unused(found, is_being_made) {
        return Error::Missing {
            directory: directory.to_owned(),
            what: "nothing was ever committed there; name the right directory, or make the database anew"
                .to_owned(),
        };
    }
    let bad = found.iter().find(|file| file.header == HeaderRead::Bad);
    let path = segment::path(directory, bad.map_or(0, |file| file.index));
    let is_ours = |mut reader: Reader<D::File>| -> Result<bool> {
        let magic = *b"SLFR";
        let ours = (1..reader.length() / 512).any(|sector| {
            let bytes = reader.at(sector * 512, FRAME_HEADER_BYTES);
            bytes.is_ok_and(|bytes| bytes.starts_with(&magic))
        });
        Ok(ours)
    };
    match Reader::open(disk, &path).and_then(is_ours) {
        Ok(true) => Error::Damaged {
            path,
            offset: 0,
            what: "the header cannot be read".to_owned(),
        },
        Ok(false) => Error::Foreign { path },
        Err(error) => error,
    }
}
