//! One sync cell: writers of one method on one file, each with one sync outstanding.

use super::files::{Files, LapCursor};
use super::latency::{latency, two_modes};
use super::worker_pool::{Operation, Totals};
use crate::disk_counters::{CounterDelta, DiskCounterReader};
use crate::plan::{LINE_BYTES, Span};
use crate::{FileState, Placement, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_record::{CellFigures, PlainWrite};
use syncline_vfs::{AlignedBuffer, DurableWriter, File, RealFile, SyncMethod};

/// The parameters of a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellJob {
    /// The method.
    pub(crate) method: SyncMethod,
    /// Bytes of one write.
    pub(crate) write_bytes: usize,
    /// The state of the blocks.
    pub(crate) file_state: FileState,
    /// The placement of the writes.
    pub(crate) placement: Placement,
    /// The number of writers.
    pub(crate) outstanding: usize,
    /// The duration.
    pub(crate) span: Span,
}

/// Runs the cell; `None` if it was stopped before its time.
pub(crate) fn measure_cell(
    files: &mut Files,
    job: &CellJob,
    watch: &DiskCounterReader,
    stop: &AtomicBool,
) -> Result<Option<CellFigures>> {
    let mut tally = Totals::new(job.span);
    let mut delta = CounterDelta::default();
    while !tally.is_complete() {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        lap(files, job, watch, stop, (&mut tally, &mut delta))?;
    }
    Ok(measured(tally, delta, watch, job.span))
}

/// 4 KiB direct writes without a sync, advancing through written blocks.
pub(crate) fn plain_writes(
    files: &Files,
    span: Span,
    stop: &AtomicBool,
) -> Result<Option<PlainWrite>> {
    let file = files.written().open_direct()?;
    let way = WritePosition::Region { start: 0, bytes: files.sizes().overwrite, next: 0 };
    let mut tally = Totals::new(span);
    tally.work(vec![PlainWriter { file, way, buffer: filled(LINE_BYTES, 0) }], stop)?;
    let rate_per_s = rate(tally.operations, tally.elapsed_ns);
    let latency = latency(&tally.histogram).filter(|_| tally.is_complete());
    let write_bytes = LINE_BYTES as u64;
    Ok(latency.map(|latency_ns| PlainWrite { write_bytes, rate_per_s, latency_ns }))
}

/// Incompressible bytes, determined by the number.
pub(crate) fn filled(bytes: usize, number: u64) -> AlignedBuffer {
    let mut buffer = AlignedBuffer::zeroed(bytes);
    fastrand::Rng::with_seed(number).fill(&mut buffer);
    buffer
}

/// The rate for a time that is positive whenever `count` is.
pub(crate) fn rate(count: u64, elapsed_ns: u64) -> f64 {
    count as f64 * 1e9 / elapsed_ns.max(1) as f64
}

fn lap(
    files: &mut Files,
    job: &CellJob,
    watch: &DiskCounterReader,
    stop: &AtomicBool,
    (tally, delta): (&mut Totals, &mut CounterDelta),
) -> Result<()> {
    let workers = workers(files, job)?;
    let before_ns = tally.elapsed_ns;
    let before = watch.read();
    let outcome = tally.work(workers, stop);
    delta.add(before, watch.read(), tally.elapsed_ns - before_ns);
    Ok(outcome?)
}

fn workers<'a>(files: &'a mut Files, job: &CellJob) -> Result<Vec<Writer<'a>>> {
    let overwrite_bytes = files.sizes().overwrite;
    let (path, claim) = match job.file_state {
        FileState::Overwrite => (files.written().path(), None),
        state => {
            let (path, claim) = files.lap(state, job.write_bytes)?;
            (path, Some(claim))
        }
    };
    let writer = |index: usize| {
        let region_bytes = overwrite_bytes / job.outstanding as u64;
        let way = match (claim, job.placement) {
            (Some(claim), _) => WritePosition::Claimed(claim),
            (None, Placement::SameBlock) => WritePosition::SameBlock,
            (None, Placement::Walk) => WritePosition::Region {
                start: index as u64 * region_bytes,
                bytes: region_bytes,
                next: 0,
            },
        };
        let durable = DurableWriter::open(path, job.method)?;
        Ok(Writer { durable, way, buffer: filled(job.write_bytes, index as u64), count: 0 })
    };
    (0..job.outstanding).map(writer).collect()
}

fn measured(
    tally: Totals,
    delta: CounterDelta,
    watch: &DiskCounterReader,
    span: Span,
) -> Option<CellFigures> {
    let per_sync = watch.per_sync(delta, tally.operations);
    Some(CellFigures {
        syncs: tally.operations,
        elapsed_ns: tally.elapsed_ns,
        rate_per_s: rate(tally.operations, tally.elapsed_ns),
        latency_ns: latency(&tally.histogram)?,
        modes: two_modes(&tally.histogram).map(Vec::from),
        device_writes_per_sync: per_sync.writes,
        device_bytes_per_sync: per_sync.written_bytes,
        flushes_per_sync: per_sync.flushes,
        steady: tally.windows.steady(),
        windows: tally.windows.into_rates(),
        window_ns: span.window_ns,
    })
}

