//! One file between two syncs: its stable bytes, and the changes that a power loss may take.
//!
//! Invariants:
//! 1. Visible bytes = stable bytes with all changes applied in order, except those that a failed sync
//!    has dropped.
//! 2. A change whose sync has failed is covered by no later sync, and may or may not have been written.
//! 3. `floors` records for each unit of 512 bytes up to which change it is stable, where that differs
//!    within the file: after a synced write, and when some changes have a failed sync. `reaches` records
//!    the same for the file's length: no older change of the length cuts off stable bytes.
//! 4. A sync does not cover changes made after it began.

use super::file_content::{Content, PAGE_BYTES};
use super::loss_model::{Loss, Metadata};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The unit that a device writes atomically.
const SECTOR: u64 = 512;

const PAGE_SECTORS: u64 = PAGE_BYTES as u64 / SECTOR;

/// The piece size of a write of zeros.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// A change of a file.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Write { offset: u64, bytes: Arc<[u8]> },
    Zeros { offset: u64, len: u64 },
    SetLen(u64),
}

#[derive(Clone, Debug)]
struct Entry {
    /// The number of its step.
    number: u64,
    failed: bool,
    change: Change,
}

/// The stable bytes of a file and its pending changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    stable: Content,
    entries: Vec<Entry>,
    floors: BTreeMap<u64, u64>,
    reaches: Reach,
}

/// The minimum length of the file, given by a stable change that may be newer than one whose sync has failed.
#[derive(Clone, Copy, Debug, Default)]
struct Reach {
    /// The number of the change.
    number: u64,
    len: u64,
}

/// What a power loss took from one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileLoss {
    /// Units of 512 bytes changed since the last sync.
    pub pending: u64,
    /// Pending units that are not as the store left them.
    pub lost: u64,
    /// Writes of which some units survived and some did not.
    pub torn_writes: u64,
    /// Torn writes that began at offset 0.
    pub torn_heads: u64,
}

impl Pending {
    pub(super) fn new(stable: Content) -> Pending {
        Pending { stable, ..Pending::default() }
    }

    /// True if a power loss can take nothing.
    pub(super) fn is_stable(&self) -> bool {
        self.entries.is_empty()
    }

    /// Applies the change of step `number`, which is visible and not yet stable.
    pub(super) fn change(&mut self, number: u64, change: Change) {
        self.entries.push(Entry { number, failed: false, change });
    }

    /// Applies a successful sync of all changes up to `step`.
    pub(super) fn sync(&mut self, step: u64) -> io::Result<()> {
        let entries = std::mem::take(&mut self.entries);
        let any_failed = entries.iter().any(|entry| entry.failed);
        for entry in entries {
            if entry.failed || entry.number > step {
                self.entries.push(entry);
                continue;
            }
            self.apply(&entry)?;
            if any_failed {
                self.raise_floors(entry.change.units(), entry.number);
                self.raise_reach(&entry);
            }
        }
        self.forget_floors();
        Ok(())
    }

    /// Applies a write that was itself synced. If lengths were set before it without a sync, everything up to
    /// it becomes stable: its bytes could not be read back otherwise.
    pub(super) fn sync_written(&mut self, step: u64) -> io::Result<()> {
        let Some(at) = self.entries.iter().position(|one| one.number == step) else {
            return Ok(()); // a sync that began after it has already covered it
        };
        if self.entries[..at].iter().any(|one| one.change.is_length()) {
            return self.sync(step);
        }
        let written = self.entries.remove(at);
        // The pages of the range are written back whole, including earlier changes to them.
        let units = written.change.units();
        let range =
            units.start / PAGE_SECTORS * PAGE_SECTORS..units.end.next_multiple_of(PAGE_SECTORS);
        let before = self.entries[..at].iter().filter(|entry| !entry.failed);
        for entry in before.cloned().collect::<Vec<_>>() {
            self.apply_where(&entry, |unit| range.contains(&unit))?;
        }
        self.apply(&written)?;
        self.raise_floors(range, written.number);
        self.forget_floors();
        Ok(())
    }

    /// Applies a failed sync: everything that it should have covered counts as clean.
    pub(super) fn fail_sync(&mut self) {
        for entry in &mut self.entries {
            entry.failed = true;
        }
    }

