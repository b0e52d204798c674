//! The segment files of an open log: the current one, those that recovery may still need, the free ones, and
//! the prepared ones.
//!
//! With an archive, a file whose segment a checkpoint has released is free only when the segment is archived
//! (`archive`).
//!
//! Only the current and the prepared files are open: a long log has more files than a process may hold open.
//!
//! Sizes: the first file is small (`segment_bytes_min`). The file that is prepared behind a segment has
//! [`GROWTH`] times its size, up to `segment_bytes`; so the log's files take space in proportion to what was
//! logged, and a busy log soon has segments of full size. A free file that is too small is lengthened. If the
//! disk has no space for that, it is used as it is, and a new file has the smallest size.
//!
//! The cap (`log_bytes_max`): all files together never take more than that many bytes. [`FreeFiles::bytes`]
//! counts their lengths, with what interrupted attempts have left, and a preparation may add what is missing
//! to the cap minus [`FileSizes::for_recovery`]: after a crash at the cap, recovery still gets files for the
//! segments that it begins. If nothing more may be prepared, a commit waits for a checkpoint to
//! free files.
//!
//! Invariants:
//! 1. One file is kept prepared beyond the current one, so that commits that hold a claim can always be
//!    written, even on a full disk.
//! 2. Indexes have no holes: a file that was never whole is made before one with a higher index.
//! 3. A file counts as known whole once this process, or a header that recovery has read, vouches for it. It
//!    is never shortened below its header's size or cleared after that.
//!
//! The reserve: while no file is prepared beyond the current one, half of a segment is reserved for commits
//! that only delete. Other commits fail with `Full` once the disk refuses another file and the rest of the
//! current one is smaller than the reserve. So rows can be deleted on a full disk; the next checkpoint then
//! needs less of the data file, and releases log files, which are reused. The reserve takes no space in
//! addition to the existing files. A file that could not be made whole releases its space.

use crate::ids::{Csn, SegmentNumber};
use crate::log::segment::SegmentFile;
use crate::planted_bug::{PlantedBug, planted};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The reserve is a segment divided by this.
pub(super) const RESERVE_PART: u64 = 2;

/// Sizes below the wanted one are multiples of this, the largest unit of frames.
pub(super) const SIZE_UNIT_BYTES: u64 = 4096;

/// The file prepared behind a segment is larger than the segment by this factor.
pub(super) const GROWTH: u64 = 4;

/// The sizes of files that are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileSizes {
    /// The first file, and new ones when the disk is almost full.
    pub(super) min: u64,
    /// The files of a busy log.
    pub(super) max: u64,
    /// The most that all files may take together.
    pub(super) all: u64,
}

impl FileSizes {
    /// The part of the cap that only recovery may use: for one file of full size, or for several small ones
    /// if it is interrupted again and again before a checkpoint frees others.
    pub(super) fn for_recovery(&self) -> u64 {
        match self.all {
            u64::MAX => 0,
            _ if planted(PlantedBug::NoRoomForRecovery) => 0,
            _ => self.max.saturating_add(self.min.saturating_mul(4)),
        }
    }

    /// The longest record that a log with that cap always accepts once a checkpoint has freed all files but
    /// the current one. Frames and the ends of small segments take the rest.
    pub(super) fn record_bytes_max(&self) -> u64 {
        let free = self.all.saturating_sub(self.for_recovery()).saturating_sub(self.max);
        free / 16 * 7
    }
}

/// Nothing may be prepared: the files have reached the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Capped;

/// A whole file that holds no segment of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FreeFile {
    pub(super) index: u32,
    /// The size in its header; what lies behind it was never used.
    pub(super) bytes: u64,
}

/// The files that hold no segment of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FreeFiles {
    /// Whole files whose contents are no longer needed.
    pub(super) free: Vec<FreeFile>,
    /// Files that were never whole, because their preparation was interrupted.
    pub(super) unmade: BTreeSet<u32>,
    /// Bytes that interrupted attempts to make or lengthen a file have left in it, by index.
    pub(super) left_behind: BTreeMap<u32, u64>,
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

    /// Bytes of these files, with what interrupted attempts have left in any.
    pub(super) fn bytes(&self) -> u64 {
        let free: u64 = self.free.iter().map(|file| file.bytes).sum();
        free + self.left_behind.values().sum::<u64>()
    }

    /// Bytes in a file that making or lengthening it cuts off.
    pub(super) fn left_behind(&self, index: u32) -> u64 {
        self.left_behind.get(&index).copied().unwrap_or(0)
    }

    /// Marks a file as stable at full length, with its name.
    pub(super) fn made(&mut self, index: u32) {
        self.unmade.remove(&index);
        self.next_index = self.next_index.max(index + 1);
        self.whole.insert(index);
    }

    /// The largest free file that is too small for a segment of `bytes` bytes.
    pub(super) fn largest_below(&self, bytes: u64) -> Option<FreeFile> {
        let small = self.free.iter().filter(|file| file.bytes < bytes);
        small.max_by_key(|file| (file.bytes, file.index)).copied()
    }

    /// The free file to use for a segment of `bytes` bytes: the smallest that is large enough, or else the
    /// largest.
    pub(super) fn best(&self, bytes: u64) -> Option<FreeFile> {
        let enough = self.free.iter().filter(|file| file.bytes >= bytes);
        let smallest = enough.min_by_key(|file| (file.bytes, file.index));
        smallest.copied().or_else(|| self.largest_below(bytes))
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
    /// The size of its file.
    pub(super) bytes: u64,
}

