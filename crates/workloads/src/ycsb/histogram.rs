//! A histogram of field lengths, in YCSB's file format and with YCSB's way of drawing.
//!
//! A file consists of a line `BlockSize` with the bytes of a block, followed by one line per bucket with its
//! number, counted from zero, and its count, separated by a tab. As an option it is one word:
//! `BLOCK:COUNT,COUNT,...`.
//!
//! Draws follow YCSB, including its oddities. A uniform number below the sum of all counts is number,
//! starting at zero; the first bucket whose cumulative count reaches the number is selected, and the length
//! is the bucket's number plus one, in blocks. So the first bucket is selected once more often than its
//! count, even if that is zero. The last bucket gives the same length as the one before it.

use crate::distributions::Stream;
use crate::error::Error;
use std::sync::Arc;

/// The greatest sum of counts that YCSB can draw from.
const AREA_MAX: u64 = i32::MAX as u64;
/// The most buckets, because the histogram is part of every record.
const BUCKETS_MAX: usize = 10_000;

/// The lengths of fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldHistogram {
    /// Bytes of a block.
    block: u64,
    /// The cumulative counts.
    up_to: Arc<[u64]>,
}

impl FieldHistogram {
    /// Parses YCSB's file. The error is a sentence that names the line.
    pub fn of_file(text: &str) -> Result<FieldHistogram, String> {
        let mut lines = text.trim_end().lines().zip(1..);
        let words = |line: &str| -> Option<(String, u64)> {
            let (first, second) = line.split_once('\t')?;
            Some((first.trim().to_owned(), second.trim().parse().ok()?))
        };
        let head = lines.next().and_then(|(line, _)| words(line));
        let Some((_, block)) = head.filter(|(name, _)| name == "BlockSize") else {
            return Err("line 1 must be \"BlockSize\", a tab, and the bytes of a block".to_owned());
        };
        let mut counts = Vec::new();
        for (line, number) in lines {
            let bucket = counts.len();
            match words(line) {
                Some((name, count)) if name == bucket.to_string() => counts.push(count),
                _ => {
                    return Err(format!(
                        "line {number} must be the bucket {bucket}, a tab, and its count"
                    ));
                }
            }
        }
        FieldHistogram::new(block, &counts)
    }

    /// Parses an option's value; none if it is invalid.
    pub(super) fn of_word(word: &str) -> Option<FieldHistogram> {
        let (block, counts) = word.split_once(':')?;
        let counts: Result<Vec<u64>, _> = counts.split(',').map(str::parse).collect();
        FieldHistogram::new(block.parse().ok()?, &counts.ok()?).ok()
    }

    fn new(block: u64, counts: &[u64]) -> Result<FieldHistogram, String> {
        if block == 0 {
            return Err("a block must have at least one byte".to_owned());
        }
        if !(2..=BUCKETS_MAX).contains(&counts.len()) {
            return Err(format!(
                "it has {} buckets, but must have from 2 to {BUCKETS_MAX}; with a single one all fields would be empty",
                counts.len()
            ));
        }
        let mut sum = 0_u64;
        let up_to: Arc<[u64]> = counts
            .iter()
            .map(|count| {
                sum = sum.saturating_add(*count);
                sum
            })
            .collect();
        if !(1..=AREA_MAX).contains(&sum) {
            return Err(format!("its counts sum up to {sum}, but must sum up to 1 to {AREA_MAX}"));
        }
        Ok(FieldHistogram { block, up_to })
    }

    /// Formats it as an option's value.
    pub fn word(&self) -> String {
        let before = std::iter::once(&0).chain(self.up_to.iter());
        let counts = self.up_to.iter().zip(before);
        let counts: Vec<String> = counts.map(|(to, from)| (to - from).to_string()).collect();
        format!("{}:{}", self.block, counts.join(","))
    }

