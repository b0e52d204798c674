//! Ranges of records, by number: the part that a load loads, and the parts that earlier loads have left.
//!
//! As text, a range is `FIRST+COUNT`; several are separated by commas, in order: `0+500,700+100`. Adjacent
//! ranges are merged.

use std::ops::Range;

/// Sorted ranges of record numbers without overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordRanges(Vec<Range<u64>>);

impl RecordRanges {
    /// One range; an empty range gives no ranges.
    pub fn of(part: Range<u64>) -> RecordRanges {
        RecordRanges(if part.is_empty() { Vec::new() } else { vec![part] })
    }

    /// Parses a text; none if it is not a list of ranges in order.
    pub fn read(words: &str) -> Option<RecordRanges> {
        let mut parts = RecordRanges::default();
        for word in words.split(',') {
            let (first, count) = word.split_once('+')?;
            let (first, count): (u64, u64) = (first.parse().ok()?, count.parse().ok()?);
            let end = first.checked_add(count)?;
            let behind = parts.0.last().is_none_or(|last| last.end < first);
            if count == 0 || !behind {
                return None;
            }
            parts.0.push(first..end);
        }
        Some(parts)
    }

    /// Formats the ranges; "none" if there are none.
    pub fn words(&self) -> String {
        let words = self.0.iter();
        let words: Vec<String> =
            words.map(|part| format!("{}+{}", part.start, part.end - part.start)).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(",") }
    }

    /// The union with other ranges, which must not overlap these.
    #[must_use]
    pub fn with(&self, other: &RecordRanges) -> RecordRanges {
        let mut all = [self.0.as_slice(), other.0.as_slice()].concat();
        all.sort_unstable_by_key(|part| part.start);
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for part in all {
            match ranges.last_mut() {
                Some(last) if last.end == part.start => last.end = part.end,
                _ => ranges.push(part),
            }
        }
        RecordRanges(ranges)
    }

    /// True if some record of a range is included.
    pub fn touches(&self, part: &Range<u64>) -> bool {
        self.0.iter().any(|one| one.start < part.end && part.start < one.end)
    }

    /// True if all records of a range are included.
    pub fn has(&self, part: &Range<u64>) -> bool {
        self.0.iter().any(|one| one.start <= part.start && part.end <= one.end)
    }

    /// True if every number is below the number of records.
    pub(super) fn within(&self, records: u64) -> bool {
        self.0.iter().all(|part| part.end <= records)
    }

    /// The range, if there is exactly one.
    pub(super) fn only(self) -> Option<Range<u64>> {
        let [part] = <[Range<u64>; 1]>::try_from(self.0).ok()?;
        Some(part)
    }

    /// All numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.0.iter().cloned().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::RecordRanges;

    #[test]
    fn ranges_are_parsed_formatted_and_merged() {
        let parts = RecordRanges::read("0+500,700+100").unwrap();
        assert_eq!(parts.words(), "0+500,700+100");
        assert_eq!(parts.with(&RecordRanges::of(500..700)), RecordRanges::of(0..800));
        assert_eq!(parts.with(&RecordRanges::of(900..901)).words(), "0+500,700+100,900+1");
        assert_eq!(RecordRanges::default().with(&RecordRanges::of(3..3)).words(), "none");
        assert!(parts.has(&(10..500)) && !parts.has(&(10..501)));
        assert!(parts.touches(&(499..600)) && !parts.touches(&(500..700)));
        assert_eq!(RecordRanges::read("1+2,5+1").unwrap().numbers().collect::<Vec<_>>(), [1, 2, 5]);
        for wrong in ["", "none", "5", "0+0", "5+1,0+1", "0+2,1+2", "0+2,2+2"] {
            assert_eq!(RecordRanges::read(wrong), None, "{wrong}");
        }
    }
}