/// The segments of a log before its current one is continued.
#[derive(Debug)]
pub(super) struct LogSegments {
    /// Released and not archived yet; oldest first, all before the live ones.
    pub(super) released: VecDeque<LiveSegment>,
    /// Those that recovery may need; oldest first, the last is the current one.
    pub(super) live: VecDeque<LiveSegment>,
    pub(super) spaces: FreeFiles,
}

/// Whether released segments are archived before their files are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Archiving {
    /// There is no archive: released files are free.
    NoArchive,
    /// No thread archives a segment at this moment.
    Idle,
    /// A thread archives the oldest released segment.
    Busy,
}

/// How to get another prepared file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preparation {
    /// Make the file of that index.
    Make {
        /// Which of the fixed names.
        index: u32,
        /// The size that it should have.
        bytes: u64,
        /// The size that it may have instead if the disk has no space.
        bytes_min: u64,
    },
    /// The file is whole and free: lengthen it if it is too small, mark it if that is safe by now, and open
    /// it.
    Reuse {
        /// The file.
        file: FreeFile,
        /// The size that it should have; not below its own.
        bytes: u64,
        /// The current segment's header is stable, so the free file's old header is not needed.
        may_mark: bool,
    },
}

/// The segment files of an open log.
#[derive(Debug)]
pub(super) struct Segments<F> {
    current: SegmentFile<F>,
    /// Released and not archived yet; oldest first.
    released: VecDeque<LiveSegment>,
    /// Oldest first; the last is the current one.
    live: VecDeque<LiveSegment>,
    spares: Vec<SegmentFile<F>>,
    spaces: FreeFiles,
    sizes: FileSizes,
    archiving: Archiving,
    archived: u64,
    /// The current segment's header is stable, and this process knows it.
    is_begun: bool,
    preparing: bool,
    /// Bytes that the preparation under way may add to the files.
    promised: u64,
    recycled: u64,
}

impl<F> Segments<F> {
    /// `current` is the file of the current segment; `is_begun` is true if this process has written and
    /// synced its header.
    pub(super) fn new(
        current: SegmentFile<F>,
        segments: LogSegments,
        (sizes, has_archive): (FileSizes, bool),
        is_begun: bool,
    ) -> Segments<F> {
        let LogSegments { released, live, spaces } = segments;
        assert!(!live.is_empty(), "a log has a current segment");
        Segments {
            current,
            released,
            live,
            spares: Vec::new(),
            spaces,
            sizes,
            archiving: if has_archive { Archiving::Idle } else { Archiving::NoArchive },
            archived: 0,
            is_begun,
            preparing: false,
            promised: 0,
            recycled: 0,
        }
    }

    pub(super) fn current(&self) -> Arc<F> {
        Arc::clone(&self.current.file)
    }

    /// The size of the current segment.
    pub(super) fn current_bytes(&self) -> u64 {
        self.current.bytes
    }

    pub(super) fn current_number(&self) -> SegmentNumber {
        self.live.back().expect("a log has a current segment").number
    }

