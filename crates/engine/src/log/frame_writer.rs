//! The frame writer: turns published records into frames, and frames into I/O requests.
//!
//! It owns no thread and does no I/O. A driver of the log takes an I/O request from it, performs the request
//! without the lock, and returns it; the reply is the new durable LSN.
//!
//! Invariants:
//! 1. Records are taken in csn order up to the first gap in the published ones, each once.
//! 2. Frames follow one another in a segment without a gap; a frame that does not fit goes to the next
//!    segment, which leaves less than the longest frame unused.
//! 3. A segment's header is stable before its first frame is launched.
//! 4. After a failure there are no more I/O requests.

use crate::ids::{Csn, DatabaseId, FrameNumber, SegmentNumber};
use crate::log::frame::{self, Flags, FrameHeader};
use crate::log::io_request::{IoCompletion, IoRequest};
use crate::log::options::{self, Durability, Options};
use crate::log::pipeline::Pipeline;
use crate::log::record_buffers::RecordBuffers;
use crate::log::ring::Ring;
use crate::log::segment::{self, Mode, SegmentHeader};
use crate::log::segments::{RESERVE_PART, Segments};
use crate::planted_bug::{PlantedBug, planted};
use std::sync::Arc;
use syncline_instrument::clock;
use syncline_vfs::AlignedBuffer;

/// Where a log continues when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogStart {
    pub(super) database: DatabaseId,
    /// The last frame; all frames are stable.
    pub(super) frame: FrameNumber,
    pub(super) frame_crc: u32,
    /// The last commit.
    pub(super) csn: Csn,
    /// Where the next frame goes in the current segment.
    pub(super) position: u64,
    pub(super) wall_ns: u64,
}

/// The result of an I/O request.
#[derive(Debug)]
pub(super) enum IoOutcome {
    /// The durable LSN may move to this commit.
    DurableLsn(Csn),
    /// The request failed, and the log with it.
    Failed(Arc<str>),
}

/// Builds frames and I/O requests from published records.
#[derive(Debug)]
pub(super) struct FrameWriter<F> {
    unit: u32,
    frame_bytes_max: usize,
    mode: Mode,
    database: DatabaseId,
    pipeline: Pipeline,
    segments: Segments<F>,
    position: u64,
    previous_crc: u32,
    wall_ns: u64,
    /// The first commit that is in no frame yet.
    next: Csn,
    /// Bytes of that commit's record which are already in frames.
    partial_bytes: usize,
    /// Bytes of records in frames since opening.
    record_bytes: u64,
    buffers: Vec<AlignedBuffer>,
    /// Buffers of records whose bytes are now in frames.
    drained: RecordBuffers,
    header_buffer: Option<AlignedBuffer>,
    late_header: Option<IoRequest<F>>,
}

/// The contents of the frame under construction.
#[derive(Clone, Copy, Debug, Default)]
struct Draft {
    payload_bytes: usize,
    count: u32,
    /// The bytes that the records had claimed.
    claimed_bytes: u64,
    flags: Flags,
}

/// Why no frame can be built now.
enum NoFrame {
    NothingPublished,
    NextSegment,
}

impl<F: syncline_vfs::File> FrameWriter<F> {
    pub(super) fn new(
        options: &Options,
        mode: Mode,
        start: &LogStart,
        segments: Segments<F>,
    ) -> Self {
        let frame_bytes_max = options.frame_bytes_max as usize;
        let buffers = (0..options.writes_in_flight_max)
            .map(|_| AlignedBuffer::zeroed(frame_bytes_max))
            .collect();
        let sync_follows = options.durability != Durability::None && !mode.write_is_sync();
        FrameWriter {
            unit: options.frame_unit_bytes,
            frame_bytes_max,
            mode,
            database: start.database,
            pipeline: Pipeline::new(
                options.writes_in_flight_max as usize,
                sync_follows,
                start.frame,
                start.csn,
            ),
            segments,
            position: start.position,
            previous_crc: start.frame_crc,
            wall_ns: start.wall_ns,
            next: start.csn.next(),
            partial_bytes: 0,
            record_bytes: 0,
            buffers,
            drained: RecordBuffers::default(),
            header_buffer: Some(AlignedBuffer::zeroed(options.frame_unit_bytes as usize)),
            late_header: None,
        }
    }

