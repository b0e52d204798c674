//! The reading half of recovery: walks a chain of segments, delivers whole records, and finds where the log
//! ends and which of its last frames are not known to be stable. A restore reads archived segments the same
//! way, up to a limit.

use crate::error::{Error, Result};
use crate::ids::{Csn, FrameNumber};
use crate::log::archive::Until;
use crate::log::frame::{self, FrameHeader, Kind};
use crate::log::scan::{self, Reader, ScanPosition};
use crate::log::segment::{self, SegmentHeader};
use crate::log::survey::{Chain, ChainSegment};
use crate::planted_bug::{PlantedBug, planted};
use std::path::{Path, PathBuf};
use syncline_vfs::{Disk, File};

/// A frame that is not known to be stable.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) header: FrameHeader,
    pub(super) payload: Vec<u8>,
    crc: u32,
}

/// A frame after which a segment may continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Joint {
    pub(super) frame: FrameNumber,
    pub(super) crc: u32,
    /// The first commit that is not whole in the frames up to here.
    pub(super) next: Csn,
    /// True if its record has begun.
    pub(super) mid_record: bool,
}

/// Where a log ends.
#[derive(Debug)]
pub(super) struct LogEnd {
    /// The last frame that ends a record.
    pub(super) reached: ScanPosition,
    /// The last frame known to be stable, at or before `reached`.
    pub(super) stable: Joint,
    /// The frames between the two, oldest first.
    pub(super) tail: Vec<Tail>,
    /// The position after the last frame of the newest segment.
    pub(super) position: u64,
    /// True if the newest segment holds no frame of its own at all.
    pub(super) newest_is_empty: bool,
}

/// A segment and the directory of its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<'a> {
    pub(super) directory: &'a Path,
    pub(super) segment: ChainSegment,
}

/// What the last segment of a range is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Newest {
    /// The newest of a log.
    InLog {
        /// A frame of it that a prepared file declares stable; zero if none does.
        named: FrameNumber,
    },
    /// One whose bytes all belong to frames.
    Archived,
}

/// Receives the number and the record of each commit.
pub(super) type Sink<'a> = dyn FnMut(Csn, &[u8]) -> Result<()> + 'a;

/// Which commits are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// Those after this one,
    pub(super) from: Csn,
    /// up to here.
    pub(super) until: Until,
}

/// How far a range was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadEnd {
    /// The last commit.
    pub(super) csn: Csn,
    /// When it was written, in nanoseconds since 1970; none if no commit was read.
    pub(super) wall_ns: Option<u64>,
    /// The range ended before the segments did.
    pub(super) is_limited: bool,
}

impl ReadEnd {
    /// Nothing is read yet.
    fn nothing(from: Csn) -> ReadEnd {
        ReadEnd { csn: from, wall_ns: None, is_limited: false }
    }
}

/// The unfinished record while frames are read.
#[derive(Debug)]
enum PartialRecord {
    None,
    /// Its beginning lies before the chain, so it is not needed.
    Skipped,
    Collected(Vec<u8>),
}

struct Replay<'r> {
    path: PathBuf,
    range: Range,
    sink: &'r mut Sink<'r>,
    partial: PartialRecord,
    boundary: ScanPosition,
    stable: Joint,
    /// Collects the frames that are not known to be stable.
    keeps_tail: bool,
    tail: Vec<Tail>,
    end: ReadEnd,
}

/// Reads the chain, oldest segment first.
pub(super) fn read<D: Disk>(
    disk: &D,
    directory: &Path,
    chain: &Chain,
    replay_from: Csn,
    replay: &mut dyn FnMut(Csn, &[u8]),
) -> Result<LogEnd> {
    let sink = &mut |csn: Csn, content: &[u8]| {
        replay(csn, content);
        Ok(())
    };
    let range = Range { from: replay_from, until: Until::End };
    let segments: Vec<_> =
        chain.links.iter().map(|segment| Placed { directory, segment: *segment }).collect();
    let mut reading = Replay::new(&chain.links[0].header, range, sink);
    reading.keeps_tail = true;
    let reached = reading.read_before_last(disk, &segments)?;
    reading.read_newest(disk, &segments[segments.len() - 1], chain.named, reached)
}

