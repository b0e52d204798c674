//! Checks whether a leaf is sound. It trusts nothing in the page, so that damage is reported and not used.

use super::change::row_bytes;
use super::view::{
    CAPACITY_AT, COUNT_AT, DEAD_AT, HEAP_AT, LENGTH_AT, LOWER_AT, Leaf, NO_FENCE, OFFSET_BYTES,
    PREFIX_AT, ROW_BYTES, SLOT_BYTES, SUFFIX_AT, UPPER_AT, common_bytes,
};
use crate::buffer::page::{HEADER_BYTES, u16_at};

impl Leaf {
    /// The problems inside the page, one sentence each; empty if it is sound.
    pub(crate) fn check(&self) -> Vec<String> {
        let mut found = Vec::new();
        let header = [
            (COUNT_AT, self.count, "count"),
            (PREFIX_AT, self.prefix, "prefix"),
            (LOWER_AT, self.lower, "lower fence"),
            (UPPER_AT, self.upper, "upper fence"),
        ];
        for (at, copy, what) in header {
            if u16_at(&self.bytes, at) != copy {
                found.push(format!("the header's {what} differs from its copy in memory"));
            }
        }
        if let Err(what) = self.check_frame() {
            found.push(what);
        }
        // Keys and rows can be read only if the page's own frame of fences and slots is sound.
        if found.is_empty() {
            self.check_rows(&mut found);
        }
        if found.is_empty() {
            self.check_keys(&mut found);
        }
        found
    }

    fn check_frame(&self) -> Result<(), String> {
        let upper = if self.upper == NO_FENCE { 0 } else { usize::from(self.upper) };
        let fixed = HEADER_BYTES + usize::from(self.lower) + upper;
        let slots_end = fixed + SLOT_BYTES * self.count();
        let heap = usize::from(u16_at(&self.bytes, HEAP_AT));
        if slots_end > heap || heap > self.bytes.len() {
            return Err(format!(
                "slots end at {slots_end} and rows start at {heap}, in a page of {}",
                self.bytes.len()
            ));
        }
        let shared = self.upper_fence().map_or(0, |upper| common_bytes(self.lower_fence(), upper));
        if shared != usize::from(self.prefix) {
            return Err(format!("the prefix is {} bytes, the fences share {shared}", self.prefix));
        }
        if self.upper_fence().is_some_and(|upper| self.lower_fence() >= upper) {
            return Err("the lower fence is not below the upper one".to_owned());
        }
        Ok(())
    }

    fn check_rows(&self, found: &mut Vec<String>) {
        let heap = usize::from(u16_at(&self.bytes, HEAP_AT));
        let end = self.bytes.len();
        let mut rows = Vec::with_capacity(self.count());
        for slot in 0..self.count() {
            let row = usize::from(u16_at(&self.bytes, self.offsets_at() + OFFSET_BYTES * slot));
            if row < heap || row + ROW_BYTES > end {
                found.push(format!("slot {slot} leads to {row}, outside the rows"));
                continue;
            }
            let field = |at: usize| usize::from(u16_at(&self.bytes, row + at));
            let bytes = row_bytes(field(SUFFIX_AT), field(CAPACITY_AT));
            if row + bytes > end || field(LENGTH_AT) > field(CAPACITY_AT) {
                found.push(format!("the row of slot {slot} is longer than its room"));
                continue;
            }
            rows.push((row, bytes));
        }
        rows.sort_unstable();
        let overlap = rows.windows(2).any(|pair| pair[0].0 + pair[0].1 > pair[1].0);
        if overlap {
            found.push("two rows overlap".to_owned());
        }
        let living: usize = rows.iter().map(|row| row.1).sum();
        let dead = usize::from(u16_at(&self.bytes, DEAD_AT));
        let field = |row: usize, at: usize| usize::from(u16_at(&self.bytes, row + at));
        let spare: usize = rows
            .iter()
            .map(|(row, _)| field(*row, CAPACITY_AT).saturating_sub(field(*row, LENGTH_AT)))
            .sum();
        if found.is_empty() && spare > usize::from(self.spare_max) {
            found.push(format!(
                "rows reserve {spare} bytes beyond their values, more than the known maximum of {}",
                self.spare_max
            ));
        }
        if found.is_empty() && heap + living + dead != end {
            found.push(format!(
                "{living} living and {dead} dead bytes do not add up to the {} of the rows",
                end - heap
            ));
        }
    }

    fn check_keys(&self, found: &mut Vec<String>) {
        if self.first_number != self.number_of_first() {
            found.push("the number of the first row is out of date".to_owned());
        }
        let (mut key, mut before) = (Vec::new(), Vec::new());
        for slot in 0..self.count() {
            let unused = self.head(slot).to_be_bytes();
            let padding = unused.get(self.suffix_bytes(slot)..).unwrap_or_default();
            if padding.iter().any(|byte| *byte != 0) {
                found.push(format!("the head of slot {slot} continues after its key"));
            }
            self.key_into(slot, &mut key);
            if !self.covers(&key) {
                found.push(format!("the key of slot {slot} lies outside the fences"));
            }
            if slot > 0 && before >= key {
                found.push(format!("the key of slot {slot} is not above the one before"));
            }
            std::mem::swap(&mut key, &mut before);
        }
    }
}