    /// The next I/O request, if one may be launched now.
    pub(super) fn next_job(&mut self, ring: &Ring) -> Option<IoRequest<F>> {
        if self.pipeline.wants_sync() {
            self.pipeline.begin_sync();
            return Some(IoRequest::Sync {
                file: self.segments.current(),
                level: self.mode.durability,
            });
        }
        // While a header is being written, its buffer is absent and nothing else may be launched.
        if !self.pipeline.may_launch() || self.header_buffer.is_none() {
            return None;
        }
        if self.pipeline.is_idle()
            && let Some(io_request) =
                self.late_header.take_if(|_| self.position > u64::from(self.unit))
        {
            return Some(io_request);
        }
        match self.next_frame(ring) {
            Ok(io_request) => Some(io_request),
            Err(NoFrame::NothingPublished) => None,
            Err(NoFrame::NextSegment) => self.next_segment(ring),
        }
    }

    /// Takes a finished I/O request back.
    pub(super) fn finish(&mut self, done: IoCompletion<F>) -> IoOutcome {
        if let Err(error) = done.result {
            self.pipeline.poison();
            return IoOutcome::Failed(Arc::from(error.to_string()));
        }
        match done.io_request {
            IoRequest::Write { number, buffer, .. } => {
                self.buffers.push(buffer);
                self.pipeline.write_done(number);
            }
            IoRequest::Sync { .. } => self.pipeline.sync_done(),
            IoRequest::Header { buffer, .. } => {
                self.header_buffer = Some(buffer);
                self.segments.begin_current();
            }
        }
        IoOutcome::DurableLsn(self.pipeline.durable_lsn())
    }

    /// Stops everything after a failure that no I/O request caused.
    pub(super) fn poison(&mut self) {
        self.pipeline.poison();
    }

    /// The first commit that is in no frame yet.
    pub(super) fn next(&self) -> Csn {
        self.next
    }

    /// Bytes of records put into frames since opening, without the padding of the frames.
    pub(super) fn record_bytes(&self) -> u64 {
        self.record_bytes
    }

    /// The durable LSN.
    pub(super) fn durable_lsn(&self) -> Csn {
        self.pipeline.durable_lsn()
    }

    /// Buffers of records that are in frames, for reuse.
    pub(super) fn drained(&mut self) -> &mut RecordBuffers {
        &mut self.drained
    }

    /// The prepared files and those in use.
    pub(super) fn segments(&mut self) -> &mut Segments<F> {
        &mut self.segments
    }

    /// The header of a file of this size that is being prepared.
    pub(super) fn mark(&self, segment_bytes: u64) -> SegmentHeader {
        SegmentHeader { segment_bytes, ..self.header(SegmentNumber(0)) }
    }

    /// How many bytes may be claimed in the current and the prepared segments. One longest frame is
    /// subtracted for each segment: that much may stay unused at its end.
    pub(super) fn space_bytes(&self) -> u64 {
        let margin = |segment_bytes| self.frame_bytes_max_in(segment_bytes) as u64;
        let current = self.segments.current_bytes();
        let here = (current - self.position).saturating_sub(margin(current));
        let whole = |bytes| bytes - u64::from(self.unit) - margin(bytes);
        here + self.segments.spares().map(whole).sum::<u64>()
    }

    /// The longest frame in a segment of this size.
    fn frame_bytes_max_in(&self, segment_bytes: u64) -> usize {
        let unit = u64::from(self.unit);
        self.frame_bytes_max.min((segment_bytes / 4 / unit * unit) as usize)
    }

    /// How many of these bytes only deleting commits may claim; see the module `segments`.
    fn reserve_bytes(&self) -> u64 {
        match self.segments.spares().len() {
            0 => self.segments.current_bytes() / RESERVE_PART,
            _ => 0,
        }
    }

