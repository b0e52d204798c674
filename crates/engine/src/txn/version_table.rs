//! A table of row versions, found by the row's name and dropped in the order in which they were saved.
//!
//! Entries and bytes of versions are stored in that order: a save appends, a drop removes the first, and both
//! touch only one bucket besides. Bytes are in chunks, so that growth moves nothing. All versions needed at
//! once may exceed a core's cache, so the memory after the last one is cold: it is prefetched one save ahead.
//! 1. Versions are numbered as they are saved, in 32 bits that wrap around; far fewer than half of all
//!    numbers are in use at once. The first entry's number is `oldest`.
//! 2. A bucket names the last saved version among the rows with the same low bits of the hash, and a version
//!    names the one before it in its bucket: so a row's versions are chained newest first, among those of
//!    other rows.
//! 3. The version that a bucket or an entry names may have been dropped. A search stops at a name that does
//!    not exist or is not older than the last one. Since numbers wrap around, the name of a dropped version
//!    may belong to another one: of another bucket, since a save in this bucket would have replaced the name.
//!    The chain from there consists of other, older rows: the search ends and finds nothing.
//! 4. A version is charged with its entry, its key, and its value; a value in extents with the memory
//!    of these pages, since only the version holds them once it is superseded. `bytes` is the sum over
//!    all entries, `extent_bytes` the part of it for extents.

use crate::access::btree::extents::ExtentPointer;
use crate::buffer::{VersionWord, prefetch};
use crate::ids::{Csn, TreeId};
use crate::planted_bug::{PlantedBug, planted};
use std::collections::VecDeque;

pub(super) const PENDING: u64 = u64::MAX;

/// The superseding csn of a cancelled version: no commit.
const CANCELLED: u64 = 0;

/// Memory of an entry in addition to its bytes.
const ENTRY_BYTES: i64 = size_of::<Entry>() as i64;

/// Bytes of a chunk; a longer version gets its own.
const CHUNK_BYTES: usize = 16 << 10;

/// Bytes after the last version to prefetch.
const PREFETCH_BYTES: usize = 256;

/// Empty chunks kept for later saves.
const SPARE_CHUNKS: usize = 2;

/// The memory of this many entries is always kept.
const ENTRIES_RETAINED: usize = 1024;

/// A row's name with its hash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<'a> {
    pub(super) hash: u64,
    pub(super) tree: TreeId,
    pub(super) key: &'a [u8],
}

#[derive(Debug)]
pub(super) struct Table {
    /// The number of the newest version of the rows in each bucket.
    buckets: Vec<u32>,
    /// All versions in the order in which they were saved.
    entries: VecDeque<Entry>,
    oldest: u32,
    /// The numbers of versions with values in extents, in the order in which they were saved.
    long: VecDeque<u32>,
    chunks: Chunks,
    /// Number of saves: selects the thread slot that is visited next.
    pub(super) saves: u32,
    /// See invariant 4.
    pub(super) bytes: i64,
    pub(super) extent_bytes: i64,
    pub(super) reported: i64,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    superseded_by: u64,
    word: VersionWord,
    tree: TreeId,
    /// The version before it in its bucket.
    older: u32,
    /// Where the key is stored, followed by the value as in the leaf.
    chunk: u32,
    start: u32,
    key_bytes: u32,
    bytes: u32,
}

/// A version returned by a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version<'t> {
    pub(super) superseded_by: u64,
    pub(super) word: VersionWord,
    pub(super) value: &'t [u8],
}

impl Table {
    /// An empty table.
    pub(super) fn new() -> Table {
        Table {
            buckets: Vec::new(),
            entries: VecDeque::new(),
            oldest: 0,
            long: VecDeque::new(),
            chunks: Chunks::default(),
            saves: 0,
            bytes: 0,
            extent_bytes: 0,
            reported: 0,
        }
    }

