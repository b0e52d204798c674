//! The frame writer: the side of the log that turns published records into frames and frames into I/O
//! requests.
//!
//! It holds no thread and does no I/O. Whoever drives the log asks it for an I/O request, does the I/O
//! request unlocked, and brings it back; the answer is how far the durable LSN has come.
//!
//! Invariants:
//! 1. Records are taken in csn order as far as they are published without a gap, each once.
//! 2. Frames follow one another in a segment without a gap; a frame that does not fit goes to the
//!    next segment, and what is left behind is less than the longest frame.
//! 3. A segment's header is stable before its first frame is launched.
//! 4. After a failure there are no more I/O requests.

use crate::ids::{Csn, DatabaseId, FrameNumber, SegmentNumber};
use crate::log::frame::{self, Flags, FrameHeader};
use crate::log::io_request::{IoCompletion, IoRequest};
use crate::log::options::{Durability, Options};
use crate::log::pipeline::Pipeline;
use crate::log::record_buffers::RecordBuffers;
use crate::log::ring::Ring;
use crate::log::segment::{self, Mode, SegmentHeader};
use crate::log::segments::{RESERVE_PART, Segments};
use crate::planted_bug::{PlantedBug, planted};
use std::sync::Arc;
use syncline_instrument::clock;
use syncline_vfs::AlignedBuffer;

/// Where a log stands when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogStart {
    pub(super) database: DatabaseId,
    /// The last frame there is, all stable.
    pub(super) frame: FrameNumber,
    pub(super) frame_crc: u32,
    /// The last commit there is.
    pub(super) csn: Csn,
    /// Where the next frame goes in the current segment.
    pub(super) position: u64,
    pub(super) wall_ns: u64,
}

/// What became of an I/O request.
#[derive(Debug)]
pub(super) enum IoOutcome {
    /// The durable LSN may move to here.
    DurableLsn(Csn),
    /// It failed, and with it the log.
    Failed(Arc<str>),
}

/// See the module.
#[derive(Debug)]
pub(super) struct FrameWriter<F> {
    unit: u32,
    frame_bytes_max: usize,
    segment_bytes: u64,
    mode: Mode,
    database: DatabaseId,
    pipeline: Pipeline,
    segments: Segments<F>,
    position: u64,
    previous_crc: u32,
    wall_ns: u64,
    /// The first commit that is in no frame yet.
    next: Csn,
    /// Bytes of that commit's record which are in frames already.
    partial_bytes: usize,
    /// Bytes of records in frames since opening.
    record_bytes: u64,
    buffers: Vec<AlignedBuffer>,
    /// Buffers of records that are in frames by now.
    drained: RecordBuffers,
    header_buffer: Option<AlignedBuffer>,
    late_header: Option<IoRequest<F>>,
}

/// What the frame under construction holds.
#[derive(Clone, Copy, Debug, Default)]
struct Draft {
    payload_bytes: usize,
    count: u32,
    /// What the records had claimed.
    claimed_bytes: u64,
    flags: Flags,
}

