//! Recovery: turns the files that a crash left into a log that can be written again.
//!
//! 1. The survey orders the files into a chain of segments.
//! 2. Every frame of the chain is read in order. In a segment with a successor everything up to the frame
//!    that the successor's header names must be readable. In the newest the first gap ends the log, unless a
//!    later frame says that the missing one was stable: that is damage, and refused.
//! 3. A record whose last piece is missing does not exist.
//! 4. Frames that nothing else declares stable may exist only in the page cache, with a failed sync behind
//!    them. They are copied into a new segment, and synced; only then its header says "continues after" the
//!    last frame known stable, and is synced. It overrules whatever lies behind that frame in the old
//!    segment, now or after another crash.
//!
//! Recovery never changes a byte of a segment in the chain, so a crash during recovery changes nothing for
//! the next one; two recoveries of one image give the same result. It continues in the newest segment if that
//! is empty and another file says that its header is stable: a header that was only read may have come from
//! the page cache, behind a failed sync, and a crash would remove it in front of its frames.
//!
//! Two kinds of damage cannot be detected:
//!
//! 1. Damage to the last frames, which no later frame, no prepared file and no checkpoint names as stable,
//!    looks like an interrupted write: they are cut off. With one write in flight that is one frame,
//!    otherwise as many as were in flight. One flipped bit is distinguished from that (see `scan`) in a frame
//!    of up to one sector, 512 bytes with its header, except in its last byte that is not zero and the zeros
//!    behind it; and in the parts of a longer frame's header that chain it to its predecessor.
//! 2. Until a file is prepared behind it, no other file names the newest segment: if its file has the last of
//!    the names and vanishes, or its header is lost with all its frames, the log ends with the segment
//!    before, unless a checkpoint is newer.

use crate::error::{Error, Result};
use crate::ids::{Csn, FrameNumber, SegmentNumber};
use crate::log::frame::{self, Flags, FrameHeader};
use crate::log::frame_writer::LogStart;
use crate::log::options::Durability;
use crate::log::replay::{self, LogEnd, Tail};
use crate::log::segment::{self, Mode, SegmentFile, SegmentHeader};
use crate::log::segments::{FileSizes, FreeFile, FreeFiles, GROWTH, LiveSegment, LogSegments};
use crate::log::survey::{Chain, ChainSegment};
use crate::planted_bug::{PlantedBug, planted};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use syncline_instrument::clock;
use syncline_vfs::{AlignedBuffer, Disk, File, OpenOptions};

/// The result of recovery, with which the log is opened.
#[derive(Debug)]
pub(super) struct Recovered<F> {
    pub(super) start: LogStart,
    pub(super) current: SegmentFile<F>,
    pub(super) segments: LogSegments,
    /// Whether recovery wrote and synced the current segment's header.
    pub(super) is_begun: bool,
}

/// Reads the chain, passes every commit after `replay_from` to `replay`, and makes the log writable.
pub(super) fn recover<D: Disk>(
    disk: &D,
    directory: &Path,
    chain: Chain,
    replay_from: Csn,
    mode: Mode,
    sizes: FileSizes,
    replay: &mut dyn FnMut(Csn, &[u8]),
) -> Result<Recovered<D::File>> {
    let end = read(disk, directory, &chain, replay_from, replay)?;
    let newest = &chain.links[chain.links.len() - 1].header;
    // A record that never ended may reach into an empty segment; then its header names too much.
    let is_stable = chain.begun >= newest.number || planted(PlantedBug::TrustReadHeader);
    let goes_on = is_stable && end.newest_is_empty && end.reached.frame == newest.after;
    if goes_on || planted(PlantedBug::NoContinuesAfter) {
        go_on(disk, directory, chain, &end, mode)
    } else {
        begin_segment(disk, directory, chain, &end, (mode, sizes))
    }
}

/// The same for a log that will not be written: changes nothing.
pub(super) fn recover_read_only<D: Disk>(
    disk: &D,
    directory: &Path,
    chain: Chain,
    replay_from: Csn,
    replay: &mut dyn FnMut(Csn, &[u8]),
) -> Result<Recovered<D::File>> {
    let end = read(disk, directory, &chain, replay_from, replay)?;
    let ChainSegment { index, header } = chain.links[chain.links.len() - 1];
    let file = disk.open(&segment::path(directory, index), OpenOptions::READ)?;
    let current = SegmentFile { index, file: Arc::new(file), bytes: header.segment_bytes };
    Ok(in_newest(chain, &end, current))
}