    /// The bytes that a power loss leaves, and what it took.
    pub(super) fn image(
        &self,
        loss: Loss,
        model: Metadata,
        salt: u64,
    ) -> io::Result<(Content, FileLoss)> {
        let mut random = fastrand::Rng::with_seed(loss.seed() ^ salt.wrapping_mul(0x9e37_79b9));
        let end = self.entries.len();
        let moments = match loss {
            Loss::Drop => Moments::all_at(0),
            Loss::Keep => Moments::all_at(end),
            Loss::Subset { .. } => Moments::all_at(random.usize(0..=end)),
            Loss::Torn { unit_bytes, .. } => Moments {
                length: random.usize(0..=end),
                sectors: u64::from(unit_bytes) / SECTOR,
                units: Units::Drawn(random.u64(..)),
                end,
            },
            Loss::Head { unit_bytes, arrives, .. } => Moments {
                length: end,
                sectors: u64::from(unit_bytes) / SECTOR,
                units: Units::Head(arrives),
                end,
            },
        };
        let mut image =
            Image { pending: self, moments, content: self.stable.clone(), cuts: Vec::new() };
        image.build(model)?;
        let taken = image.file_loss();
        Ok((image.content, taken))
    }

    fn apply(&mut self, entry: &Entry) -> io::Result<()> {
        self.apply_where(entry, |_| true)
    }

    fn apply_where(&mut self, entry: &Entry, takes: impl Fn(u64) -> bool) -> io::Result<()> {
        let floors = &self.floors;
        let is_new = |unit| takes(unit) && floors.get(&unit).is_none_or(|at| *at < entry.number);
        entry.change.apply(&mut self.stable, is_new)
    }

    /// Drops floors that are older than all pending changes: they have no effect.
    fn forget_floors(&mut self) {
        let first = self.entries.first().map_or(u64::MAX, |first| first.number);
        self.floors.retain(|_, at| *at > first);
        if self.reaches.number <= first {
            self.reaches = Reach::default();
        }
    }

    /// Records a stable change that may be newer than failed ones: those no longer affect the length it
    /// leaves.
    fn raise_reach(&mut self, stable: &Entry) {
        self.reaches.len = match &stable.change {
            Change::Write { offset, bytes } => self.reaches.len.max(offset + bytes.len() as u64),
            Change::Zeros { .. } => return,
            Change::SetLen(len) => {
                let is_older = |one: &Entry| one.number < stable.number;
                self.entries.retain(|one| !(one.change.is_length() && is_older(one)));
                *len
            }
        };
        self.reaches.number = stable.number;
    }

    /// The length after a change to `len`, kept above stable bytes.
    fn length_left(&self, number: u64, len: u64) -> u64 {
        if number < self.reaches.number { len.max(self.reaches.len) } else { len }
    }

    fn raise_floors(&mut self, units: Range<u64>, number: u64) {
        for unit in units {
            let floor = self.floors.entry(unit).or_default();
            *floor = number.max(*floor);
        }
    }

    fn is_above_floor(&self, unit: u64, number: u64) -> bool {
        self.floors.get(&unit).is_none_or(|at| *at < number)
    }
}

impl Change {
    /// True if this is a write at offset 0.
    fn is_head(&self) -> bool {
        matches!(self, Change::Write { offset: 0, .. })
    }

    fn is_length(&self) -> bool {
        matches!(self, Change::SetLen(_))
    }

    /// The range of 512-byte units that it changes.
    fn units(&self) -> Range<u64> {
        let (offset, len) = match self {
            Change::Write { offset, bytes } => (*offset, bytes.len() as u64),
            Change::Zeros { offset, len } => (*offset, *len),
            Change::SetLen(_) => (0, 0),
        };
        offset / SECTOR..(offset + len).div_ceil(SECTOR).max(offset / SECTOR)
    }

    /// Applies the change to the units for which `takes` is true; adjacent units go in one piece.
    fn apply(&self, content: &mut Content, takes: impl Fn(u64) -> bool) -> io::Result<()> {
        if let Change::SetLen(len) = self {
            return content.set_len(*len);
        }
        let units = self.units();
        let mut from = units.start;
        while from < units.end {
            if !takes(from) {
                from += 1;
                continue;
            }
            let mut to = from + 1;
            while to < units.end && takes(to) {
                to += 1;
            }
            self.copy(content, from * SECTOR..to * SECTOR)?;
            from = to;
        }
        Ok(())
    }

