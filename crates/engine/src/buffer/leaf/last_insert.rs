//! The slot of a leaf's last insert, and whether the leaf is in use, in two bytes: a leaf's fields fill its
//! frame's cache line.

use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::Relaxed;

/// A slot, and a bit that is set under a shared latch. The slot changes only under the exclusive one.
#[derive(Debug)]
pub(super) struct LastInsert(AtomicU16);

/// The reference bit.
const REFERENCED: u16 = 1 << 15;

const _: () = assert!(super::super::page::PAGE_BYTES_MAX < REFERENCED as u32 * 2, "a slot fits");

impl LastInsert {
    /// No slot, and in use.
    pub(super) fn none() -> LastInsert {
        LastInsert::at(usize::from(!REFERENCED) - 1)
    }

    /// That slot, and in use.
    pub(super) fn at(slot: usize) -> LastInsert {
        LastInsert(AtomicU16::new(slot as u16 & !REFERENCED | REFERENCED))
    }

    pub(super) fn slot(&self) -> usize {
        usize::from(self.0.load(Relaxed) & !REFERENCED)
    }

    /// Sets the reference bit. Only the bit changes under a shared latch, so no update is lost.
    #[inline]
    pub(super) fn set_reference(&self) {
        let value = self.0.load(Relaxed);
        if value & REFERENCED == 0 {
            self.0.store(value | REFERENCED, Relaxed);
        }
    }

    /// Clears the reference bit and returns whether it was set. Under the exclusive latch.
    pub(super) fn take_reference(&mut self) -> bool {
        let value = self.0.get_mut();
        let was_set = *value & REFERENCED != 0;
        *value &= !REFERENCED;
        was_set
    }
}

#[cfg(test)]
mod tests {
    use super::LastInsert;

    #[test]
    fn slot_and_reference_are_independent() {
        for slot in [0, 1, 5_460, 32_000] {
            let mut last = LastInsert::at(slot);
            assert_eq!((last.slot(), last.take_reference()), (slot, true));
            assert_eq!((last.slot(), last.take_reference()), (slot, false));
            last.set_reference();
            assert_eq!((last.slot(), last.take_reference()), (slot, true));
        }
        assert!(LastInsert::none().slot() + 1 > 32_000, "no insert follows it");
    }
}
