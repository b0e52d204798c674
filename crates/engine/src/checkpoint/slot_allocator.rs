//! Which slots are free, and how many images lie in each. Kept only in memory, derived from the root at
//! opening.
//!
//! A slot is taken if the last stable root names it, or if the running checkpoint has taken it. A slot with
//! images is taken as long as one of them is named: several lie in it, entirely or in part. A terabyte of 4
//! KiB slots needs 288 MiB.
//!
//! Slots behind the *limit* are not taken any more, though they may be free: the file is to end there (see
//! `compaction`). The limit is the end of the file otherwise.

use crate::buffer::page_map::Entry;
use crate::ids::SlotId;
use crate::planted_bug::{PlantedBug, planted};
use std::cmp::Reverse;
use std::ops::Range;

/// Slots that share a word of bits.
const GROUP_SLOTS: u64 = 64;

/// Single slots from this number on are taken from the longest runs.
const MANY_SLOTS: u64 = 16;

/// The free and the taken slots of a data file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlotAllocator {
    /// A set bit is a taken slot, or one that the file does not have.
    taken: Vec<u64>,
    /// By slot: images of pages in it. A header has 40 bytes and a slot at most 4096, so a byte suffices.
    images: Vec<u8>,
    count: u64,
    /// Not above the count.
    limit: u64,
    /// Free slots before the limit.
    free: u64,
}

impl SlotAllocator {
    /// Slots 0 to `count`, of which the first `reserved` are never free.
    pub(super) fn new(reserved: u64, count: u64) -> SlotAllocator {
        let mut slots =
            SlotAllocator { taken: Vec::new(), images: Vec::new(), count: 0, limit: 0, free: 0 };
        slots.grow(count);
        for slot in 0..reserved.min(count) {
            slots.take(SlotId(slot));
        }
        slots
    }

    /// How many slots the file has.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// How many of them are free and before the limit.
    pub(super) fn free(&self) -> u64 {
        self.free
    }

    /// How many are free, also behind the limit.
    pub(super) fn free_everywhere(&self) -> u64 {
        self.free + self.free_behind_limit()
    }

    /// Where the file is to end.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Sets the limit.
    pub(super) fn set_limit(&mut self, limit: u64) {
        assert!(limit <= self.count, "the limit lies in the file");
        let free = self.free_everywhere();
        self.limit = limit;
        self.free = free - self.free_behind_limit();
    }

    /// Lifts the limit; false if there is none.
    pub(super) fn lift_limit(&mut self) -> bool {
        let is_limited = self.limit < self.count;
        self.set_limit(self.count);
        is_limited
    }

    /// How many slots behind the limit are taken.
    pub(super) fn taken_behind_limit(&self) -> u64 {
        self.count - self.limit - self.free_behind_limit()
    }

    /// The file ends at the limit, behind which all slots are free.
    pub(super) fn cut(&mut self) {
        assert!(self.taken_behind_limit() == 0, "what is cut off is free");
        self.count = self.limit;
        self.taken.truncate(self.count.div_ceil(GROUP_SLOTS) as usize);
        self.images.truncate(self.count as usize);
        for slot in self.count..self.taken.len() as u64 * GROUP_SLOTS {
            self.taken[(slot / GROUP_SLOTS) as usize] |= 1 << (slot % GROUP_SLOTS);
        }
    }

    fn free_behind_limit(&self) -> u64 {
        let first = self.limit / GROUP_SLOTS;
        let groups = self.taken.iter().enumerate().skip(first as usize);
        let free = groups.map(|(index, taken)| {
            let from = if index as u64 == first { self.limit % GROUP_SLOTS } else { 0 };
            u64::from((!taken & u64::MAX << from).count_ones())
        });
        free.sum()
    }

    /// How many slots are free and part of a run of at least `at_least`.
    pub(super) fn free_in_runs(&self, at_least: u64) -> u64 {
        let runs = self.runs().map(|run| run.end - run.start);
        runs.filter(|slots| *slots >= at_least).sum()
    }

