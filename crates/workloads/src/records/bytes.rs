//! The bytes of a record: random content and length, from 1 to a maximum, both derived from its number.

use crate::distributions::{Stream, mixed};
use std::sync::Arc;

/// Number of offsets in the random bytes at which a record can start.
const STARTS: usize = 1 << 16;

/// Makes records.
#[derive(Clone, Debug)]
pub(crate) struct RecordBytes {
    random: Arc<[u8]>,
    bytes_max: u64,
}

impl RecordBytes {
    /// For records of at most this many bytes, at least 1.
    pub(crate) fn new(bytes_max: u64) -> RecordBytes {
        let mut stream = Stream::of_load("records", 0);
        let words = (STARTS + bytes_max as usize).div_ceil(8);
        let random = (0..words).flat_map(|_| stream.word().to_le_bytes());
        RecordBytes { random: random.collect(), bytes_max }
    }

    /// The record with this number.
    #[inline]
    pub(crate) fn of(&self, number: u64) -> &[u8] {
        let hash = mixed(number);
        let start = (hash >> 48) as usize;
        let bytes = 1 + (hash & 0xffff_ffff) * self.bytes_max / (1 << 32);
        &self.random[start..start + bytes as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::RecordBytes;

    #[test]
    fn lengths_are_even_from_one_to_the_most() {
        let records = RecordBytes::new(16);
        let mut counts = [0_u32; 17];
        for number in 0..160_000 {
            counts[records.of(number).len()] += 1;
        }
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
        assert!((0..1_000).all(|number| RecordBytes::new(1).of(number).len() == 1));
    }

    #[test]
    fn records_differ() {
        let records = RecordBytes::new(1_024);
        let same = (0..10_000).filter(|number| records.of(*number) == records.of(number + 1));
        assert_eq!(same.count(), 0);
        assert_eq!(records.of(7), RecordBytes::new(1_024).of(7));
    }
}
