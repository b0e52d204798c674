//! Old versions: what rows were before the commits that replaced them, for those who read behind.
//!
//! The newest version of a row is in its leaf. Every commit that changes or deletes a row first saves here
//! what it replaces; not only while a snapshot is open, since one that begins next begins at the durable
//! LSN, behind commits that are applied already. Whole rows are kept, not the changed columns: a tree knows
//! bytes only, a reader finds its version with one lookup and one copy instead of putting it together from a
//! chain, and rows are mostly short; a value in overflow pages is kept as its overflow pointer.
//!
//! A version is found by its row's name (tree and key: by hash, then by the bytes), never by page or
//! slot, so splits and merges do not touch it. It holds the word the row had and the csn that
//! superseded it; while the commit that replaces it is under way that is *pending*, above every csn.
//!
//! Reading a row at point `s`, whose word in the leaf is newer than `s`: of the row's versions the one
//! with the smallest `superseded_by` above `s` is the answer if its word is not newer than `s`. If there
//! is no such version, or its word is newer, the row was absent at `s`. So an insert needs to save
//! nothing: before it was no row. (A ghost below it that was deleted after `s` has its own version.)
//!
//! Versions stand in tables, by thread slot and shard. A thread saves in its own *thread slot*, so that the
//! tables in which it works stay in its core's cache; the row's hash says which *shard* of the thread slot.
//! Who looks a row up asks that shard of every thread slot that is in use, which happens to few reads, while
//! each change saves.
//!
//! Invariants:
//! 1. A version is saved before the leaf changes and told its superseding csn before the leaf shows that
//!    csn. Who sees a word newer than its point finds the versions before it, whose thread slot it knows to
//!    be in use by the same order.
//! 2. In a table a row's versions are chained newest first; of all thread slots' versions of a row at most
//!    one is pending, since the row is locked.
//! 3. A version goes when its superseding csn is at or before the bound of the registry: nobody reads
//!    before it. So it is the oldest of its row, and what is behind the durable LSN stays. Hence the tables
//!    may be asked one after another: what comes and goes meanwhile is not what is looked for.
//! 4. Each save collects a few of its table's oldest, and now and then those of the next thread slot, whose
//!    thread may have nothing to save any more: that keeps the debt bounded without a thread.
//!
//! A table's mutex is held for a copy at most, and never while another's is, or a latch is taken inside.

use crate::access::btree::overflow::ChainSize;
use crate::buffer::VersionWord;
use crate::ids::Csn;
use crate::sync::IS_MODEL;
use crate::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use crate::sync::rank::VERSIONS;
use crate::sync::ranked::Mutex;
pub(super) use crate::txn::version_table::Name;
use crate::txn::version_table::{Table, Version};
use crossbeam_utils::CachePadded;
use syncline_instrument::{Module, tag};

/// How many thread slots there are; threads beyond that share them.
const THREAD_SLOTS: u32 = if IS_MODEL { 2 } else { 8 };

/// How many shards a thread slot has, so that threads that share it, or look rows up, seldom meet.
const SHARDS: u32 = if IS_MODEL { 1 } else { 8 };

/// How many of the oldest are looked at by each save.
const COLLECTED_BY_SAVE: usize = 3;

/// One in so many saves of a table looks at the next thread slot's, and collects so many there.
const SAVES_A_VISIT: u32 = 64;

/// A change of a table's bytes that is worth telling everybody.
const TOLD_BYTES: i64 = 16 << 10;

/// Where a version was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VersionRef {
    table: u32,
    at: u32,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Versions {
    /// The shards of the first thread slot, then those of the next.
    tables: Box<[CachePadded<Mutex<Table, VERSIONS>>]>,
    /// True of a thread slot in which something was ever saved.
    used: [AtomicBool; THREAD_SLOTS as usize],
    /// About the bytes of all tables: each tells when it has changed by [`TOLD_BYTES`].
    bytes: AtomicI64,
}

impl Versions {
    /// None yet; overflow pages are of that size.
    pub(super) fn new(chains: ChainSize) -> Versions {
        let table = |_| CachePadded::new(Mutex::new(Table::new(chains)));
        Versions {
            tables: (0..THREAD_SLOTS * SHARDS).map(table).collect(),
            used: std::array::from_fn(|_| AtomicBool::new(false)),
            bytes: AtomicI64::new(0),
        }
    }