    /// Sets in the ring how many bytes may be claimed.
    pub(super) fn set_space(&self, ring: &Ring) {
        ring.set_space_and_reserve(self.space_bytes(), self.reserve_bytes());
    }

    fn next_frame(&mut self, ring: &Ring) -> Result<IoRequest<F>, NoFrame> {
        if !ring.is_published(self.next) {
            return Err(NoFrame::NothingPublished);
        }
        let mut buffer = self.buffers.pop().expect("a free flight has a buffer");
        let segment_bytes = self.segments.current_bytes();
        let frame_bytes_max = self.frame_bytes_max_in(segment_bytes);
        let room = frame_bytes_max.min((segment_bytes - self.position) as usize);
        let draft = if self.partial_bytes == 0 {
            self.gather(ring, &mut buffer[..room])
        } else {
            Draft::default()
        };
        let draft = Some(draft).filter(|draft| draft.count > 0).or_else(|| {
            (room == frame_bytes_max).then(|| self.gather_fragment(ring, &mut buffer, room))?
        });
        let Some(draft) = draft else {
            self.buffers.push(buffer);
            return Err(NoFrame::NextSegment);
        };
        self.record_bytes += draft.payload_bytes as u64;
        Ok(self.launch(ring, buffer, draft))
    }

    /// As many whole published records as fit.
    fn gather(&mut self, ring: &Ring, buffer: &mut [u8]) -> Draft {
        let mut draft = Draft::default();
        loop {
            let csn = Csn(self.next.0 + u64::from(draft.count));
            let taken = ring.drain(csn, |record| {
                let from = frame::HEADER_BYTES + draft.payload_bytes;
                let content = record.content;
                let bytes = frame::RECORD_HEADER_BYTES + content.len();
                let Some(target) = buffer.get_mut(from..from + bytes) else {
                    return false;
                };
                let (header, body) = target.split_at_mut(frame::RECORD_HEADER_BYTES);
                header.copy_from_slice(&frame::record_header(record.kind, content.len()));
                body.copy_from_slice(content);
                draft.payload_bytes += bytes;
                draft.count += 1;
                draft.claimed_bytes += self.claim_bytes(content.len());
                true
            });
            if taken != Some(true) {
                return draft;
            }
            self.drained.add(ring.take_buffer(csn));
        }
    }

    /// A piece of the next record, which is too long for a single frame of this segment. The segment has room
    /// for a longest frame.
    fn gather_fragment(&mut self, ring: &Ring, buffer: &mut [u8], room: usize) -> Option<Draft> {
        let (start, piece_max) = (self.partial_bytes, room - frame::HEADER_BYTES);
        let (piece, whole, content_bytes) = ring.drain(self.next, |record| {
            let header = frame::record_header(record.kind, record.content.len());
            let whole = header.len() + record.content.len();
            let piece = piece_max.min(whole - start);
            let target = &mut buffer[frame::HEADER_BYTES..frame::HEADER_BYTES + piece];
            let from_header = header.len().saturating_sub(start).min(piece);
            let (front, back) = target.split_at_mut(from_header);
            front.copy_from_slice(&header[start.min(header.len())..][..from_header]);
            let content_start = (start + from_header) - header.len();
            back.copy_from_slice(&record.content[content_start..][..piece - from_header]);
            (piece, whole, record.content.len())
        })?;
        let last = start + piece == whole;
        let counts = last || planted(PlantedBug::FragmentCommits);
        self.partial_bytes = if last { 0 } else { start + piece };
        if last {
            self.drained.add(ring.take_buffer(self.next));
        }
        Some(Draft {
            payload_bytes: piece,
            count: u32::from(counts),
            claimed_bytes: if last { self.claim_bytes(content_bytes) } else { 0 },
            flags: Flags { fragment: true, last, copied: false },
        })
    }

