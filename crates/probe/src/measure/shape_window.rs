//! One window of a product's shape: its operations one after another, without a pause.
//!
//! An operation may have several steps, each some writes and the sync that makes them stable; its time runs
//! from the first write to the end of the last sync.

use super::files::{Files, LapCursor};
use super::latency::histogram;
use super::sync_cell::filled;
use super::worker_pool::{Operation, Totals};
use crate::fitness::{Position, Shape, WriteStep};
use crate::plan::Span;
use crate::{FileState, Result};
use fastrand::Rng;
use hdrhistogram::Histogram;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use syncline_instrument::Nanos;
use syncline_vfs::{AlignedBuffer, DurableWriter, File, OpenOptions, RealDisk, RealFile};
use syncline_vfs::{Create, Disk};

/// Random writes begin at multiples of this, and never at the start of the file.
const PAGE_BYTES: u64 = 4_096;

/// The figures of one window.
#[derive(Clone, Debug)]
pub(crate) struct ShapeFigures {
    /// The times of the operations.
    pub(crate) histogram: Histogram<u64>,
    /// How long the window took.
    pub(crate) elapsed_ns: Nanos,
}

/// Runs a window of that length; `None` if it was stopped before its time. The reason is the error if the
/// device cannot do what the product does.
pub(crate) fn shape_window(
    files: &mut Files,
    shape: &Shape,
    span_ns: Nanos,
    stop: &AtomicBool,
) -> std::result::Result<Option<ShapeFigures>, ShapeError> {
    let block_bytes = files.block_bytes().map_err(str::to_owned);
    let steps = shape.steps.iter().map(|step| match (step.sync.is_direct(), &block_bytes) {
        (true, Err(reason)) => Err(ShapeError::NotPossible(reason.clone())),
        (true, Ok(block)) => {
            let write_bytes = step.write_bytes.next_multiple_of((*block).max(1) as usize);
            Ok(WriteStep { write_bytes, ..*step })
        }
        (false, _) => Ok(*step),
    });
    let steps = steps.collect::<std::result::Result<Vec<_>, _>>()?;
    let mut totals = Totals::new(Span::fixed(span_ns, span_ns));
    while !totals.is_complete() {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let worker = operation(files, shape.file_state, &steps)?;
        totals.work(vec![worker], stop).map_err(crate::Error::from)?;
    }
    Ok(Some(ShapeFigures { histogram: totals.histogram, elapsed_ns: totals.elapsed_ns }))
}

/// All windows together.
pub(crate) fn pooled<'a>(windows: impl Iterator<Item = &'a Histogram<u64>>) -> Histogram<u64> {
    let mut all = histogram();
    for window in windows {
        all.add(window).expect("both have the same bounds");
    }
    all
}

/// Why a shape has no figures.
#[derive(Debug)]
pub(crate) enum ShapeError {
    /// The device or file system cannot do it.
    NotPossible(String),
    /// It failed.
    Failed(crate::Error),
}

impl From<crate::Error> for ShapeError {
    fn from(error: crate::Error) -> ShapeError {
        match error {
            crate::Error::Disk(syncline_vfs::Error::NotPossible { reason, .. }) => {
                ShapeError::NotPossible(reason)
            }
            error => ShapeError::Failed(error),
        }
    }
}

fn operation<'a>(
    files: &'a mut Files,
    state: FileState,
    steps: &[WriteStep],
) -> Result<ProductOperation<'a>> {
    let next_bytes = steps.iter().map(|step| step.write_bytes * step.writes).sum();
    let file_bytes = files.sizes().overwrite;
    let (path, cursor): (&Path, Cursor<'_>) = match state {
        FileState::Overwrite => {
            (files.written().path(), Cursor::Around { next: 0, end: file_bytes })
        }
        state => {
            let (path, lap) = files.lap(state, next_bytes)?;
            (path, Cursor::Lap(lap))
        }
    };
    let open = |(number, step): (u64, &WriteStep)| {
        let durable = DurableWriter::open(path, step.sync)?;
        let plain = match step.writes {
            1 => None,
            _ => Some(RealDisk.open(path, plain_options(step))?),
        };
        Ok(OpenStep { step: *step, durable, plain, buffer: filled(step.write_bytes, number) })
    };
    let steps = (0..).zip(steps).map(open).collect::<Result<_>>()?;
    Ok(ProductOperation { steps, cursor, file_bytes, random: Rng::with_seed(1), count: 0 })
}

