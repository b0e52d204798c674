//! A walk over all rows of a tree at rest: behind the closed gate, in recovery, or to verify.
//!
//! Ghosts are skipped. Long values are read from their extents.

use super::extents::{self, ExtentPointer};
use super::tree::Tree;
use crate::buffer::{Buffer, Leaf, Miss};
use crate::error::Result;

/// Receives key and value of a row.
pub(crate) type Visit<'v> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'v;

impl Tree {
    /// The number of pages at each level, leaves first; extents have no level. Loads every page.
    pub(crate) fn pages_by_level(&self, buffer: &Buffer) -> Result<Vec<u64>> {
        let mut counts = Vec::new();
        for page in buffer.pages_of(self.id) {
            buffer.load(Miss(page))?;
            let guard = crossbeam_epoch::pin();
            let level = match buffer.frame(page, &guard) {
                Some(frame) if frame.leaf().is_some() => 0,
                Some(frame) => match frame.inner() {
                    Some(inner) => usize::from(inner.level()),
                    None => continue,
                },
                None => continue,
            };
            if counts.len() <= level {
                counts.resize(level + 1, 0);
            }
            counts[level] += 1;
        }
        Ok(counts)
    }

    /// Calls `visit` with key and value of every row, in the order of keys.
    pub(crate) fn walk(&self, buffer: &Buffer, visit: &mut Visit<'_>) -> Result<()> {
        let mut from = Vec::new();
        while let Some(next) = self.walk_leaf(buffer, &from, visit)? {
            from = next;
        }
        Ok(())
    }

    /// The same for the rows of one leaf, which covers `from`. Returns the key at which the next leaf begins.
    /// The rows are copied first: `visit` may read other trees, and change this one.
    pub(crate) fn walk_leaf(
        &self,
        buffer: &Buffer,
        from: &[u8],
        visit: &mut Visit<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let mut rows = Rows::default();
        let mut hold = None;
        let next = loop {
            match self.view(buffer, from, |leaf, _| rows.copy(buffer, leaf)) {
                Ok(Ok(next)) => break next,
                Ok(Err(miss)) | Err(miss) => {
                    // The leaf is needed together with all its long values.
                    hold.get_or_insert_with(|| buffer.hold_eviction()).load(miss)?;
                }
            }
        };
        rows.visit(visit)?;
        Ok(next)
    }
}

/// The rows of a leaf, copied.
#[derive(Default)]
struct Rows {
    /// Key and value of each, one after another.
    bytes: Vec<u8>,
    /// Buffer for a key.
    key: Vec<u8>,
    /// Where each row's key and value end.
    ends: Vec<(usize, usize)>,
}

impl Rows {
    /// Copies the rows of a leaf. Returns the key at which the next leaf begins.
    fn copy(&mut self, buffer: &Buffer, leaf: &Leaf) -> std::result::Result<Option<Vec<u8>>, Miss> {
        self.bytes.clear();
        self.ends.clear();
        for slot in 0..leaf.count() {
            let word = leaf.word(slot);
            if word.is_ghost() {
                continue;
            }
            leaf.key_into(slot, &mut self.key);
            self.bytes.extend_from_slice(&self.key);
            let key_end = self.bytes.len();
            if word.is_overflow() {
                let pointer = ExtentPointer::from_value(leaf.value(slot));
                let pointer = pointer.expect("an overflow row holds an extent pointer");
                let is_whole = extents::read(buffer, pointer, &mut self.bytes)?;
                assert!(is_whole, "a tree at rest has complete values");
            } else {
                self.bytes.extend_from_slice(leaf.value(slot));
            }
            self.ends.push((key_end, self.bytes.len()));
        }
        Ok(leaf.upper_fence().map(<[u8]>::to_vec))
    }

    fn visit(&self, visit: &mut Visit<'_>) -> Result<()> {
        let mut from = 0;
        for &(key_end, end) in &self.ends {
            visit(&self.bytes[from..key_end], &self.bytes[key_end..end])?;
            from = end;
        }
        Ok(())
    }
}
