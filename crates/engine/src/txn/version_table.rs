//! Versions of rows, found by the row's name and dropped in the order in which they were saved.
//!
//! Heads and bytes of versions lie in memory in that order: a save writes behind the last ones, a drop takes
//! the first away, and neither goes elsewhere but to one bucket. Bytes lie in chunks, so that nothing is
//! moved when there are more. All versions that are needed at once may be more than a core's cache holds,
//! so that the memory behind the last one is cold: it is asked for a save ahead.
//!
//! 1. Versions are numbered as they are saved, in 32 bits that go round; far fewer than half of all numbers
//!    are in use at once. The first entry's number is `oldest`.
//! 2. A bucket names the version saved last among the rows whose hash ends so, and a version the one before
//!    it in its bucket: so a row's versions are chained newest first, among those of other rows.
//! 3. What a bucket or a version names may have gone. Who follows the names stops at one that is not both
//!    there and older than the last. Since numbers go round, a name that has outlived its version may be that
//!    of another one: of another bucket, since a save of this one would have taken its place. What is
//!    chained from there are other rows, and older ones: the way ends, and finds nothing.
//! 4. A version is charged with its entry, its key, and its value; a value in overflow pages with the memory
//!    of these pages, since nobody but the version holds them once it is superseded. `bytes` is the sum over
//!    all entries, `chain_bytes` the part of it that overflow pages take.

use crate::access::btree::overflow::{ChainSize, OverflowPointer};
use crate::buffer::{VersionWord, prefetch};
use crate::ids::{Csn, TreeId};
use crate::planted_bug::{PlantedBug, planted};
use std::collections::VecDeque;

pub(super) const PENDING: u64 = u64::MAX;

/// What supersedes a version that was cancelled: no commit.
const CANCELLED: u64 = 0;

/// What an entry takes besides its bytes.
const ENTRY_BYTES: i64 = size_of::<Entry>() as i64;

/// Bytes of a chunk; a version that is longer has one of its own.
const CHUNK_BYTES: usize = 16 << 10;

/// So many bytes behind the last version are asked for.
const AHEAD_BYTES: usize = 256;

/// So many empty chunks are kept for what is saved next.
const SPARE_CHUNKS: usize = 2;

/// So many entries' memory is kept in any case.
const ENTRIES_KEPT: usize = 1024;

/// A row's name with its hash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name<'a> {
    pub(super) hash: u64,
    pub(super) tree: TreeId,
    pub(super) key: &'a [u8],
}

#[derive(Debug)]
pub(super) struct Table {
    /// The newest version of the rows whose hash ends so, by its number.
    buckets: Vec<u32>,
    /// All versions in the order in which they were saved.
    entries: VecDeque<Entry>,
    /// The first entry's number.
    oldest: u32,
    /// The numbers of versions whose values lie in overflow pages, in the order in which they were saved.
    long: VecDeque<u32>,
    chunks: Chunks,
    /// How often something was saved: says which thread slot is visited next.
    pub(super) saves: u32,
    /// See invariant 4.
    pub(super) bytes: i64,
    pub(super) chain_bytes: i64,
    pub(super) told: i64,
    chains: ChainSize,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    superseded_by: u64,
    word: VersionWord,
    tree: TreeId,
    /// The version before it in its bucket.
    older: u32,
    /// Where the key lies, and behind it the value as it lay in the leaf.
    chunk: u32,
    start: u32,
    key_bytes: u32,
    bytes: u32,
}

/// A version that was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version<'t> {
    pub(super) superseded_by: u64,
    pub(super) word: VersionWord,
    pub(super) value: &'t [u8],
}

impl Table {
    /// Without versions; overflow pages are of that size.
    pub(super) fn new(chains: ChainSize) -> Table {
        Table {
            buckets: Vec::new(),
            entries: VecDeque::new(),
            oldest: 0,
            long: VecDeque::new(),
            chunks: Chunks::default(),
            saves: 0,
            bytes: 0,
            chain_bytes: 0,
            told: 0,
            chains,
        }
    }

