//! The segment files of an open log: the current one, those that recovery may still need, the free ones, and
//! the prepared ones.
//!
//! Only the current and the prepared files are open: a long log has more files than a process may hold open.
//!
//! Invariants:
//! 1. One file is kept prepared beyond the current one, so that commits that hold a claim can always be
//!    written, even on a full disk.
//! 2. Indexes have no holes: a file that was never whole is made before one with a higher index.
//! 3. A file counts as known whole once this process, or a header that recovery has read, vouches for it. It
//!    is never shortened or cleared after that.
//!
//! The reserve: while no file is prepared beyond the current one, half of a segment is reserved for commits
//! that only delete. Other commits fail with `Full` once the disk refuses another file and the rest of the
//! current one is smaller than the reserve. So rows can be deleted on a full disk; the next checkpoint then
//! needs less of the data file, and releases log files, which are reused. The reserve takes no space in
//! addition to the existing files. A file that could not be made whole releases its space.

use crate::ids::{Csn, SegmentNumber};
use crate::log::segment::SegmentFile;
use crate::planted_bug::{PlantedBug, planted};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The reserve is a segment divided by this.
pub(super) const RESERVE_PART: u64 = 2;

/// The files that hold no segment of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FreeFiles {
    /// Whole files whose contents are no longer needed.
    pub(super) free: Vec<u32>,
    /// Files that were never whole, because their preparation was interrupted.
    pub(super) unmade: BTreeSet<u32>,
    /// The lowest index above all files.
    pub(super) next_index: u32,
    /// Files that are known to be stable at full length, with their names.
    pub(super) whole: WholeFiles,
}

/// Indexes of files known to be whole: all below the first that is not, and others above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WholeFiles {
    below: u32,
    others: BTreeSet<u32>,
}

impl WholeFiles {
    /// All files with a lower index.
    pub(super) fn below(index: u32) -> WholeFiles {
        WholeFiles { below: index, others: BTreeSet::new() }
    }

    fn insert(&mut self, index: u32) {
        if index >= self.below {
            self.others.insert(index);
        }
        while self.others.remove(&self.below) {
            self.below += 1;
        }
    }
}

impl FreeFiles {
    /// The file to make when none is free.
    pub(super) fn index_to_make(&self) -> u32 {
        self.unmade.first().copied().unwrap_or(self.next_index)
    }

    /// Marks a file as stable at full length, with its name.
    pub(super) fn made(&mut self, index: u32) {
        self.unmade.remove(&index);
        self.next_index = self.next_index.max(index + 1);
        self.whole.insert(index);
    }

    /// Every file with a lower index is known to be whole.
    pub(super) fn whole_files(&self) -> u32 {
        self.whole.below
    }
}

/// A segment that holds commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LiveSegment {
    pub(super) number: SegmentNumber,
    /// The first commit whose record begins in it.
    pub(super) first: Csn,
    pub(super) index: u32,
}

/// How to get another prepared file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preparation {
    /// Make the file of that index.
    Make(u32),
    /// The file of that index is whole and free: mark it, if that is safe by now, and open it.
    Reuse {
        /// Which of the fixed names.
        index: u32,
        /// The current segment's header is stable, so the free file's old header is not needed.
        may_mark: bool,
    },
}

/// The segment files of an open log.
#[derive(Debug)]
pub(super) struct Segments<F> {
    current: SegmentFile<F>,
    /// Oldest first; the last is the current one.
    live: VecDeque<LiveSegment>,
    spares: Vec<SegmentFile<F>>,
    spaces: FreeFiles,
    /// The current segment's header is stable, and this process knows it.
    is_begun: bool,
    preparing: bool,
    recycled: u64,
}

impl<F> Segments<F> {
    /// `live` is oldest first and ends with the current segment, whose file is `current`; `is_begun` is true
    /// if this process has written and synced its header.
    pub(super) fn new(
        current: SegmentFile<F>,
        live: VecDeque<LiveSegment>,
        spaces: FreeFiles,
        is_begun: bool,
    ) -> Segments<F> {
        assert!(!live.is_empty(), "a log has a current segment");
        Segments {
            current,
            live,
            spares: Vec::new(),
            spaces,
            is_begun,
            preparing: false,
            recycled: 0,
        }
    }