    /// Saves a version. Returns its number.
    #[inline]
    pub(super) fn add(&mut self, name: Name<'_>, word: VersionWord, value: &[u8]) -> u32 {
        if self.entries.len() >= self.buckets.len() {
            self.grow();
        }
        let number = self.oldest.wrapping_add(self.entries.len() as u32);
        let bucket = self.bucket(name.hash);
        let older = std::mem::replace(&mut self.buckets[bucket], number);
        let (chunk, start) = self.chunks.add(name.key, value);
        let bytes = name.key.len() + value.len();
        if word.is_overflow() {
            self.long.push_back(number);
        }
        self.entries.push_back(Entry {
            hash: name.hash,
            superseded_by: PENDING,
            word,
            tree: name.tree,
            older,
            chunk,
            start,
            key_bytes: name.key.len() as u32,
            bytes: bytes as u32,
        });
        self.prefetch_next();
        self.bytes += ENTRY_BYTES + bytes as i64;
        if word.is_overflow() {
            self.charge_extents(value, 1);
        }
        number
    }

    /// Charges the extents of a version, or refunds them with -1; `pointer` is its value.
    #[cold]
    fn charge_extents(&mut self, pointer: &[u8], sign: i64) {
        let pointer = ExtentPointer::from_value(pointer).expect("an overflow row holds a pointer");
        let bytes = if planted(PlantedBug::VersionsEscapeCap) { 0 } else { extents_bytes(pointer) };
        self.bytes += sign * bytes;
        self.extent_bytes += sign * bytes;
    }

    /// Prefetches the memory of the next entry, and the first entries, which are dropped next.
    #[inline]
    fn prefetch_next(&self) {
        let (front, back) = self.entries.as_slices();
        let last = if back.is_empty() { front } else { back };
        prefetch(last.as_ptr_range().end.addr(), size_of::<Entry>());
        prefetch(front.as_ptr().addr(), 3 * size_of::<Entry>());
    }

    /// Sets the commit that supersedes a pending version.
    #[inline]
    pub(super) fn supersede(&mut self, number: u32, csn: Csn) {
        let index = self.index(number);
        let entry = &mut self.entries[index];
        debug_assert_eq!(entry.superseded_by, PENDING);
        entry.superseded_by = csn.0;
    }

    /// Makes that pending version invisible. It is dropped in its turn.
    pub(super) fn cancel(&mut self, number: u32) {
        let index = self.index(number);
        let entry = &mut self.entries[index];
        entry.superseded_by = CANCELLED;
        if std::mem::replace(&mut entry.word, VersionWord(0)).is_overflow() {
            let entry = &self.entries[index];
            let pointer = self.chunks.get(entry)[entry.key_bytes as usize..].to_vec();
            self.charge_extents(&pointer, -1);
        }
    }

    /// The oldest version of a row that was superseded after `point`.
    pub(super) fn find(&self, name: Name<'_>, point: Csn) -> Option<Version<'_>> {
        let mut number = self.buckets.get(self.bucket(name.hash)).copied()?;
        let mut before = self.entries.len();
        let mut found = None;
        loop {
            let index = self.index(number);
            if index >= before {
                return found;
            }
            before = index;
            let entry = &self.entries[index];
            number = entry.older;
            if entry.hash != name.hash || entry.superseded_by == CANCELLED {
                continue;
            }
            let (key, value) = self.chunks.get(entry).split_at(entry.key_bytes as usize);
            if entry.tree != name.tree || key != name.key {
                continue;
            }
            if entry.superseded_by <= point.0 {
                return found;
            }
            found = Some(Version { superseded_by: entry.superseded_by, word: entry.word, value });
        }
    }

    /// Drops up to `most` of the oldest versions that no reader needs any more.
    #[inline]
    pub(super) fn collect(&mut self, bound: Csn, most: usize, pointers: &mut Vec<u8>) {
        for _ in 0..most {
            let is_over = |entry: &mut Entry| entry.superseded_by <= bound.0;
            let Some(entry) = self.entries.pop_front_if(is_over) else {
                return;
            };
            // A cancelled version no longer owns its pages, but is still listed.
            if self.long.front() == Some(&self.oldest) {
                self.long.pop_front();
            }
            self.oldest = self.oldest.wrapping_add(1);
            if entry.word.is_overflow() {
                let pointer = &self.chunks.get(&entry)[entry.key_bytes as usize..];
                pointers.extend_from_slice(pointer);
                let pointer = &pointers[pointers.len() - pointer.len()..];
                self.charge_extents(pointer, -1);
            }
            self.bytes -= ENTRY_BYTES + i64::from(entry.bytes);
            let next = self.entries.front().map(|next| next.chunk);
            if next != Some(entry.chunk) {
                self.free_chunks_before(next);
            }
        }
    }

    /// The extent pointers of versions with values in extents. The cost grows only with their
    /// number.
    pub(super) fn pointers(&self, pointers: &mut Vec<u8>) {
        let long = self.long.iter();
        let long = long.map(|number| &self.entries[self.index(*number)]);
        for entry in long.filter(|entry| entry.word.is_overflow()) {
            let bytes = self.chunks.get(entry);
            pointers.extend_from_slice(&bytes[entry.key_bytes as usize..]);
        }
    }

    /// The number of versions that a search may return.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        let entries = self.entries.iter();
        entries.filter(|entry| entry.superseded_by != CANCELLED).count()
    }

