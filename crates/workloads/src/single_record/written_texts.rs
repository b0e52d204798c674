//! The texts written to each row: shared by the clients of a run, one word per row.
//!
//! The word holds one bit for each of the 16 texts that may have been written, and one that says that at
//! least one of them certainly was.

use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Set if a text was certainly written.
const CERTAIN: u32 = 1 << 16;

/// The words of all rows.
pub(super) type TextBitmaps = Arc<[AtomicU32]>;

/// The words of the current run.
#[derive(Debug, Default)]
pub(super) struct WrittenTexts(RwLock<TextBitmaps>);

impl WrittenTexts {
    /// Starts a new run with this many rows in all tables.
    pub(super) fn begin(&self, rows: usize) {
        let words = (0..rows).map(|_| AtomicU32::new(0)).collect();
        *self.0.write() = words;
    }

    /// The words, for a client or the check.
    pub(super) fn words(&self) -> TextBitmaps {
        let words = self.0.read();
        Arc::clone(&words)
    }
}

/// Records that a text was written to a row, or may have been.
#[inline]
pub(super) fn note(words: &TextBitmaps, row: usize, text: usize, is_certain: bool) {
    let bits = (1 << text) | if is_certain { CERTAIN } else { 0 };
    words[row].fetch_or(bits, Ordering::Relaxed);
}

/// True if a row may hold this text, given its loaded text.
pub(super) fn may_hold(words: &TextBitmaps, row: usize, text: usize, loaded: usize) -> bool {
    let word = words[row].load(Ordering::Relaxed);
    word & (1 << text) != 0 || (text == loaded && word & CERTAIN == 0)
}

#[cfg(test)]
mod tests {
    use super::{WrittenTexts, may_hold, note};

    #[test]
    fn the_loaded_text_is_gone_once_another_was_certainly_written() {
        let written = WrittenTexts::default();
        written.begin(2);
        let words = written.words();
        let holds =
            |row| (0..16).filter(|text| may_hold(&words, row, *text, 3)).collect::<Vec<_>>();
        assert_eq!(holds(1), [3]);
        note(&words, 1, 5, false);
        assert_eq!(holds(1), [3, 5]);
        note(&words, 1, 7, true);
        assert_eq!(holds(1), [5, 7]);
        assert_eq!(holds(0), [3]);
        written.begin(2);
        assert!(may_hold(&written.words(), 1, 3, 3));
    }
}
