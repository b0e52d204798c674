//! Parts of the records, by their numbers: what a load loads, and what earlier loads have left.
//!
//! In words a part is `FIRST+COUNT`, and several are apart by commas, in order: `0+500,700+100`. Parts that
//! meet are one.

use std::ops::Range;

/// Numbers of records, none twice; see the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordRanges(Vec<Range<u64>>);

impl RecordRanges {
    /// Of one part; of no record there is none.
    pub fn of(part: Range<u64>) -> RecordRanges {
        RecordRanges(if part.is_empty() { Vec::new() } else { vec![part] })
    }

    /// Of words; none if they are no parts in order.
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

    /// In words; "none" if there is none.
    pub fn words(&self) -> String {
        let words = self.0.iter();
        let words: Vec<String> =
            words.map(|part| format!("{}+{}", part.start, part.end - part.start)).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(",") }
    }

    /// These and those of another, which have none in common.
    #[must_use]
    pub fn with(&self, other: &RecordRanges) -> RecordRanges {
        let mut all = [self.0.as_slice(), other.0.as_slice()].concat();
        all.sort_unstable_by_key(|part| part.start);
        let mut met: Vec<Range<u64>> = Vec::new();
        for part in all {
            match met.last_mut() {
                Some(last) if last.end == part.start => last.end = part.end,
                _ => met.push(part),
            }
        }
        RecordRanges(met)
    }

    /// True if some record of a part is among these.
    pub fn touches(&self, part: &Range<u64>) -> bool {
        self.0.iter().any(|one| one.start < part.end && part.start < one.end)
    }

    /// True if all records of a part are among these.
    pub fn has(&self, part: &Range<u64>) -> bool {
        self.0.iter().any(|one| one.start <= part.start && part.end <= one.end)
    }

    /// True if every number is below that of all records.
    pub(super) fn within(&self, records: u64) -> bool {
        self.0.iter().all(|part| part.end <= records)
    }

    /// The one part, if there is one alone.
    pub(super) fn only(self) -> Option<Range<u64>> {
        let [part] = <[Range<u64>; 1]>::try_from(self.0).ok()?;
        Some(part)
    }

    /// Every number.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.0.iter().cloned().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::RecordRanges;

    #[test]
    fn parts_are_read_written_and_put_together() {
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
