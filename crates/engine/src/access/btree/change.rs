//! Changes a leaf, and makes room in it beforehand.

use super::descend::{Goal, Tries};
use super::extents;
use super::tree::Tree;
use crate::buffer::{Buffer, Leaf, Miss, Stop};
use crate::error::Error;
use crate::ids::PageId;
use crate::planted_bug::{PlantedBug, planted};

/// Why room could not be made.
#[derive(Debug)]
pub(crate) enum Blocked {
    /// That page is absent: leave the section, load it, and start again.
    Miss(PageId),
    /// The pool of pre-images is full: leave the section, wait for room, and start again.
    PreImages,
    /// Another thread changes the tree's structure: leave the section, and start again.
    Busy,
    /// Impossible: memory is at its cap, or the key is too long.
    Failed(Error),
}

impl From<Miss> for Blocked {
    fn from(miss: Miss) -> Blocked {
        Blocked::Miss(miss.0)
    }
}

impl From<Stop> for Blocked {
    fn from(stop: Stop) -> Blocked {
        match stop {
            Stop::Miss(page) => Blocked::Miss(page),
            Stop::PreImages => Blocked::PreImages,
        }
    }
}

impl From<Error> for Blocked {
    fn from(error: Error) -> Blocked {
        Blocked::Failed(error)
    }
}

impl Tree {
    /// Changes the leaf whose fences cover the key, in a section, under its exclusive latch.
    #[inline]
    pub(crate) fn change<R>(
        &self,
        buffer: &Buffer,
        key: &[u8],
        change: impl FnOnce(&mut Leaf, PageId) -> R,
    ) -> Result<R, Stop> {
        let mut tries = Tries::new(self);
        loop {
            let guard = crossbeam_epoch::pin();
            let leaf = self.descend(buffer, Goal::Of(key), &guard)?;
            if let Some((frame, page)) = leaf
                && let Some(latch) = frame.leaf()
            {
                let mut leaf = latch.write();
                if !leaf.is_gone() && leaf.tree() == self.id && leaf.covers(key) {
                    buffer.touch_leaf(frame, &leaf)?;
                    leaf.set_reference();
                    return Ok(change(&mut leaf, page));
                }
            }
            drop(guard);
            tries.again()?;
        }
    }

    /// The same, starting at the page that a hint names (see `prefetch`), right or not.
    #[inline]
    pub(crate) fn change_at<R>(
        &self,
        buffer: &Buffer,
        hint: Option<PageId>,
        key: &[u8],
        change: impl FnOnce(&mut Leaf, PageId) -> R,
    ) -> Result<R, Stop> {
        if let Some(page) = hint
            && !self.is_dropped()
        {
            let guard = crossbeam_epoch::pin();
            // A hint may name a page that is not resident and has nothing to do with the key.
            if let Ok(Some(frame)) = buffer.find(page, &guard)
                && let Some(latch) = frame.leaf()
            {
                let mut leaf = latch.write();
                // A retired leaf has no content.
                if !leaf.is_gone()
                    && leaf.tree() == self.id
                    && (leaf.covers(key) || planted(PlantedBug::TrustHint))
                {
                    buffer.touch_leaf(frame, &leaf)?;
                    leaf.set_reference();
                    return Ok(change(&mut leaf, page));
                }
            }
        }
        self.change(buffer, key, change)
    }

    /// Splits until the leaf that covers the key can hold a value of this length for it, in a new or existing
    /// row. In a section, in prepare. Nothing is reserved: other rows may take the room, then the leaf
    /// refuses and this is called again.
    pub(crate) fn make_room(
        &self,
        buffer: &Buffer,
        key: &[u8],
        value_bytes: usize,
    ) -> Result<(), Blocked> {
        let key_bytes_max = Tree::key_bytes_max(buffer);
        if key.len() > key_bytes_max {
            let (bytes, bytes_max) = (key.len() as u64, key_bytes_max as u64);
            return Err(Error::TooLong { what: "a key", bytes, bytes_max }.into());
        }
        let capacity = extents::leaf_bytes(buffer, value_bytes);
        while !self.view(buffer, key, |leaf, _| leaf.has_room(key, capacity))? {
            let Some(_structure) = self.structure.try_lock() else {
                return Err(Blocked::Busy);
            };
            self.split(buffer, key, capacity)?;
        }
        Ok(())
    }
}
