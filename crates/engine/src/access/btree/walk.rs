//! A walk over all rows of a tree at rest: behind the closed gate, in recovery, or to verify.
//!
//! Ghosts are passed over. Long values are read from their overflow pages.

use super::overflow::{self, Stub};
use super::tree::Tree;
use crate::buffer::{Buffer, Leaf, Miss};
use crate::error::Result;

/// What a walk calls with key and value of a row.
pub(crate) type Visit<'v> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'v;

impl Tree {
    /// How many pages there are at each level, leaves first; overflow pages are of no level.
    pub(crate) fn pages_by_level(&self, buffer: &Buffer) -> Vec<u64> {
        let guard = crossbeam_epoch::pin();
        let mut counts = Vec::new();
        for page in buffer.pages_of(self.id) {
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
        counts
    }

    /// Calls `visit` with key and value of every row, in the order of keys.
    pub(crate) fn walk(&self, buffer: &Buffer, visit: &mut Visit<'_>) -> Result<()> {
        let mut from = Vec::new();
        while let Some(next) = self.walk_leaf(buffer, &from, visit)? {
            from = next;
        }
        Ok(())
    }

    /// The same for the rows of one leaf, which covers `from`; the key at which the next one begins. The
    /// leaf is latched meanwhile.
    pub(crate) fn walk_leaf(
        &self,
        buffer: &Buffer,
        from: &[u8],
        visit: &mut Visit<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        loop {
            let seen = self.view(buffer, from, |leaf, _| {
                visit_leaf(buffer, leaf, &mut key, &mut value, visit)
            });
            match seen {
                Ok(next) => return next,
                Err(miss) => buffer.load(miss),
            }
        }
    }
}

/// Visits the rows of a leaf; gives the key at which the next one begins.
fn visit_leaf(
    buffer: &Buffer,
    leaf: &Leaf,
    key: &mut Vec<u8>,
    value: &mut Vec<u8>,
    visit: &mut Visit<'_>,
) -> Result<Option<Vec<u8>>> {
    for slot in 0..leaf.count() {
        let word = leaf.word(slot);
        if word.is_ghost() {
            continue;
        }
        key.clear();
        leaf.key_into(slot, key);
        if !word.is_overflow() {
            visit(key, leaf.value(slot))?;
            continue;
        }
        let stub = Stub::from_value(leaf.value(slot)).expect("an overflow row holds a stub");
        value.clear();
        read_long(buffer, stub, value);
        visit(key, value)?;
    }
    Ok(leaf.upper_fence().map(<[u8]>::to_vec))
}

fn read_long(buffer: &Buffer, stub: Stub, value: &mut Vec<u8>) {
    loop {
        match overflow::read(buffer, stub, value) {
            Ok(whole) => {
                assert!(whole, "a tree at rest has whole chains");
                return;
            }
            Err(Miss(page)) => buffer.load(Miss(page)),
        }
    }
}
