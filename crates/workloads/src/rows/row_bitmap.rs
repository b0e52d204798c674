//! Which loaded rows something happened to, shared by the clients of a run: a bit a row.
//!
//! A bit is set when the change was acknowledged, so that the check may demand its trace. Rows beyond
//! those that were begun with are not marked.

use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bits of the run under way.
#[derive(Debug, Default)]
pub(crate) struct SharedRowBitmap(RwLock<RowBitmap>);

/// The bits of a run, for a client or the check.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowBitmap(Arc<[AtomicU64]>);

impl SharedRowBitmap {
    /// Forgets an earlier run; for rows numbered below `rows`.
    pub(crate) fn begin(&self, rows: u64) {
        let words = (0..rows.div_ceil(64)).map(|_| AtomicU64::new(0));
        *self.0.write() = RowBitmap(words.collect());
    }

    /// The bits.
    pub(crate) fn marked(&self) -> RowBitmap {
        self.0.read().clone()
    }
}

impl RowBitmap {
    /// Marks a row. Most rows that are marked often are so already, which is only looked at.
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
    fn rows_are_marked_each_for_itself_until_the_next_run() {
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
