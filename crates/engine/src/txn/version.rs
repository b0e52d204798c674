//! Old versions: the rows that commits have replaced, for transactions that read at earlier points.
//!
//! The newest version of a row is in its leaf. Every commit that changes or deletes a row first saves the old
//! row here, even if no snapshot is open: the next one begins at the durable LSN, which is behind commits
//! that are already applied. Whole rows are saved, not the changed columns: trees handle only bytes, a reader
//! gets its version with one lookup and one copy instead of assembling it from a chain, and most rows are
//! short. A value in extents is saved as its extent pointer.
//!
//! A version is found by its row's name (tree and key: by hash, then by the bytes), never by page or slot, so
//! splits and merges do not affect it. It holds the word of the row and the csn that superseded it; while the
//! replacing commit is under way that is *pending*, above every csn.
//!
//! Reading a row at point `s`, whose word in the leaf is newer than `s`: take the row's version with the
//! smallest `superseded_by` above `s`, if its word is not newer than `s`. If there is no such version, or its
//! word is newer, the row was absent at `s`. So an insert saves nothing: before it there was no row. (A ghost
//! below it that was deleted after `s` has its own version.)
//!
//! Versions are in tables, by thread slot and shard. A thread saves in its own *thread slot*, so that the
//! tables it works on stay in its core's cache; the row's hash selects the *shard* of the thread slot. A
//! lookup asks that shard of every thread slot in use; few reads need one, while every change saves.
//!
//! Invariants:
//! 1. A version is saved before the leaf changes, and gets its superseding csn before the leaf shows that
//!    csn. So a reader of a word newer than its point finds the versions before it; by the same order it
//!    knows that their thread slot is in use.
//! 2. In a table a row's versions are chained newest first; of all thread slots' versions of a row at most
//!    one is pending, since the row is locked.
//! 3. A version is dropped when its superseding csn is at or before the bound of the registry: no reader is
//!    before it. So it is the oldest of its row, and versions past the durable LSN stay. Therefore a lookup
//!    may ask the tables one after another: versions that appear or vanish meanwhile are not its answer.
//! 4. Each save drops a few of its table's oldest, and from time to time those of the next thread slot, whose
//!    thread may have stopped saving: that bounds the backlog without a dedicated thread.
//!
//! A table's mutex is held for one copy at most, never together with another table's, and no latch is taken
//! while it is held.

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

/// Number of thread slots; more threads than that share them.
const THREAD_SLOTS: u32 = if IS_MODEL { 2 } else { 8 };

/// Shards of a thread slot, so that threads that share it, or look up rows, seldom contend.
const SHARDS: u32 = if IS_MODEL { 1 } else { 8 };

/// Oldest versions that each save checks.
const COLLECTED_BY_SAVE: usize = 3;

/// One in this many saves of a table visits the next thread slot's, and checks this many there.
const SAVES_PER_VISIT: u32 = 64;

/// A table adds its change to the sum when it is at least this large.
const REPORTED_BYTES_MIN: i64 = 16 << 10;

/// Where a version was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VersionRef {
    table: u32,
    at: u32,
}

/// The tables of all thread slots.
#[derive(Debug)]
pub(super) struct Versions {
    /// The shards of the first thread slot, then those of the next.
    tables: Box<[CachePadded<Mutex<Table, VERSIONS>>]>,
    /// True for a thread slot that was ever used.
    used: [AtomicBool; THREAD_SLOTS as usize],
    /// The approximate bytes of all tables: each adds its change when that reaches [`REPORTED_BYTES_MIN`].
    bytes: AtomicI64,
}

impl Versions {
    /// No versions yet.
    pub(super) fn new() -> Versions {
        let table = |_| CachePadded::new(Mutex::new(Table::new()));
        Versions {
            tables: (0..THREAD_SLOTS * SHARDS).map(table).collect(),
            used: std::array::from_fn(|_| AtomicBool::new(false)),
            bytes: AtomicI64::new(0),
        }
    }

