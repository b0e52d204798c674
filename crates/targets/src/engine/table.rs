//! A table in memory: ordered maps from key to row, split by the key's hash so that several workers
//! seldom wait for one another.
//!
//! Invariant: shards are locked in the order of their numbers, tables in theirs.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Bound;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many maps a table is split into.
pub(super) const SHARDS: usize = 16;

/// A key's bytes, in the order of its values.
pub(super) type Key = Box<[u8]>;

/// A row's bytes.
pub(super) type Row = Box<[u8]>;

/// Keys to rows.
pub(super) type Shard = BTreeMap<Key, Row>;

/// Keys between two bounds.
pub(super) type KeyRange<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// See the module.
#[derive(Debug)]
pub(super) struct Table {
    shards: [Mutex<Shard>; SHARDS],
    /// The greatest key given so far, where the store gives keys, or counts rows without one.
    given: AtomicI64,
}

impl Table {
    pub(super) fn new() -> Table {
        Table {
            shards: std::array::from_fn(|_| Mutex::default()),
            given: AtomicI64::new(0),
        }
    }

    /// The shard of a key.
    pub(super) fn shard_of(key: &[u8]) -> usize {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(key);
        hash as usize % SHARDS
    }

    /// Locks a shard. Rows are changed whole, so what a panicking thread left is sound.
    pub(super) fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        self.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the row of a key.
    pub(super) fn look<R>(&self, key: &[u8], look: impl FnOnce(Option<&[u8]>) -> R) -> R {
        look(self.lock(Table::shard_of(key)).get(key).map(AsRef::as_ref))
    }

    /// The next key that the store gives.
    pub(super) fn give(&self) -> i64 {
        self.given.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Keys given from now on are greater than this one.
    pub(super) fn keep_clear_of(&self, key: i64) {
        self.given.fetch_max(key, Ordering::Relaxed);
    }

    /// Copies of the first (or last) rows of a range, up to `limit`, by key.
    pub(super) fn range(&self, range: KeyRange<'_>, backwards: bool, limit: usize) -> Shard {
        let mut found = Shard::new();
        for shard in 0..SHARDS {
            let shard = self.lock(shard);
            let copy = |(key, row): (&Key, &Row)| (key.clone(), row.clone());
            let rows = shard.range::<[u8], _>(range);
            if backwards {
                found.extend(rows.rev().take(limit).map(copy));
            } else {
                found.extend(rows.take(limit).map(copy));
            }
        }
        found
    }
}
