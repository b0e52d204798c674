//! Which slots are free: one bit a slot, kept in memory only, derived from the root when it is opened.
//!
//! Taken are the slots that the last stable root names, and those that the running checkpoint has
//! taken. 16 MiB of bits serve a terabyte of 8 KiB pages.

use crate::ids::SlotId;
use std::cmp::Ordering;

/// Slots that share a word of bits.
const GROUP_SLOTS: u64 = 64;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    /// A set bit is a taken slot, or one that the file does not have.
    taken: Vec<u64>,
    count: u64,
    free: u64,
}

impl Slots {
    /// Slots 0 to `count`, of which the first `reserved` are never free.
    pub(super) fn new(reserved: u64, count: u64) -> Slots {
        let mut slots = Slots {
            taken: Vec::new(),
            count: 0,
            free: 0,
        };
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

    /// How many of them are free.
    pub(super) fn free(&self) -> u64 {
        self.free
    }

    /// The file has `count` slots now.
    pub(super) fn grow(&mut self, count: u64) {
        assert!(count >= self.count, "the data file does not shrink");
        let words = count.div_ceil(GROUP_SLOTS) as usize;
        self.taken.resize(words, u64::MAX);
        for slot in self.count..count {
            self.clear(slot);
        }
        self.free += count - self.count;
        self.count = count;
    }

    /// Takes a slot; false if it is not free, or not in the file.
    pub(super) fn take(&mut self, slot: SlotId) -> bool {
        if !self.is_free(slot) {
            return false;
        }
        self.taken[(slot.0 / GROUP_SLOTS) as usize] |= 1 << (slot.0 % GROUP_SLOTS);
        self.free -= 1;
        true
    }

    /// Frees a slot.
    pub(super) fn give(&mut self, slot: SlotId) {
        assert!(
            slot.0 < self.count && !self.is_free(slot),
            "{slot} was freed twice"
        );
        self.clear(slot.0);
        self.free += 1;
    }

    pub(super) fn is_free(&self, slot: SlotId) -> bool {
        let word = usize::try_from(slot.0 / GROUP_SLOTS).unwrap_or(usize::MAX);
        let word = self.taken.get(word).copied().unwrap_or(u64::MAX);
        word & 1 << (slot.0 % GROUP_SLOTS) == 0
    }

    /// Takes free slots, in ascending order: those of the emptiest groups of 64, the lowest of equals.
    /// Scattered single slots would each cost a write; so they are left until their group has emptied.
    pub(super) fn take_any(&mut self, wanted: u64) -> Vec<SlotId> {
        assert!(wanted <= self.free, "room was made before");
        let mut found = Vec::with_capacity(wanted as usize);
        let (fullest, mut of_fullest) = self.groups_for(wanted);
        for group in 0..self.taken.len() {
            let free = self.taken[group].count_zeros();
            let share = match free.cmp(&fullest) {
                Ordering::Less => 0,
                Ordering::Equal => of_fullest.min(free.into()),
                Ordering::Greater => free.into(),
            };
            if free == fullest {
                of_fullest -= share;
            }
            for _ in 0..share {
                let bit = self.taken[group].trailing_ones();
                let slot = SlotId(group as u64 * GROUP_SLOTS + u64::from(bit));
                let was_free = self.take(slot);
                assert!(was_free, "a clear bit is a free slot");
                found.push(slot);
            }
        }
        assert!(
            found.len() as u64 == wanted,
            "the free slots were miscounted"
        );
        found
    }

    /// The first of `wanted` free slots in a row, as low as there are any.
    pub(super) fn find_run(&self, wanted: u64) -> Option<SlotId> {
        let (mut from, mut length) = (0, 0);
        for (index, &bits) in self.taken.iter().enumerate() {
            let at = index as u64 * GROUP_SLOTS;
            match bits {
                u64::MAX => length = 0,
                0 => {
                    from = if length == 0 { at } else { from };
                    length += GROUP_SLOTS;
                }
                bits => {
                    for bit in 0..GROUP_SLOTS {
                        if bits & 1 << bit != 0 {
                            length = 0;
                            continue;
                        }
                        from = if length == 0 { at + bit } else { from };
                        length += 1;
                        if length >= wanted {
                            return Some(SlotId(from));
                        }
                    }
                }
            }
            if length >= wanted {
                return Some(SlotId(from));
            }
        }
        None
    }

    /// How many slots at the file's end are free.
    pub(super) fn free_at_end(&self) -> u64 {
        let from_end = (0..self.count).rev();
        from_end
            .take_while(|&slot| self.is_free(SlotId(slot)))
            .count() as u64
    }

    /// From which groups to take: how many free slots the fullest of them have, and how many slots to
    /// take from groups of just so many.
    fn groups_for(&self, wanted: u64) -> (u32, u64) {
        let mut groups = [0_u64; GROUP_SLOTS as usize + 1];
        for group in &self.taken {
            groups[group.count_zeros() as usize] += 1;
        }
        let mut left = wanted;
        for free in (1..=GROUP_SLOTS).rev() {
            let there = groups[free as usize] * free;
            if there >= left {
                return (free as u32, left);
            }
            left -= there;
        }
        (0, 0)
    }

    fn clear(&mut self, slot: u64) {
        self.taken[(slot / GROUP_SLOTS) as usize] &= !(1 << (slot % GROUP_SLOTS));
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;
    use crate::ids::SlotId;
    use std::cmp::Reverse;
    use std::collections::BTreeSet;

    /// What is to be taken, found the slow way.
    fn emptiest(free: &BTreeSet<u64>, wanted: u64) -> Vec<u64> {
        let in_group = |slot: u64| free.range(slot / 64 * 64..slot / 64 * 64 + 64).count();
        let mut slots: Vec<u64> = free.iter().copied().collect();
        slots.sort_by_cached_key(|&slot| (Reverse(in_group(slot)), slot));
        slots.truncate(wanted as usize);
        slots.sort_unstable();
        slots
    }

    #[test]
    fn slots_behave_as_a_set_of_numbers() {
        for seed in 0..60 {
            let mut random = fastrand::Rng::with_seed(seed);
            let reserved = random.u64(0..5);
            let mut count = random.u64(5..300);
            let mut slots = Slots::new(reserved, count);
            let mut free: BTreeSet<u64> = (reserved..count).collect();
            for _ in 0..100 {
                match random.u8(0..4) {
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
                        let wanted = random.u64(0..=slots.free().min(90));
                        let taken = slots.take_any(wanted);
                        let taken: Vec<u64> = taken.iter().map(|slot| slot.0).collect();
                        assert_eq!(taken, emptiest(&free, wanted), "seed {seed}");
                        free.retain(|slot| !taken.contains(slot));
                    }
                    _ => {
                        let more = random.u64(0..90);
                        free.extend(count..count + more);
                        count += more;
                        slots.grow(count);
                    }
                }
                assert_eq!(slots.free(), free.len() as u64);
                let wanted = random.u64(1..100);
                let run = (0..count).find(|&from| (from..from + wanted).all(|s| free.contains(&s)));
                assert_eq!(slots.find_run(wanted), run.map(SlotId), "seed {seed}");
                let at_end = (0..count).rev().take_while(|slot| free.contains(slot));
                assert_eq!(slots.free_at_end(), at_end.count() as u64);
            }
        }
    }
}