    /// The file now has `count` slots, and no limit.
    pub(super) fn grow(&mut self, count: u64) {
        assert!(count >= self.count, "the data file does not shrink by growing");
        self.set_limit(self.count);
        let words = count.div_ceil(GROUP_SLOTS) as usize;
        self.taken.resize(words, u64::MAX);
        self.images.resize(count as usize, 0);
        for slot in self.count..count {
            self.clear(slot);
        }
        self.free += count - self.count;
        (self.count, self.limit) = (count, count);
    }

    /// Takes a slot; false if it is not free, or not in the file.
    pub(super) fn take(&mut self, slot: SlotId) -> bool {
        if !self.is_free(slot) {
            return false;
        }
        self.taken[(slot.0 / GROUP_SLOTS) as usize] |= 1 << (slot.0 % GROUP_SLOTS);
        self.free -= u64::from(slot.0 < self.limit);
        true
    }

    /// Frees a slot in which no image lies.
    pub(super) fn give(&mut self, slot: SlotId) {
        assert!(slot.0 < self.count && !self.is_free(slot), "{slot} was freed twice");
        assert!(self.images[slot.0 as usize] == 0, "{slot} is in use");
        self.clear(slot.0);
        self.free += u64::from(slot.0 < self.limit);
    }

    /// Counts an image in these slots, which are taken.
    pub(super) fn hold(&mut self, slots: Range<u64>) {
        for slot in slots {
            let images = &mut self.images[slot as usize];
            *images = images.checked_add(1).expect("headers fill a slot before");
        }
    }

    /// Removes an image from these slots; slots without any other image become free.
    pub(super) fn leave(&mut self, slots: Range<u64>) {
        for slot in slots {
            let is_planted = planted(PlantedBug::FreeSharedSlot);
            if is_planted && self.is_free(SlotId(slot)) {
                continue;
            }
            let images = &mut self.images[slot as usize];
            assert!(*images > 0, "{} was left twice", SlotId(slot));
            *images = if is_planted { 0 } else { *images - 1 };
            if *images == 0 {
                self.give(SlotId(slot));
            }
        }
    }

    /// Takes the slots of all images that a root names, and counts the images. The error is an entry that
    /// overlaps another image or another taken slot, or lies outside the file. Call it before any other image
    /// is counted.
    pub(super) fn hold_named(
        &mut self,
        mut entries: Vec<Entry>,
        slot_bytes: u64,
    ) -> Result<(), Entry> {
        entries.sort_unstable_by_key(|entry| entry.offset);
        let mut end = 0;
        for entry in entries {
            let slots = entry.slots(slot_bytes);
            let is_apart = entry.offset >= end && slots.end <= self.count;
            let mut others = slots.clone().filter(|slot| {
                let is_shared = self.images[*slot as usize] > 0;
                !is_shared && !self.is_free(SlotId(*slot))
            });
            if !is_apart || others.next().is_some() {
                return Err(entry);
            }
            for slot in slots.clone() {
                self.take(SlotId(slot));
            }
            self.hold(slots);
            end = entry.end();
        }
        Ok(())
    }

    pub(super) fn is_free(&self, slot: SlotId) -> bool {
        let word = usize::try_from(slot.0 / GROUP_SLOTS).unwrap_or(usize::MAX);
        let word = self.taken.get(word).copied().unwrap_or(u64::MAX);
        word & 1 << (slot.0 % GROUP_SLOTS) == 0
    }

    /// Takes free slots, in ascending order. A few come from the shortest runs, since images need the long
    /// ones. Many come from the longest: where rows change all over a store, many map pages do, and again
    /// with the next checkpoint, which finds their runs free.
    pub(super) fn take_any(&mut self, needed: u64) -> Vec<SlotId> {
        assert!(needed <= self.free, "room was made before");
        let mut runs: Vec<Range<u64>> = self.runs().collect();
        if needed < MANY_SLOTS {
            runs.sort_by_key(|run| (run.end - run.start, run.start));
        } else {
            runs.sort_by_key(|run| (Reverse(run.end - run.start), run.start));
        }
        let mut found: Vec<SlotId> =
            runs.into_iter().flatten().take(needed as usize).map(SlotId).collect();
        found.sort_unstable();
        for slot in &found {
            self.take(*slot);
        }
        found
    }

