//! Opening a data file of format 2: its long values become extents.
//!
//! Format 2 kept a long value in a chain of overflow pages. After the header of every page, little endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 28 | 4 | bytes of the value in this page |
//! | 32 | 8 | number of the next page; 0 = this is the last |
//! | 40 | | those bytes |
//!
//! The leaf's value was a pointer of 16 bytes: length (8) and first page (8).
//!
//! The conversion happens in memory, after the pages of the checkpoint are there and before the log is
//! redone: records hold values, not pages, so redo needs to know nothing of chains, nor does anything else.
//! It writes nothing. The data file stays as it is until the next checkpoint, which writes the converted rows
//! like other changed pages and switches to format 3 with its root. So an upgrade that is interrupted leaves
//! a file of format 2, which the next opening converts again.
//!
//! Extents take less memory than the pages of their chains, so a store that fitted below its cap still does.

use crate::access::btree::Tree;
use crate::access::btree::extents::{self, EXTENT_POINTER_BYTES};
use crate::buffer::page::{HEADER_BYTES, u32_at, u64_at};
use crate::buffer::{Buffer, Frame, Leaf, Miss, Stop};
use crate::error::{Error, Result};
use crate::ids::{PageId, TreeId};

const PIECE_AT: usize = 28;
const NEXT_AT: usize = 32;

/// A pointer to a chain, as a leaf holds it.
type ChainPointer = [u8; EXTENT_POINTER_BYTES];

/// The key of a row and its pointer.
type LongRow = (Vec<u8>, ChainPointer);

/// The conversion of a data file's long values.
pub(crate) struct Upgrade<'b> {
    buffer: &'b Buffer,
    /// Makes the error for a chain that breaks at that page.
    broken: &'b dyn Fn(PageId) -> Error,
}

impl<'b> Upgrade<'b> {
    pub(crate) fn new(buffer: &'b Buffer, broken: &'b dyn Fn(PageId) -> Error) -> Upgrade<'b> {
        Upgrade { buffer, broken }
    }

    /// Converts every long value of a tree. Returns their number.
    pub(crate) fn convert_values(&self, tree: &Tree) -> Result<usize> {
        let (mut from, mut converted) = (Vec::new(), 0);
        loop {
            let (rows, next) = loop {
                match tree.view(self.buffer, &from, |leaf, _| long_rows(leaf)) {
                    Ok(found) => break found,
                    Err(miss) => self.buffer.load(miss)?,
                }
            };
            for (key, pointer) in rows {
                let value = self.take(pointer)?;
                let pointer = write(self.buffer, tree.id, &value)?;
                set_pointer(self.buffer, tree, &key, &pointer)?;
                converted += 1;
            }
            match next {
                Some(next) => from = next,
                None => return Ok(converted),
            }
        }
    }

    /// Reads a value and frees its chain: for a row, or for a value that no row holds any more.
    pub(crate) fn take(&self, pointer: ChainPointer) -> Result<Vec<u8>> {
        let (value, pages) = self.read(pointer)?;
        for page in pages {
            self.buffer.free(page);
        }
        Ok(value)
    }

    /// A value, and the pages of its chain.
    fn read(&self, pointer: ChainPointer) -> Result<(Vec<u8>, Vec<PageId>)> {
        let (mut left, mut next) = (u64_at(&pointer, 0), PageId(u64_at(&pointer, 8)));
        let (mut value, mut pages) = (Vec::new(), Vec::new());
        loop {
            let page = next;
            let piece = self.piece(page, &mut value)?;
            let (bytes, behind) = piece.ok_or_else(|| (self.broken)(page))?;
            pages.push(page);
            let is_sound = if behind.0 == 0 { bytes == left } else { bytes < left };
            // Each piece shortens the rest, so that a chain with a cycle ends, too.
            if bytes == 0 || !is_sound {
                return Err((self.broken)(page));
            }
            if behind.0 == 0 {
                return Ok((value, pages));
            }
            (left, next) = (left - bytes, behind);
        }
    }

    /// Appends the value's bytes in an overflow page. Returns their number and the next page; none if the
    /// page is no such page. Fails if the disk does.
    fn piece(&self, page: PageId, value: &mut Vec<u8>) -> Result<Option<(u64, PageId)>> {
        loop {
            let guard = crossbeam_epoch::pin();
            match self.buffer.find(page, &guard) {
                Ok(frame) => {
                    let piece = frame.and_then(Frame::overflow).and_then(piece_of);
                    return Ok(piece.map(|(bytes, next)| {
                        value.extend_from_slice(bytes);
                        (bytes.len() as u64, next)
                    }));
                }
                Err(miss) => {
                    drop(guard);
                    self.buffer.load(miss)?;
                }
            }
        }
    }
}

/// The value's bytes in an overflow page, and the next page.
fn piece_of(image: &[u8]) -> Option<(&[u8], PageId)> {
    let end = HEADER_BYTES + u32_at(image, PIECE_AT) as usize;
    Some((image.get(HEADER_BYTES..end)?, PageId(u64_at(image, NEXT_AT))))
}

/// Keys and pointers of the long rows in a leaf, and the key at which the next leaf begins.
fn long_rows(leaf: &Leaf) -> (Vec<LongRow>, Option<Vec<u8>>) {
    let slots = (0..leaf.count()).filter(|slot| leaf.word(*slot).is_overflow());
    let rows = slots.filter_map(|slot| {
        let mut key = Vec::new();
        leaf.key_into(slot, &mut key);
        Some((key, leaf.value(slot).try_into().ok()?))
    });
    (rows.collect(), leaf.upper_fence().map(<[u8]>::to_vec))
}

/// Writes a value to extents that belong to the tree.
fn write(buffer: &Buffer, tree: TreeId, value: &[u8]) -> Result<[u8; EXTENT_POINTER_BYTES]> {
    let attempt = || extents::write(buffer, tree, value);
    let pointer = attempt().or_else(|_at_cap| {
        // The pages of the chain wait until no reader can access them: now there is none.
        buffer.free_retired(extents::memory(buffer, value.len()));
        attempt()
    })?;
    extents::attach(buffer, pointer);
    Ok(pointer.to_value())
}

fn set_pointer(buffer: &Buffer, tree: &Tree, key: &[u8], pointer: &[u8]) -> Result<()> {
    loop {
        let set = |leaf: &mut Leaf, _: PageId| {
            let slot = leaf.search(key).expect("nobody else changes the tree");
            leaf.set_value(slot, pointer);
        };
        match tree.change(buffer, key, set) {
            Ok(()) => return Ok(()),
            Err(Stop::Miss(page)) => buffer.load(Miss(page))?,
            Err(Stop::PreImages) => unreachable!("no checkpoint runs during recovery"),
        }
    }
}
