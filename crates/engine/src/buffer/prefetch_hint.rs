//! A hint about a leaf that is available before the leaf is read: the lines where its search begins, and for
//! an even leaf the position of its rows.
//!
//! Reading a leaf that is in no cache misses twice: on the lines that a search reads, then on the row that
//! they lead to. A leaf is *even* when its keys ascend in equal steps from its lower fence to its upper one,
//! and its rows, all of one length, are stored in that order without gaps, from the page's end down. That is
//! so if rows are numbered and inserted in the order of their numbers. The position of a row then follows
//! from where its key lies between the separators above the leaf, and both misses overlap.
//!
//! The hint is one word stored next to the leaf's frame, see [`super::translation`]:
//!
//! | bits | field |
//! |---|---|
//! | 41 | the address, in lines, of the first line that a search reads: the page's first |
//! | 4 | the number of lines that it reads |
//! | 4 | the number of lines in a row; zero: the leaf is not even |
//! | 15 | the bytes of all rows |
//!
//! It only tells the processor which lines to fetch; nothing is ever read by it. It may be out of date: a
//! thread that accesses the leaf corrects it when the lines have changed; for a leaf that has otherwise
//! become uneven, some lines are prefetched in vain.

use super::leaf::Leaf;
use super::prefetch::{LINE_BYTES, prefetch};
use std::ops::Range;

const LINE_BITS: u32 = 41;
const COUNT_BITS: u32 = 4;
const LINES_BITS: u32 = LINE_BITS + COUNT_BITS;
const ROW_BITS: u32 = 4;
const ROWS_SHIFT: u32 = LINES_BITS + ROW_BITS;

const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1;
const ROW_MAX: u64 = (1 << ROW_BITS) - 1;

/// The packed hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrefetchHint(pub(super) u64);

/// The rows of an even leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EvenRows {
    /// Bytes of all rows.
    pub(super) rows_bytes: usize,
    /// Bytes of each row.
    pub(super) row_bytes: usize,
}

impl PrefetchHint {
    /// The hint of a page that is not a leaf: no lines.
    pub(super) const NONE: PrefetchHint = PrefetchHint(0);

    /// The hint of a leaf in its current state.
    pub(super) fn of(leaf: &Leaf) -> PrefetchHint {
        let prefetch_hint = PrefetchHint::lines_of(leaf);
        let is_whole = leaf.image().as_ptr().addr().is_multiple_of(LINE_BYTES);
        leaf.even().filter(|_| is_whole).map_or(prefetch_hint, |even| prefetch_hint.with(even))
    }

    /// The same without checking whether the leaf is even.
    #[inline]
    pub(super) fn lines_of(leaf: &Leaf) -> PrefetchHint {
        PrefetchHint::lines(leaf.image().as_ptr().addr(), leaf.search_end())
    }

    #[inline]
    fn lines(address: usize, bytes: usize) -> PrefetchHint {
        let first = address / LINE_BYTES;
        let count = (address + bytes).div_ceil(LINE_BYTES) - first;
        let first = first as u64 & ((1 << LINE_BITS) - 1);
        PrefetchHint(first | (count as u64).min(COUNT_MAX) << LINE_BITS)
    }

    fn with(self, even: EvenRows) -> PrefetchHint {
        let lines = even.row_bytes.div_ceil(LINE_BYTES) as u64;
        if lines > ROW_MAX {
            return self;
        }
        PrefetchHint(self.0 | lines << LINES_BITS | (even.rows_bytes as u64) << ROWS_SHIFT)
    }

    /// True if a search reads the same lines.
    #[inline]
    pub(super) fn has_lines_of(self, other: PrefetchHint) -> bool {
        (self.0 ^ other.0) & ((1 << LINES_BITS) - 1) == 0
    }

    /// Prefetches the lines that a search reads.
    #[inline]
    pub(super) fn prefetch_lines(self) {
        let count = self.0 >> LINE_BITS & COUNT_MAX;
        prefetch(self.start(), count as usize * LINE_BYTES);
    }

    /// Prefetches the row of a key, if the leaf is even. `part` is the key's relative position between the
    /// leaf's lower fence and its upper one, from 0 to 1; `page_bytes` is the length of the page.
    #[inline]
    pub(super) fn prefetch_row(self, page_bytes: usize, part: impl FnOnce() -> Option<f64>) {
        if self.0 >> LINES_BITS & ROW_MAX > 0
            && let Some(part) = part()
        {
            let lines = self.lines_of_row(page_bytes, part);
            prefetch(lines.start, lines.len());
        }
    }

    /// The addresses of the whole lines that contain that row.
    #[inline]
    fn lines_of_row(self, page_bytes: usize, part: f64) -> Range<usize> {
        let rows_bytes = (self.0 >> ROWS_SHIFT) as f64;
        let row_bytes = (self.0 >> LINES_BITS & ROW_MAX) as usize * LINE_BYTES;
        let end = self.start() + page_bytes - ((part * rows_bytes + 0.5) as usize).min(page_bytes);
        (end - row_bytes.min(end)) & !(LINE_BYTES - 1)..end
    }

