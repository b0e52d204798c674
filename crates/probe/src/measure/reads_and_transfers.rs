//! Direct reads and large direct writes: the seek test and the sequential rates.
//!
//! All reads use the file of the sequential write, with the size that it reached in its time. A file that
//! fits in the device's cache or on few tracks makes reads look fast, so the result includes its size.

use super::files::Files;
use super::latency::latency;
use super::sync_cell::{filled, rate};
use super::worker_pool::{Operation, Totals};
use crate::Result;
use crate::plan::Span;
use crate::scratch::Scratch;
use fastrand::Rng;
use std::sync::atomic::AtomicBool;
use syncline_instrument::{Nanos, clock};
use syncline_record::Latency;
use syncline_vfs::{AlignedBuffer, File, RealFile};

/// Bytes of one sequential transfer.
pub(crate) const TRANSFER_BYTES: usize = 1 << 20;

/// Bytes of one random read.
pub(crate) const READ_BYTES: usize = 4096;

/// The figures of random reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadFigures {
    /// Completed reads a second.
    pub(crate) rate_per_s: f64,
    /// The latency of one read.
    pub(crate) latency: Latency,
}

/// The figures of a sequential transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SequentialTransfer {
    /// Bytes transferred.
    pub(crate) bytes: u64,
    /// The time it took.
    pub(crate) elapsed_ns: Nanos,
}

impl SequentialTransfer {
    /// Bytes per second.
    pub(crate) fn bytes_per_s(self) -> f64 {
        rate(self.bytes, self.elapsed_ns)
    }
}

/// Writes a new file for that time or up to its largest size, and syncs it; `None` if stopped.
pub(crate) fn sequential_write(
    files: &mut Files,
    span_ns: Nanos,
    stop: &AtomicBool,
) -> Result<Option<SequentialTransfer>> {
    let scratch = Scratch::create(files.directory())?;
    let file = scratch.open_direct()?;
    let end = files.sizes().transfer;
    let mut tally = Totals::new(Span::fixed(span_ns, span_ns));
    let buffer = filled(TRANSFER_BYTES, 0);
    tally.work(vec![Sequential { file: &file, buffer, next: 0, end, writes: true }], stop)?;
    let bytes = tally.operations * TRANSFER_BYTES as u64;
    let begin_ns = clock::now();
    file.sync_data()?;
    let elapsed_ns = tally.elapsed_ns + (clock::now() - begin_ns);
    if bytes == 0 {
        return Ok(None);
    }
    files.transferred = Some((scratch, bytes));
    Ok(Some(SequentialTransfer { bytes, elapsed_ns }))
}

/// Reads the written file from its start repeatedly; `None` if stopped.
pub(crate) fn sequential_read(
    (scratch, end): (&Scratch, u64),
    span_ns: Nanos,
    stop: &AtomicBool,
) -> Result<Option<SequentialTransfer>> {
    let file = scratch.open_direct()?;
    let mut tally = Totals::new(Span::fixed(span_ns, span_ns));
    while !tally.is_complete() {
        let before = tally.operations;
        let buffer = AlignedBuffer::zeroed(TRANSFER_BYTES);
        tally.work(vec![Sequential { file: &file, buffer, next: 0, end, writes: false }], stop)?;
        if tally.operations == before || stop.load(std::sync::atomic::Ordering::Relaxed) {
            return Ok(None);
        }
    }
    let bytes = tally.operations * TRANSFER_BYTES as u64;
    Ok(Some(SequentialTransfer { bytes, elapsed_ns: tally.elapsed_ns }))
}

/// Reads random blocks with that many readers; `None` if stopped.
pub(crate) fn random_reads(
    (scratch, file_bytes): (&Scratch, u64),
    depth: usize,
    span_ns: Nanos,
    stop: &AtomicBool,
) -> Result<Option<ReadFigures>> {
    let file = scratch.open_direct()?;
    let blocks = file_bytes / READ_BYTES as u64;
    let reader = |index| {
        let (buffer, random) = (AlignedBuffer::zeroed(READ_BYTES), Rng::with_seed(index as u64));
        Reader { file: &file, buffer, random, blocks }
    };
    let mut tally = Totals::new(Span::fixed(span_ns, span_ns));
    tally.work((0..depth).map(reader).collect(), stop)?;
    let latency = latency(&tally.histogram).filter(|_| tally.is_complete());
    Ok(latency.map(|latency| ReadFigures {
        rate_per_s: rate(tally.operations, tally.elapsed_ns),
        latency,
    }))
}

struct Sequential<'a> {
    file: &'a RealFile,
    buffer: AlignedBuffer,
    next: u64,
    end: u64,
    writes: bool,
}

impl Operation for Sequential<'_> {
    fn once(&mut self) -> syncline_vfs::Result<bool> {
        let after = self.next + self.buffer.len() as u64;
        if after > self.end {
            return Ok(false);
        }
        if self.writes {
            self.buffer[..8].copy_from_slice(&after.to_le_bytes());
            self.file.write_at(&self.buffer, self.next)?;
        } else {
            self.file.read_at(&mut self.buffer, self.next)?;
        }
        self.next = after;
        Ok(true)
    }
}

struct Reader<'a> {
    file: &'a RealFile,
    buffer: AlignedBuffer,
    random: Rng,
    blocks: u64,
}

impl Operation for Reader<'_> {
    fn once(&mut self) -> syncline_vfs::Result<bool> {
        let block = self.random.u64(0..self.blocks);
        self.file.read_at(&mut self.buffer, block * READ_BYTES as u64)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::{random_reads, sequential_read, sequential_write};
    use crate::measure::{Files, Sizes};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_file_is_written_then_read_in_order_and_at_random() {
        let folder = tempfile::tempdir_in(crate::test_folder()).unwrap();
        let never = AtomicBool::new(false);
        let mut files = Files::prepare(folder.path(), Sizes::most(32 << 20)).unwrap();
        let written = sequential_write(&mut files, 30_000_000, &never).unwrap().unwrap();
        assert!(written.bytes > 0 && written.bytes <= 32 << 20);
        let (scratch, bytes) = files.transferred.as_ref().unwrap();
        assert_eq!(std::fs::metadata(scratch.path()).unwrap().len(), written.bytes);
        let read = sequential_read((scratch, *bytes), 30_000_000, &never).unwrap().unwrap();
        assert!(read.elapsed_ns >= 30_000_000 && read.bytes_per_s() > 0.0);
        let reads = random_reads((scratch, *bytes), 4, 30_000_000, &never).unwrap().unwrap();
        assert!(reads.rate_per_s > 0.0 && reads.latency.max > 0);
        let stopped = AtomicBool::new(true);
        assert!(random_reads((scratch, *bytes), 1, 30_000_000, &stopped).unwrap().is_none());
    }
}
