//! The reading half of recovery: walks a chain of segments, delivers whole records, and finds where the log
//! ends and which of its last frames are not known to be stable.

use crate::error::{Error, Result};
use crate::ids::{Csn, FrameNumber};
use crate::log::frame::{self, FrameHeader, Kind};
use crate::log::scan::{self, Reader, ScanPosition};
use crate::log::segment::{self, SegmentHeader};
use crate::log::survey::Chain;
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
    from: Csn,
    sink: &'r mut dyn FnMut(Csn, &[u8]),
    partial: PartialRecord,
    boundary: ScanPosition,
    stable: Joint,
    tail: Vec<Tail>,
}

/// Reads the chain, oldest segment first.
pub(super) fn read<D: Disk>(
    disk: &D,
    directory: &Path,
    chain: &Chain,
    replay_from: Csn,
    replay: &mut dyn FnMut(Csn, &[u8]),
) -> Result<LogEnd> {
    let links = &chain.links[..];
    let first = &links[0].header;
    let mut reached = ScanPosition {
        frame: first.after,
        crc: first.after_crc,
        csn: Csn(first.first.0 - 1),
        wall_ns: first.wall_ns,
        stable: first.after,
    };
    let mut reading = Replay {
        path: PathBuf::new(),
        from: replay_from,
        sink: replay,
        partial: if first.mid_record { PartialRecord::Skipped } else { PartialRecord::None },
        boundary: reached,
        stable: joint(first),
        tail: Vec::new(),
    };
    for pair in links.windows(2) {
        reading.path = segment::path(directory, pair[0].index);
        let mut reader = Reader::open(disk, &reading.path)?;
        reading.read_up_to(&mut reader, &pair[0].header, &pair[1].header, &mut reached)?;
    }
    let newest = &links[links.len() - 1];
    reading.path = segment::path(directory, newest.index);
    let mut reader = Reader::open(disk, &reading.path)?;
    reading.read_newest(&mut reader, (&newest.header, chain.named), reached)
}

impl Replay<'_> {
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
                self.accept(header, payload, reached)?;
                Ok(header.number < limit)
            };
            offset = scan::walk(reader, segment, reached, accept)?;
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

    /// Reads the newest segment to the end of the log, which must not be before the frame that a prepared
    /// file names.
    fn read_newest<F: File>(
        mut self,
        reader: &mut Reader<F>,
        (segment, named): (&SegmentHeader, FrameNumber),
        mut reached: ScanPosition,
    ) -> Result<LogEnd> {
        let accept = &mut |header: &FrameHeader, payload: &[u8], reached: &mut ScanPosition| {
            self.accept(header, payload, reached)?;
            Ok(true)
        };
        let position = scan::walk(reader, segment, &mut reached, accept)?;
        reached.stable = reached.stable.max(named);
        scan::refuse_damage(reader, segment, &reached, position)?;
        let unit = segment.unit_bytes;
        let own = |found: &FrameHeader| {
            found.database == segment.database && found.segment == segment.number
        };
        let newest_is_empty =
            position == u64::from(unit) && !scan::any_frame(reader, unit, position, own)?;
        Ok(self.end(position, newest_is_empty))
    }

    fn accept(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        reached: &mut ScanPosition,
    ) -> Result<()> {
        if header.flags.fragment {
            self.accept_fragment(header, payload)?;
        } else {
            self.accept_records(header, payload)?;
        }
        self.tail.push(Tail { header: *header, payload: payload.to_vec(), crc: reached.crc });
        if header.ends_record() {
            self.boundary = *reached;
        }
        self.drop_stable(reached.stable);
        Ok(())
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
            self.deliver(csn, record)?;
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
            self.deliver(header.first, record)?;
        }
        Ok(())
    }

    fn deliver(&mut self, csn: Csn, record: frame::RecordRead<'_>) -> Result<()> {
        if record.kind == Kind::Transaction.byte() {
            if csn > self.from {
                (self.sink)(csn, record.content);
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

    fn end(mut self, position: u64, newest_is_empty: bool) -> LogEnd {
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

fn joint(header: &SegmentHeader) -> Joint {
    Joint {
        frame: header.after,
        crc: header.after_crc,
        next: header.first,
        mid_record: header.mid_record,
    }
}