    fn launch(&mut self, ring: &Ring, mut buffer: AlignedBuffer, draft: Draft) -> IoRequest<F> {
        self.wall_ns = self.wall_ns.max(clock::wall());
        let stable = match self.mode.durability {
            // Frames that were only written may be lost in any order: none is known to be stable.
            Durability::None => FrameNumber::ZERO,
            Durability::Data | Durability::Full => self.pipeline.stable(),
        };
        let header = FrameHeader {
            flags: draft.flags,
            database: self.database,
            segment: self.segments.current_number(),
            number: self.pipeline.next_number(),
            first: self.next,
            count: draft.count,
            payload_bytes: draft.payload_bytes as u32,
            wall_ns: self.wall_ns,
            stable,
            previous_crc: self.previous_crc,
        };
        let (crc, bytes) = frame::seal(&mut buffer, &header, self.unit);
        let number = self.pipeline.launch(header.last());
        let offset = self.position;
        if header.ends_record() {
            self.next = header.last().next();
        }
        self.previous_crc = crc;
        self.position += bytes as u64;
        // First less space, then fewer claims: in between too little may be granted, never too much.
        self.set_space(ring);
        ring.bytes_written(draft.claimed_bytes);
        IoRequest::Write {
            number,
            file: self.segments.current(),
            buffer,
            bytes,
            offset,
            is_sync: self.mode.write_is_sync(),
        }
    }

    /// Switches to a prepared file once nothing is in flight; none until then.
    fn next_segment(&mut self, ring: &Ring) -> Option<IoRequest<F>> {
        if !self.pipeline.is_idle() {
            return None;
        }
        let before = self.segments.current();
        let mid_record = self.partial_bytes > 0;
        let first = if mid_record { self.next.next() } else { self.next };
        let file = self.segments.advance(first)?;
        let header = self.header(self.segments.current_number());
        let mut buffer = self.header_buffer.take()?;
        buffer.fill(0);
        buffer[..segment::HEADER_BYTES].copy_from_slice(&header.to_bytes());
        self.position = u64::from(self.unit);
        self.set_space(ring);
        let io_request = IoRequest::Header {
            file,
            before: (self.mode.durability == Durability::None).then_some(before),
            buffer,
            bytes: self.unit as usize,
            is_sync: self.mode.write_is_sync(),
        };
        if planted(PlantedBug::HeaderAfterFrames) {
            self.header_buffer = Some(AlignedBuffer::zeroed(self.unit as usize));
            self.late_header = Some(io_request);
            return self.next_frame(ring).ok();
        }
        Some(io_request)
    }

    fn header(&self, number: SegmentNumber) -> SegmentHeader {
        SegmentHeader {
            database: self.database,
            number,
            previous: self.segments.previous_number(),
            after: self.pipeline.stable(),
            after_crc: self.previous_crc,
            first: self.next,
            segment_bytes: self.segments.current_bytes(),
            unit_bytes: self.unit,
            durability: self.mode.durability,
            by_recovery: false,
            mid_record: self.partial_bytes > 0,
            wall_ns: self.wall_ns,
            begun: self.segments.begun(),
            whole_files: self.segments.whole_files(),
        }
    }

    fn claim_bytes(&self, content_bytes: usize) -> u64 {
        claim_bytes(content_bytes, self.unit, self.frame_bytes_max)
    }
}

/// The most bytes that a record with this content takes, alone in its frames, in segments of any sizes. All
/// of its frames but the last are longest frames of their segments, which are multiples of the unit.
#[inline]
pub(super) fn claim_bytes(content_bytes: usize, unit: u32, frame_bytes_max: usize) -> u64 {
    let payload = frame::RECORD_HEADER_BYTES + content_bytes;
    let in_smallest = frame_bytes_max.min(options::FRAME_BYTES_MIN) - frame::HEADER_BYTES;
    if payload <= in_smallest {
        return frame::frame_bytes(payload, unit) as u64;
    }
    let headers = payload.div_ceil(in_smallest) * frame::HEADER_BYTES;
    (payload + headers).next_multiple_of(unit as usize) as u64
}