    /// True if the log is in its first segment, and that begins with this commit.
    pub(super) fn begins_with(&self, csn: Csn) -> bool {
        self.current_number() == SegmentNumber(1) && self.live[0].first == csn
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

    /// The sizes of the prepared files that are ready.
    pub(super) fn spares(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.spares.iter().map(|file| file.bytes)
    }

    /// Bytes of the segments that hold commits which recovery may need.
    pub(super) fn live_bytes(&self) -> u64 {
        self.live.iter().map(|live| live.bytes).sum()
    }

    /// How many files have been reused since opening.
    pub(super) fn recycled(&self) -> u64 {
        self.recycled
    }

    /// Makes a prepared file the current one, under a new segment number; `first` is the first commit whose
    /// record will begin in it.
    pub(super) fn advance(&mut self, first: Csn) -> Option<Arc<F>> {
        if self.spares.is_empty() {
            return None;
        }
        let file = self.spares.remove(0);
        let number = self.current_number().next();
        self.live.push_back(LiveSegment { number, first, index: file.index, bytes: file.bytes });
        self.current = file;
        self.is_begun = false;
        Some(self.current())
    }

    /// Releases the segments all of whose commits are at or below `csn`: their files are free, or can be
    /// archived. True if there were any.
    pub(super) fn release(&mut self, csn: Csn) -> bool {
        let before = self.live.len();
        // A segment ends where its successor begins; the current one stays.
        while self.live.get(1).is_some_and(|next| {
            next.first <= csn.next() || planted(PlantedBug::SegmentDroppedEarly)
        }) {
            self.released.extend(self.live.pop_front());
            if self.archiving == Archiving::NoArchive || planted(PlantedBug::FreeBeforeArchived) {
                self.free_released();
            }
        }
        self.live.len() < before
    }

    fn free_released(&mut self) {
        let oldest = self.released.pop_front();
        let file = oldest.map(|oldest| FreeFile { index: oldest.index, bytes: oldest.bytes });
        self.spaces.free.extend(file);
    }

    /// The oldest segment to be archived and its successor, unless it is being archived.
    pub(super) fn begin_archiving(&mut self) -> Option<(LiveSegment, LiveSegment)> {
        if self.archiving == Archiving::Busy {
            return None;
        }
        let oldest = *self.released.front()?;
        self.archiving = Archiving::Busy;
        let next = self.released.get(1).or(self.live.front());
        Some((oldest, *next.expect("a log has a current segment")))
    }

    /// Ends what [`Segments::begin_archiving`] began; the file is free if it was archived.
    pub(super) fn end_archiving(&mut self, is_archived: bool) {
        self.archiving = Archiving::Idle;
        if is_archived {
            self.free_released();
            self.archived += 1;
        }
    }

    /// Segments that wait to be archived.
    pub(super) fn unarchived(&self) -> u64 {
        self.released.len() as u64
    }

    /// Segments that were archived since opening.
    pub(super) fn archived(&self) -> u64 {
        self.archived
    }

    /// True while a thread archives a segment.
    pub(super) fn is_archiving(&self) -> bool {
        self.archiving == Archiving::Busy
    }

    /// Bytes of all files.
    pub(super) fn file_bytes(&self) -> u64 {
        let released: u64 = self.released.iter().map(|released| released.bytes).sum();
        let held = released + self.live_bytes();
        held + self.spares().sum::<u64>() + self.spaces.bytes() + self.promised
    }

    /// True if a checkpoint of all commits would free a file.
    pub(super) fn is_releasable(&self) -> bool {
        self.live.len() > 1
    }

    /// Begins the next preparation, if none is under way and one is needed: there is no spare file, or a
    /// commit needs more than the spare files.
    pub(super) fn begin_preparing(&mut self, more: bool) -> Result<Option<Preparation>, Capped> {
        if self.preparing || (!more && !self.spares.is_empty()) {
            return Ok(None);
        }
        let newest = self.spares.last().unwrap_or(&self.current);
        let bytes = newest.bytes.saturating_mul(GROWTH).min(self.sizes.max);
        let how = self.preparation(bytes)?;
        self.preparing = true;
        self.promised = match how {
            Preparation::Make { bytes, .. } => bytes,
            Preparation::Reuse { file, bytes, .. } => bytes - file.bytes,
        };
        Ok(Some(how))
    }

    /// How to get a file of `bytes` bytes, or a smaller one if the cap allows no more.
    fn preparation(&self, bytes: u64) -> Result<Preparation, Capped> {
        let most = self.sizes.all - self.sizes.for_recovery();
        let left = if planted(PlantedBug::GrowPastCap) {
            self.sizes.max
        } else {
            most.saturating_sub(self.file_bytes())
        };
        let left_for = |index| {
            let left = left.saturating_add(self.spaces.left_behind(index));
            left / SIZE_UNIT_BYTES * SIZE_UNIT_BYTES
        };
        if let Some(file) = self.spaces.best(bytes) {
            let bytes = bytes.min(file.bytes.saturating_add(left_for(file.index)));
            return Ok(Preparation::Reuse {
                file,
                bytes: bytes.max(file.bytes),
                may_mark: self.is_begun,
            });
        }
        let index = self.spaces.index_to_make();
        let bytes = bytes.min(left_for(index));
        let bytes_min = self.sizes.min.min(bytes);
        if bytes < self.sizes.min {
            return Err(Capped);
        }
        Ok(Preparation::Make { index, bytes, bytes_min })
    }

    /// True while a thread prepares a file.
    pub(super) fn is_preparing(&self) -> bool {
        self.preparing
    }

    /// Ends a preparation. `file` is none if it failed and left that many bytes in the file of this index.
    pub(super) fn end_preparing(
        &mut self,
        how: Preparation,
        file: Result<SegmentFile<F>, (u32, u64)>,
    ) {
        self.preparing = false;
        self.promised = 0;
        let file = match file {
            Ok(file) => file,
            Err((index, left_behind)) => {
                self.spaces.left_behind.insert(index, left_behind);
                return;
            }
        };
        self.spaces.left_behind.remove(&file.index);
        match how {
            Preparation::Make { index, .. } => self.spaces.made(index),
            Preparation::Reuse { file, may_mark, .. } => {
                self.spaces.free.retain(|free| *free != file);
                self.recycled += 1;
                if may_mark {
                    self.spaces.made(file.index);
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