    fn copy(&self, content: &mut Content, range: Range<u64>) -> io::Result<()> {
        match self {
            Change::Write { offset, bytes } => {
                let start = range.start.max(*offset);
                let end = range.end.min(offset + bytes.len() as u64);
                content.write(start, &bytes[(start - offset) as usize..(end - offset) as usize])
            }
            Change::Zeros { offset, len } => {
                let (mut start, end) = (range.start.max(*offset), range.end.min(offset + len));
                while start < end {
                    let now = (end - start).min(ZEROS.len() as u64);
                    content.write(start, &ZEROS[..now as usize])?;
                    start += now;
                }
                Ok(())
            }
            Change::SetLen(_) => Ok(()),
        }
    }
}

/// The moment at which each part of a file is found: the number of changes applied to it.
struct Moments {
    length: usize,
    /// Sectors per unit with its own moment.
    sectors: u64,
    units: Units,
    end: usize,
}

/// How the units of a file get their moments.
enum Units {
    /// All use the length's moment.
    Together,
    /// Each gets a random one, derived from this seed.
    Drawn(u64),
    /// If true, the first unit has all changes and the others none; if false, the other way round.
    Head(bool),
}

impl Moments {
    fn all_at(moment: usize) -> Moments {
        Moments { length: moment, sectors: 1, units: Units::Together, end: moment }
    }

    /// The end of the unit that contains this sector.
    fn unit_end(&self, unit: u64) -> u64 {
        (unit / self.sectors + 1) * self.sectors * SECTOR
    }

    /// The moment of a sector; none of the changes, all, or some are equally likely.
    fn of(&self, unit: u64) -> usize {
        let group = unit / self.sectors;
        let seed = match self.units {
            Units::Together => return self.length,
            Units::Head(arrives) => return if (group == 0) == arrives { self.end } else { 0 },
            Units::Drawn(seed) => seed,
        };
        let mut random = fastrand::Rng::with_seed(seed ^ group.wrapping_mul(0x517c_c1b7_2722_0a95));
        match random.u8(0..3) {
            0 => 0,
            1 => self.end,
            _ => random.usize(0..=self.end),
        }
    }
}

/// An image under construction.
struct Image<'p> {
    pending: &'p Pending,
    moments: Moments,
    content: Content,
    /// Truncations that were lost: the index of the change, and its length. Data that was written after a
    /// truncation, at or beyond the unit that it cuts, is unreachable until the truncation itself is stable.
    cuts: Vec<(usize, u64)>,
}