    /// Saves what a locked row is before it changes, in that thread slot. Values of overflow pages whose last
    /// version went meanwhile are added to `pointers`, as they lay in the leaf, one after another.
    #[inline]
    pub(super) fn save(
        &self,
        thread_slot: u32,
        name: Name<'_>,
        word: VersionWord,
        value: &[u8],
        (bound, pointers): (Csn, &mut Vec<u8>),
    ) -> VersionRef {
        let thread_slot = thread_slot % THREAD_SLOTS;
        let _entered = tag::enter(Module::TransactionControl);
        // Who finds the row changed sees this too: the table's mutex and the leaf's latch are in between.
        if !self.is_used(thread_slot) {
            self.used[thread_slot as usize].store(true, Ordering::Relaxed);
        }
        let shard = shard_of(name.hash);
        let own = table_of(thread_slot, shard);
        let mut table = self.tables[own as usize].lock();
        table.collect(bound, COLLECTED_BY_SAVE, pointers);
        let at = table.add(name, word, value);
        self.tell(&mut table);
        table.saves = table.saves.wrapping_add(1);
        let saves = table.saves;
        drop(table);
        if saves.is_multiple_of(SAVES_A_VISIT) {
            self.visit(
                (thread_slot + saves / SAVES_A_VISIT) % THREAD_SLOTS,
                shard,
                (bound, pointers),
            );
        }
        VersionRef { table: own, at }
    }

    /// Collects in a thread slot whose thread may save nothing any more.
    #[cold]
    fn visit(&self, thread_slot: u32, shard: u32, (bound, pointers): (Csn, &mut Vec<u8>)) {
        if self.is_used(thread_slot) {
            let mut table = self.tables[table_of(thread_slot, shard) as usize].lock();
            table.collect(bound, SAVES_A_VISIT as usize, pointers);
            self.tell(&mut table);
        }
    }

    /// Tells a saved version which commit supersedes it. Allocates nothing.
    #[inline]
    pub(super) fn supersede(&self, version: VersionRef, csn: Csn) {
        let _entered = tag::enter(Module::TransactionControl);
        let mut table = self.tables[version.table as usize].lock();
        table.supersede(version.at, csn);
    }

    /// The row does not change after all. The version goes, and its value stays the row's own.
    pub(super) fn cancel(&self, version: VersionRef) {
        let mut table = self.tables[version.table as usize].lock();
        table.cancel(version.at);
    }

    /// The version of a row that is visible at `point`: its word, and its value into `value`. None: the
    /// row was absent then. To be asked if the row's word in the leaf is newer than `point`.
    pub(super) fn find(
        &self,
        name: Name<'_>,
        point: Csn,
        value: &mut Vec<u8>,
    ) -> Option<VersionWord> {
        let shard = shard_of(name.hash);
        let mut first: Option<(u64, VersionWord)> = None;
        for thread_slot in (0..THREAD_SLOTS).filter(|thread_slot| self.is_used(*thread_slot)) {
            let table = self.tables[table_of(thread_slot, shard) as usize].lock();
            let Some(version) = table.find(name, point) else {
                continue;
            };
            let Version { superseded_by, word, .. } = version;
            if first.is_some_and(|(before, _)| before < superseded_by) {
                continue;
            }
            first = Some((superseded_by, word));
            if word.csn() <= point {
                value.clear();
                value.extend_from_slice(version.value);
            }
        }
        let (_, word) = first.filter(|(_, word)| word.csn() <= point)?;
        Some(word)
    }

    /// Drops every version that nobody reads any more.
    pub(super) fn collect(&self, bound: Csn, pointers: &mut Vec<u8>) {
        for table in &self.tables {
            let mut table = table.lock();
            table.collect(bound, usize::MAX, pointers);
            self.tell(&mut table);
        }
    }

    /// The overflow pointers of all versions whose values lie in overflow pages, as they lay in leaves, one
    /// after another.
    pub(super) fn pointers(&self) -> Vec<u8> {
        let mut pointers = Vec::new();
        for table in &self.tables {
            table.lock().pointers(&mut pointers);
        }
        pointers
    }

