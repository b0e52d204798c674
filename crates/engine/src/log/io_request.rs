//! An I/O request: one disk operation, complete in itself, so that any thread can perform it without a lock.

use crate::ids::FrameNumber;
use crate::log::options::Durability;
use crate::log::stats::SharedStats;
use crate::planted_bug::{PlantedBug, planted};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use syncline_instrument::{Nanos, clock};
use syncline_vfs::{AlignedBuffer, File, Result};

/// One write or sync of the log.
#[derive(Debug)]
pub(super) enum IoRequest<F> {
    /// Writes a frame.
    Write {
        number: FrameNumber,
        file: Arc<F>,
        buffer: AlignedBuffer,
        bytes: usize,
        offset: u64,
        /// True if the write is itself a sync.
        is_sync: bool,
    },
    /// Syncs what was written to a segment.
    Sync { file: Arc<F>, level: Durability },
    /// Makes a segment's header stable; first syncs the segment before, if nothing else has synced it.
    Header {
        file: Arc<F>,
        before: Option<Arc<F>>,
        buffer: AlignedBuffer,
        bytes: usize,
        /// True if the write is itself a sync.
        is_sync: bool,
    },
}

/// A performed I/O request with its result.
#[derive(Debug)]
pub(super) struct IoCompletion<F> {
    pub(super) io_request: IoRequest<F>,
    pub(super) result: Result<()>,
    /// When it began and when it ended.
    pub(super) span: (Nanos, Nanos),
}

impl<F: File> IoRequest<F> {
    /// Performs the request.
    pub(super) fn perform(self, stats: &SharedStats) -> IoCompletion<F> {
        let started = clock::now();
        let result = match &self {
            IoRequest::Write { file, buffer, bytes, offset, .. } => {
                file.write_at(&buffer[..*bytes], *offset)
            }
            IoRequest::Sync { file, level } => sync(file.as_ref(), *level),
            IoRequest::Header { .. } => self.write_header(stats),
        };
        let span = (started, clock::now());
        let done = IoCompletion { io_request: self, result, span };
        done.count(stats);
        done
    }

    fn write_header(&self, stats: &SharedStats) -> Result<()> {
        let IoRequest::Header { file, before, buffer, bytes, is_sync } = self else {
            return Ok(());
        };
        if let Some(before) = before {
            before.sync_data()?;
            stats.syncs.fetch_add(1, Ordering::Relaxed);
        }
        file.write_at(&buffer[..*bytes], 0)?;
        stats.syncs.fetch_add(1, Ordering::Relaxed);
        if *is_sync { Ok(()) } else { file.sync_data() }
    }
}

impl<F> IoCompletion<F> {
    fn count(&self, stats: &SharedStats) {
        let span = self.span.1.saturating_sub(self.span.0);
        match &self.io_request {
            IoRequest::Write { bytes, is_sync, .. } => {
                stats.write_bytes.add(*bytes as u64);
                stats.write_ns.add(span);
                stats.syncs.fetch_add(u64::from(*is_sync), Ordering::Relaxed);
            }
            IoRequest::Sync { .. } => stats.synced(span),
            IoRequest::Header { .. } => {
                stats.segments.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

fn sync<F: File>(file: &F, level: Durability) -> Result<()> {
    let synced = match level {
        Durability::None => Ok(()),
        Durability::Data => file.sync_data(),
        Durability::Full => file.sync_all(),
    };
    if planted(PlantedBug::SwallowSyncError) {
        return Ok(());
    }
    synced
}