    /// Takes about `needed` free slots, if there are any, in runs of at least `at_least`: the longest runs,
    /// since each costs a write, in ascending order.
    pub(super) fn take_runs(&mut self, needed: u64, at_least: u64) -> Vec<Range<u64>> {
        let runs = self.runs().filter(|run| run.end - run.start >= at_least);
        let mut runs: Vec<Range<u64>> = runs.collect();
        runs.sort_by_key(|run| (Reverse(run.end - run.start), run.start));
        let mut left = needed;
        let mut found = Vec::new();
        for run in runs {
            if left == 0 {
                break;
            }
            let slots = (run.end - run.start).min(left.max(at_least));
            found.push(run.start..run.start + slots);
            left = left.saturating_sub(slots);
        }
        found.sort_unstable_by_key(|run| run.start);
        for slot in found.iter().cloned().flatten() {
            self.take(SlotId(slot));
        }
        found
    }

    /// The start of the lowest run of `needed` free slots.
    pub(super) fn find_run(&self, needed: u64) -> Option<SlotId> {
        let found = self.runs().find(|run| run.end - run.start >= needed);
        found.map(|run| SlotId(run.start))
    }

    /// How many slots at the end of the file are free.
    pub(super) fn free_at_end(&self) -> u64 {
        let from_end = (0..self.count).rev();
        from_end.take_while(|&slot| self.is_free(SlotId(slot))).count() as u64
    }

    /// All free slots before the limit as maximal runs, in ascending order.
    fn runs(&self) -> impl Iterator<Item = Range<u64>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let from = self.next_slot(at, false).filter(|from| *from < self.limit)?;
            at = self.next_slot(from, true).unwrap_or(self.count).min(self.limit);
            Some(from..at)
        })
    }

    /// The first slot from `from` on that is taken, or that is free.
    fn next_slot(&self, from: u64, is_taken: bool) -> Option<u64> {
        let (first, bit) = (from / GROUP_SLOTS, from % GROUP_SLOTS);
        let groups = self.taken.get(first as usize..)?.iter().enumerate();
        for (index, taken) in groups {
            let needed = if is_taken { *taken } else { !taken };
            let needed = if index == 0 { needed & u64::MAX << bit } else { needed };
            if needed != 0 {
                let group = first + index as u64;
                return Some(group * GROUP_SLOTS + u64::from(needed.trailing_zeros()));
            }
        }
        None
    }

    fn clear(&mut self, slot: u64) {
        self.taken[(slot / GROUP_SLOTS) as usize] &= !(1 << (slot % GROUP_SLOTS));
    }
}

#[cfg(test)]
mod tests {
    use super::{MANY_SLOTS, SlotAllocator};
    use crate::buffer::page_map::Entry;
    use crate::ids::SlotId;
    use std::cmp::Reverse;
    use std::collections::BTreeSet;

    /// The free slots as runs, computed the slow way: where each begins, and how long it is.
    fn rows(free: &BTreeSet<u64>) -> Vec<(u64, u64)> {
        let mut rows: Vec<(u64, u64)> = Vec::new();
        for &slot in free {
            match rows.last_mut() {
                Some((from, slots)) if *from + *slots == slot => *slots += 1,
                _ => rows.push((slot, 1)),
            }
        }
        rows
    }

