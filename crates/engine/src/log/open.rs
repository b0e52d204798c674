//! Making a log, and opening one: directory, lock, effective options.
//!
//! A log is made in this order: directory, lock file, the file `making`, a first segment file of zeros, all
//! synced with their names; then its header with number 1, synced; then the file `making` is removed. If this
//! is interrupted before the header was stable, no commit has been acknowledged, and making the log again may
//! overwrite whatever is there.
//!
//! A log inside the directory of a database that is being made needs fewer syncs ([`Guard::Database`]): the
//! database has a file `making` of its own, makes its directory's names stable before it removes that, and
//! removes all files of an interrupted log before it begins again.

use crate::directory;
use crate::error::{Error, Result};
use crate::ids::{Csn, DatabaseId, FrameNumber, SegmentNumber};
use crate::log::archive;
use crate::log::frame_writer::{FrameWriter, LogStart};
use crate::log::options::{Durability, Options};
use crate::log::recovery::{self, Recovered};
use crate::log::segment::{self, HeaderRead, Mode, SegmentHeader};
use crate::log::segments::{FreeFiles, LiveSegment, LogSegments, Segments};
use crate::log::survey::{self, Chain, MAKING};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use syncline_instrument::clock;
use syncline_vfs::{Disk, File, OpenOptions};

/// Direct writes need whole blocks of any device.
const DIRECT_UNIT_BYTES_MIN: u32 = 4096;

const LOCK_NAME: &str = "lock";

/// The parts of a log that was made or opened.
#[derive(Debug)]
pub(super) struct Opened<D: Disk> {
    pub(super) options: Options,
    pub(super) mode: Mode,
    pub(super) start: LogStart,
    pub(super) frame_writer: FrameWriter<D::File>,
    /// None if the log is read only and has no lock file.
    pub(super) lock: Option<D::File>,
}

/// What says that a log is still being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// A file in its directory.
    Own,
    /// The database, in whose directory the log's directory is.
    Database,
}

/// Makes a log whose first commit follows `after`.
pub(super) fn create<D: Disk>(
    disk: &D,
    directory: &Path,
    database: DatabaseId,
    options: Options,
    (guard, after): (Guard, Csn),
) -> Result<Opened<D>> {
    options.check()?;
    make_directory(disk, directory, guard)?;
    let lock = lock(disk, directory)?;
    let found = survey::find(disk, directory)?;
    let is_being_made = disk.list(directory)?.contains(&MAKING.into());
    if !survey::is_unused(&found, is_being_made) {
        let directory = directory.to_owned();
        return Err(Error::Exists { directory });
    }
    let archived = archived(disk, &options)?;
    let making = directory.join(MAKING);
    if guard == Guard::Own {
        drop(disk.open(&making, OpenOptions::READ_WRITE)?);
        disk.sync_directory(directory)?;
    }
    let header = SegmentHeader {
        database,
        number: SegmentNumber(1),
        previous: SegmentNumber(0),
        after: FrameNumber::ZERO,
        after_crc: 0,
        first: after.next(),
        segment_bytes: options.file_sizes().min,
        unit_bytes: options.frame_unit_bytes,
        durability: options.durability,
        by_recovery: false,
        mid_record: false,
        wall_ns: clock::wall(),
        begun: SegmentNumber(0),
        whole_files: 0,
    };
    let mut spaces = FreeFiles::default();
    spaces.made(0);
    let header = SegmentHeader { whole_files: spaces.whole_files(), ..header };
    if let (Some(archive), Some(archived)) = (&options.archive, &archived) {
        archive::check(archive, archived, &header)?;
    }
    match guard {
        Guard::Own => segment::make(disk, directory, (0, header.segment_bytes), false)?,
        Guard::Database => segment::make_first(disk, directory, &header)?,
    }
    let mode = resolve_mode(disk, directory, 0, &options)?;
    let current = segment::open(disk, directory, (0, header.segment_bytes), mode)?;
    if guard == Guard::Own {
        recovery::write_header(&current, &header, mode)?;
        disk.remove(&making)?;
        disk.sync_directory(directory)?;
    }
    let start = LogStart {
        database,
        frame: FrameNumber::ZERO,
        frame_crc: 0,
        csn: after,
        position: u64::from(options.frame_unit_bytes),
        wall_ns: header.wall_ns,
    };
    let live = VecDeque::from([LiveSegment {
        number: header.number,
        first: header.first,
        index: 0,
        bytes: header.segment_bytes,
    }]);
    let segments = LogSegments { released: VecDeque::new(), live, spaces };
    let files = (options.file_sizes(), options.archive.is_some());
    let segments = Segments::new(current, segments, files, true);
    Ok(opened(options, mode, start, segments, Some(lock)))
}