/// Why there is no frame now.
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
            segment_bytes: options.segment_bytes,
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

    /// The next thing to do, if something may be done now.
    pub(super) fn next_job(&mut self, ring: &Ring) -> Option<IoRequest<F>> {
        if self.pipeline.wants_sync() {
            self.pipeline.begin_sync();
            return Some(IoRequest::Sync {
                file: self.segments.current(),
                level: self.mode.durability,
            });
        }
        // While a header is on its way its buffer is away, and nothing else may be launched.
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

    /// Takes an I/O request back.
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
        IoOutcome::DurableLsn(self.pipeline.horizon())
    }

    /// Stops everything after a failure that was no I/O request's.
    pub(super) fn poison(&mut self) {
        self.pipeline.poison();
    }

    /// The first commit that is in no frame yet.
    pub(super) fn next(&self) -> Csn {
        self.next
    }

    /// Bytes of records put into frames since opening, without the zeros at the frames' ends.
    pub(super) fn record_bytes(&self) -> u64 {
        self.record_bytes
    }

    /// How far the durable LSN has come.
    pub(super) fn horizon(&self) -> Csn {
        self.pipeline.horizon()
    }

    /// Buffers of records that are in frames, to be used again.
    pub(super) fn drained(&mut self) -> &mut RecordBuffers {
        &mut self.drained
    }

    /// Prepared files and those in use.
    pub(super) fn segments(&mut self) -> &mut Segments<F> {
        &mut self.segments
    }

    /// The header fields of a file that is being prepared.
    pub(super) fn header_like(&self) -> SegmentHeader {
        self.header(SegmentNumber(0))
    }

    /// How many bytes may be claimed, given what is prepared. From each segment a longest frame is
    /// taken off: that much may be left behind at its end.
    pub(super) fn space_bytes(&self) -> u64 {
        let margin = self.frame_bytes_max as u64;
        let whole = self.segment_bytes - u64::from(self.unit) - margin;
        let here = (self.segment_bytes - self.position).saturating_sub(margin);
        here + whole * self.segments.spares() as u64
    }

    /// How many of them only commits may claim that delete; see the module `segments`.
    fn reserve_bytes(&self) -> u64 {
        match self.segments.spares() {
            0 => self.segment_bytes / RESERVE_PART,
            _ => 0,
        }
    }

    /// Says in the ring what may be claimed.
    pub(super) fn set_space(&self, ring: &Ring) {
        ring.set_space_and_reserve(self.space_bytes(), self.reserve_bytes());
    }

    fn next_frame(&mut self, ring: &Ring) -> Result<IoRequest<F>, NoFrame> {
        if !ring.is_published(self.next) {
            return Err(NoFrame::NothingPublished);
        }
        let mut buffer = self.buffers.pop().expect("a free flight has a buffer");
        let room = self.frame_bytes_max.min((self.segment_bytes - self.position) as usize);
        let draft = if self.partial_bytes == 0 {
            self.gather(ring, &mut buffer[..room])
        } else {
            Draft::default()
        };
        let draft = Some(draft)
            .filter(|draft| draft.count > 0)
            .or_else(|| self.gather_fragment(ring, &mut buffer, room));
        let Some(draft) = draft else {
            self.buffers.push(buffer);
            return Err(NoFrame::NextSegment);
        };
        self.record_bytes += draft.payload_bytes as u64;
        Ok(self.launch(ring, buffer, draft))
    }

    /// Whole records, as many as there are and fit.
    fn gather(&mut self, ring: &Ring, buffer: &mut [u8]) -> Draft {
        let mut draft = Draft::default();
        loop {
            let csn = Csn(self.next.0 + u64::from(draft.count));
            let taken = ring.drain(csn, |record| {
                let from = frame::HEADER_BYTES + draft.payload_bytes;
                let content = record.content;
                let bytes = frame::RECORD_HEADER_BYTES + content.len();
                let Some(place) = buffer.get_mut(from..from + bytes) else {
                    return false;
                };
                let (header, body) = place.split_at_mut(frame::RECORD_HEADER_BYTES);
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

    /// A piece of the next record, which is too long for any one frame; none if the segment has no
    /// room for a longest frame, or if the record would fit into one.
    fn gather_fragment(&mut self, ring: &Ring, buffer: &mut [u8], room: usize) -> Option<Draft> {
        if room < self.frame_bytes_max {
            return None;
        }
        let (start, piece_max) = (self.partial_bytes, room - frame::HEADER_BYTES);
        let (piece, whole, content_bytes) = ring.drain(self.next, |record| {
            let header = frame::record_header(record.kind, record.content.len());
            let whole = header.len() + record.content.len();
            let piece = piece_max.min(whole - start);
            let place = &mut buffer[frame::HEADER_BYTES..frame::HEADER_BYTES + piece];
            let from_header = header.len().saturating_sub(start).min(piece);
            let (front, back) = place.split_at_mut(from_header);
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
            // What is only written may be lost in any order: nothing is known stable.
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

    /// Goes on to a prepared file once nothing is in flight; none until then.
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
            segment_bytes: self.segment_bytes,
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

/// What a record of so many bytes takes at most, alone in its frames.
pub(super) fn claim_bytes(content_bytes: usize, unit: u32, frame_bytes_max: usize) -> u64 {
    let payload = frame::RECORD_HEADER_BYTES + content_bytes;
    let payload_max = frame_bytes_max - frame::HEADER_BYTES;
    if payload <= payload_max {
        frame::frame_bytes(payload, unit) as u64
    } else {
        payload.div_ceil(payload_max) as u64 * frame_bytes_max as u64
    }
}