/// Reads a range of the commits in segments of which the first holds the first commit needed. The last is
/// the newest of a log, or an archived one, which ends with its last stable frame.
pub(super) fn read_range<D: Disk>(
    disk: &D,
    segments: &[Placed<'_>],
    newest: Newest,
    range: Range,
    sink: &mut Sink<'_>,
) -> Result<ReadEnd> {
    let first = &segments[0].segment.header;
    if let Until::Time(wall_ns) = range.until
        && first.wall_ns > wall_ns
        && first.first > range.from
    {
        return Err(too_late(range.from));
    }
    let mut reading = Replay::new(first, range, sink);
    let reached = reading.read_before_last(disk, segments)?;
    let last = &segments[segments.len() - 1];
    match newest {
        _ if reading.end.is_limited => {}
        Newest::Archived => reading.read_to_end(disk, last, reached)?,
        Newest::InLog { named } => {
            reading.read_newest_frames(disk, last, named, reached)?;
        }
    }
    Ok(reading.end)
}

impl<'r> Replay<'r> {
    fn new(first: &SegmentHeader, range: Range, sink: &'r mut Sink<'r>) -> Replay<'r> {
        Replay {
            path: PathBuf::new(),
            range,
            sink,
            partial: if first.mid_record { PartialRecord::Skipped } else { PartialRecord::None },
            boundary: ScanPosition::before(first),
            stable: joint(first),
            keeps_tail: false,
            tail: Vec::new(),
            end: ReadEnd::nothing(range.from),
        }
    }

    /// Reads all segments but the last, or up to the limit. Returns the position behind them.
    fn read_before_last<D: Disk>(
        &mut self,
        disk: &D,
        segments: &[Placed<'_>],
    ) -> Result<ScanPosition> {
        let mut reached = self.boundary;
        for pair in segments.windows(2) {
            let mut reader = self.open(disk, &pair[0])?;
            let (segment, successor) = (&pair[0].segment.header, &pair[1].segment.header);
            self.read_up_to(&mut reader, segment, successor, &mut reached)?;
            if self.end.is_limited {
                break;
            }
        }
        Ok(reached)
    }

    fn open<D: Disk>(&mut self, disk: &D, placed: &Placed<'_>) -> Result<Reader<D::File>> {
        self.path = segment::path(placed.directory, placed.segment.index);
        Reader::open(disk, &self.path)
    }

    /// Reads a segment up to the frame after which its successor continues; everything there must be
    /// readable.
    fn read_up_to<F: File>(
        &mut self,
        reader: &mut Reader<F>,
        segment: &SegmentHeader,
        successor: &SegmentHeader,
        reached: &mut ScanPosition,
    ) -> Result<()> {
        let limit = successor.after;
        let mut offset = u64::from(segment.unit_bytes);
        if reached.frame < limit {
            let accept = &mut |header: &FrameHeader, payload: &[u8], reached: &mut ScanPosition| {
                Ok(self.accept(header, payload, reached)? && header.number < limit)
            };
            offset = scan::walk(reader, segment, reached, accept)?;
        }
        if self.end.is_limited {
            return Ok(());
        }
        if reached.frame != limit || reached.crc != successor.after_crc {
            let what =
                format!("{} continues after {limit}, which cannot be read", successor.number);
            return Err(self.damaged(offset, what));
        }
        reached.stable = reached.stable.max(limit);
        self.stable = joint(successor);
        self.tail.clear();
        Ok(())
    }

    /// Reads the newest segment to the end of the log.
    fn read_newest<D: Disk>(
        mut self,
        disk: &D,
        newest: &Placed<'_>,
        named: FrameNumber,
        reached: ScanPosition,
    ) -> Result<LogEnd> {
        let (mut reader, position) = self.read_newest_frames(disk, newest, named, reached)?;
        let segment = &newest.segment.header;
        let unit = segment.unit_bytes;
        let own = |found: &FrameHeader| {
            found.database == segment.database && found.segment == segment.number
        };
        let newest_is_empty =
            position == u64::from(unit) && !scan::any_frame(&mut reader, unit, position, own)?;
        Ok(self.log_end(position, newest_is_empty))
    }

    /// Reads the frames of the newest segment, or up to the limit. They must not end before the frame that a
    /// prepared file names. Returns the position behind them.
    fn read_newest_frames<D: Disk>(
        &mut self,
        disk: &D,
        newest: &Placed<'_>,
        named: FrameNumber,
        mut reached: ScanPosition,
    ) -> Result<(Reader<D::File>, u64)> {
        let mut reader = self.open(disk, newest)?;
        let segment = &newest.segment.header;
        let accept = &mut |header: &FrameHeader, payload: &[u8], reached: &mut ScanPosition| {
            self.accept(header, payload, reached)
        };
        let position = scan::walk(&mut reader, segment, &mut reached, accept)?;
        if !self.end.is_limited {
            reached.stable = reached.stable.max(named);
            scan::refuse_damage(&mut reader, segment, &reached, position)?;
        }
        Ok((reader, position))
    }

    /// Reads the last archived segment, all of whose bytes belong to frames.
    fn read_to_end<D: Disk>(
        &mut self,
        disk: &D,
        last: &Placed<'_>,
        mut reached: ScanPosition,
    ) -> Result<()> {
        let mut reader = self.open(disk, last)?;
        let accept = &mut |header: &FrameHeader, payload: &[u8], reached: &mut ScanPosition| {
            self.accept(header, payload, reached)
        };
        let position = scan::walk(&mut reader, &last.segment.header, &mut reached, accept)?;
        if !self.end.is_limited && position < reader.length() {
            let what = format!("{} cannot be read", reached.frame.next());
            return Err(self.damaged(position, what));
        }
        Ok(())
    }

    /// True if the range ends before that frame.
    fn is_over(&self, header: &FrameHeader) -> Result<bool> {
        let Range { from, until } = self.range;
        match until {
            Until::End => Ok(false),
            Until::Commit(last) => Ok(header.first > last),
            Until::Time(wall_ns) if header.wall_ns <= wall_ns => Ok(false),
            Until::Time(_) if header.first > from => Ok(!planted(PlantedBug::RestorePastTime)),
            Until::Time(_) => Err(too_late(from)),
        }
    }

    fn accept(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        reached: &mut ScanPosition,
    ) -> Result<bool> {
        if self.is_over(header)? {
            self.end.is_limited = true;
            return Ok(false);
        }
        if header.flags.fragment {
            self.accept_fragment(header, payload)?;
        } else {
            self.accept_records(header, payload)?;
        }
        if self.keeps_tail {
            self.tail.push(Tail { header: *header, payload: payload.to_vec(), crc: reached.crc });
            self.drop_stable(reached.stable);
        }
        if header.ends_record() {
            self.boundary = *reached;
        }
        Ok(!self.end.is_limited)
    }

    fn accept_records(&mut self, header: &FrameHeader, mut payload: &[u8]) -> Result<()> {
        if !matches!(self.partial, PartialRecord::None) {
            return Err(self.damaged(0, format!("{} is in the middle of a record", header.number)));
        }
        for index in 0..u64::from(header.count) {
            let csn = Csn(header.first.0 + index);
            let Some((record, rest)) = frame::split_record(payload) else {
                return Err(self.damaged(0, format!("{csn} is truncated in {}", header.number)));
            };
            if matches!(self.range.until, Until::Commit(last) if csn > last) {
                self.end.is_limited = true;
                break;
            }
            self.deliver((csn, header.wall_ns), record)?;
            payload = rest;
        }
        Ok(())
    }

    fn accept_fragment(&mut self, header: &FrameHeader, payload: &[u8]) -> Result<()> {
        match &mut self.partial {
            PartialRecord::None => self.partial = PartialRecord::Collected(payload.to_vec()),
            PartialRecord::Skipped => {}
            PartialRecord::Collected(bytes) => bytes.extend_from_slice(payload),
        }
        if !header.ends_record() {
            return Ok(());
        }
        if let PartialRecord::Collected(bytes) =
            std::mem::replace(&mut self.partial, PartialRecord::None)
        {
            let Some((record, _)) = frame::split_record(&bytes) else {
                let what = format!("{} is truncated in {}", header.first, header.number);
                return Err(self.damaged(0, what));
            };
            self.deliver((header.first, header.wall_ns), record)?;
        }
        Ok(())
    }

    fn deliver(&mut self, (csn, wall_ns): (Csn, u64), record: frame::RecordRead<'_>) -> Result<()> {
        if csn > self.range.from {
            (self.end.csn, self.end.wall_ns) = (csn, Some(wall_ns));
        }
        if record.kind == Kind::Transaction.byte() {
            if csn > self.range.from {
                (self.sink)(csn, record.content)?;
            }
            return Ok(());
        }
        if record.may_be_skipped {
            return Ok(());
        }
        Err(Error::Newer {
            path: self.path.clone(),
            found: segment::FORMAT + 1,
            known: segment::FORMAT,
        })
    }

    /// Removes frames from the tail that are now known to be stable.
    fn drop_stable(&mut self, stable: FrameNumber) {
        let count = self.tail.partition_point(|frame| frame.header.number <= stable);
        for frame in self.tail.drain(..count) {
            let mid_record = !frame.header.ends_record();
            self.stable = Joint {
                frame: frame.header.number,
                crc: frame.crc,
                next: if mid_record { frame.header.first } else { frame.header.last().next() },
                mid_record,
            };
        }
    }

    fn log_end(mut self, position: u64, newest_is_empty: bool) -> LogEnd {
        let boundary = self.boundary;
        self.tail.retain(|frame| frame.header.number <= boundary.frame);
        // Stable pieces of a record that never ended are given up too.
        if self.stable.frame > boundary.frame {
            self.stable = Joint {
                frame: boundary.frame,
                crc: boundary.crc,
                next: boundary.csn.next(),
                mid_record: false,
            };
        }
        LogEnd {
            reached: boundary,
            stable: self.stable,
            tail: self.tail,
            position,
            newest_is_empty,
        }
    }

    fn damaged(&self, offset: u64, what: String) -> Error {
        Error::Damaged { path: self.path.clone(), offset, what }
    }
}

/// The backup is newer than the limit.
fn too_late(held: Csn) -> Error {
    let what =
        format!("{held}, which the backup holds, was written after that time; use an older backup");
    Error::Restore { what }
}

fn joint(header: &SegmentHeader) -> Joint {
    Joint {
        frame: header.after,
        crc: header.after_crc,
        next: header.first,
        mid_record: header.mid_record,
    }
}