/// Reads the chain. A log that ends before `replay_from` is not the data file's.
fn read<D: Disk>(
    disk: &D,
    directory: &Path,
    chain: &Chain,
    replay_from: Csn,
    replay: &mut dyn FnMut(Csn, &[u8]),
) -> Result<LogEnd> {
    let end = replay::read(disk, directory, chain, replay_from, replay)?;
    if end.reached.csn >= replay_from || planted(PlantedBug::ReplayTooLate) {
        return Ok(end);
    }
    Err(Error::Missing {
        directory: directory.to_owned(),
        what: format!(
            "the log there ends at {}, but the data file holds everything up to {replay_from}; restore \
             the log that belongs to this data file, or restore both from one backup",
            end.reached.csn
        ),
    })
}

/// Continues in the newest segment, whose header is stable, and which holds nothing that could later be
/// accepted by mistake.
fn go_on<D: Disk>(
    disk: &D,
    directory: &Path,
    chain: Chain,
    end: &LogEnd,
    mode: Mode,
) -> Result<Recovered<D::File>> {
    let newest = chain.links[chain.links.len() - 1];
    let file = (newest.index, newest.header.segment_bytes);
    let current = segment::open(disk, directory, file, mode)?;
    Ok(in_newest(chain, end, current))
}

/// A log that ends in its newest segment, whose file is `current`.
fn in_newest<F>(chain: Chain, end: &LogEnd, current: SegmentFile<F>) -> Recovered<F> {
    let newest = chain.links[chain.links.len() - 1];
    let mut spaces = chain.spaces;
    spaces.made(newest.index);
    Recovered {
        start: LogStart {
            database: newest.header.database,
            frame: end.reached.frame,
            frame_crc: end.reached.crc,
            csn: end.reached.csn,
            position: end.position,
            wall_ns: end.reached.wall_ns,
        },
        current,
        segments: LogSegments {
            released: segments(&chain.released),
            live: segments(&chain.links),
            spaces,
        },
        is_begun: true,
    }
}

/// Copies the tail into a new segment, which overrules everything behind the stable part.
fn begin_segment<D: Disk>(
    disk: &D,
    directory: &Path,
    mut chain: Chain,
    end: &LogEnd,
    (mode, sizes): (Mode, FileSizes),
) -> Result<Recovered<D::File>> {
    let newest = chain.links[chain.links.len() - 1].header;
    let left = sizes.all.saturating_sub(chain.bytes());
    // A segment without frames up to the stable one is overruled as a whole.
    let mut overruled = Vec::new();
    while let Some(last) = chain.links.last()
        && last.header.after >= end.stable.frame
        && last.header.previous > SegmentNumber(0)
    {
        overruled.extend(chain.links.pop());
    }
    let first_of_log = |link: &&ChainSegment| link.header.after < end.stable.frame;
    let header = SegmentHeader {
        number: newest.number.next(),
        previous: match (chain.links.last().filter(first_of_log), overruled.last()) {
            (Some(link), _) => link.header.number,
            (None, Some(oldest)) => oldest.header.previous,
            (None, None) => SegmentNumber(0),
        },
        after: end.stable.frame,
        after_crc: end.stable.crc,
        first: end.stable.next,
        mid_record: end.stable.mid_record,
        durability: mode.durability,
        by_recovery: true,
        wall_ns: end.reached.wall_ns.max(clock::wall()),
        begun: SegmentNumber(0),
        whole_files: chain.spaces.whole_files(),
        ..newest
    };
    let unit = newest.unit_bytes;
    let tail_bytes: usize = end.tail.iter().map(|tail| tail.header.frame_bytes(unit)).sum();
    let bytes_min = sizes.min.max(u64::from(unit) + tail_bytes as u64);
    let bytes = (newest.segment_bytes.max(bytes_min), bytes_min);
    let place = (disk, directory, mode.direct);
    let file = free_file(place, &mut chain.spaces, bytes, (left, sizes.all), &header)?;
    let header = SegmentHeader { segment_bytes: file.bytes, ..header };
    let index = file.index;
    let current = segment::open(disk, directory, (index, file.bytes), mode)?;
    let tail = if planted(PlantedBug::SkipTailCopy) { &[] } else { &end.tail[..] };
    let (start, synced) = (copy(&current, &header, end, tail, mode)?, mode.write_is_sync());
    assert!(start.position <= file.bytes, "the copied tail fits into its segment");
    if !synced {
        current.file.sync_data()?;
    }
    write_header(&current, &header, mode)?;
    let Chain { released, links, mut spaces, .. } = chain;
    spaces.made(index);
    // Overruled files may be overwritten only now that the new header is stable.
    let free = &mut spaces.free;
    free.extend(overruled.iter().map(ChainSegment::file));
    let mut live = segments(&links);
    if !links.last().as_ref().is_some_and(first_of_log) {
        free.extend(live.pop_back().map(|last| FreeFile { index: last.index, bytes: last.bytes }));
    }
    let (number, first) = (header.number, header.first_whole());
    live.push_back(LiveSegment { number, first, index, bytes: file.bytes });
    let segments = LogSegments { released: segments(&released), live, spaces };
    Ok(Recovered { start, current, segments, is_begun: true })
}

