//! One file between two syncs: its stable bytes, and the changes that a loss of power may take.
//!
//! Invariants:
//! 1. Visible bytes = stable bytes with all changes applied in order, but for those that a failed sync
//!    has dropped.
//! 2. A change whose sync has failed is covered by no later sync, and may have arrived nevertheless.
//! 3. `floors` says for each unit of 512 bytes up to which change it is stable, where that is not the
//!    same for the whole file: after a synced write, and beside changes whose sync has failed.
//!    `reaches` says the same of the file's length: no older change of it cuts off what is stable.
//! 4. What was changed while a sync was under way is not in it.

use super::file_content::{Content, PAGE_BYTES};
use super::loss_model::{Loss, Metadata};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// What a device writes whole or not at all.
const SECTOR: u64 = 512;

const PAGE_SECTORS: u64 = PAGE_BYTES as u64 / SECTOR;

/// How much one write of zeros is taken apart into.
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

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    stable: Content,
    entries: Vec<Entry>,
    floors: BTreeMap<u64, u64>,
    reaches: Reach,
}

/// How far a file reaches at least once a change is stable that may lie behind one whose sync has failed.
#[derive(Clone, Copy, Debug, Default)]
struct Reach {
    /// The number of the change.
    number: u64,
    len: u64,
}

/// What a loss took from one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Units of 512 bytes that had changed since the last sync.
    pub pending: u64,
    /// Those of them that are not as the store left them.
    pub lost: u64,
    /// Writes of which some units arrived and some did not.
    pub torn_writes: u64,
    /// Those of them that began where the file begins.
    pub torn_heads: u64,
}

impl Pending {
    pub(super) fn new(stable: Content) -> Pending {
        Pending { stable, ..Pending::default() }
    }

    /// True if nothing can be lost.
    pub(super) fn is_stable(&self) -> bool {
        self.entries.is_empty()
    }

    /// A change by the step of that number, which is visible and not stable.
    pub(super) fn change(&mut self, number: u64, change: Change) {
        self.entries.push(Entry { number, failed: false, change });
    }

    /// A sync of what was changed up to a step has succeeded.
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

    /// The write of a step was itself a sync. Where lengths were set before it and not synced, all is:
    /// the bytes could not be read back else.
    pub(super) fn sync_written(&mut self, step: u64) -> io::Result<()> {
        let Some(at) = self.entries.iter().position(|one| one.number == step) else {
            return Ok(()); // a sync that began behind it has covered it by now
        };
        if self.entries[..at].iter().any(|one| one.change.is_length()) {
            return self.sync(step);
        }
        let written = self.entries.remove(at);
        // What is written back are the pages of the range: earlier changes of theirs come with it.
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

    /// A sync has failed: what it should have covered counts as clean.
    pub(super) fn fail_sync(&mut self) {
        for entry in &mut self.entries {
            entry.failed = true;
        }
    }

    /// The bytes that a loss of power leaves, and what it took.
    pub(super) fn image(
        &self,
        loss: Loss,
        model: Metadata,
        salt: u64,
    ) -> io::Result<(Content, Taken)> {
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
        let taken = image.taken();
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

    /// A floor tells nothing once no change below it is left.
    fn forget_floors(&mut self) {
        let first = self.entries.first().map_or(u64::MAX, |first| first.number);
        self.floors.retain(|_, at| *at > first);
        if self.reaches.number <= first {
            self.reaches = Reach::default();
        }
    }

    /// A change is stable that may lie behind failed ones: of the length it leaves them no say.
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

    /// The length that a change of it leaves.
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
    /// True of a write that begins where the file begins.
    fn is_head(&self) -> bool {
        matches!(self, Change::Write { offset: 0, .. })
    }

    fn is_length(&self) -> bool {
        matches!(self, Change::SetLen(_))
    }

    /// The units of 512 bytes that it changes.
    fn units(&self) -> Range<u64> {
        let (offset, len) = match self {
            Change::Write { offset, bytes } => (*offset, bytes.len() as u64),
            Change::Zeros { offset, len } => (*offset, *len),
            Change::SetLen(_) => (0, 0),
        };
        offset / SECTOR..(offset + len).div_ceil(SECTOR).max(offset / SECTOR)
    }

    /// Makes the change where `takes` says so of a unit; neighbours that are taken go in one piece.
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

/// The moment at which each part of a file is found: how many of its changes it has seen.
struct Moments {
    length: usize,
    /// Sectors in a unit that has one moment.
    sectors: u64,
    units: Units,
    end: usize,
}

/// How the units of a file come by their moments.
enum Units {
    /// All share the length's.
    Together,
    /// Each has its own, drawn from this seed.
    Drawn(u64),
    /// The first is found new and all others old, or, if false, the other way round.
    Head(bool),
}

impl Moments {
    fn all_at(moment: usize) -> Moments {
        Moments { length: moment, sectors: 1, units: Units::Together, end: moment }
    }

    /// Where the unit that shares a moment with these 512 bytes ends.
    fn unit_end(&self, unit: u64) -> u64 {
        (unit / self.sectors + 1) * self.sectors * SECTOR
    }

    /// Of a unit of 512 bytes: as often nothing, all or something.
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

/// An image that is being built.
struct Image<'p> {
    pending: &'p Pending,
    moments: Moments,
    content: Content,
    /// Cuts of the file that have not arrived: the change's index, and the length it would have left.
    /// What was written behind a cut, and a unit that it went through, is where nothing leads to before
    /// the cut has arrived.
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

    /// How long the file was at the length's moment.
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

    fn taken(&self) -> Taken {
        let mut newest = BTreeMap::new();
        let mut taken = Taken::default();
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
    fn a_file_torn_behind_its_first_bytes_is_new_on_one_side_and_old_on_the_other() {
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

    /// A file whose length was set while syncs fail, and which was then written to and synced.
    fn written_behind_a_failed_length(len: u64) -> Pending {
        let mut pending = Pending::default();
        pending.change(1, Change::SetLen(len));
        pending.fail_sync();
        let bytes = Arc::from(vec![7; 1024]);
        pending.change(2, Change::Write { offset: 512, bytes });
        pending.sync(2).unwrap();
        pending
    }

    #[test]
    fn what_is_stable_is_not_cut_off_by_an_older_length_whose_sync_has_failed() {
        for (len, left) in [(0, 1536), (512, 1536), (1000, 1536), (8192, 8192)] {
            let pending = written_behind_a_failed_length(len);
            for (loss, wanted) in [(Loss::Drop, 1536), (Loss::Keep, left)] {
                let (mut content, _) = pending.image(loss, Metadata::Strict, 7).unwrap();
                let bytes = content.bytes();
                assert_eq!(bytes.len(), wanted, "{len} {loss:?}");
                assert!(bytes[512..1536].iter().all(|byte| *byte == 7), "{len} {loss:?}");
            }
        }
    }

    #[test]
    fn a_stable_length_outweighs_an_older_one_whose_sync_has_failed() {
        let mut pending = written_behind_a_failed_length(8192);
        pending.change(3, Change::SetLen(600));
        pending.sync(3).unwrap();
        let (mut content, _) = pending.image(Loss::Keep, Metadata::Strict, 7).unwrap();
        assert_eq!(content.bytes().len(), 600);
    }

    #[test]
    fn a_torn_write_is_one_of_the_first_bytes_only_where_it_begins_with_them() {
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
