//! Reading a leaf: search, keys, words, values, fences.

use super::counter;
use super::last_insert::LastInsert;
use crate::buffer::VersionWord;
use crate::buffer::blocks::{Blocks, PageBytes};
use crate::buffer::page::{self, HEADER_BYTES, eight_at, u16_at, u32_at, u64_at};
use crate::buffer::prefetch::{prefetch, prefetch_to_write};
use crate::buffer::prefetch_hint::EvenRows;
use crate::buffer::spare_leaves::SpareLeaves;
use crate::ids::{PageId, TreeId};
use crate::planted_bug::{PlantedBug, planted};
use std::cmp::Ordering;

pub(super) const COUNT_AT: usize = 28;
pub(super) const PREFIX_AT: usize = 30;
pub(super) const LOWER_AT: usize = 32;
pub(super) const UPPER_AT: usize = 34;
pub(super) const HEAP_AT: usize = 36;
pub(super) const DEAD_AT: usize = 38;

/// The length of an upper fence that does not exist.
pub(super) const NO_FENCE: u16 = u16::MAX;

/// Bytes of a head and of a row's offset.
pub(super) const HEAD_BYTES: usize = 4;
pub(super) const OFFSET_BYTES: usize = 2;
pub(super) const SLOT_BYTES: usize = HEAD_BYTES + OFFSET_BYTES;

/// Bytes of a row before its key.
pub(super) const ROW_BYTES: usize = 14;

pub(super) const SUFFIX_AT: usize = 8;
pub(super) const LENGTH_AT: usize = 10;
pub(super) const CAPACITY_AT: usize = 12;

/// The maximum of [`Leaf::search_end`] after the page's header: ten lines.
const LINES_BYTES: usize = 640;

/// A leaf with fewer rows is never treated as even.
const EVEN_MIN: usize = 8;

/// An insert at most this many rows before the end counts as an ascending one, since several threads may
/// insert ascending rows.
const NEARLY: usize = 8;

/// Why a row, which is in no cache of this core, is looked up.
#[derive(Clone, Copy)]
enum LookupPurpose {
    /// To find its slot.
    Nothing,
    /// To read it.
    Read,
    /// To change it.
    Write,
}

/// A leaf, under its latch. Slots number its rows in key order, from 0.
pub(crate) struct Leaf {
    pub(super) bytes: PageBytes,
    pub(super) counter: u64,
    pub(super) tree: TreeId,
    pub(super) count: u16,
    pub(super) prefix: u16,
    pub(super) lower: u16,
    pub(super) upper: u16,
    /// The slot of the last insert, to detect ascending runs; and whether the leaf is in use. Not in the
    /// page.
    pub(super) last_insert: LastInsert,
    /// See invariant 5 of the module. Not in the page; for an image from elsewhere it is the page's length.
    pub(super) spare_max: u16,
    /// See [`super::position_guess`]. Not in the page.
    pub(super) first_number: u32,
}

impl Leaf {
    /// The leaf in an image from the disk.
    pub(in crate::buffer) fn from_image(image: PageBytes) -> Leaf {
        let counter = if planted(PlantedBug::CounterReset) { 1 } else { counter::fresh() };
        let mut leaf = Leaf {
            counter,
            tree: page::tree(&image),
            count: u16_at(&image, COUNT_AT),
            prefix: u16_at(&image, PREFIX_AT),
            lower: u16_at(&image, LOWER_AT),
            upper: u16_at(&image, UPPER_AT),
            last_insert: LastInsert::none(),
            spare_max: image.len() as u16,
            first_number: 0,
            bytes: image,
        };
        leaf.update_first_number();
        leaf
    }

    /// True if a leaf's image has a locked row.
    pub(in crate::buffer) fn has_locked_row(image: &[u8]) -> bool {
        let upper = match u16_at(image, UPPER_AT) {
            NO_FENCE => 0,
            upper => usize::from(upper),
        };
        let heads = HEADER_BYTES + usize::from(u16_at(image, LOWER_AT)) + upper;
        let count = usize::from(u16_at(image, COUNT_AT));
        let offsets = &image[heads + HEAD_BYTES * count..][..OFFSET_BYTES * count];
        let mut rows = offsets.as_chunks().0.iter().map(|offset| u16::from_le_bytes(*offset));
        rows.any(|row| VersionWord(u64_at(image, usize::from(row))).is_locked())
    }