/// Takes a file for the segment that recovery begins. It has the size of the newest segment if possible, so
/// that a log that is only opened and closed does not grow: a free file that is not much larger, one that is
/// lengthened, or a new one. At the cap, or on a full disk, it is any file that can hold the tail. `left` is
/// what all files may still grow by.
fn free_file<D: Disk>(
    (disk, directory, is_direct): (&D, &Path, bool),
    spaces: &mut FreeFiles,
    (bytes, bytes_min): (u64, u64),
    (left, cap): (u64, u64),
    header: &SegmentHeader,
) -> Result<FreeFile> {
    let mut refusal = Error::Option {
        option: "log_bytes_max",
        value: cap,
        rule: "the log cannot be opened without another file; raise it for this opening",
    };
    let mut found = None;
    for (wanted, limit) in [(bytes, bytes.saturating_mul(GROWTH)), (bytes_min, u64::MAX)] {
        let fits = |file: &FreeFile| (wanted..limit).contains(&file.bytes);
        found = spaces.best(wanted).filter(fits);
        let small = spaces.largest_below(wanted);
        if planted(PlantedBug::TailIntoSmallFile) {
            found = found.or(small);
        }
        if found.is_some() {
            break;
        }
        let made = match small {
            Some(file)
                if wanted - file.bytes <= left.saturating_add(spaces.left_behind(file.index)) =>
            {
                let sizes = (file.index, file.bytes, wanted);
                segment::lengthen(disk, directory, sizes, is_direct).map(|()| file.index)
            }
            None if wanted <= left.saturating_add(spaces.left_behind(spaces.index_to_make())) => {
                let index = spaces.index_to_make();
                let mark = SegmentHeader { segment_bytes: wanted, ..*header };
                segment::prepare(disk, directory, (index, &mark), is_direct).map(|()| index)
            }
            _ => continue,
        };
        match made {
            Ok(index) => {
                found = Some(FreeFile { index, bytes: wanted });
                break;
            }
            Err(full @ Error::Full { .. }) => refusal = full,
            Err(error) => return Err(error),
        }
    }
    let file = found.ok_or(refusal)?;
    spaces.free.retain(|free| free.index != file.index);
    spaces.left_behind.remove(&file.index);
    Ok(file)
}

fn copy<F: File>(
    current: &SegmentFile<F>,
    segment: &SegmentHeader,
    end: &LogEnd,
    tail: &[Tail],
    mode: Mode,
) -> Result<LogStart> {
    let unit = segment.unit_bytes;
    let mut start = LogStart {
        database: segment.database,
        frame: end.stable.frame,
        frame_crc: end.stable.crc,
        csn: end.reached.csn,
        position: u64::from(unit),
        wall_ns: segment.wall_ns,
    };
    for Tail { header, payload, .. } in tail {
        let mut buffer = AlignedBuffer::zeroed(header.frame_bytes(unit));
        buffer[frame::HEADER_BYTES..][..payload.len()].copy_from_slice(payload);
        let copied = FrameHeader {
            database: segment.database,
            segment: segment.number,
            wall_ns: segment.wall_ns,
            stable: match mode.durability {
                Durability::None => FrameNumber::ZERO,
                Durability::Data | Durability::Full => end.stable.frame,
            },
            previous_crc: start.frame_crc,
            flags: Flags { copied: true, ..header.flags },
            ..*header
        };
        let (crc, bytes) = frame::seal(&mut buffer, &copied, unit);
        current.file.write_at(&buffer[..bytes], start.position)?;
        start.frame = header.number;
        start.frame_crc = crc;
        start.position += bytes as u64;
    }
    Ok(start)
}

/// Writes a segment's header and makes it stable.
pub(super) fn write_header<F: File>(
    segment: &SegmentFile<F>,
    header: &SegmentHeader,
    mode: Mode,
) -> Result<()> {
    let mut buffer = AlignedBuffer::zeroed(header.unit_bytes as usize);
    buffer[..segment::HEADER_BYTES].copy_from_slice(&header.to_bytes());
    segment.file.write_at(&buffer, 0)?;
    if !mode.write_is_sync() {
        segment.file.sync_data()?;
    }
    Ok(())
}

fn segments(links: &[ChainSegment]) -> VecDeque<LiveSegment> {
    let segments = links.iter().map(|link| LiveSegment {
        number: link.header.number,
        first: link.header.first_whole(),
        index: link.index,
        bytes: link.header.segment_bytes,
    });
    segments.collect()
}