    /// Frees the chunks before the oldest version, which is in chunk `next`.
    fn free_chunks_before(&mut self, next: Option<u32>) {
        self.chunks.drop_before(next);
        let (count, room) = (self.entries.len(), self.entries.capacity());
        if room > ENTRIES_RETAINED && count < room / 8 {
            self.entries.shrink_to(ENTRIES_RETAINED.max(2 * count));
        }
    }

    /// Doubles the buckets.
    #[cold]
    fn grow(&mut self) {
        let buckets = (2 * self.buckets.len()).max(64);
        self.buckets.clear();
        // A number that no version has now: the last one to come round.
        self.buckets.resize(buckets, self.oldest.wrapping_sub(1));
        for index in 0..self.entries.len() {
            let number = self.oldest.wrapping_add(index as u32);
            let bucket = self.bucket(self.entries[index].hash);
            self.entries[index].older = std::mem::replace(&mut self.buckets[bucket], number);
        }
    }

    #[inline]
    fn bucket(&self, hash: u64) -> usize {
        hash as usize & self.buckets.len().wrapping_sub(1)
    }

    /// The index of a version among the entries; for a dropped one an index beyond them.
    #[inline]
    fn index(&self, number: u32) -> usize {
        number.wrapping_sub(self.oldest) as usize
    }
}

/// Keys and values of versions, in the order in which they were saved.
#[derive(Debug, Default)]
struct Chunks {
    in_use: VecDeque<Vec<u8>>,
    /// The first chunk's number; these wrap around, too.
    first: u32,
    spare: Vec<Vec<u8>>,
}

impl Chunks {
    /// Adds a key and a value. Returns the chunk's number and the offset in it.
    #[inline]
    fn add(&mut self, key: &[u8], value: &[u8]) -> (u32, u32) {
        let bytes = key.len() + value.len();
        let has_room = |chunk: &Vec<u8>| chunk.capacity() - chunk.len() >= bytes;
        if !self.in_use.back().is_some_and(has_room) {
            self.begin(bytes);
        }
        let number = self.first.wrapping_add(self.in_use.len() as u32 - 1);
        let chunk = self.in_use.back_mut().expect("a chunk exists");
        let start = chunk.len();
        chunk.extend_from_slice(key);
        chunk.extend_from_slice(value);
        let rest = chunk.capacity() - chunk.len();
        let next = chunk.as_ptr().addr() + chunk.len();
        prefetch(next, rest.min(PREFETCH_BYTES));
        (number, start as u32)
    }

    fn begin(&mut self, bytes: usize) {
        let spare = self.spare.pop_if(|spare| spare.capacity() >= bytes);
        let chunk = spare.unwrap_or_else(|| Vec::with_capacity(bytes.max(CHUNK_BYTES)));
        self.in_use.push_back(chunk);
    }

    /// Key and value of an entry.
    #[inline]
    fn get(&self, entry: &Entry) -> &[u8] {
        let chunk = &self.in_use[entry.chunk.wrapping_sub(self.first) as usize];
        &chunk[entry.start as usize..][..entry.bytes as usize]
    }

    /// Drops the chunks before that one; all, if there is none.
    fn drop_before(&mut self, chunk: Option<u32>) {
        while chunk != Some(self.first)
            && let Some(mut left) = self.in_use.pop_front()
        {
            self.first = self.first.wrapping_add(1);
            if left.capacity() <= CHUNK_BYTES && self.spare.len() < SPARE_CHUNKS {
                left.clear();
                self.spare.push(left);
            }
        }
    }
}