    /// About how many bytes all versions take.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed).max(0) as u64
    }

    /// How much memory the overflow pages take that versions hold, in bytes. Asks every table.
    pub(super) fn chain_bytes(&self) -> u64 {
        let bytes = self.tables.iter().map(|table| table.lock().chain_bytes);
        bytes.sum::<i64>().max(0) as u64
    }

    /// How many versions there are.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.tables.iter().map(|table| table.lock().count()).sum()
    }

    #[inline]
    fn is_used(&self, thread_slot: u32) -> bool {
        self.used[thread_slot as usize].load(Ordering::Relaxed)
    }

    #[inline]
    fn tell(&self, table: &mut Table) {
        let change = table.bytes - table.told;
        if change.abs() >= TOLD_BYTES {
            self.bytes.fetch_add(change, Ordering::Relaxed);
            table.told = table.bytes;
        }
    }
}

#[inline]
fn shard_of(hash: u64) -> u32 {
    // The lower bits choose the bucket.
    (hash >> 56) as u32 % SHARDS
}

#[inline]
fn table_of(thread_slot: u32, shard: u32) -> u32 {
    thread_slot * SHARDS + shard
}

#[cfg(test)]
mod tests {
    use super::{Name, SAVES_A_VISIT, THREAD_SLOTS, VersionRef, Versions};
    use crate::access::btree::overflow::{ChainSize, OverflowPointer};
    use crate::buffer::VersionWord;
    use crate::ids::{Csn, PageId, TreeId};
    use crate::txn::hash::hash;
    use std::collections::BTreeMap;

    const TREE: TreeId = TreeId(3);

    /// All versions of a row: since when, and the value if there is one.
    type History = Vec<(u64, Option<Vec<u8>>)>;

    /// The value of a row in overflow pages.
    fn pointer(first: u8) -> [u8; 16] {
        let first = PageId(first.into());
        OverflowPointer { bytes: 9_000, first }.to_value()
    }