    #[test]
    fn slots_behave_like_a_set_of_numbers() {
        for seed in 0..60 {
            let mut random = fastrand::Rng::with_seed(seed);
            let reserved = random.u64(0..5);
            let mut count = random.u64(5..300);
            let mut slots = SlotAllocator::new(reserved, count);
            let mut free: BTreeSet<u64> = (reserved..count).collect();
            let mut limit = count;
            let before = |free: &BTreeSet<u64>, limit| free.range(..limit).copied().collect();
            for _ in 0..100 {
                match random.u8(0..7) {
                    5 => {
                        limit = random.u64(0..=count);
                        slots.set_limit(limit);
                        if free.range(limit..).count() as u64 == count - limit && limit > reserved {
                            slots.cut();
                            free.retain(|slot| *slot < limit);
                            count = limit;
                        }
                    }
                    6 => {
                        assert_eq!(slots.lift_limit(), limit < count);
                        limit = count;
                    }
                    0 => {
                        let slot = random.u64(0..count + 70);
                        assert_eq!(slots.take(SlotId(slot)), free.remove(&slot));
                    }
                    1 => {
                        let slot = random.u64(reserved..count);
                        if free.insert(slot) {
                            slots.give(SlotId(slot));
                        }
                    }
                    2 => {
                        let needed = random.u64(0..=slots.free().min(90));
                        let mut rows = rows(&before(&free, limit));
                        if needed < MANY_SLOTS {
                            rows.sort_by_key(|row| (row.1, row.0));
                        } else {
                            rows.sort_by_key(|row| (Reverse(row.1), row.0));
                        }
                        let of_runs = rows.iter().flat_map(|row| row.0..row.0 + row.1);
                        let expected: BTreeSet<u64> = of_runs.take(needed as usize).collect();
                        let taken = slots.take_any(needed);
                        assert!(taken.iter().map(|slot| slot.0).eq(expected.iter().copied()));
                        free.retain(|slot| !expected.contains(slot));
                    }
                    3 => {
                        let (needed, at_least) = (random.u64(0..90), random.u64(1..6));
                        let mut rows = rows(&before(&free, limit));
                        rows.retain(|row| row.1 >= at_least);
                        rows.sort_by_key(|row| (Reverse(row.1), row.0));
                        let usable: u64 = rows.iter().map(|row| row.1).sum();
                        assert_eq!(slots.free_in_runs(at_least), usable);
                        let runs = slots.take_runs(needed, at_least);
                        assert!(runs.is_sorted_by_key(|run| run.start));
                        let taken: u64 = runs.iter().map(|run| run.end - run.start).sum();
                        let enough = needed.min(usable)..needed + at_least;
                        assert!(needed == 0 && taken == 0 || enough.contains(&taken));
                        let longest = rows.iter().take(runs.len()).map(|row| row.0);
                        let longest: BTreeSet<u64> = longest.collect();
                        assert!(runs.iter().map(|run| run.start).eq(longest));
                        for slot in runs.into_iter().flatten() {
                            assert!(free.remove(&slot), "seed {seed}");
                        }
                    }
                    _ => {
                        let more = random.u64(0..90);
                        free.extend(count..count + more);
                        count += more;
                        limit = count;
                        slots.grow(count);
                    }
                }
                let usable: BTreeSet<u64> = before(&free, limit);
                assert_eq!(slots.free(), usable.len() as u64);
                assert_eq!(slots.free_everywhere(), free.len() as u64);
                let behind = (limit..count).filter(|slot| !free.contains(slot));
                assert_eq!(slots.taken_behind_limit(), behind.count() as u64, "seed {seed}");
                let needed = random.u64(1..100);
                let run =
                    (0..count).find(|&from| (from..from + needed).all(|s| usable.contains(&s)));
                assert_eq!(slots.find_run(needed), run.map(SlotId), "seed {seed}");
                let at_end = (0..count).rev().take_while(|slot| free.contains(slot));
                assert_eq!(slots.free_at_end(), at_end.count() as u64);
            }
        }
    }

    #[test]
    fn a_slot_is_taken_as_long_as_an_image_lies_in_it() {
        let entry = |offset, bytes| Entry { offset, bytes, ..Entry::ABSENT };
        // The second slot holds the end of one image, all of another, and the start of a third.
        let images = [entry(600, 500), entry(1_100, 200), entry(1_300, 300)];
        let mut slots = SlotAllocator::new(1, 9);
        assert!(slots.take(SlotId(7)));
        let mut held = slots.clone();
        held.hold_named(images.to_vec(), 512).unwrap();
        assert_eq!(held.free(), 4);
        held.leave(images[1].slots(512));
        held.leave(images[0].slots(512));
        assert_eq!(held.free(), 5, "the first slot");
        held.leave(images[2].slots(512));
        assert_eq!(held, slots);
        for wrong in [
            entry(1_099, 50),    // over the first one
            entry(7 * 512, 100), // over something else
            entry(8 * 512, 600), // beyond the file
            entry(500, 100),     // over slot 0
        ] {
            let mut entries = images.to_vec();
            entries.insert(0, wrong);
            let refused = slots.clone().hold_named(entries, 512).unwrap_err();
            assert!(refused == wrong || wrong.offset == 1_099, "{refused:?}");
        }
    }
}