impl Image<'_> {
    fn build(&mut self, model: Metadata) -> io::Result<()> {
        let len = self.length_at_moment();
        let entries = self.pending.entries.iter().enumerate();
        self.cuts = entries
            .skip(self.moments.length)
            .filter_map(|(index, entry)| match entry.change {
                Change::SetLen(len) => Some((index, len)),
                _ => None,
            })
            .collect();
        let mut content = std::mem::take(&mut self.content);
        for (index, entry) in self.pending.entries.iter().enumerate() {
            if let Change::SetLen(len) = entry.change {
                if index < self.moments.length {
                    content.set_len(self.pending.length_left(entry.number, len))?;
                }
                continue;
            }
            entry.change.apply(&mut content, |unit| self.arrives(unit, index, entry.number))?;
        }
        if content.len() > len || model == Metadata::Strict {
            content.set_len(len)?;
        }
        self.content = content;
        Ok(())
    }

    /// The length of the file at the length's moment.
    fn length_at_moment(&self) -> u64 {
        let seen = &self.pending.entries[..self.moments.length];
        seen.iter().fold(self.pending.stable.len(), |len, entry| match &entry.change {
            Change::SetLen(len) => self.pending.length_left(entry.number, *len),
            Change::Write { offset, bytes } => len.max(offset + bytes.len() as u64),
            Change::Zeros { .. } => len,
        })
    }

    fn arrives(&self, unit: u64, index: usize, number: u64) -> bool {
        let end = self.moments.unit_end(unit);
        let behind_cut = |(cut, len): &(usize, u64)| *cut < index && end > *len;
        index < self.moments.of(unit)
            && !self.cuts.iter().any(behind_cut)
            && self.pending.is_above_floor(unit, number)
    }

    fn file_loss(&self) -> FileLoss {
        let mut newest = BTreeMap::new();
        let mut taken = FileLoss::default();
        for (index, entry) in self.pending.entries.iter().enumerate() {
            let above = |unit: &u64| self.pending.is_above_floor(*unit, entry.number);
            let (mut arrived, mut lost) = (false, false);
            for unit in entry.change.units().filter(above) {
                let arrives = self.arrives(unit, index, entry.number);
                arrived |= arrives;
                lost |= !arrives;
                newest.insert(unit, arrives);
            }
            let torn = u64::from(arrived && lost);
            taken.torn_writes += torn;
            taken.torn_heads += torn * u64::from(entry.change.is_head());
        }
        taken.pending = newest.len() as u64;
        taken.lost = newest.values().filter(|arrives| !**arrives).count() as u64;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, Loss, Metadata, Pending};
    use std::sync::Arc;

    #[test]
    fn a_head_tear_splits_new_from_old_bytes() {
        let mut pending = Pending::default();
        let write = |byte: u8| Change::Write { offset: 0, bytes: Arc::from(vec![byte; 8192]) };
        pending.change(1, write(1));
        pending.sync(1).unwrap();
        pending.change(2, write(2));
        for (unit_bytes, arrives) in [(512, true), (512, false), (4096, true), (4096, false)] {
            let loss = Loss::Head { seed: 0, unit_bytes, arrives };
            for model in [Metadata::Strict, Metadata::OrderedJournal] {
                let (mut content, taken) = pending.image(loss, model, 7).unwrap();
                let bytes = content.bytes();
                let (head, rest) = bytes.split_at(unit_bytes as usize);
                let [new, old] = if arrives { [head, rest] } else { [rest, head] };
                assert!(new.iter().all(|byte| *byte == 2), "{loss:?}");
                assert!(old.iter().all(|byte| *byte == 1), "{loss:?}");
                assert_eq!((bytes.len(), taken.torn_writes), (8192, 1), "{loss:?}");
                assert_eq!(taken.torn_heads, 1, "{loss:?}");
            }
        }
    }

    /// A file whose length was set while syncs fail, and which was then written and synced.
    fn written_after_a_failed_length(len: u64) -> Pending {
        let mut pending = Pending::default();
        pending.change(1, Change::SetLen(len));
        pending.fail_sync();
        let bytes = Arc::from(vec![7; 1024]);
        pending.change(2, Change::Write { offset: 512, bytes });
        pending.sync(2).unwrap();
        pending
    }

    #[test]
    fn an_older_length_with_a_failed_sync_does_not_cut_stable_bytes() {
        for (len, left) in [(0, 1536), (512, 1536), (1000, 1536), (8192, 8192)] {
            let pending = written_after_a_failed_length(len);
            for (loss, expected) in [(Loss::Drop, 1536), (Loss::Keep, left)] {
                let (mut content, _) = pending.image(loss, Metadata::Strict, 7).unwrap();
                let bytes = content.bytes();
                assert_eq!(bytes.len(), expected, "{len} {loss:?}");
                assert!(bytes[512..1536].iter().all(|byte| *byte == 7), "{len} {loss:?}");
            }
        }
    }

    #[test]
    fn a_stable_length_overrides_an_older_one_with_a_failed_sync() {
        let mut pending = written_after_a_failed_length(8192);
        pending.change(3, Change::SetLen(600));
        pending.sync(3).unwrap();
        let (mut content, _) = pending.image(Loss::Keep, Metadata::Strict, 7).unwrap();
        assert_eq!(content.bytes().len(), 600);
    }

    #[test]
    fn only_a_torn_write_at_offset_zero_counts_as_a_torn_head() {
        let mut pending = Pending::default();
        let write = |offset| Change::Write { offset, bytes: Arc::from(vec![1; 4096]) };
        (0..4).for_each(|number| pending.change(1 + number, write(4096 * number)));
        let torn = |seed| {
            let loss = Loss::Torn { seed, unit_bytes: 512 };
            let (_, taken) = pending.image(loss, Metadata::OrderedJournal, 7).unwrap();
            (taken.torn_writes, taken.torn_heads)
        };
        let seen: Vec<_> = (0..20).map(torn).collect();
        assert!(seen.iter().all(|(_, heads)| *heads <= 1), "{seen:?}");
        assert!(seen.iter().any(|(writes, heads)| *writes > 1 && *heads == 1));
    }
}