    fn name(key: &[u8]) -> Name<'_> {
        Name { hash: hash(TREE, key), tree: TREE, key }
    }

    fn save(versions: &Versions, key: &[u8], was: u64, value: &[u8]) -> VersionRef {
        versions.save(0, name(key), VersionWord::of(Csn(was)), value, (Csn::ZERO, &mut Vec::new()))
    }

    fn find(versions: &Versions, key: &[u8], point: u64) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        let word = versions.find(name(key), Csn(point), &mut value)?;
        assert!(word.csn().0 <= point);
        Some(value)
    }

    #[test]
    fn each_point_finds_its_own_version_and_gaps_are_absence() {
        let versions = Versions::new(ChainSize::default());
        // Written at 2, changed at 5, deleted at 9, inserted at 12 (saves nothing), changed at 20.
        for (was, value, by) in [(2, "two", 5), (5, "five", 9), (12, "twelve", 20)] {
            let saved = save(&versions, b"row", was, value.as_bytes());
            versions.supersede(saved, Csn(by));
        }
        let at =
            |point| find(&versions, b"row", point).map(|value| String::from_utf8(value).unwrap());
        assert_eq!(at(1), None);
        assert_eq!(at(2).unwrap(), "two");
        assert_eq!(at(4).unwrap(), "two");
        assert_eq!(at(5).unwrap(), "five");
        assert_eq!(at(8).unwrap(), "five");
        assert_eq!(at(9), None);
        assert_eq!(at(11), None);
        assert_eq!(at(12).unwrap(), "twelve");
        assert_eq!(at(19).unwrap(), "twelve");
        assert_eq!(find(&versions, b"other", 8), None);
    }

    #[test]
    fn cancelled_versions_are_never_found_and_their_stubs_stay() {
        let versions = Versions::new(ChainSize::default());
        let old = save(&versions, b"row", 2, b"old");
        versions.supersede(old, Csn(5));
        let (word, mut pointers) = (VersionWord::of(Csn(5)).overflow(), Vec::new());
        let saved = versions.save(0, name(b"row"), word, &pointer(9), (Csn::ZERO, &mut pointers));
        versions.cancel(saved);
        assert_eq!(find(&versions, b"row", 4).unwrap(), b"old");
        assert_eq!(find(&versions, b"row", 6), None);
        assert_eq!(versions.count(), 1);
        versions.collect(Csn(5), &mut pointers);
        assert_eq!((versions.count(), pointers.len()), (0, 0));
    }

    #[test]
    fn collecting_stops_at_the_bound_and_gives_stubs_back() {
        let versions = Versions::new(ChainSize::default());
        let mut pointers = Vec::new();
        for was in 0..10_u8 {
            let word = VersionWord::of(Csn(was.into())).overflow();
            let saved =
                versions.save(0, name(b"row"), word, &pointer(was), (Csn::ZERO, &mut pointers));
            versions.supersede(saved, Csn(u64::from(was) + 1));
        }
        versions.collect(Csn(4), &mut pointers);
        assert_eq!(pointers, [0, 1, 2, 3].map(pointer).concat());
        assert_eq!(find(&versions, b"row", 4).unwrap(), pointer(4));
        assert_eq!(versions.count(), 6);
        // A save collects as well, as many as keep the debt from growing.
        let word = VersionWord::of(Csn(10));
        versions.save(0, name(b"row"), word, b"", (Csn(6), &mut pointers));
        assert_eq!(versions.count(), 5);
    }

    #[test]
    fn what_a_thread_has_left_behind_goes_while_others_save() {
        let versions = Versions::new(ChainSize::default());
        let mut pointers = Vec::new();
        let mut save = |thread_slot, key: u64, (was, by, bound)| {
            let key = key.to_be_bytes();
            let bound = (Csn(bound), &mut pointers);
            let saved =
                versions.save(thread_slot, name(&key), VersionWord::of(Csn(was)), b"value", bound);
            versions.supersede(saved, Csn(by));
        };
        (0..500).for_each(|key| save(1, key, (1, 2, 0)));
        assert_eq!(versions.count(), 500);
        let saves = u64::from(SAVES_A_VISIT * THREAD_SLOTS * 8);
        (0..2 * saves).for_each(|key| save(0, key, (1, 3, 2)));
        let left = |thread_slot: u32| -> usize {
            let shards = (thread_slot * super::SHARDS) as usize
                ..((thread_slot + 1) * super::SHARDS) as usize;
            let tables = versions.tables[shards].iter();
            tables.map(|table| table.lock().count()).sum()
        };
        assert_eq!(left(1), 0);
        assert!(left(0) > 0, "they are of commits that somebody may read behind");
    }

    /// Random histories of a few rows, many in one thread slot's tables, against a plain map of versions.
    #[test]
    fn random_histories_read_as_a_map_of_all_versions_does() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..60 {
            let versions = Versions::new(ChainSize::default());
            let rows = random.u64(1..200);
            let mut model: BTreeMap<u64, History> = BTreeMap::new();
            let mut bound = 0;
            for csn in 1..=600_u64 {
                let row = random.u64(..rows);
                let key = row.to_be_bytes();
                let history = model.entry(row).or_default();
                if let Some((was, Some(value))) = history.last() {
                    let pointers = &mut Vec::new();
                    let (thread_slot, word) =
                        (random.u32(..THREAD_SLOTS), VersionWord::of(Csn(*was)));
                    let saved =
                        versions.save(thread_slot, name(&key), word, value, (Csn(bound), pointers));
                    if random.u8(..8) == 0 {
                        versions.cancel(saved);
                        continue;
                    }
                    versions.supersede(saved, Csn(csn));
                }
                let value = (random.u8(..4) > 0).then(|| vec![csn as u8; random.usize(..9)]);
                history.push((csn, value));
                bound = bound.max(random.u64(..=csn).saturating_sub(100));
                let point = random.u64(bound..=csn);
                for (row, history) in &model {
                    let newest = history.last().map_or(0, |(csn, _)| *csn);
                    if newest <= point {
                        continue;
                    }
                    let visible = history.iter().rev().find(|(csn, _)| *csn <= point);
                    let expected = visible.and_then(|(_, value)| value.clone());
                    assert_eq!(find(&versions, &row.to_be_bytes(), point), expected);
                }
            }
            versions.collect(Csn(600), &mut Vec::new());
            assert_eq!(versions.count(), 0);
        }
    }
}
