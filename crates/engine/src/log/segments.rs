//! The segment files of an open log: the one written to, those that recovery may still need, those
//! that may be used again, and the prepared ones.
//!
//! Only the current and the prepared files are open: a long log has more files than a process may
//! hold open.
//!
//! Invariant: one file is kept prepared beyond the current one, so that commits which hold a claim
//! can always be written, also on a full disk.

use crate::ids::{Csn, SegmentNumber};
use crate::log::segment::SegmentFile;
use std::collections::VecDeque;
use std::sync::Arc;

/// A segment that holds commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Live {
    pub(super) number: SegmentNumber,
    /// The first commit whose record begins in it.
    pub(super) first: Csn,
    pub(super) index: u32,
}

/// How to come by another prepared file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preparation {
    /// Make the file of that index.
    Make(u32),
    /// The file of that index is whole and free: open it.
    Reuse(u32),
}

/// See the module.
#[derive(Debug)]
pub(super) struct Segments<F> {
    current: SegmentFile<F>,
    /// Oldest first; the last is the current one.
    live: VecDeque<Live>,
    spares: Vec<SegmentFile<F>>,
    free: Vec<u32>,
    next_index: u32,
    preparing: bool,
    recycled: u64,
}

impl<F> Segments<F> {
    /// `live` is oldest first and ends with the current segment, whose file is `current`; `free` are
    /// whole files that may be used; `next_index` is the first file name never used.
    pub(super) fn new(
        current: SegmentFile<F>,
        live: VecDeque<Live>,
        free: Vec<u32>,
        next_index: u32,
    ) -> Segments<F> {
        assert!(!live.is_empty(), "a log has a current segment");
        Segments {
            current,
            live,
            spares: Vec::new(),
            free,
            next_index,
            preparing: false,
            recycled: 0,
        }
    }

    pub(super) fn current(&self) -> Arc<F> {
        Arc::clone(&self.current.file)
    }

    pub(super) fn current_number(&self) -> SegmentNumber {
        self.live
            .back()
            .expect("a log has a current segment")
            .number
    }

    /// The segment before the current one; 0 for none.
    pub(super) fn previous_number(&self) -> SegmentNumber {
        let before = self.live.len().checked_sub(2);
        before.map_or(SegmentNumber(0), |index| self.live[index].number)
    }

    /// How many prepared files wait.
    pub(super) fn spares(&self) -> usize {
        self.spares.len()
    }

    /// How many segments hold commits that recovery may need.
    pub(super) fn live(&self) -> u64 {
        self.live.len() as u64
    }

    /// How many files have been used again since opening.
    pub(super) fn recycled(&self) -> u64 {
        self.recycled
    }

    /// Makes a prepared file the current one, under a new number; `first` is the first commit whose
    /// record will begin in it.
    pub(super) fn advance(&mut self, first: Csn) -> Option<Arc<F>> {
        let file = self.spares.pop()?;
        let number = self.current_number().next();
        self.live.push_back(Live {
            number,
            first,
            index: file.index,
        });
        self.current = file;
        Some(self.current())
    }

    /// Frees the files all of whose commits are at or below `csn`; true if there were any.
    pub(super) fn release(&mut self, csn: Csn) -> bool {
        let before = self.free.len();
        // A segment ends where its successor begins; the current one stays.
        while self
            .live
            .get(1)
            .is_some_and(|next| next.first <= csn.next())
        {
            self.free
                .extend(self.live.pop_front().map(|live| live.index));
        }
        self.free.len() > before
    }

    /// What is to be prepared now, if nothing is under way and something is wanted: there is no
    /// spare, or a commit needs more than there is.
    pub(super) fn begin_preparing(&mut self, more: bool) -> Option<Preparation> {
        if self.preparing || (!more && !self.spares.is_empty()) {
            return None;
        }
        self.preparing = true;
        Some(match self.free.last() {
            Some(&index) => Preparation::Reuse(index),
            None => Preparation::Make(self.next_index),
        })
    }

    /// That file is ready, or could not be had.
    pub(super) fn end_preparing(&mut self, how: Preparation, file: Option<SegmentFile<F>>) {
        self.preparing = false;
        let Some(file) = file else { return };
        match how {
            Preparation::Make(index) => self.next_index = index + 1,
            Preparation::Reuse(index) => {
                self.free.retain(|&free| free != index);
                self.recycled += 1;
            }
        }
        self.spares.push(file);
    }
}
