//! The engine's numbers, each a type of its own, so that none can be used where another is meant.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use syncline_instrument::clock;

/// A commit sequence number: the position of a commit in the one total order. The first is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Csn(pub u64);

impl Csn {
    /// Before every commit.
    pub const ZERO: Csn = Csn(0);

    /// The number after this one.
    #[must_use]
    pub fn next(self) -> Csn {
        Csn(self.0.saturating_add(1))
    }
}

impl fmt::Display for Csn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "csn {}", self.0)
    }
}

/// The number of a log frame, counted over all segments without a gap. The first is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameNumber(pub u64);

impl FrameNumber {
    /// Before every frame.
    pub const ZERO: FrameNumber = FrameNumber(0);

    /// The number after this one.
    #[must_use]
    pub fn next(self) -> FrameNumber {
        FrameNumber(self.0.saturating_add(1))
    }
}

impl fmt::Display for FrameNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "frame {}", self.0)
    }
}

/// The number of a log segment, counted without a gap; a file gets a new one each time it is used again. The
/// first is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SegmentNumber(pub u64);

impl SegmentNumber {
    /// The number after this one.
    #[must_use]
    pub fn next(self) -> SegmentNumber {
        SegmentNumber(self.0.saturating_add(1))
    }
}

impl fmt::Display for SegmentNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "segment {}", self.0)
    }
}

/// The number of a page, reused only after its page was freed. The first is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageId(pub u64);

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}", self.0)
    }
}

/// The number of a tree: a table's rows or an index's entries. Never used again. The first is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TreeId(pub u32);

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tree {}", self.0)
    }
}

/// A slot of the data file, in units of the page size or 4 KiB, whichever is less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(pub u64);

impl fmt::Display for SlotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slot {}", self.0)
    }
}

/// Which database a file belongs to: 16 random bytes, drawn when the database is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DatabaseId(pub [u8; 16]);

impl DatabaseId {
    /// A new id. The randomness is the standard library's hash seed, which comes from the operating system,
    /// mixed with the wall clock: enough to distinguish databases, not a secret.
    pub fn random() -> DatabaseId {
        let mut bytes = [0; 16];
        for half in bytes.chunks_exact_mut(8) {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u64(clock::wall());
            half.copy_from_slice(&hasher.finish().to_le_bytes());
        }
        DatabaseId(bytes)
    }
}

impl fmt::Display for DatabaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::DatabaseId;

    #[test]
    fn two_databases_have_two_ids() {
        let (one, other) = (DatabaseId::random(), DatabaseId::random());
        assert_ne!(one, other);
        assert_eq!(one.to_string().len(), 32);
    }
}