    pub(super) fn current(&self) -> Arc<F> {
        Arc::clone(&self.current.file)
    }

    pub(super) fn current_number(&self) -> SegmentNumber {
        self.live.back().expect("a log has a current segment").number
    }

    /// The segment before the current one; 0 for none.
    pub(super) fn previous_number(&self) -> SegmentNumber {
        let before = self.live.len().checked_sub(2);
        before.map_or(SegmentNumber(0), |index| self.live[index].number)
    }

    /// The newest segment whose header is known to be stable; 0 for none.
    pub(super) fn begun(&self) -> SegmentNumber {
        if self.is_begun { self.current_number() } else { self.previous_number() }
    }

    /// Marks the current segment's header as stable.
    pub(super) fn begin_current(&mut self) {
        self.is_begun = true;
        self.spaces.made(self.current.index);
    }

    /// Every file with a lower index is known to be whole.
    pub(super) fn whole_files(&self) -> u32 {
        self.spaces.whole_files()
    }

    /// How many prepared files are ready.
    pub(super) fn spares(&self) -> usize {
        self.spares.len()
    }

    /// How many segments hold commits that recovery may need.
    pub(super) fn live(&self) -> u64 {
        self.live.len() as u64
    }

    /// How many files have been reused since opening.
    pub(super) fn recycled(&self) -> u64 {
        self.recycled
    }

    /// Makes a prepared file the current one, under a new segment number; `first` is the first commit whose
    /// record will begin in it.
    pub(super) fn advance(&mut self, first: Csn) -> Option<Arc<F>> {
        let file = self.spares.pop()?;
        let number = self.current_number().next();
        self.live.push_back(LiveSegment { number, first, index: file.index });
        self.current = file;
        self.is_begun = false;
        Some(self.current())
    }

    /// Frees the files all of whose commits are at or below `csn`; true if there were any.
    pub(super) fn release(&mut self, csn: Csn) -> bool {
        let before = self.spaces.free.len();
        // A segment ends where its successor begins; the current one stays.
        while self.live.get(1).is_some_and(|next| {
            next.first <= csn.next() || planted(PlantedBug::SegmentDroppedEarly)
        }) {
            let oldest = self.live.pop_front();
            self.spaces.free.extend(oldest.map(|live| live.index));
        }
        self.spaces.free.len() > before
    }

    /// Begins the next preparation, if none is under way and one is needed: there is no spare file, or a
    /// commit needs more than the spare files.
    pub(super) fn begin_preparing(&mut self, more: bool) -> Option<Preparation> {
        if self.preparing || (!more && !self.spares.is_empty()) {
            return None;
        }
        self.preparing = true;
        Some(match self.spaces.free.last() {
            Some(&index) => Preparation::Reuse { index, may_mark: self.is_begun },
            None => Preparation::Make(self.spaces.index_to_make()),
        })
    }

    /// True while a thread prepares a file.
    pub(super) fn is_preparing(&self) -> bool {
        self.preparing
    }

    /// Ends a preparation; `file` is none if it failed.
    pub(super) fn end_preparing(&mut self, how: Preparation, file: Option<SegmentFile<F>>) {
        self.preparing = false;
        let Some(file) = file else { return };
        match how {
            Preparation::Make(index) => self.spaces.made(index),
            Preparation::Reuse { index, may_mark } => {
                self.spaces.free.retain(|&free| free != index);
                self.recycled += 1;
                if may_mark {
                    self.spaces.made(index);
                }
            }
        }
        self.spares.push(file);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::FreeFiles;
    use std::collections::BTreeSet;

    /// The fast count of whole files agrees with a scan over all files.
    #[test]
    fn whole_files_are_those_below_the_first_that_is_not() {
        let mut random = fastrand::Rng::with_seed(26);
        for _ in 0..200 {
            let (mut spaces, mut whole) = (FreeFiles::default(), BTreeSet::new());
            for _ in 0..random.u32(1..60) {
                let index = random.u32(0..40);
                spaces.made(index);
                whole.insert(index);
                let first_hole = (0..=40).find(|index| !whole.contains(index));
                assert_eq!(Some(spaces.whole_files()), first_hole, "{whole:?}");
                assert!(spaces.whole.others.len() <= whole.len());
            }
        }
    }
}