fn plain_options(step: &WriteStep) -> OpenOptions {
    let direct = step.sync.is_direct();
    OpenOptions { create: Create::Never, direct, ..OpenOptions::READ_WRITE }
}

/// The place of the next write that follows the one before.
enum Cursor<'a> {
    /// Through the file, and again from its start.
    Around { next: u64, end: u64 },
    /// Through a lap, which ends.
    Lap(&'a LapCursor),
}

impl Cursor<'_> {
    /// The next offset; `None` if the lap is used up.
    fn next(&mut self, bytes: u64) -> Option<u64> {
        match self {
            Cursor::Around { next, end } => {
                let offset = if *next + bytes > *end { 0 } else { *next };
                *next = offset + bytes;
                Some(offset)
            }
            Cursor::Lap(lap) => {
                let offset = lap.next.fetch_add(bytes, Ordering::Relaxed);
                (offset + bytes <= lap.end).then_some(offset)
            }
        }
    }
}

struct OpenStep {
    step: WriteStep,
    durable: DurableWriter,
    /// The handle of writes that are not the last before the sync; the sync covers the whole file.
    plain: Option<RealFile>,
    buffer: AlignedBuffer,
}

struct ProductOperation<'a> {
    steps: Vec<OpenStep>,
    cursor: Cursor<'a>,
    file_bytes: u64,
    random: Rng,
    count: u64,
}

impl Operation for ProductOperation<'_> {
    fn once(&mut self) -> syncline_vfs::Result<bool> {
        for open in &mut self.steps {
            let bytes = open.step.write_bytes as u64;
            for number in 1..=open.step.writes {
                let offset = match open.step.at {
                    Position::Next => self.cursor.next(bytes),
                    Position::Random => {
                        let pages = (self.file_bytes - bytes) / PAGE_BYTES;
                        Some(self.random.u64(1..=pages) * PAGE_BYTES)
                    }
                    Position::First => Some(0),
                };
                let Some(offset) = offset else {
                    return Ok(false);
                };
                // All writes differ, so that no layer below can skip one.
                self.count += 1;
                open.buffer[..8].copy_from_slice(&self.count.to_le_bytes());
                match &open.plain {
                    Some(plain) if number < open.step.writes => {
                        plain.write_at(&open.buffer, offset)?;
                    }
                    _ => open.durable.write(&open.buffer, offset)?,
                }
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::shape_window;
    use crate::fitness::products;
    use crate::measure::{Files, Sizes};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn every_product_s_operations_run_on_a_real_directory_and_leave_no_file() {
        let folder = tempfile::tempdir_in(crate::test_folder()).unwrap();
        let mut files = Files::prepare(folder.path(), Sizes::most(0)).unwrap();
        for shape in products().iter().flat_map(|product| &product.shapes) {
            let never = AtomicBool::new(false);
            match shape_window(&mut files, shape, 5_000_000, &never) {
                Ok(Some(figures)) => {
                    assert!(!figures.histogram.is_empty(), "{}", shape.name);
                    assert!(figures.elapsed_ns >= 5_000_000, "{}", shape.name);
                }
                Err(super::ShapeError::NotPossible(reason)) => assert!(!reason.is_empty()),
                other => panic!("{}: {other:?}", shape.name),
            }
            let stopped = shape_window(&mut files, shape, 5_000_000, &AtomicBool::new(true));
            assert!(!matches!(stopped, Ok(Some(_))), "{}", shape.name);
        }
        drop(files);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
