//! Marks loaded rows; shared by the clients of a run, one bit per row.
//!
//! A bit is set after the change was acknowledged, so the check may require its effect. Rows beyond the
//! initial ones are not marked.

use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bitmap of the current run.
#[derive(Debug, Default)]
pub(crate) struct SharedRowBitmap(RwLock<RowBitmap>);

/// The bitmap of a run, for a client or the check.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowBitmap(Arc<[AtomicU64]>);

impl SharedRowBitmap {
    /// Starts a new run with rows numbered below `rows`.
    pub(crate) fn begin(&self, rows: u64) {
        let words = (0..rows.div_ceil(64)).map(|_| AtomicU64::new(0));
        *self.0.write() = RowBitmap(words.collect());
    }

    /// The current bitmap.
    pub(crate) fn marked(&self) -> RowBitmap {
        self.0.read().clone()
    }
}

impl RowBitmap {
    /// Marks a row. Rows that are marked often are usually marked already, so it checks before writing.
    #[inline]
    pub(crate) fn mark(&self, row: u64) {
        if let Some(word) = self.0.get((row / 64) as usize) {
            let bit = 1 << (row % 64);
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    /// True if a row is marked.
    pub(crate) fn has(&self, row: u64) -> bool {
        let word = self.0.get((row / 64) as usize);
        word.is_some_and(|word| word.load(Ordering::Relaxed) & (1 << (row % 64)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::SharedRowBitmap;

    #[test]
    fn rows_are_marked_individually_until_the_next_run() {
        let marks = SharedRowBitmap::default();
        marks.marked().mark(3);
        assert!(!marks.marked().has(3), "no run has begun");
        marks.begin(130);
        let marked = marks.marked();
        for row in [0, 63, 64, 129, 5_000] {
            marked.mark(row);
        }
        let has: Vec<u64> = (0..6_000).filter(|row| marks.marked().has(*row)).collect();
        assert_eq!(has, [0, 63, 64, 129]);
        marks.begin(130);
        assert!(!marks.marked().has(64));
    }
}
