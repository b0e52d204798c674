//! What a database has done since it was opened, and what it holds now.

use crate::database::checkpoints::{CheckpointStats, Checkpoints};
use crate::database::engine::Engine;
use crate::log;
use crate::txn::{Counts, Latencies};
use syncline_vfs::Disk;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct Stats {
    /// The log: groups and their sizes, writes, syncs, waits.
    pub log: log::Stats,
    /// Transactions by outcome, conflicts by cause.
    pub transactions: Counts,
    /// What parts of transactions took, of a sample of them; the flush's part stands in `log`.
    pub latencies: Latencies,
    /// Checkpoints; none in transient mode.
    pub checkpoints: Option<CheckpointStats>,
    /// Memory for pages, frames and the translation table, in bytes; with what is free in blocks.
    pub resident_bytes: u64,
    /// About how much memory older versions of rows take, in bytes.
    pub version_bytes: u64,
    /// Transactions that are open.
    pub open_transactions: usize,
    /// Commits that opening has redone from the log.
    pub redone_commits: u64,
    /// Row changes that opening has redone.
    pub redone_rows: u64,
}

impl<D: Disk> Engine<D> {
    pub(crate) fn stats(&self) -> Stats {
        Stats {
            log: self.core.log.stats(),
            transactions: self.core.counts(),
            latencies: self.core.latencies(),
            checkpoints: self.checkpoints.as_ref().map(Checkpoints::stats),
            resident_bytes: self.core.buffer.resident_bytes(),
            version_bytes: self.core.version_bytes(),
            open_transactions: self.core.open_transactions(),
            redone_commits: self.redone.commits,
            redone_rows: self.redone.rows,
        }
    }
}
