//! Rows that a thread is reading from the disk in the background, by the pages on their way.
//!
//! A row waits for one page at a time: the one at which the descent to it ended. When the page has arrived,
//! the descent is made again, and finds the leaf or the next page that is missing.
//!
//! Invariant: a row is loading only while its page is being read, or while others are and there is no room
//! for it. So every wait brings some row further.

use crate::access::btree::prefetch::{PrefetchTarget, prefetch_leaves};
use crate::buffer::{BeginLoad, Buffer, LoadQueue};
use crate::ids::PageId;
use std::collections::VecDeque;

/// Pages that are read for a row: one for each level of a tall tree, and some that had to be read again.
const PAGES_MAX: u32 = 16;

/// A row that is being read, for [`Prefetcher::is_loaded`](crate::Prefetcher::is_loaded).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLoad {
    row: u32,
    /// Rows take their turns in a position.
    turn: u32,
}

/// The rows that a thread is reading.
#[derive(Debug, Default)]
pub(crate) struct LoadingRows {
    /// None until a page is missing for the first time.
    loads: Option<LoadQueue>,
    rows: Vec<LoadingRow>,
    free: Vec<u32>,
    /// Rows for whose pages there was no room.
    queued: VecDeque<u32>,
    /// Rows that are being read.
    pub(crate) count: usize,
    /// Reusable memory for descents.
    keys: Vec<u8>,
    targets: Vec<PrefetchTarget>,
    arrived: Vec<u32>,
}

#[derive(Debug)]
struct LoadingRow {
    turn: u32,
    /// The page that is being read for it; none if the row is queued or the position free.
    page: Option<PageId>,
    /// Pages that have been read for it.
    pages: u32,
    key: Vec<u8>,
    target: PrefetchTarget,
}

impl LoadingRows {
    /// Begins to read the row of a target whose descent has ended at a page on disk. None if it ended
    /// elsewhere, or the page cannot be read now.
    pub(crate) fn begin(
        &mut self,
        buffer: &Buffer,
        target: &PrefetchTarget,
        keys: &[u8],
    ) -> Option<RowLoad> {
        let page = target.missing(buffer)?;
        if self.loads.is_none() {
            self.loads = buffer.load_queue();
        }
        let page = match buffer.begin_load(self.loads.as_mut()?, page) {
            BeginLoad::Begun => Some(page),
            BeginLoad::NoRoom if self.count > 0 => None,
            BeginLoad::NoRoom | BeginLoad::NotNow => return None,
        };
        self.count += 1;
        let key = &keys[target.key()];
        let target = target.moved(0..key.len());
        let row = if let Some(row) = self.free.pop() {
            let reused = &mut self.rows[row as usize];
            (reused.page, reused.pages, reused.target) = (page, 1, target);
            reused.key.clear();
            reused.key.extend_from_slice(key);
            row
        } else {
            self.rows.push(LoadingRow { turn: 0, page, pages: 1, key: key.to_vec(), target });
            (self.rows.len() - 1) as u32
        };
        if page.is_none() {
            self.queued.push_back(row);
        }
        Some(RowLoad { row, turn: self.rows[row as usize].turn })
    }

    /// Hands the reads that have begun to the system.
    pub(crate) fn submit(&mut self) {
        if let Some(loads) = &mut self.loads {
            loads.submit();
        }
    }

    #[inline]
    pub(crate) fn is_loaded(&self, load: RowLoad) -> bool {
        let row = self.rows.get(load.row as usize);
        row.is_none_or(|row| row.turn != load.turn)
    }

    /// Waits until a page has arrived, and takes the rows that wait for it, or for others that have, further.
    /// It does not wait for more: the sooner another read begins, the more of them are under way.
    #[cold]
    pub(crate) fn wait(&mut self, buffer: &Buffer) {
        let Some(loads) = &mut self.loads else {
            return;
        };
        let (rows, arrived) = (&mut self.rows, &mut self.arrived);
        arrived.clear();
        buffer.wait_for_loads(loads, 1, &mut |page| {
            for (position, row) in rows.iter_mut().enumerate() {
                if row.page == Some(page) {
                    row.page = None;
                    arrived.push(position as u32);
                }
            }
        });
        // As many have room now; at least one, since perhaps nothing is being read.
        let from_queue = self.queued.len().min(self.arrived.len().max(1));
        self.arrived.extend(self.queued.drain(..from_queue));
        self.continue_arrived(buffer);
    }

    /// Makes the descents of these rows again.
    fn continue_arrived(&mut self, buffer: &Buffer) {
        self.keys.clear();
        self.targets.clear();
        for row in &self.arrived {
            let LoadingRow { key, target, .. } = &self.rows[*row as usize];
            let start = self.keys.len();
            self.keys.extend_from_slice(key);
            self.targets.push(target.moved(start..self.keys.len()));
        }
        prefetch_leaves(buffer, &self.keys, &mut self.targets);
        let loads = self.loads.as_mut().expect("a page has arrived");
        for (position, target) in self.arrived.iter().zip(&self.targets) {
            let row = &mut self.rows[*position as usize];
            let next = target.missing(buffer).filter(|_| row.pages < PAGES_MAX);
            row.pages += 1;
            match next.map(|page| (page, buffer.begin_load(loads, page))) {
                Some((page, BeginLoad::Begun)) => row.page = Some(page),
                Some((_, BeginLoad::NoRoom)) if loads.len() > 0 => self.queued.push_back(*position),
                _ => {
                    row.turn = row.turn.wrapping_add(1);
                    self.free.push(*position);
                    self.count -= 1;
                }
            }
        }
        loads.submit();
    }
}
