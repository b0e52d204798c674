//! The bytes of one simulated file: stable, visible, and the changes between the two.
//!
//! Invariants:
//! 1. `visible` = `stable` with all changes applied in order, except those that have failed and were dropped
//!    from the cache.
//! 2. The first change is not stable: leading stable changes are folded into `stable` at once. A stable
//!    change behind an unstable one stays in line, so that the order is kept when a crash selects changes.
//! 3. Both images are shared with crash images until one side changes them; a write never copies a file that
//!    is not shared.

use super::crash::Fate;
use std::ops::Range;
use std::sync::Arc;

/// The unit that a device writes entirely or not at all, unless it is garbled within.
const SECTOR_BYTES: usize = 512;

/// One change of a file's bytes.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Bytes at an offset.
    Write { offset: usize, bytes: Box<[u8]> },
    /// Zeros over a range, kept short.
    Zeros(Range<usize>),
    /// The file is truncated or grown to this length.
    SetLen(usize),
}

/// The state of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChangeState {
    /// The next sync covers it.
    Dirty,
    /// A sync of it failed: no later sync covers it, but it may have reached the device.
    Failed,
    /// Covered by a sync.
    Stable,
}

#[derive(Debug)]
struct Entry {
    sequence: u64,
    state: ChangeState,
    change: Change,
}

/// The bytes of one file.
#[derive(Debug, Default)]
pub(super) struct Content {
    stable: Arc<Vec<u8>>,
    visible: Arc<Vec<u8>>,
    entries: Vec<Entry>,
}

impl Content {
    /// A file that a crash left with these bytes.
    pub(super) fn survived(image: Arc<Vec<u8>>) -> Content {
        Content { stable: Arc::clone(&image), visible: image, entries: Vec::new() }
    }

    /// The bytes that reads see.
    pub(super) fn visible(&self) -> &[u8] {
        &self.visible
    }

    /// Makes a change that is visible and not stable. Sequences must increase.
    pub(super) fn change(&mut self, sequence: u64, change: Change) {
        change.apply(Arc::make_mut(&mut self.visible));
        self.entries.push(Entry { sequence, state: ChangeState::Dirty, change });
    }

    /// A sync: the changes that it covers become stable.
    pub(super) fn sync(&mut self) {
        for entry in &mut self.entries {
            if entry.state == ChangeState::Dirty {
                entry.state = ChangeState::Stable;
            }
        }
        self.fold();
    }

    /// Only the newest change becomes stable, with the earlier length changes without which its bytes could
    /// not be read back.
    pub(super) fn sync_newest(&mut self) {
        let Some((newest, earlier)) = self.entries.split_last_mut() else {
            return;
        };
        newest.state = ChangeState::Stable;
        let end = newest.change.end();
        let needed = earlier
            .iter()
            .rposition(|entry| matches!(entry.change, Change::SetLen(len) if len < end));
        for entry in &mut earlier[..needed.map_or(0, |index| index + 1)] {
            if matches!(entry.change, Change::SetLen(_)) {
                entry.state = ChangeState::Stable;
            }
        }
        self.fold();
    }

    /// A sync fails for the dirty writes from `first` on: they are marked clean without being stable. If the
    /// pages are dropped, the writes are lost and reads see the remaining bytes; otherwise reads see them
    /// until [`Content::evict`]. The length that they gave the file stays, as a change with `sequence`.
    pub(super) fn fail_sync(&mut self, first: u64, drop_pages: bool, sequence: u64) {
        for entry in &mut self.entries {
            let is_length = matches!(entry.change, Change::SetLen(_));
            if entry.state == ChangeState::Dirty && entry.sequence >= first && !is_length {
                entry.state = ChangeState::Failed;
            }
        }
        let (len, left) = (self.visible.len(), self.without_failed());
        if left.len() != len {
            let change = Change::SetLen(len);
            self.entries.push(Entry { sequence, state: ChangeState::Dirty, change });
        }
        if drop_pages {
            self.evict();
        }
    }

