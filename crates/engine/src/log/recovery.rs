//! Recovery: from the files that a crash left to a log that may be written again.
//!
//! 1. The survey orders the files into a chain of segments.
//! 2. Every frame of the chain is read in order. In a segment with a successor everything that the
//!    successor's header names must be there. In the newest the first gap ends the log, unless a later
//!    frame says that the missing one had been stable: that is damage, and refused.
//! 3. A record whose last piece is missing is not there.
//! 4. Frames that nobody says are stable may stand in the page cache only, with a failed sync behind
//!    them. They are copied into a new segment, and synced; only then its header says "continues
//!    after" the last frame known stable, and is synced. It overrules whatever stands behind that
//!    frame in the old segment, now or after another crash.
//!
//! Recovery never changes a byte of a segment in the chain, so a crash within it changes nothing for
//! the next one; two recoveries of one image answer the same.
//!
//! What it cannot see: damage to the very last frames that nobody has named stable yet looks like
//! their write cut short.

use crate::error::Result;
use crate::ids::{Csn, FrameNumber, SegmentNumber};
use crate::log::frame::{self, Flags, FrameHeader};
use crate::log::options::Durability;
use crate::log::outlet::Start;
use crate::log::replay::{self, End, Tail};
use crate::log::segment::{self, Mode, SegmentFile, SegmentHeader};
use crate::log::segments::Live;
use crate::log::survey::{Chain, Link};
use crate::plant::{Plant, planted};
use std::collections::VecDeque;
use std::path::Path;
use syncline_disk::{AlignedBuffer, Disk, File};
use syncline_metering::clock;

/// What a log is opened with after recovery.
#[derive(Debug)]
pub(super) struct Recovered<F> {
    pub(super) start: Start,
    pub(super) current: SegmentFile<F>,
    pub(super) live: VecDeque<Live>,
    pub(super) free: Vec<u32>,
    pub(super) next_index: u32,
}

/// Reads the chain, hands every commit after `replay_from` to `replay`, and makes the log writable.
pub(super) fn recover<D: Disk>(
    disk: &D,
    directory: &Path,
    chain: Chain,
    replay_from: Csn,
    mode: Mode,
    replay: &mut dyn FnMut(Csn, &[u8]),
) -> Result<Recovered<D::File>> {
    let end = replay::read(disk, directory, &chain.links, replay_from, replay)?;
    let newest = &chain.links[chain.links.len() - 1].header;
    // A record that never ended may reach into an empty segment; then its header names too much.
    let goes_on = end.newest_is_empty && end.reached.frame == newest.after;
    if goes_on || planted(Plant::NoContinuesAfter) {
        go_on(disk, directory, chain, &end, mode)
    } else {
        begin_segment(disk, directory, chain, &end, mode)
    }
}

/// Goes on in the newest segment, which holds nothing that could be accepted later by mistake.
fn go_on<D: Disk>(
    disk: &D,
    directory: &Path,
    chain: Chain,
    end: &End,
    mode: Mode,
) -> Result<Recovered<D::File>> {
    let newest = chain.links[chain.links.len() - 1];
    Ok(Recovered {
        start: Start {
            database: newest.header.database,
            frame: end.reached.frame,
            frame_crc: end.reached.crc,
            csn: end.reached.csn,
            position: end.position,
            wall_ns: end.reached.wall_ns,
        },
        current: segment::open(disk, directory, newest.index, mode)?,
        live: live(&chain.links),
        free: chain.free,
        next_index: chain.next_index,
    })
}

/// Copies the tail into a new segment and lets it overrule what is behind the stable part.
fn begin_segment<D: Disk>(
    disk: &D,
    directory: &Path,
    mut chain: Chain,
    end: &End,
    mode: Mode,
) -> Result<Recovered<D::File>> {
    let newest = chain.links[chain.links.len() - 1].header;
    // Segments that hold nothing up to the stable frame are overruled whole.
    let mut overruled = Vec::new();
    while let Some(last) = chain.links.last()
        && last.header.after >= end.stable.frame
        && last.header.previous > SegmentNumber(0)
    {
        overruled.extend(chain.links.pop());
    }
    let first_of_log = |link: &&Link| link.header.after < end.stable.frame;
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
        ..newest
    };
    let index = if let Some(index) = chain.free.pop() {
        index
    } else {
        segment::prepare(disk, directory, (chain.next_index, &header), mode.direct)?;
        chain.next_index += 1;
        chain.next_index - 1
    };
    let current = segment::open(disk, directory, index, mode)?;
    let tail = if planted(Plant::SkipTailCopy) {
        &[]
    } else {
        &end.tail[..]
    };
    let (start, synced) = (
        copy(&current, &header, end, tail, mode)?,
        mode.write_is_sync(),
    );
    if !synced {
        current.file.sync_data()?;
    }
    write_header(&current, &header, mode)?;
    let Chain {
        links,
        mut free,
        next_index,
    } = chain;
    // What was overruled may be written over only now that the new header is stable.
    free.extend(overruled.iter().map(|link| link.index));
    let mut live = live(&links);
    if !links.last().as_ref().is_some_and(first_of_log) {
        free.extend(live.pop_back().map(|last| last.index));
    }
    live.push_back(Live {
        number: header.number,
        first: header.first_whole(),
        index,
    });
    Ok(Recovered {
        start,
        current,
        live,
        free,
        next_index,
    })
}

fn copy<F: File>(
    current: &SegmentFile<F>,
    segment: &SegmentHeader,
    end: &End,
    tail: &[Tail],
    mode: Mode,
) -> Result<Start> {
    let unit = segment.unit_bytes;
    let mut start = Start {
        database: segment.database,
        frame: end.stable.frame,
        frame_crc: end.stable.crc,
        csn: end.reached.csn,
        position: u64::from(unit),
        wall_ns: segment.wall_ns,
    };
    for Tail {
        header, payload, ..
    } in tail
    {
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
            flags: Flags {
                copied: true,
                ..header.flags
            },
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

fn live(links: &[Link]) -> VecDeque<Live> {
    let live = links.iter().map(|link| Live {
        number: link.header.number,
        first: link.header.first_whole(),
        index: link.index,
    });
    live.collect()
}
