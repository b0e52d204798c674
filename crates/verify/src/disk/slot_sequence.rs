//! The slot of each block: laps over the file, alternately in order and scattered.
//!
//! The first lap grows the file; later laps overwrite. The number of slots is a power of two, so an odd step
//! visits each slot once per lap.

/// The step of scattered laps, near the golden ratio of 2^32: consecutive blocks are far apart.
const STEP: u64 = 0x9E37_79B1;

/// The most slots: a check holds one word per slot in memory.
const SLOTS_MAX: u64 = 1 << 24;

/// The order in which blocks visit the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotSequence {
    slots: u64,
}

impl SlotSequence {
    /// Makes the sequence; none if `slots` is not a power of two or is too large.
    pub(super) fn over(slots: u64) -> Option<SlotSequence> {
        let fits = slots.is_power_of_two() && slots <= SLOTS_MAX;
        fits.then_some(SlotSequence { slots })
    }

    /// The slot of a block.
    pub(super) fn slot(self, sequence: u64) -> u64 {
        let (lap, place) = (sequence / self.slots, sequence % self.slots);
        if lap % 2 == 0 { place } else { place.wrapping_mul(STEP) % self.slots }
    }

    /// For each slot the latest block up to and including `last`, if there is one.
    pub(super) fn latest(self, last: u64) -> Vec<Option<u64>> {
        let mut latest = vec![None; self.slots as usize];
        let lap = last / self.slots;
        for sequence in lap.saturating_sub(1) * self.slots..=last {
            latest[self.slot(sequence) as usize] = Some(sequence);
        }
        latest
    }
}

#[cfg(test)]
mod tests {
    use super::SlotSequence;
    use std::collections::BTreeSet;

    #[test]
    fn every_lap_visits_each_slot_once_and_laps_differ() {
        let walk = SlotSequence::over(64).unwrap();
        let lap = |lap: u64| (lap * 64..(lap + 1) * 64).map(|number| walk.slot(number));
        for number in 0..4 {
            assert_eq!(lap(number).collect::<BTreeSet<_>>().len(), 64);
        }
        assert!(lap(0).eq(0..64));
        assert!(!lap(1).eq(0..64));
        assert_eq!(SlotSequence::over(0), None);
        assert_eq!(SlotSequence::over(48), None);
        assert_eq!(SlotSequence::over(1 << 63), None);
    }

    #[test]
    fn the_latest_block_of_each_slot_is_the_last_written_there() {
        let walk = SlotSequence::over(8).unwrap();
        for last in 0..40 {
            let mut slots = [None; 8];
            for sequence in 0..=last {
                slots[walk.slot(sequence) as usize] = Some(sequence);
            }
            assert_eq!(walk.latest(last), slots, "{last}");
        }
    }
}