    /// Clean pages leave the cache: failed writes are lost, and reads see the device's bytes.
    pub(super) fn evict(&mut self) {
        if self.entries.iter().any(|entry| entry.state == ChangeState::Failed) {
            self.visible = Arc::new(self.without_failed());
            self.entries.retain(|entry| entry.state != ChangeState::Failed);
            self.fold();
        }
    }

    /// The sequences of the changes that a crash may keep or lose, in order.
    pub(super) fn pending(&self) -> impl Iterator<Item = u64> {
        let open = self.entries.iter().filter(|entry| entry.state != ChangeState::Stable);
        open.map(|entry| entry.sequence)
    }

    /// The bytes that a crash leaves, given the fate of each pending change.
    pub(super) fn image(&self, fate: impl Fn(u64) -> Fate) -> Arc<Vec<u8>> {
        let mut image = Arc::clone(&self.stable);
        for entry in &self.entries {
            let fate = match entry.state {
                ChangeState::Stable => Fate::Kept,
                ChangeState::Dirty | ChangeState::Failed => fate(entry.sequence),
            };
            match fate {
                Fate::Lost => {}
                Fate::Kept => entry.change.apply(Arc::make_mut(&mut image)),
                Fate::Torn { seed } => entry.change.tear(Arc::make_mut(&mut image), seed),
            }
        }
        image
    }

    fn without_failed(&self) -> Vec<u8> {
        let mut left = self.stable.to_vec();
        for entry in self.entries.iter().filter(|entry| entry.state != ChangeState::Failed) {
            entry.change.apply(&mut left);
        }
        left
    }

    fn fold(&mut self) {
        let is_stable = |entry: &Entry| entry.state == ChangeState::Stable;
        let leading = self.entries.iter().take_while(|entry| is_stable(entry)).count();
        if leading > 0 {
            let stable = Arc::make_mut(&mut self.stable);
            for entry in self.entries.drain(..leading) {
                entry.change.apply(stable);
            }
        }
    }
}

impl Change {
    fn end(&self) -> usize {
        match self {
            Change::Write { offset, bytes } => offset + bytes.len(),
            Change::Zeros(range) => range.end,
            Change::SetLen(len) => *len,
        }
    }

    /// Applies the change completely.
    fn apply(&self, image: &mut Vec<u8>) {
        if let Change::SetLen(len) = self {
            image.resize(*len, 0);
            return;
        }
        if image.len() < self.end() {
            image.resize(self.end(), 0);
        }
        self.copy(image, 0..self.end());
    }

    /// Applies the change as a loss of power may leave it: see rule 4 of the model.
    fn tear(&self, image: &mut Vec<u8>, seed: u64) {
        let start = match self {
            Change::SetLen(_) => return self.apply(image),
            Change::Write { offset, .. } => *offset,
            Change::Zeros(range) => range.start,
        };
        let mut random = fastrand::Rng::with_seed(seed);
        // Length before bytes, or bytes before length.
        if random.bool() && image.len() < self.end() {
            image.resize(self.end(), 0);
        }
        // All sectors arrive, none does, or each has its own fate.
        let pattern = random.u8(0..4);
        let (mut from, end) = (start, self.end().min(image.len()));
        while from < end {
            let to = (from + 1).next_multiple_of(SECTOR_BYTES).min(end);
            match if pattern < 2 { pattern } else { random.u8(0..3) } {
                0 => self.copy(image, from..to),
                1 => {}
                _ => random.fill(&mut image[from..to]),
            }
            from = to;
        }
    }

    /// Copies the part of a write that lies within a range of the image.
    fn copy(&self, image: &mut [u8], range: Range<usize>) {
        match self {
            Change::Write { offset, bytes } => {
                let from = range.start.max(*offset);
                image[from..range.end].copy_from_slice(&bytes[from - offset..range.end - offset]);
            }
            Change::Zeros(zeros) => image[range.start.max(zeros.start)..range.end].fill(0),
            Change::SetLen(_) => {}
        }
    }
}