/// The position of a writer's next write.
enum WritePosition<'a> {
    /// Advances through its own part of the file, repeatedly.
    Region { start: u64, bytes: u64, next: u64 },
    /// The first block of the file.
    SameBlock,
    /// The next offset of a lap, shared with the other writers.
    Claimed(&'a LapCursor),
}

impl WritePosition<'_> {
    /// The next offset; `None` if the lap is used up.
    fn next(&mut self, write_bytes: u64) -> Option<u64> {
        match self {
            WritePosition::SameBlock => Some(0),
            WritePosition::Region { start, bytes, next } => {
                let offset = *start + *next;
                let after = *next + write_bytes;
                *next = if after + write_bytes > *bytes { 0 } else { after };
                Some(offset)
            }
            WritePosition::Claimed(claim) => {
                let offset = claim.next.fetch_add(write_bytes, Ordering::Relaxed);
                (offset + write_bytes <= claim.end).then_some(offset)
            }
        }
    }
}

struct Writer<'a> {
    durable: DurableWriter,
    way: WritePosition<'a>,
    buffer: AlignedBuffer,
    count: u64,
}

impl Operation for Writer<'_> {
    fn once(&mut self) -> syncline_vfs::Result<bool> {
        let Some(offset) = self.way.next(self.buffer.len() as u64) else {
            return Ok(false);
        };
        // All writes differ, so that no layer below can skip one.
        self.count += 1;
        self.buffer[..8].copy_from_slice(&self.count.to_le_bytes());
        self.durable.write(&self.buffer, offset)?;
        Ok(true)
    }
}

struct PlainWriter<'a> {
    file: RealFile,
    way: WritePosition<'a>,
    buffer: AlignedBuffer,
}

impl Operation for PlainWriter<'_> {
    fn once(&mut self) -> syncline_vfs::Result<bool> {
        let Some(offset) = self.way.next(self.buffer.len() as u64) else {
            return Ok(false);
        };
        self.file.write_at(&self.buffer, offset)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::{CellJob, WritePosition, measure_cell, plain_writes};
    use crate::disk_counters::DiskCounterReader;
    use crate::measure::{Files, Sizes};
    use crate::plan::Span;
    use crate::{FileState, Placement};
    use std::path::Path;
    use std::sync::atomic::AtomicBool;
    use syncline_vfs::SyncMethod;

    const SHORT: Span = Span { min_ns: 20_000_000, max_ns: 20_000_000, window_ns: 10_000_000 };

    #[test]
    fn a_region_is_walked_in_whole_writes() {
        let mut way = WritePosition::Region { start: 100, bytes: 10, next: 0 };
        let offsets: Vec<_> = (0..4).map(|_| way.next(4).unwrap()).collect();
        assert_eq!(offsets, [100, 104, 100, 104]);
    }

    #[test]
    fn every_state_and_number_outstanding_is_measured() {
        let folder = tempfile::tempdir_in(crate::test_folder()).unwrap();
        let mut files = Files::prepare(folder.path(), Sizes::most(0)).unwrap();
        let watch = DiskCounterReader::new(Path::new("/"), &[]);
        for file_state in FileState::ALL {
            for (outstanding, write_bytes) in [(1, 256), (4, 4096), (2, 1 << 20)] {
                let placement = Placement::Walk;
                let method = SyncMethod::Fdatasync;
                let job = CellJob {
                    method,
                    write_bytes,
                    file_state,
                    placement,
                    outstanding,
                    span: SHORT,
                };
                let never = AtomicBool::new(false);
                let measured = measure_cell(&mut files, &job, &watch, &never).unwrap().unwrap();
                assert!(measured.syncs >= outstanding as u64);
                assert!(measured.elapsed_ns >= 20_000_000);
                assert!(measured.rate_per_s > 0.0 && measured.rate_per_s.is_finite());
                assert!(measured.latency_ns.p50 <= measured.latency_ns.max);
            }
        }
    }

    #[test]
    fn a_stopped_cell_has_no_figures() {
        let folder = tempfile::tempdir_in(crate::test_folder()).unwrap();
        let mut files = Files::prepare(folder.path(), Sizes::most(0)).unwrap();
        let watch = DiskCounterReader::new(Path::new("/"), &[]);
        let job = CellJob {
            method: SyncMethod::Fsync,
            write_bytes: 4096,
            file_state: FileState::Overwrite,
            placement: Placement::SameBlock,
            outstanding: 1,
            span: SHORT,
        };
        let stopped = measure_cell(&mut files, &job, &watch, &AtomicBool::new(true)).unwrap();
        assert!(stopped.is_none());
        assert!(plain_writes(&files, SHORT, &AtomicBool::new(true)).unwrap().is_none());
    }
}
