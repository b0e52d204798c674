//! A run: adjacent slots that one write fills, up to 256 KiB.

use crate::checkpoint::data_file::DataFile;
use crate::error::Result;
use crate::ids::SlotId;
use syncline_disk::{AlignedBuffer, Disk};

/// What one write carries at most, in bytes: little enough not to hold up a commit's sync for long.
pub(super) const RUN_BYTES_MAX: usize = 256 << 10;

/// See the module.
#[derive(Debug)]
pub(super) struct Run {
    buffer: AlignedBuffer,
    page_bytes: usize,
}

impl Run {
    /// A run for at most `slots_max` slots, if those are less than it could hold.
    pub(super) fn new(page_bytes: usize, slots_max: u64) -> Run {
        let slots = (RUN_BYTES_MAX / page_bytes).min(slots_max as usize).max(1);
        Run {
            buffer: AlignedBuffer::zeroed(slots * page_bytes),
            page_bytes,
        }
    }

    /// How many of the first slots one write fills.
    pub(super) fn fit(&self, slots: &[SlotId]) -> usize {
        let places = self.buffer.len() / self.page_bytes;
        adjacent(&slots[..slots.len().min(places)])
    }

    /// Fills the first adjacent ones of `slots`, each by `fill` with its index, and writes them. Returns
    /// how many.
    pub(super) fn write<D: Disk>(
        &mut self,
        file: &mut DataFile<D>,
        slots: &[SlotId],
        fill: &mut dyn FnMut(usize, &mut [u8]),
    ) -> Result<usize> {
        let count = self.fit(slots);
        let bytes = &mut self.buffer[..count * self.page_bytes];
        for (index, place) in bytes.chunks_exact_mut(self.page_bytes).enumerate() {
            fill(index, place);
        }
        let offset = file.offset(slots[0]);
        file.write(&self.buffer[..count * self.page_bytes], offset)?;
        Ok(count)
    }
}

/// How many of the first slots follow one another.
fn adjacent(slots: &[SlotId]) -> usize {
    let pairs = slots.windows(2);
    pairs.take_while(|pair| pair[1].0 == pair[0].0 + 1).count() + 1
}

#[cfg(test)]
mod tests {
    use super::adjacent;
    use crate::ids::SlotId;

    #[test]
    fn adjacent_slots_are_counted_up_to_the_first_gap() {
        let slots = |numbers: &[u64]| numbers.iter().copied().map(SlotId).collect::<Vec<_>>();
        assert_eq!(adjacent(&slots(&[5])), 1);
        assert_eq!(adjacent(&slots(&[5, 6, 7])), 3);
        assert_eq!(adjacent(&slots(&[5, 6, 8, 9])), 2);
        assert_eq!(adjacent(&slots(&[5, 4])), 1);
    }
}