    /// Notes that the leaf is used.
    #[inline]
    pub(crate) fn set_reference(&self) {
        self.last_insert.set_reference();
    }

    /// True if the leaf was used since the last call.
    pub(in crate::buffer) fn take_reference(&mut self) -> bool {
        self.last_insert.take_reference()
    }

    /// The leaf is the one that had this counter: it has the same keys in the same slots.
    pub(in crate::buffer) fn restore_counter(&mut self, counter: u64) {
        self.counter = counter;
    }

    /// The page image.
    #[inline]
    pub(in crate::buffer) fn image(&self) -> &[u8] {
        &self.bytes
    }

    /// True if the page was freed or is no longer a leaf: its bytes are gone. A thread that waited for the
    /// latch looks the page up again.
    #[inline]
    pub(crate) fn is_gone(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Marks the leaf as gone and returns its image.
    pub(in crate::buffer) fn leave(&mut self) -> PageBytes {
        assert!(!self.is_gone(), "a leaf must leave only once");
        self.count = 0;
        std::mem::take(&mut self.bytes)
    }

    /// Moves the bytes into a cell of a block, if there is one for them or a block `may_come`. Called before
    /// any other thread knows their address.
    pub(in crate::buffer) fn move_to(&mut self, blocks: &Blocks, may_come: bool) {
        if let Some(bytes) = blocks.copy(&self.bytes, may_come) {
            self.bytes = bytes;
        }
    }

    /// Moves the bytes into the memory of an evicted leaf, if there is any. Called as [`Leaf::move_to`].
    pub(in crate::buffer) fn move_to_spare(&mut self, spare: &SpareLeaves) {
        if let Some(bytes) = spare.copy(&self.bytes) {
            self.bytes = bytes;
        }
    }

    /// The page's number.
    pub(crate) fn page(&self) -> PageId {
        page::number(&self.bytes)
    }

    /// The tree that the rows belong to.
    #[inline]
    pub(crate) fn tree(&self) -> TreeId {
        self.tree
    }

    /// Rows, ghosts included.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// See invariant 3 of the module.
    #[inline]
    pub(crate) fn counter(&self) -> u64 {
        self.counter
    }

    /// The inclusive lower bound of all keys; empty if the leaf is the tree's first.
    #[inline]
    pub(crate) fn lower_fence(&self) -> &[u8] {
        &self.bytes[HEADER_BYTES..HEADER_BYTES + usize::from(self.lower)]
    }

    /// The exclusive upper bound of all keys; none if the leaf is the tree's last.
    #[inline]
    pub(crate) fn upper_fence(&self) -> Option<&[u8]> {
        if self.upper == NO_FENCE {
            return None;
        }
        let start = HEADER_BYTES + usize::from(self.lower);
        Some(&self.bytes[start..start + usize::from(self.upper)])
    }

    /// The end of the bytes that a search reads, without the row itself; limited for leaves with very many
    /// rows. The next search prefetches them: otherwise it would miss on one line after the other, as each
    /// step depends on the one before.
    #[inline]
    pub(in crate::buffer) fn search_end(&self) -> usize {
        let end = self.offsets_at() + OFFSET_BYTES * self.count();
        end.min(HEADER_BYTES + LINES_BYTES)
    }

    /// The layout of the rows if the leaf is even (see [`crate::buffer::prefetch_hint`]), judged by some of
    /// the rows. The bytes may be damaged: they have not been checked yet.
    pub(in crate::buffer) fn even(&self) -> Option<EvenRows> {
        let (count, end) = (self.count(), self.bytes.len());
        if count < EVEN_MIN || self.offsets_at() + OFFSET_BYTES * count > end {
            return None;
        }
        let head_at =
            |fence: &[u8]| Some(u64::from(head_of(fence.get(usize::from(self.prefix)..)?)));
        let (lower, upper) = (head_at(self.lower_fence())?, head_at(self.upper_fence()?)?);
        let span = upper.checked_sub(lower)?;
        let rows_bytes = end.checked_sub(usize::from(u16_at(&self.bytes, HEAP_AT)))?;
        let (step, row_bytes) = (span / count as u64, rows_bytes / count);
        let fits = |slot: usize| {
            u64::from(self.head(slot)) == lower + slot as u64 * step
                && self.row(slot) + (slot + 1) * row_bytes == end
        };
        let some = [0, 1, count / 4, count / 2, count / 2 + count / 4, count - 1];
        let is_even = row_bytes * count == rows_bytes
            && step > 0
            && step * count as u64 == span
            && some.into_iter().all(fits);
        is_even.then_some(EvenRows { rows_bytes, row_bytes })
    }

    /// Prefetches the row that probably has the key: the first one with the key's head, for the average row
    /// length of this leaf. Reads no row.
    #[inline]
    pub(crate) fn prefetch_row(&self, key: &[u8]) {
        let Some(suffix) = key.strip_prefix(self.prefix()) else {
            return;
        };
        let head = head_of(suffix);
        let slot = self.heads().partition_point(|other| u32::from_le_bytes(*other) < head);
        if slot < self.count() {
            self.prefetch_slot(slot, LookupPurpose::Read);
        }
    }

    /// Prefetches a row for the average row length of this leaf: its real length is in its first line.
    #[inline]
    fn prefetch_slot(&self, slot: usize, purpose: LookupPurpose) {
        let ask = match purpose {
            LookupPurpose::Nothing => return,
            LookupPurpose::Read => prefetch,
            LookupPurpose::Write => prefetch_to_write,
        };
        let lowest = usize::from(u16_at(&self.bytes, HEAP_AT));
        let rows = self.bytes.len().saturating_sub(lowest);
        let row = self.bytes.as_ptr().addr() + self.row(slot);
        ask(row, ROW_BYTES + rows / self.count());
    }

    /// True if the key lies between the fences.
    #[inline]
    pub(crate) fn covers(&self, key: &[u8]) -> bool {
        let first = eight_at(key, 0);
        let is_above = match self.eight_of_fence(0, self.lower).cmp(&first) {
            Ordering::Equal => self.lower_fence() <= key,
            order => order == Ordering::Less,
        };
        is_above && self.upper_is_above(key, first)
    }

    /// True if the key, whose first eight bytes are `first`, is below the upper fence.
    #[inline]
    fn upper_is_above(&self, key: &[u8], first: u64) -> bool {
        if self.upper == NO_FENCE {
            return true;
        }
        match first.cmp(&self.eight_of_fence(self.lower, self.upper)) {
            Ordering::Equal => self.upper_fence().is_none_or(|upper| key < upper),
            order => order == Ordering::Less,
        }
    }

    /// The first eight bytes of the fence at that offset after the header and of that length, padded with
    /// zeros. If they differ for two strings, they determine the order.
    #[inline]
    fn eight_of_fence(&self, at: u16, length: u16) -> u64 {
        let rest = &self.bytes[HEADER_BYTES + usize::from(at)..];
        let eight = rest.first_chunk().map_or(0, |eight| u64::from_be_bytes(*eight));
        let beyond = u64::MAX.checked_shr(8 * u32::from(length)).unwrap_or(0);
        eight & !beyond
    }

    /// True if the key has the common prefix of the leaf's keys.
    #[inline]
    fn has_prefix(&self, key: &[u8]) -> bool {
        if self.prefix > 8 || key.len() < 8 {
            return key.starts_with(self.prefix());
        }
        let beyond = u64::MAX.checked_shr(8 * u32::from(self.prefix)).unwrap_or(0);
        (eight_at(key, 0) ^ self.eight_of_fence(0, self.lower)) & !beyond == 0
    }

    /// The same for a key above one that the leaf covers.
    #[inline]
    pub(crate) fn covers_behind(&self, key: &[u8]) -> bool {
        self.upper_fence().is_none_or(|upper| key < upper)
    }

    /// True if the greatest keys below `key` (none: of all keys) lie between the fences.
    pub(crate) fn covers_before(&self, key: Option<&[u8]>) -> bool {
        match (key, self.upper_fence()) {
            (None, upper) => upper.is_none(),
            (Some(key), upper) => {
                (self.lower == 0 || self.lower_fence() < key)
                    && upper.is_none_or(|upper| key <= upper)
            }
        }
    }

    /// The key's slot, or the slot where it belongs.
    #[inline]
    pub(crate) fn search(&self, key: &[u8]) -> Result<usize, usize> {
        self.find(key, LookupPurpose::Nothing)
    }

    /// The same before a change of the row: prefetches all of it for writing.
    #[inline]
    pub(crate) fn seek_to_change(&self, key: &[u8]) -> Result<usize, usize> {
        self.find(key, LookupPurpose::Write)
    }

    /// The same before a read of the row: prefetches all of it. Otherwise its lines would be fetched one
    /// after the other, as the position of its value is in the first.
    #[inline]
    pub(crate) fn seek(&self, key: &[u8]) -> Result<usize, usize> {
        self.find(key, LookupPurpose::Read)
    }

    #[inline]
    fn find(&self, key: &[u8], purpose: LookupPurpose) -> Result<usize, usize> {
        if !self.has_prefix(key) {
            return Err(if key < self.prefix() { 0 } else { self.count() });
        }
        let suffix = &key[usize::from(self.prefix)..];
        let head = head_of(suffix);
        if let Some(slot) = self.guess(key).filter(|slot| self.head(*slot) == head) {
            self.prefetch_slot(slot, purpose);
            if self.compare_tail(slot, suffix) == Ordering::Equal {
                return Ok(slot);
            }
        }
        let heads = self.heads();
        let first = heads.partition_point(|other| u32::from_le_bytes(*other) < head);
        if first < heads.len() {
            self.prefetch_slot(first, purpose);
        }
        let equal = heads[first..].iter().take_while(|other| u32::from_le_bytes(**other) == head);
        match equal.take(2).count() {
            0 => Err(first),
            1 => match self.compare_tail(first, suffix) {
                Ordering::Less => Err(first + 1),
                Ordering::Equal => Ok(first),
                Ordering::Greater => Err(first),
            },
            _ => self.search_tails(first, head, suffix),
        }
    }

    /// The same for a key above that of a slot: it often belongs in the next slot.
    #[inline]
    pub(crate) fn search_behind(&self, slot: usize, key: &[u8]) -> Result<usize, usize> {
        debug_assert!(self.compare_key(slot, key) == Ordering::Less);
        let next = slot + 1;
        if next == self.count() {
            return Err(next);
        }
        match self.compare_key(next, key) {
            Ordering::Less => self.search(key),
            Ordering::Equal => Ok(next),
            Ordering::Greater => Err(next),
        }
    }

    /// Searches among rows with equal heads, from `first`.
    fn search_tails(&self, first: usize, head: u32, suffix: &[u8]) -> Result<usize, usize> {
        let equal =
            self.heads()[first..].partition_point(|other| u32::from_le_bytes(*other) == head);
        let (mut low, mut high) = (first, first + equal);
        // If rows are appended, the next one belongs at the end, too: search from the end, in doubling steps,
        // instead of over all rows, each in a cache line of its own.
        let mut steps = self.is_ascending().then_some(1);
        while low < high {
            let middle = match &mut steps {
                Some(step) => high - (*step).min(high - low),
                None => usize::midpoint(low, high),
            };
            steps = steps.map(|step| 2 * step);
            match self.compare_tail(middle, suffix) {
                Ordering::Less => (low, steps) = (middle + 1, None),
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// True if the last known insert was at the end, or nearly so.
    #[inline]
    fn is_ascending(&self) -> bool {
        let (last, count) = (self.last_insert.slot(), self.count());
        last < count && last + NEARLY >= count
    }

    /// Compares the row's key with `key`.
    pub(crate) fn compare_key(&self, slot: usize, key: &[u8]) -> Ordering {
        let prefix = self.prefix();
        let Some(suffix) = key.strip_prefix(prefix) else {
            // All keys begin with the prefix; one without it is below or above all of them, or a part of it.
            return prefix.cmp(key);
        };
        self.head(slot).cmp(&head_of(suffix)).then_with(|| self.compare_tail(slot, suffix))
    }

    /// Writes the row's key into `out`, which is cleared first.
    pub(crate) fn key_into(&self, slot: usize, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(self.prefix());
        let head = self.head(slot).to_be_bytes();
        out.extend_from_slice(&head[..self.suffix_bytes(slot).min(HEAD_BYTES)]);
        out.extend_from_slice(self.tail(slot));
    }

    /// The length of the row's key in bytes.
    pub(crate) fn key_bytes(&self, slot: usize) -> usize {
        usize::from(self.prefix) + self.suffix_bytes(slot)
    }

    /// The row's word.
    #[inline]
    pub(crate) fn word(&self, slot: usize) -> VersionWord {
        VersionWord(u64_at(&self.bytes, self.row(slot)))
    }

    /// The row's value; empty for a row that only reserves room.
    #[inline]
    pub(crate) fn value(&self, slot: usize) -> &[u8] {
        let row = self.row(slot);
        let length = usize::from(u16_at(&self.bytes, row + LENGTH_AT));
        let start = row + ROW_BYTES + self.tail_bytes(row);
        &self.bytes[start..start + length]
    }

    /// How long the row's value may grow in place, in bytes.
    #[inline]
    pub(crate) fn capacity(&self, slot: usize) -> usize {
        usize::from(u16_at(&self.bytes, self.row(slot) + CAPACITY_AT))
    }

    pub(super) fn prefix(&self) -> &[u8] {
        &self.bytes[HEADER_BYTES..HEADER_BYTES + usize::from(self.prefix)]
    }

    #[inline]
    pub(super) fn heads_at(&self) -> usize {
        let upper = if self.upper == NO_FENCE { 0 } else { usize::from(self.upper) };
        HEADER_BYTES + usize::from(self.lower) + upper
    }

    #[inline]
    pub(super) fn offsets_at(&self) -> usize {
        self.heads_at() + HEAD_BYTES * self.count()
    }

    #[inline]
    pub(super) fn heads(&self) -> &[[u8; HEAD_BYTES]] {
        let start = self.heads_at();
        self.bytes[start..start + HEAD_BYTES * self.count()].as_chunks().0
    }

    #[inline]
    pub(super) fn head(&self, slot: usize) -> u32 {
        assert!(slot < self.count(), "slot {slot} of {}", self.count());
        u32_at(&self.bytes, self.heads_at() + HEAD_BYTES * slot)
    }

    /// Where the row starts.
    #[inline]
    pub(super) fn row(&self, slot: usize) -> usize {
        assert!(slot < self.count(), "slot {slot} of {}", self.count());
        usize::from(u16_at(&self.bytes, self.offsets_at() + OFFSET_BYTES * slot))
    }

    /// The length of the row's key after the prefix, in bytes.
    pub(super) fn suffix_bytes(&self, slot: usize) -> usize {
        usize::from(u16_at(&self.bytes, self.row(slot) + SUFFIX_AT))
    }

    /// The number of key bytes stored in the row at that position: those after prefix and head.
    #[inline]
    pub(super) fn tail_bytes(&self, row: usize) -> usize {
        usize::from(u16_at(&self.bytes, row + SUFFIX_AT)).saturating_sub(HEAD_BYTES)
    }

    fn tail(&self, slot: usize) -> &[u8] {
        let row = self.row(slot);
        &self.bytes[row + ROW_BYTES..row + ROW_BYTES + self.tail_bytes(row)]
    }

    /// Compares the row's key with one that has the same prefix and an equal head.
    #[inline]
    fn compare_tail(&self, slot: usize, suffix: &[u8]) -> Ordering {
        let tail = suffix.get(HEAD_BYTES..).unwrap_or_default();
        let row = self.row(slot);
        let suffix_bytes = usize::from(u16_at(&self.bytes, row + SUFFIX_AT));
        let start = row + ROW_BYTES;
        let own = &self.bytes[start..start + suffix_bytes.saturating_sub(HEAD_BYTES)];
        // Heads are padded with zeros: keys of up to four bytes may differ only in length.
        let order = if own.is_empty() && tail.is_empty() { Ordering::Equal } else { own.cmp(tail) };
        order.then(suffix_bytes.cmp(&suffix.len()))
    }
}

/// The first four bytes, padded with zeros, as a number of the same order.
#[inline]
pub(in crate::buffer) fn head_of(suffix: &[u8]) -> u32 {
    // Assembled in registers: bytes copied one by one and read back as a number would stall.
    match *suffix {
        [a, b, c, d, ..] => u32::from_be_bytes([a, b, c, d]),
        [a, b, c] => u32::from_be_bytes([a, b, c, 0]),
        [a, b] => u32::from_be_bytes([a, b, 0, 0]),
        [a] => u32::from_be_bytes([a, 0, 0, 0]),
        [] => 0,
    }
}

/// The length of the common prefix of two strings.
pub(crate) fn common_bytes(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}