    /// The most bytes of a field.
    pub(super) fn most(&self) -> u64 {
        self.block.saturating_mul(self.up_to.len() as u64 - 1)
    }

    /// Draws the bytes of a field.
    pub(super) fn draw(&self, stream: &mut Stream) -> u64 {
        let last = self.up_to.len() - 1;
        let number = stream.below(self.up_to[last]);
        let bucket = self.up_to.partition_point(|up_to| *up_to < number);
        self.block * (bucket + 1).min(last) as u64
    }

    /// True if a field may have this length.
    pub(super) fn has(&self, bytes: u64) -> bool {
        bytes > 0 && bytes <= self.most() && bytes.is_multiple_of(self.block)
    }
}

impl FieldHistogram {
    /// The histogram, or an error if the option is missing.
    pub(super) fn required(given: Option<FieldHistogram>) -> Result<FieldHistogram, Error> {
        given.ok_or(Error::Excluded {
            workload: super::Ycsb::NAME,
            what: "field_lengths=histogram without field_histogram, which defines the lengths",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{FieldHistogram, Stream};

    #[test]
    fn a_ycsb_file_is_parsed_and_its_errors_are_named() {
        let read = FieldHistogram::of_file;
        let of = read("BlockSize\t10\r\n0\t3\r\n1\t0\r\n2\t7\r\n").unwrap();
        assert_eq!(of.word(), "10:3,0,7");
        assert_eq!(FieldHistogram::of_word("10:3,0,7"), Some(of));
        for (text, expected) in [
            ("", "line 1 must be"),
            ("Blocks\t10\n0\t1\n", "line 1 must be"),
            ("BlockSize 10\n0\t1\n", "line 1 must be"),
            ("BlockSize\t0\n0\t1\n1\t1\n", "at least one byte"),
            ("BlockSize\t10\n", "0 buckets"),
            ("BlockSize\t10\n0\t5\n", "with a single one"),
            ("BlockSize\t10\n0\t5\n2\t5\n", "line 3 must be the bucket 1"),
            ("BlockSize\t10\n0\t5\n1\t-5\n", "line 3 must be the bucket 1"),
            ("BlockSize\t10\n0\t5\n\n1\t5\n", "line 3 must be the bucket 1"),
            ("BlockSize\t10\n0\t0\n1\t0\n", "sum up to 0"),
            ("BlockSize\t1\n0\t2147483647\n1\t1\n", "sum up to 2147483648"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(expected), "{text:?}: {why}");
        }
        for word in ["", "10", "10:", "10:5", "0:1,1", "10:1,x", "10:0,0"] {
            assert_eq!(FieldHistogram::of_word(word), None, "{word}");
        }
    }

    /// f15: with counts 4, 0, 3, 3, the numbers 0 to 4 select the first bucket, 5 to 7 the third, and the
    /// rest the last, which gives the same length as the third.
    #[test]
    fn lengths_come_as_often_as_ycsb_draws_them() {
        let of = FieldHistogram::of_word("10:4,0,3,3").unwrap();
        assert_eq!(of.most(), 30);
        let mut stream = Stream::of_load("test", 7);
        let mut found = [0_u32; 4];
        for _ in 0..20_000 {
            let bytes = of.draw(&mut stream);
            assert!(of.has(bytes), "{bytes}");
            found[(bytes / 10) as usize] += 1;
        }
        assert_eq!((found[0], found[2]), (0, 0));
        let share = f64::from(found[1]) / 20_000.0;
        assert!((share - 0.5).abs() < 0.02, "{found:?}");
        assert!(!of.has(0) && !of.has(15) && !of.has(40));
        // The first bucket is selected by the number zero even without a count.
        let of = FieldHistogram::of_word("1:0,1,1").unwrap();
        let number: Vec<u64> = (0..50).map(|_| of.draw(&mut stream)).collect();
        assert!(number.contains(&1) && number.contains(&2), "{number:?}");
    }
}