    /// Saves a version; answers its number.
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
        self.ask();
        self.bytes += ENTRY_BYTES + bytes as i64;
        if word.is_overflow() {
            self.charge_chain(value, 1);
        }
        number
    }

    /// Charges the overflow pages of a version, or with -1 gives their charge back; `pointer` is its value.
    #[cold]
    fn charge_chain(&mut self, pointer: &[u8], sign: i64) {
        let pointer =
            OverflowPointer::from_value(pointer).expect("an overflow row holds a pointer");
        let bytes = if planted(PlantedBug::VersionsEscapeCap) {
            0
        } else {
            self.chains.bytes(pointer.bytes) as i64
        };
        self.bytes += sign * bytes;
        self.chain_bytes += sign * bytes;
    }

    /// Asks the processor for where the next head goes, and for the first ones, which are dropped next.
    #[inline]
    fn ask(&self) {
        let (front, back) = self.entries.as_slices();
        let last = if back.is_empty() { front } else { back };
        prefetch(last.as_ptr_range().end.addr(), size_of::<Entry>());
        prefetch(front.as_ptr().addr(), 3 * size_of::<Entry>());
    }

    /// Tells a pending version which commit supersedes it.
    #[inline]
    pub(super) fn supersede(&mut self, number: u32, csn: Csn) {
        let place = self.place(number);
        let entry = &mut self.entries[place];
        debug_assert_eq!(entry.superseded_by, PENDING);
        entry.superseded_by = csn.0;
    }

    /// Nobody finds that pending version any more. It goes when its turn comes.
    pub(super) fn cancel(&mut self, number: u32) {
        let place = self.place(number);
        let entry = &mut self.entries[place];
        entry.superseded_by = CANCELLED;
        if std::mem::replace(&mut entry.word, VersionWord(0)).is_overflow() {
            let entry = &self.entries[place];
            let pointer = self.chunks.get(entry)[entry.key_bytes as usize..].to_vec();
            self.charge_chain(&pointer, -1);
        }
    }

    /// The oldest version of a row that was superseded behind `point`.
    pub(super) fn find(&self, name: Name<'_>, point: Csn) -> Option<Version<'_>> {
        let mut number = self.buckets.get(self.bucket(name.hash)).copied()?;
        let mut before = self.entries.len();
        let mut found = None;
        loop {
            let place = self.place(number);
            if place >= before {
                return found;
            }
            before = place;
            let entry = &self.entries[place];
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

    /// Drops up to `most` of the oldest, as far as nobody reads them any more.
    #[inline]
    pub(super) fn collect(&mut self, bound: Csn, most: usize, pointers: &mut Vec<u8>) {
        for _ in 0..most {
            let is_over = |entry: &mut Entry| entry.superseded_by <= bound.0;
            let Some(entry) = self.entries.pop_front_if(is_over) else {
                return;
            };
            // A cancelled version is not long any more, and is still listed.
            if self.long.front() == Some(&self.oldest) {
                self.long.pop_front();
            }
            self.oldest = self.oldest.wrapping_add(1);
            if entry.word.is_overflow() {
                let pointer = &self.chunks.get(&entry)[entry.key_bytes as usize..];
                pointers.extend_from_slice(pointer);
                let pointer = &pointers[pointers.len() - pointer.len()..];
                self.charge_chain(pointer, -1);
            }
            self.bytes -= ENTRY_BYTES + i64::from(entry.bytes);
            let next = self.entries.front().map(|next| next.chunk);
            if next != Some(entry.chunk) {
                self.leave_chunks(next);
            }
        }
    }

    /// The overflow pointers of versions whose values lie in overflow pages. The cost grows with those alone.
    pub(super) fn pointers(&self, pointers: &mut Vec<u8>) {
        let long = self.long.iter();
        let long = long.map(|number| &self.entries[self.place(*number)]);
        for entry in long.filter(|entry| entry.word.is_overflow()) {
            let bytes = self.chunks.get(entry);
            pointers.extend_from_slice(&bytes[entry.key_bytes as usize..]);
        }
    }

    /// How many versions there are that somebody may find.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        let entries = self.entries.iter();
        entries.filter(|entry| entry.superseded_by != CANCELLED).count()
    }

    /// Gives memory back that lies before the oldest version, whose chunk that is.
    fn leave_chunks(&mut self, next: Option<u32>) {
        self.chunks.drop_before(next);
        let (count, room) = (self.entries.len(), self.entries.capacity());
        if room > ENTRIES_KEPT && count < room / 8 {
            self.entries.shrink_to(ENTRIES_KEPT.max(2 * count));
        }
    }

    /// Doubles the buckets.
    #[cold]
    fn grow(&mut self) {
        let buckets = (2 * self.buckets.len()).max(64);
        self.buckets.clear();
        // A number that no version has now: the last one to come round.
        self.buckets.resize(buckets, self.oldest.wrapping_sub(1));
        for place in 0..self.entries.len() {
            let number = self.oldest.wrapping_add(place as u32);
            let bucket = self.bucket(self.entries[place].hash);
            self.entries[place].older = std::mem::replace(&mut self.buckets[bucket], number);
        }
    }

    #[inline]
    fn bucket(&self, hash: u64) -> usize {
        hash as usize & self.buckets.len().wrapping_sub(1)
    }

    /// The place of a version among the entries; of one that has gone, a place beyond them.
    #[inline]
    fn place(&self, number: u32) -> usize {
        number.wrapping_sub(self.oldest) as usize
    }
}

/// Keys and values of versions, in the order in which they were saved.
#[derive(Debug, Default)]
struct Chunks {
    in_use: VecDeque<Vec<u8>>,
    /// The first chunk's number; they go round, too.
    first: u32,
    spare: Vec<Vec<u8>>,
}

impl Chunks {
    /// Adds a key and a value; answers the chunk's number and where in it they start.
    #[inline]
    fn add(&mut self, key: &[u8], value: &[u8]) -> (u32, u32) {
        let bytes = key.len() + value.len();
        let has_room = |chunk: &Vec<u8>| chunk.capacity() - chunk.len() >= bytes;
        if !self.in_use.back().is_some_and(has_room) {
            self.begin(bytes);
        }
        let number = self.first.wrapping_add(self.in_use.len() as u32 - 1);
        let chunk = self.in_use.back_mut().expect("a chunk was begun");
        let start = chunk.len();
        chunk.extend_from_slice(key);
        chunk.extend_from_slice(value);
        let rest = chunk.capacity() - chunk.len();
        let next = chunk.as_ptr().addr() + chunk.len();
        prefetch(next, rest.min(AHEAD_BYTES));
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

#[cfg(test)]
mod tests {
    use super::{CHUNK_BYTES, Name, SPARE_CHUNKS, Table};
    use crate::access::btree::overflow::{ChainSize, OverflowPointer};
    use crate::buffer::VersionWord;
    use crate::ids::{Csn, PageId, TreeId};

    fn empty() -> Table {
        Table::new(ChainSize::default())
    }

    /// Few hashes, so that rows share buckets.
    fn name(key: &[u8]) -> Name<'_> {
        Name { hash: u64::from(key[0]) % 3, tree: TreeId(1), key }
    }

    #[test]
    fn versions_are_found_when_numbers_go_round_and_names_outlive_them() {
        let mut table = Table { oldest: u32::MAX - 40, ..empty() };
        let mut pointers = Vec::new();
        // Each row's next version comes when the one before has long gone.
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

    /// D3: a value in overflow pages was charged with the 16 bytes of its overflow pointer.
    #[test]
    fn a_version_is_charged_with_the_overflow_pages_that_it_holds() {
        let mut table = empty();
        let pointer = OverflowPointer { bytes: 1 << 20, first: PageId(9) };
        let word = VersionWord::of(Csn(1)).overflow();
        let pages = ChainSize::default().bytes(pointer.bytes) as i64;
        assert!(pages > 1 << 20, "pages and their frames");
        let row = table.add(name(b"a"), word, &pointer.to_value());
        let other = table.add(name(b"b"), word, &pointer.to_value());
        assert_eq!(table.chain_bytes, 2 * pages);
        assert!(table.bytes > 2 * pages);
        table.cancel(other);
        assert_eq!(table.chain_bytes, pages, "the row keeps its pages");
        table.supersede(row, Csn(2));
        table.collect(Csn(2), 9, &mut Vec::new());
        assert_eq!((table.chain_bytes, table.bytes), (0, 0));
    }

    #[test]
    fn memory_goes_with_the_versions_in_it() {
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
        assert!(table.entries.capacity() <= 2 * super::ENTRIES_KEPT);
    }
}