    /// Saves a locked row in that thread slot before it changes. Appends the extent pointers of versions
    /// dropped meanwhile to `pointers`, as stored in leaves, one after another.
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
        // A reader that sees the changed row sees this too: the table's mutex and the leaf's latch are in
        // between.
        if !self.is_used(thread_slot) {
            self.used[thread_slot as usize].store(true, Ordering::Relaxed);
        }
        let shard = shard_of(name.hash);
        let own = table_of(thread_slot, shard);
        let mut table = self.tables[own as usize].lock();
        table.collect(bound, COLLECTED_BY_SAVE, pointers);
        let at = table.add(name, word, value);
        self.report(&mut table);
        table.saves = table.saves.wrapping_add(1);
        let saves = table.saves;
        drop(table);
        if saves.is_multiple_of(SAVES_PER_VISIT) {
            self.visit(
                (thread_slot + saves / SAVES_PER_VISIT) % THREAD_SLOTS,
                shard,
                (bound, pointers),
            );
        }
        VersionRef { table: own, at }
    }

    /// Collects in a thread slot whose thread may have stopped saving.
    #[cold]
    fn visit(&self, thread_slot: u32, shard: u32, (bound, pointers): (Csn, &mut Vec<u8>)) {
        if self.is_used(thread_slot) {
            let mut table = self.tables[table_of(thread_slot, shard) as usize].lock();
            table.collect(bound, SAVES_PER_VISIT as usize, pointers);
            self.report(&mut table);
        }
    }

    /// Sets the csn that supersedes a saved version. Allocates nothing.
    #[inline]
    pub(super) fn supersede(&self, version: VersionRef, csn: Csn) {
        let _entered = tag::enter(Module::TransactionControl);
        let mut table = self.tables[version.table as usize].lock();
        table.supersede(version.at, csn);
    }

    /// The row does not change after all. The version is cancelled, and its value still belongs to the row.
    pub(super) fn cancel(&self, version: VersionRef) {
        let mut table = self.tables[version.table as usize].lock();
        table.cancel(version.at);
    }

    /// The version of a row that is visible at `point`: returns its word, and puts its value into `value`.
    /// None: the row was absent then. Call it if the row's word in the leaf is newer than `point`.
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

    /// Drops every version that no reader needs any more.
    pub(super) fn collect(&self, bound: Csn, pointers: &mut Vec<u8>) {
        for table in &self.tables {
            let mut table = table.lock();
            table.collect(bound, usize::MAX, pointers);
            self.report(&mut table);
        }
    }

    /// The extent pointers of all versions with values in extents, as stored in leaves, one after
    /// another.
    pub(super) fn pointers(&self) -> Vec<u8> {
        let mut pointers = Vec::new();
        for table in &self.tables {
            table.lock().pointers(&mut pointers);
        }
        pointers
    }

    /// The approximate bytes of all versions.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed).max(0) as u64
    }

    /// The memory of the extents that versions hold, in bytes. Locks every table.
    pub(super) fn extent_bytes(&self) -> u64 {
        let bytes = self.tables.iter().map(|table| table.lock().extent_bytes);
        bytes.sum::<i64>().max(0) as u64
    }

    /// The number of versions.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.tables.iter().map(|table| table.lock().count()).sum()
    }

    #[inline]
    fn is_used(&self, thread_slot: u32) -> bool {
        self.used[thread_slot as usize].load(Ordering::Relaxed)
    }

    #[inline]
    fn report(&self, table: &mut Table) {
        let change = table.bytes - table.reported;
        if change.abs() >= REPORTED_BYTES_MIN {
            self.bytes.fetch_add(change, Ordering::Relaxed);
            table.reported = table.bytes;
        }
    }
}

#[inline]
fn shard_of(hash: u64) -> u32 {
    // The lower bits select the bucket.
    (hash >> 56) as u32 % SHARDS
}

#[inline]
fn table_of(thread_slot: u32, shard: u32) -> u32 {
    thread_slot * SHARDS + shard
}

#[cfg(test)]
mod tests {
    use super::{Name, SAVES_PER_VISIT, THREAD_SLOTS, VersionRef, Versions};
    use crate::access::btree::extents::ExtentPointer;
    use crate::buffer::VersionWord;
    use crate::ids::{Csn, PageId, TreeId};
    use crate::txn::hash::hash;
    use std::collections::BTreeMap;

    const TREE: TreeId = TreeId(3);

    /// All versions of a row: since when, and the value if there is one.
    type History = Vec<(u64, Option<Vec<u8>>)>;

    /// The value of a row in extents.
    fn pointer(first: u8) -> [u8; 16] {
        let first = PageId(1 + u64::from(first));
        ExtentPointer::of(9_000, first).to_value()
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
        let versions = Versions::new();
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
    fn cancelled_versions_are_never_found_and_their_extents_stay() {
        let versions = Versions::new();
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
    fn collecting_stops_at_the_bound_and_returns_extent_pointers() {
        let versions = Versions::new();
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
        // A save collects as well, enough to keep the backlog from growing.
        let word = VersionWord::of(Csn(10));
        versions.save(0, name(b"row"), word, b"", (Csn(6), &mut pointers));
        assert_eq!(versions.count(), 5);
    }

    #[test]
    fn versions_of_an_idle_thread_are_collected_while_others_save() {
        let versions = Versions::new();
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
        let saves = u64::from(SAVES_PER_VISIT * THREAD_SLOTS * 8);
        (0..2 * saves).for_each(|key| save(0, key, (1, 3, 2)));
        let left = |thread_slot: u32| -> usize {
            let shards = (thread_slot * super::SHARDS) as usize
                ..((thread_slot + 1) * super::SHARDS) as usize;
            let tables = versions.tables[shards].iter();
            tables.map(|table| table.lock().count()).sum()
        };
        assert_eq!(left(1), 0);
        assert!(left(0) > 0, "a reader may still need versions before these commits");
    }

    /// Random histories of a few rows, many in one thread slot's tables, against a plain map of versions.
    #[test]
    fn random_histories_read_as_a_map_of_all_versions_does() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..60 {
            let versions = Versions::new();
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
