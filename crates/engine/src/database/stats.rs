//! Counters since opening, and what the database holds now.

use crate::database::checkpoints::{CheckpointStats, Checkpoints};
use crate::database::engine::Engine;
use crate::log;
use crate::txn::{Counts, Latencies};
use std::sync::Arc;
use syncline_vfs::Disk;

/// What a database has done since it was opened, and what it holds now.
#[derive(Clone, Debug, PartialEq)]
pub struct Stats {
    /// The log: groups and their sizes, writes, syncs, waits.
    pub log: log::Stats,
    /// Transactions by outcome, conflicts by cause.
    pub transactions: Counts,
    /// Durations of the parts of sampled transactions; `log` has the flush's part.
    pub latencies: Latencies,
    /// Checkpoints; none in transient mode.
    pub checkpoints: Option<CheckpointStats>,
    /// Memory for pages, frames and the translation table, in bytes, including free cells of blocks.
    pub resident_bytes: u64,
    /// Pages read from the data file after its opening.
    pub loaded_pages: u64,
    /// Pages that left memory, to be read again when they are needed.
    pub evicted_pages: u64,
    /// Approximate memory for older versions of rows, in bytes.
    pub version_bytes: u64,
    /// Transactions that are open.
    pub open_transactions: usize,
    /// Commits that opening redid from the log.
    pub redone_commits: u64,
    /// Row changes that opening redid.
    pub redone_rows: u64,
    /// Why nothing can be committed any more; none while the database works.
    pub log_failure: Option<Arc<str>>,
    /// Why the last checkpoint was abandoned or failed; none if it finished, or there was none.
    pub checkpoint_failure: Option<Arc<str>>,
    /// Why the last attempt to archive a segment of the log failed; none if it did not.
    pub archive_failure: Option<Arc<str>>,
}

impl<D: Disk> Engine<D> {
    pub(crate) fn stats(&self) -> Stats {
        Stats {
            log: self.core.log.stats(),
            transactions: self.core.counts(),
            latencies: self.core.latencies(),
            checkpoints: self.checkpoints.as_ref().map(Checkpoints::stats),
            resident_bytes: self.core.buffer.resident_bytes(),
            loaded_pages: self.core.buffer.loaded(),
            evicted_pages: self.core.buffer.evicted(),
            version_bytes: self.core.version_bytes(),
            open_transactions: self.core.open_transactions(),
            redone_commits: self.redone.commits,
            redone_rows: self.redone.rows,
            log_failure: self.core.log.failure(),
            checkpoint_failure: self.checkpoints.as_ref().and_then(Checkpoints::failure),
            archive_failure: self.core.log.archive_failure(),
        }
    }
}