/// The newest segment of the archive, if there is one.
fn archived<D: Disk>(disk: &D, options: &Options) -> Result<Option<SegmentHeader>> {
    options.archive.as_ref().map_or(Ok(None), |archive| archive::open(disk, archive))
}

/// Removes the log of a database whose creation was interrupted, so that nothing was ever committed to it. A
/// directory that is missing, or that holds anything of another database, is left alone.
pub(crate) fn unmake<D: Disk>(disk: &D, directory: &Path, database: DatabaseId) -> Result<()> {
    match disk.list(directory) {
        Ok(_) => {}
        Err(error) if error.kind() == Some(ErrorKind::NotFound) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    let _lock = lock(disk, directory)?;
    let found = survey::find(disk, directory)?;
    let is_its_own = |file: &survey::SegmentFileInfo| match file.header {
        HeaderRead::Sound(header) => header.database == database,
        HeaderRead::Blank => true,
        HeaderRead::Bad | HeaderRead::Newer(_) => false,
    };
    let is_begun = |file: &survey::SegmentFileInfo| matches!(file.header, HeaderRead::Sound(_));
    if !found.iter().any(is_begun) || !found.iter().all(is_its_own) {
        return Ok(());
    }
    for file in found {
        disk.remove(&segment::path(directory, file.index))?;
    }
    disk.sync_directory(directory)?;
    Ok(())
}

/// Opens a log that exists.
pub(super) fn open<D: Disk>(
    disk: &D,
    directory: &Path,
    database: Option<DatabaseId>,
    replay_from: Csn,
    requested: &Options,
    replay: &mut dyn FnMut(Csn, &[u8]),
) -> Result<Opened<D>> {
    requested.check()?;
    let names = names(disk, directory)?;
    let lock = lock(disk, directory)?;
    let found = survey::find(disk, directory)?;
    let archived = archived(disk, requested)?;
    let newest = archived.map_or(SegmentNumber(0), |archived| archived.number);
    let archived_up_to = requested.archive.as_ref().map(|_| newest);
    let chain = survey::chain(disk, directory, &found, database, replay_from, archived_up_to)?;
    if let (Some(archive), Some(archived)) = (&requested.archive, &archived) {
        archive::check(archive, archived, &chain.links[0].header)?;
    }
    if names.contains(&MAKING.into()) {
        // The log was complete when its making was interrupted; a leftover `making` must not excuse later
        // damage.
        disk.remove(&directory.join(MAKING))?;
        disk.sync_directory(directory)?;
    }
    let newest = chain.links[chain.links.len() - 1];
    let used = chain.bytes();
    let options = in_force(requested, &newest.header);
    options.check()?;
    if let Some(bytes_max) = options.log_bytes_max.filter(|max| used > *max) {
        return Err(Error::Option {
            option: "log_bytes_max",
            value: bytes_max,
            rule: "the files of this log take more already; raise it to their size",
        });
    }
    let mode = resolve_mode(disk, directory, newest.index, &options)?;
    let Recovered { start, current, segments, is_begun } =
        recovery::recover(disk, directory, chain, replay_from, mode, options.file_sizes(), replay)?;
    let files = (options.file_sizes(), options.archive.is_some());
    let segments = Segments::new(current, segments, files, is_begun);
    Ok(opened(options, mode, start, segments, Some(lock)))
}

/// Opens a log that exists for reading: nothing in its directory changes.
pub(super) fn open_read_only<D: Disk>(
    disk: &D,
    directory: &Path,
    database: DatabaseId,
    replay_from: Csn,
    requested: &Options,
    replay: &mut dyn FnMut(Csn, &[u8]),
) -> Result<Opened<D>> {
    requested.check()?;
    names(disk, directory)?;
    let lock = lock_shared(disk, directory)?;
    let found = survey::find(disk, directory)?;
    let chain = survey::chain(disk, directory, &found, Some(database), replay_from, None)?;
    let options = in_force(requested, &chain.links[chain.links.len() - 1].header);
    let mode = Mode { direct: false, write_sync: false, durability: options.durability };
    let Recovered { start, current, segments, is_begun } =
        recovery::recover_read_only(disk, directory, chain, replay_from, replay)?;
    let segments = Segments::new(current, segments, (options.file_sizes(), false), is_begun);
    Ok(opened(options, mode, start, segments, lock))
}

/// The newest segments of a log that no process has open for writing, back to the one behind segment `after`
/// if that is still there; and the lock that keeps writers away meanwhile.
pub(super) fn chain_to_read<D: Disk>(
    disk: &D,
    directory: &Path,
    database: DatabaseId,
    after: SegmentNumber,
) -> Result<(Option<D::File>, Chain)> {
    names(disk, directory)?;
    let lock = lock_shared(disk, directory)?;
    let found = survey::find(disk, directory)?;
    // Nothing before the newest one is needed for itself.
    let newest = Csn(u64::MAX - 1);
    let chain = survey::chain(disk, directory, &found, Some(database), newest, Some(after))?;
    Ok((lock, chain))
}

/// The names in the directory of a log that must exist.
fn names<D: Disk>(disk: &D, directory: &Path) -> Result<Vec<PathBuf>> {
    let missing =
        |what: &str| Error::Missing { directory: directory.to_owned(), what: what.to_owned() };
    match disk.list(directory) {
        Ok(names) if names.is_empty() => {
            Err(missing("the directory is empty; name the right one, or restore its files"))
        }
        Err(error) if error.kind() == Some(ErrorKind::NotFound) => {
            Err(missing("there is no such directory; name the right one, or restore it"))
        }
        listed => Ok(listed?),
    }
}

/// The header of the newest segment, read from its file.
pub(super) fn newest_header<D: Disk>(disk: &D, directory: &Path) -> Result<SegmentHeader> {
    let found = survey::find(disk, directory)?;
    let headers = found.iter().filter_map(|file| match file.header {
        HeaderRead::Sound(header) => Some(header),
        HeaderRead::Blank | HeaderRead::Bad | HeaderRead::Newer(_) => None,
    });
    headers.max_by_key(|header| header.number).ok_or_else(|| Error::Missing {
        directory: directory.to_owned(),
        what: "no segment header can be read".to_owned(),
    })
}

fn opened<D: Disk>(
    options: Options,
    mode: Mode,
    start: LogStart,
    segments: Segments<D::File>,
    lock: Option<D::File>,
) -> Opened<D> {
    let options = with_records_below_cap(options);
    Opened {
        frame_writer: FrameWriter::new(&options, mode, &start, segments),
        options,
        mode,
        start,
        lock,
    }
}

/// The unit stays as the log was made, and the sizes become multiples of it.
fn in_force(options: &Options, header: &SegmentHeader) -> Options {
    let unit = u64::from(header.unit_bytes);
    let segment_bytes = options.segment_bytes.next_multiple_of(unit);
    let frame_bytes_max = u64::from(options.frame_bytes_max)
        .next_multiple_of(unit)
        .min(segment_bytes / 4 / unit * unit);
    Options {
        segment_bytes,
        segment_bytes_min: options.segment_bytes_min.next_multiple_of(unit),
        frame_unit_bytes: header.unit_bytes,
        frame_bytes_max: frame_bytes_max as u32,
        ..options.clone()
    }
}

/// A log with a cap accepts only records for which a checkpoint can always make room.
fn with_records_below_cap(mut options: Options) -> Options {
    let record_bytes_max = options.file_sizes().record_bytes_max();
    options.record_bytes_max = record_bytes_max.min(options.record_bytes_max.into()) as u32;
    options
}

/// Direct writes if they are requested, the unit allows them, and the file system offers them.
fn resolve_mode<D: Disk>(
    disk: &D,
    directory: &Path,
    index: u32,
    options: &Options,
) -> Result<Mode> {
    let durability = options.durability;
    let write_sync = options.direct && durability != Durability::None;
    let mode = Mode {
        direct: write_sync && options.frame_unit_bytes >= DIRECT_UNIT_BYTES_MIN,
        write_sync,
        durability,
    };
    match disk.open(&segment::path(directory, index), mode.open_options()) {
        Ok(_) => Ok(mode),
        Err(error) if mode.direct && is_not_offered(error.kind()) => {
            Ok(Mode { direct: false, write_sync: false, durability })
        }
        Err(error) => Err(error.into()),
    }
}

fn is_not_offered(kind: Option<ErrorKind>) -> bool {
    matches!(kind, Some(ErrorKind::InvalidInput | ErrorKind::Unsupported))
}

fn make_directory<D: Disk>(disk: &D, directory: &Path, guard: Guard) -> Result<()> {
    if guard == Guard::Own {
        return directory::made(disk, directory).map(drop);
    }
    match disk.list(directory) {
        Err(error) if error.kind() == Some(ErrorKind::NotFound) => {
            Ok(disk.create_directory(directory)?)
        }
        listed => Ok(listed.map(drop)?),
    }
}

fn lock<D: Disk>(disk: &D, directory: &Path) -> Result<D::File> {
    let file = disk.open(&directory.join(LOCK_NAME), OpenOptions::READ_WRITE)?;
    file.try_lock()?;
    Ok(file)
}

/// For a log that is only read. Without a lock file no process has the log open: each makes that file first.
fn lock_shared<D: Disk>(disk: &D, directory: &Path) -> Result<Option<D::File>> {
    match disk.open(&directory.join(LOCK_NAME), OpenOptions::READ) {
        Ok(file) => {
            file.try_lock_shared()?;
            Ok(Some(file))
        }
        Err(error) if error.kind() == Some(ErrorKind::NotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