/// The memory of a value's extents, in bytes.
fn extents_bytes(pointer: ExtentPointer) -> i64 {
    // The length of leaves and inner nodes does not matter for it.
    pointer.memory().bytes(0) as i64
}

#[cfg(test)]
mod tests {
    use super::{CHUNK_BYTES, Name, SPARE_CHUNKS, Table};
    use crate::access::btree::extents::ExtentPointer;
    use crate::buffer::VersionWord;
    use crate::ids::{Csn, PageId, TreeId};

    fn empty() -> Table {
        Table::new()
    }

    /// Few hashes, so that rows share buckets.
    fn name(key: &[u8]) -> Name<'_> {
        Name { hash: u64::from(key[0]) % 3, tree: TreeId(1), key }
    }

    #[test]
    fn versions_are_found_when_numbers_go_round_and_names_outlive_them() {
        let mut table = Table { oldest: u32::MAX - 40, ..empty() };
        let mut pointers = Vec::new();
        // Each row's next version comes long after the previous one was dropped.
        for csn in 1..200_u64 {
            let key = [csn as u8 % 7];
            let saved = table.add(name(&key), VersionWord::of(Csn(csn)), &csn.to_le_bytes());
            table.supersede(saved, Csn(csn + 1));
            table.collect(Csn(csn.saturating_sub(10)), 3, &mut pointers);
            for back in 0..10.min(csn) {
                let (was, key) = (csn - back, [(csn - back) as u8 % 7]);
                let found = table.find(name(&key), Csn(was)).map(|found| found.value);
                assert_eq!(found, Some(&was.to_le_bytes()[..]), "{was} at {csn}");
            }
            assert!(table.find(name(&[9]), Csn(csn)).is_none());
        }
        assert!(table.count() <= 12);
    }

    /// D3: a value in extents was charged with only the 16 bytes of its extent pointer.
    #[test]
    fn a_version_is_charged_with_the_extents_that_it_holds() {
        let mut table = empty();
        let pointer = ExtentPointer::of(1 << 20, PageId(9));
        let word = VersionWord::of(Csn(1)).overflow();
        let pages = super::extents_bytes(pointer);
        assert!(pages > 1 << 20, "pages with their frames");
        let row = table.add(name(b"a"), word, &pointer.to_value());
        let other = table.add(name(b"b"), word, &pointer.to_value());
        assert_eq!(table.extent_bytes, 2 * pages);
        assert!(table.bytes > 2 * pages);
        table.cancel(other);
        assert_eq!(table.extent_bytes, pages, "the row keeps its pages");
        table.supersede(row, Csn(2));
        table.collect(Csn(2), 9, &mut Vec::new());
        assert_eq!((table.extent_bytes, table.bytes), (0, 0));
    }

    #[test]
    fn memory_is_freed_with_its_versions() {
        let mut table = empty();
        let save = |table: &mut Table, csn: u64, bytes: usize| {
            let key = csn.to_be_bytes();
            let saved = table.add(name(&key), VersionWord::of(Csn(csn)), &vec![7; bytes]);
            table.supersede(saved, Csn(csn + 1));
        };
        for csn in 1..=2_000 {
            save(&mut table, csn, 100 + csn as usize % 900);
        }
        save(&mut table, 2_001, 3 * CHUNK_BYTES);
        assert!(table.chunks.in_use.len() > 20);
        assert_eq!(
            table.find(name(&2_001_u64.to_be_bytes()), Csn(5)).unwrap().value.len(),
            3 * CHUNK_BYTES
        );
        table.collect(Csn(1_990), usize::MAX, &mut Vec::new());
        assert_eq!(table.count(), 12);
        let found = table.find(name(&1_995_u64.to_be_bytes()), Csn(1_995));
        assert_eq!(found.unwrap().value.len(), 100 + 1_995 % 900);
        table.collect(Csn(2_002), usize::MAX, &mut Vec::new());
        assert_eq!((table.count(), table.bytes), (0, 0));
        assert_eq!(table.chunks.in_use.len(), 0);
        assert_eq!(table.chunks.spare.len(), SPARE_CHUNKS);
        assert!(table.entries.capacity() <= 2 * super::ENTRIES_RETAINED);
    }
}