    #[inline]
    fn start(self) -> usize {
        (self.0 & ((1 << LINE_BITS) - 1)) as usize * LINE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::{EvenRows, PrefetchHint};
    use crate::buffer::{Leaf, VersionWord};
    use crate::ids::{Csn, PageId, TreeId};

    #[test]
    fn lines_contain_the_bytes() {
        for (address, bytes, first, count) in [
            (640, 64, 10, 1),
            (640, 65, 10, 2),
            (703, 1, 10, 1),
            (703, 2, 10, 2),
            (704, 0, 11, 0),
            (650, 1 << 20, 10, 15),
        ] {
            let prefetch_hint = PrefetchHint::lines(address, bytes);
            assert_eq!(prefetch_hint.0, first | count << 41, "{address}, {bytes}");
            assert_eq!(prefetch_hint.start(), first as usize * 64);
        }
        PrefetchHint::NONE.prefetch_lines();
        PrefetchHint::lines((1 << 47) - 70, 60).prefetch_lines();
    }

    #[test]
    fn adding_even_rows_keeps_the_lines() {
        let lines = PrefetchHint::lines(0x7fff_ffff_f000, 300);
        let even = EvenRows { rows_bytes: 32_000, row_bytes: 125 };
        let prefetch_hint = lines.with(even);
        assert!(
            prefetch_hint != lines
                && prefetch_hint.has_lines_of(lines)
                && lines.has_lines_of(prefetch_hint)
        );
        assert_eq!(prefetch_hint.start(), lines.start());
        assert_eq!(prefetch_hint.0 >> super::ROWS_SHIFT, 32_000);
        assert!(!prefetch_hint.has_lines_of(PrefetchHint::lines(0x7fff_ffff_f000, 400)));
        let long = EvenRows { row_bytes: 961, ..even };
        assert_eq!(lines.with(long), lines, "rows too long to prefetch");
        prefetch_hint.prefetch_row(32_768, || Some(0.99));
        lines.prefetch_row(32_768, || panic!("it is not even"));
    }

    const PAGE_BYTES: usize = 4096;

    /// A leaf whose fences are `steps` steps apart, with rows at some of the steps.
    fn leaf(
        steps: u32,
        rows: impl Iterator<Item = u32>,
        value_bytes: impl Fn(u32) -> usize,
    ) -> Leaf {
        let key = |at: u32| (7_000_000_000 + 3 * u64::from(at)).to_be_bytes();
        let (lower, upper) = (key(0), key(steps));
        let mut leaf = Leaf::empty(PAGE_BYTES, PageId(1), TreeId(1), &lower, Some(&upper));
        for at in rows {
            let slot = leaf.search(&key(at)).unwrap_err();
            let value = vec![1; value_bytes(at)];
            leaf.insert(slot, &key(at), VersionWord::of(Csn(1)), value.len()).unwrap();
            leaf.set_value(slot, &value);
        }
        leaf
    }

    #[test]
    fn rows_of_an_even_leaf_lie_in_the_prefetched_lines() {
        for value_bytes in [1, 50, 93, 94, 200] {
            let steps = 15;
            let leaf = leaf(steps, 0..steps, |_| value_bytes);
            let even = leaf.even().expect("keys and rows are even");
            // As if the leaf lay in a block.
            let start = 0x7f00_0000_0040;
            let prefetch_hint = PrefetchHint::lines(start, leaf.search_end()).with(even);
            for slot in 0..steps as usize {
                let value = leaf.value(slot).as_ptr_range();
                let end = start + (value.end.addr() - leaf.image().as_ptr().addr());
                let row = end - even.row_bytes..end;
                let lines = prefetch_hint.lines_of_row(PAGE_BYTES, slot as f64 / f64::from(steps));
                assert!(lines.start <= row.start && lines.end >= row.end, "{lines:?} {row:?}");
                assert!(lines.end < row.end + 64 && lines.start + 192 > row.start);
            }
        }
    }

    #[test]
    fn uneven_leaves_are_recognized() {
        let steps = 20;
        let same = |_| 50;
        assert!(leaf(steps, 0..steps, same).even().is_some());
        assert_eq!(leaf(7, 0..7, same).even(), None, "few rows");
        assert_eq!(leaf(steps, 0..steps - 1, same).even(), None, "one is missing");
        assert_eq!(leaf(steps, (0..steps).rev(), same).even(), None, "in descending order");
        let longer = |at| if at == 3 { 58 } else { 50 };
        assert_eq!(leaf(steps, 0..steps, longer).even(), None, "a longer row");
        let uneven = (0..steps).filter(|at| at % 2 == 0);
        assert_eq!(leaf(steps - 1, uneven, same).even(), None, "a step too long");
        let lower = (7_000_000_000_u64).to_be_bytes();
        let mut last = Leaf::empty(PAGE_BYTES, PageId(1), TreeId(1), &lower, None);
        for at in 0..steps {
            let key = (7_000_000_000 + 3 * u64::from(at)).to_be_bytes();
            let slot = last.search(&key).unwrap_err();
            last.insert(slot, &key, VersionWord::of(Csn(1)), 0).unwrap();
        }
        assert_eq!(last.even(), None, "no upper fence");
    }
}
